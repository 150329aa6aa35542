"""The search for the strength of a defect that is found, stage by stage.

Cheap tests are asked everywhere, classifiers where it is open, localizers where nothing is found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from validation_core.diagnosis.questions.sensitivity.experiment import SearchCurve
from validation_core.diagnosis.questions.sensitivity.smallest_size import POWER
from validation_core.methods.base import Method

HALVINGS = 2
"""Strengths tried within the bracket."""
_NEAR = (0.5, 0.95)  # powers, of the first trials, that all trials may find on either side of 80%
ProgressCallback = Callable[[float], None]


def _between(low: float, high: float, zero: float) -> float:
    """The geometric middle of two strengths, each measured from what changes nothing."""
    return zero + float(np.sqrt((low - zero) * (high - zero)))


def search_by_ranks(curve: SearchCurve, methods: Sequence[Method], tell: ProgressCallback) -> None:
    """Ask the tests that train no network: few trials everywhere, all where power is near 80%."""
    if not methods:
        return
    experiment = curve.experiment
    listed = experiment.injection.strengths
    for i, strength in enumerate(listed):
        curve.evaluate(strength, methods, experiment.first)
        tell(0.3 * (i + 1) / len(listed))
    low, high = _bracket(curve, listed)
    for _ in range(len(listed)):  # all trials may move the bracket that the first few gave
        for end in (low, high):
            if end is not None and _NEAR[0] < curve.power(end) < _NEAR[1]:
                curve.evaluate(end, methods, experiment.batches)
        before, (low, high) = (low, high), _bracket(curve, listed)
        if before == (low, high):
            break
    tell(0.5)
    _halve(curve, methods, low, high)


def search_by_classifier(
    curve: SearchCurve, methods: Sequence[Method], tell: ProgressCallback
) -> None:
    """Ask the tests of a classifier from where the others' power crosses 80% downwards.

    Where the networks' share of the level costs the others that power, upwards.
    """
    if not methods:
        return
    experiment = curve.experiment
    listed = experiment.injection.strengths
    tried = sorted({*listed, *curve.pvalues_at})
    everything = (*_asked_of(curve, experiment.methods), *methods)
    asked = 0

    def finds(strength: float) -> bool:
        nonlocal asked
        curve.evaluate(strength, everything, experiment.batches)
        asked += 1
        tell(0.7 * asked / len(tried))
        return curve.power(strength) >= POWER

    low, high = _bracket(curve, tried)
    at = len(tried) - 1 if high is None else tried.index(high)
    if finds(tried[at]):
        while at > 0 and finds(tried[at - 1]):
            at -= 1
        low, high = tried[at - 1] if at else None, tried[at]
    else:
        while at + 1 < len(tried) and not finds(tried[at + 1]):
            at += 1
        low, high = tried[at], tried[at + 1] if at + 1 < len(tried) else None
    if low in listed and high in listed:  # no other test has looked between them
        _halve(curve, everything, low, high)


def _is_found(curve: SearchCurve, strength: float) -> bool:
    """Whether the tests that were asked at this strength find it with 80% power."""
    return strength in curve.pvalues_at and curve.power(strength) >= POWER


def search_by_localizer(curve: SearchCurve, methods: Sequence[Method]) -> None:
    """Ask the tests of a localizer, dear to train, of the strongest defect, if none finds it."""
    experiment = curve.experiment
    strongest = experiment.injection.strengths[-1]
    if methods and not _is_found(curve, strongest):
        everything = (*_asked_of(curve, experiment.methods), *methods)
        curve.evaluate(strongest, everything, experiment.batches)


def _asked_of(curve: SearchCurve, methods: Sequence[Method]) -> tuple[Method, ...]:
    """The methods that have been asked anywhere."""
    rows = [~np.isnan(pvalues).all(-1) for pvalues in curve.pvalues_at.values()]
    mask = np.any(rows, axis=0) if rows else np.zeros(len(methods), bool)
    return tuple(method for method, yes in zip(methods, mask, strict=True) if yes)


def _bracket(curve: SearchCurve, strengths: Sequence[float]) -> tuple[float | None, float | None]:
    """The weakest strength from which on all are found, and the one below it."""
    low: float | None = None
    for i, strength in reversed(list(enumerate(strengths))):
        if not _is_found(curve, strength):
            low = strength
            return low, strengths[i + 1] if i + 1 < len(strengths) else None
    return None, strengths[0]


def _halve(
    curve: SearchCurve, methods: Sequence[Method], low: float | None, high: float | None
) -> None:
    if low is None or high is None:
        return
    experiment = curve.experiment
    for _ in range(HALVINGS):
        middle = _between(low, high, experiment.injection.neutral)
        curve.evaluate(middle, methods, experiment.batches)
        low, high = (low, middle) if curve.power(middle) >= POWER else (middle, high)
