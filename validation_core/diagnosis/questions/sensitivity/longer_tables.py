"""The factor of rows that a defect of half the size takes, from rows drawn again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from validation_core.diagnosis.null_tables.method_battery import MethodBattery, verdict_pvalues
from validation_core.diagnosis.questions.sensitivity.experiment import SearchCurve
from validation_core.diagnosis.questions.sensitivity.search import HALVINGS
from validation_core.diagnosis.questions.sensitivity.smallest_size import POWER, power_crossing
from validation_core.methods.base import Method
from validation_core.rng import stream
from validation_core.types import Float

ROWS_FOR_HALF_SIZE = 4.0
"""Times the rows that a defect of half the size takes, where shares or means estimate it."""
_MORE = (2.0, 4.0, 8.0)  # times the rows that are resampled, then between
_TABLES = 200  # of each length
_NUMBERS = 1 << 22  # ranks drawn again at a time


def rows_factor_for_half(
    curve: SearchCurve, methods: Sequence[Method], size: float
) -> float | None:
    """Factor of rows that a defect of half this size takes; None if above 8.

    Ranks of rows are drawn again, with replacement and from all trials, into longer tables. Only
    tests that train no network can be asked so: a network would learn from the rows as well.
    """
    experiment = curve.experiment
    zero = experiment.injection.neutral
    half = zero + (size - zero) / 2
    battery = experiment.battery(half, methods)
    batch_ranks = [
        battery.ranks(experiment.tables(half, batch), experiment.seed, "rows", batch.start)
        for batch in experiment.batches
    ]
    ranks = [np.concatenate(parts) for parts in zip(*batch_ranks, strict=True)]  # (T, S, n) each
    powers: dict[float, float] = {}

    def power(times: float) -> float:
        if times not in powers:
            powers[times] = _resampled(battery, ranks, times, curve)
        return powers[times]

    enough = [times for times in _MORE if power(times) >= POWER]
    if not enough:
        return None
    high = enough[0]
    low = max([1.0, *(times for times in _MORE if times < high)])
    for _ in range(HALVINGS):
        middle = float(np.sqrt(low * high))
        low, high = (low, middle) if power(middle) >= POWER else (middle, high)
    multiples = np.array(sorted(powers))
    rates = [powers[times] for times in multiples]
    return power_crossing(multiples, rates, np.full(len(rates), float(_TABLES)))


def _resampled(
    battery: MethodBattery, ranks: Sequence[Float], times: float, curve: SearchCurve
) -> float:
    """Power of the verdict on tables so many times as long, by these tests alone."""
    experiment = curve.experiment
    rng = stream(experiment.seed, "sensitivity", experiment.injection.name, "rows", times)
    columns = sum(u.shape[1] * u.shape[2] for u in ranks) * times
    step, rejected = max(1, int(_NUMBERS / columns)), 0
    for first in range(0, _TABLES, step):
        p = _longer(battery, ranks, times, min(step, _TABLES - first), rng)
        rejected += int((verdict_pvalues(p, battery.methods, curve.tests) <= curve.alpha).sum())
    return rejected / _TABLES


def _longer(
    battery: MethodBattery,
    ranks: Sequence[Float],
    times: float,
    trials: int,
    rng: np.random.Generator,
) -> Float:
    """p-values (M, trials) of tables so many times as long: rows of any trial, drawn again.

    A row keeps the ranks of all methods that look at it: it stays one simulation.
    """
    n = max(u.shape[-1] for u in ranks)
    tested = next((places for places in battery.places if places is not None), np.arange(n))
    rest = np.setdiff1d(np.arange(n), tested)
    at = rng.integers(len(tested), size=(trials, round(times * len(tested))))
    others = rng.integers(max(1, len(rest)), size=(trials, round(times * len(rest))))
    rows = np.concatenate([tested[at], rest[others]], axis=1)
    of = rng.integers(len(ranks[0]), size=rows.shape)
    pvalues = []
    for method, places, u in zip(battery.methods, battery.places, ranks, strict=True):
        which = rows if places is None else at
        resample = np.moveaxis(u, 1, 2)[of[:, : which.shape[1]], which]  # (trials, n, S)
        pvalues.append(method.of_ranks(np.moveaxis(resample, 2, 1)).pvalue)
    return np.stack(pvalues)
