"""At which strengths which tests are asked: cheap ones everywhere, networks where it is open."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from validation_core.answers.asked import Panel, together
from validation_core.answers.selfnull import Float, OfRanks
from validation_core.answers.sensitivity.curve import POWER, crossing
from validation_core.answers.sensitivity.trials import Bench, Course
from validation_core.rng import stream
from validation_core.types import Method

LAW = 4.0
"""Times the rows that a defect of half the size takes, where shares or means estimate it."""

_MORE = (2.0, 4.0, 8.0)  # times the rows that are resampled, then between
_TABLES = 200  # of each length
_NUMBERS = 1 << 22  # ranks drawn again at a time
_CLEAR, _NOTHING = 0.95, 0.7  # powers above and below which networks would change no answer
_NEAR = (0.5, 0.95)  # powers, of the first trials, that all trials may find on either side of 80%
_HALVINGS = 2  # strengths tried within the bracket

Tell = Callable[[float], None]


def neutral(strengths: Sequence[float]) -> float:
    """The strength that changes nothing: 1 for a factor, 0 for all others."""
    return 1.0 if strengths[0] >= 1 else 0.0


def between(low: float, high: float, zero: float) -> float:
    """The geometric middle of two strengths, each measured from what changes nothing."""
    return zero + float(np.sqrt((low - zero) * (high - zero)))


def by_ranks(bench: Bench, course: Course, methods: Sequence[Method], tell: Tell) -> None:
    """Ask the tests that train no network: few trials everywhere, all where power is near 80%."""
    if not methods:
        return
    listed = bench.injection.strengths
    for i, strength in enumerate(listed):
        course.ask(strength, methods, bench.first)
        tell(0.3 * (i + 1) / len(listed))
    low, high = _bracket(course, listed)
    for _ in range(len(listed)):  # all trials may move the bracket that the first few gave
        for end in (low, high):
            if end is not None and _NEAR[0] < course.power(end) < _NEAR[1]:
                course.ask(end, methods, bench.batches)
        before, (low, high) = (low, high), _bracket(course, listed)
        if before == (low, high):
            break
    tell(0.5)
    _halve(course, methods, low, high)


def by_classifier(bench: Bench, course: Course, methods: Sequence[Method], tell: Tell) -> None:
    """Ask the tests of a classifier, from what is not clearly found downwards, then between."""
    if not methods:
        return
    listed = bench.injection.strengths
    open_ = [one for one in listed if one not in course.found or course.power(one) < _CLEAR]
    high: float | None = next((one for one in listed if one not in open_), None)
    low: float | None = None
    everything = (*_asked_of(course, bench.methods), *methods)
    for i, strength in enumerate(reversed(open_)):
        course.ask(strength, everything, bench.batches)
        tell(0.7 * (i + 1) / len(open_))
        power = course.power(strength)
        if power >= POWER:
            high = strength
        elif low is None:
            low = strength
        if power < _NOTHING:
            break
    _halve(course, everything, low, high)


def by_localizer(bench: Bench, course: Course, methods: Sequence[Method]) -> None:
    """Ask the tests of a localizer, dear to train, at the strongest defect that is not found."""
    open_ = [
        one for one in bench.injection.strengths
        if one not in course.found or course.power(one) < POWER
    ]  # fmt: skip
    if methods and open_:
        course.ask(open_[-1], (*_asked_of(course, bench.methods), *methods), bench.batches)


def _asked_of(course: Course, methods: Sequence[Method]) -> tuple[Method, ...]:
    """The methods that have been asked anywhere."""
    rows = [~np.isnan(found).all(-1) for found in course.found.values()]
    asked = np.any(rows, axis=0) if rows else np.zeros(len(methods), bool)
    return tuple(one for one, yes in zip(methods, asked, strict=True) if yes)


def _bracket(
    course: Course, strengths: Sequence[float]
) -> tuple[float | None, float | None]:  # fmt: skip
    """The weakest strength from which on all are found, and the one below it."""
    low: float | None = None
    for i, strength in reversed(list(enumerate(strengths))):
        if course.power(strength) < POWER:
            low = strength
            return low, strengths[i + 1] if i + 1 < len(strengths) else None
    return None, strengths[0]


def _halve(
    course: Course, methods: Sequence[Method], low: float | None, high: float | None
) -> None:
    if low is None or high is None:
        return
    bench = course.bench
    for _ in range(_HALVINGS):
        middle = between(low, high, neutral(bench.injection.strengths))
        course.ask(middle, methods, bench.batches)
        low, high = (low, middle) if course.power(middle) >= POWER else (middle, high)


def times_the_rows(
    bench: Bench, course: Course, methods: Sequence[Method], size: float
) -> float | None:
    """How many times the rows a defect of half this size takes; None if more than 8 times.

    Ranks of rows are drawn again, with replacement and from all trials, into longer tables. Only
    tests that train no network can be asked so: a network would learn from the rows as well.
    """
    zero = neutral(bench.injection.strengths)
    half = zero + (size - zero) / 2
    panel = bench.panel(half, methods)
    drawn = [
        panel.ranks(bench.made(half, batch), bench.seed, "rows", batch.start)
        for batch in bench.batches
    ]
    ranks = [np.concatenate(parts) for parts in zip(*drawn, strict=True)]  # (T, S, n) each
    powers: dict[float, float] = {}

    def power(times: float) -> float:
        if times not in powers:
            powers[times] = _resampled(panel, ranks, times, course)
        return powers[times]

    enough = [times for times in _MORE if power(times) >= POWER]
    if not enough:
        return None
    high = enough[0]
    low = max([1.0, *(times for times in _MORE if times < high)])
    for _ in range(_HALVINGS):
        middle = float(np.sqrt(low * high))
        low, high = (low, middle) if power(middle) >= POWER else (middle, high)
    asked = np.array(sorted(powers))
    found = [powers[times] for times in asked]
    return crossing(asked, found, np.full(len(found), float(_TABLES)))


def _resampled(panel: Panel, ranks: Sequence[Float], times: float, course: Course) -> float:
    """Power of the verdict on tables so many times as long, by these tests alone."""
    bench = course.bench
    rng = stream(bench.seed, "sensitivity", bench.injection.name, "rows", times)
    columns = sum(u.shape[1] * u.shape[2] for u in ranks) * times
    step, rejected = max(1, int(_NUMBERS / columns)), 0
    for first in range(0, _TABLES, step):
        p = _longer(panel, ranks, times, min(step, _TABLES - first), rng)
        rejected += int((together(p, panel.methods, course.tests) <= course.alpha).sum())
    return rejected / _TABLES


def _longer(
    panel: Panel, ranks: Sequence[Float], times: float, trials: int, rng: np.random.Generator
) -> Float:
    """p-values (M, trials) of tables so many times as long: rows of any trial, drawn again.

    A row keeps the ranks of all methods that look at it: it stays one simulation.
    """
    n = max(u.shape[-1] for u in ranks)
    tested = next((places for places in panel.places if places is not None), np.arange(n))
    rest = np.setdiff1d(np.arange(n), tested)
    at = rng.integers(len(tested), size=(trials, round(times * len(tested))))
    others = rng.integers(max(1, len(rest)), size=(trials, round(times * len(rest))))
    rows = np.concatenate([tested[at], rest[others]], axis=1)
    of = rng.integers(len(ranks[0]), size=rows.shape)
    found = []
    for method, places, u in zip(panel.methods, panel.places, ranks, strict=True):
        assert isinstance(method, OfRanks)
        which = rows if places is None else at
        drawn = np.moveaxis(u, 1, 2)[of[:, : which.shape[1]], which]  # (trials, n, S)
        found.append(method.of_ranks(np.moveaxis(drawn, 2, 1)).pvalue)
    return np.stack(found)
