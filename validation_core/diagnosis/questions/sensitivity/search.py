"""At which strengths which tests are asked, and the smallest strength that is found.

Cheap tests are asked everywhere, networks where it is open; rejections at growing strengths give
the smallest that is found with 80% power.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from validation_core import statistics
from validation_core.diagnosis import learning
from validation_core.diagnosis.injections.draw_pool import DrawPool
from validation_core.diagnosis.injections.injection import Injection
from validation_core.diagnosis.null_tables.method_battery import MethodBattery, verdict_pvalues
from validation_core.diagnosis.null_tables.null_verdict import NullVerdict
from validation_core.diagnosis.null_tables.pooled_scores import PooledScores
from validation_core.diagnosis.null_tables.trials import trial_count
from validation_core.methods.base import Method
from validation_core.relabelling.played_truths import (
    Places,
    SelfMadeTables,
    pick_slots,
    tables_at_once,
)
from validation_core.rng import stream
from validation_core.tables import TableUpload, Upload
from validation_core.types import Array, Float

FIRST = 50
"""Trials that tell which strengths are worth the others."""

_RANKED = 25_000  # ranks of one trial that allow all trials: a strength asks for all of them anew


class PowerExperiment:
    """One injection on one table, at any strength.

    All strengths share the picked draws, the direction of the defect and the tie-breakers, so
    that their powers differ by the strength and not by luck.
    """

    def __init__(
        self, upload: TableUpload, injection: Injection, methods: Sequence[Method], seed: int
    ) -> None:
        self.upload, self.injection, self.seed = upload, injection, seed
        self.methods = tuple(methods)
        self.data = upload.data
        self.pool = DrawPool(self.data.q, self.data.x, direction_seed=seed)
        self.trials = trial_count(upload.n, upload.dims[0], _RANKED)
        self._pools: dict[object, PooledScores] = {}

    @cached_property
    def unlearned(self) -> NullVerdict:
        """Relabelling without learned scores: the same at every strength."""
        return NullVerdict.of(self.upload, self.seed)

    @cached_property
    def which(self) -> Places:
        """The draws (T, n) that play the truth."""
        rng = stream(self.seed, "sensitivity", "draws")
        return pick_slots(self.trials, self.upload.n, self.upload.k, rng)

    @cached_property
    def batches(self) -> tuple[slice, ...]:
        """The trials, a first few by themselves, and no more at a time than fit."""
        step = tables_at_once(self.upload.n * self.upload.dims[0])
        ends = [*range(0, min(FIRST, self.trials), step)]
        ends += [*range(min(FIRST, self.trials), self.trials, step), self.trials]
        return tuple(slice(a, b) for a, b in pairwise(ends))

    @property
    def first(self) -> tuple[slice, ...]:
        """The batches of the first few trials."""
        return tuple(batch for batch in self.batches if batch.stop <= min(FIRST, self.trials))

    def tables(self, strength: float, batch: slice) -> SelfMadeTables:
        """Tables of a batch of trials."""
        which = self.which[batch]
        rng = stream(self.seed, "sensitivity", self.injection.name, batch.start)
        return SelfMadeTables(self.data, *self.injection.tables(self.pool, which, strength, rng))

    def training_table(self, strength: float) -> Upload:
        """The table that networks learn from: the same defect in other draws, all rows of it.

        It has the split into rows to learn from and rows to test of the table itself.
        """
        n, k, _ = self.data.q.shape
        names = ("sensitivity", self.injection.name, "training")
        which = pick_slots(1, n, k, stream(self.seed, *names, "draws"))
        places, truths = self.injection.tables(
            self.pool, which, strength, stream(self.seed, *names)
        )
        table = SelfMadeTables(self.data, places, truths).table(0)
        return replace(self.upload, data=table)

    def battery(self, strength: float, methods: Sequence[Method]) -> MethodBattery:
        """What these methods read where the defect has this strength, networks trained on it."""
        trained: dict[object, Any] = {}
        fixed = all(method.is_fixed for method in methods)
        upload = None if fixed else self.training_table(strength)

        def network(method: Method) -> Any:
            assert upload is not None
            how = learning.recipe(upload, method)
            assert how is not None
            if how not in trained:
                data = learning.build_training_set(upload, how, self.seed)
                (trained[how],) = how.learn_all([data], [self.seed])
            return trained[how]

        battery = MethodBattery.of(
            self.upload, methods, self.seed, network, self._pools, lambda: self.unlearned
        )
        for method, pool in zip(battery.methods, battery.pools, strict=True):
            if method.is_fixed and pool is not None:
                self._pools[method.score()] = pool
        return battery

    def evaluate(
        self, strength: float, methods: Sequence[Method], batches: Sequence[slice]
    ) -> Float:
        """p-values (M, T) of all methods: NaN for those, and for trials, that are not asked."""
        out = np.full((len(self.methods), self.trials), np.nan)
        rows = [self.methods.index(method) for method in methods]
        battery = self.battery(strength, methods)
        for batch in batches:
            tables = self.tables(strength, batch)
            out[rows, batch] = battery.pvalues(
                tables, self.seed, "sensitivity", self.injection.name, batch.start
            )
        return out


class SearchCurve:
    """What has been asked so far: p-values by strength, method and trial, strengths ascending."""

    def __init__(
        self,
        experiment: PowerExperiment,
        tests: int,
        alpha: float,
        strengths: Iterable[float] = (),
        pvalues: Array | None = None,
    ) -> None:
        self.experiment, self.tests, self.alpha = experiment, tests, alpha
        empty = np.empty((0, len(experiment.methods), experiment.trials))
        by_strength = empty if pvalues is None else np.asarray(pvalues, dtype=np.float64)
        self.pvalues_at = dict(zip(map(float, strengths), by_strength, strict=True))

    def evaluate(
        self, strength: float, methods: Sequence[Method], batches: Sequence[slice]
    ) -> None:
        """Ask these methods at a strength, where they have not been asked."""
        blank = np.full((len(self.experiment.methods), self.experiment.trials), np.nan)
        known = self.pvalues_at.setdefault(strength, blank)
        rows = {method: self.experiment.methods.index(method) for method in methods}

        def lacks(method: Method, batch: slice) -> bool:
            return bool(np.isnan(known[rows[method], batch]).any())

        lacking = [method for method in methods if any(lacks(method, batch) for batch in batches)]
        missing = [batch for batch in batches if any(lacks(method, batch) for method in lacking)]
        if not lacking:
            return
        # With a score that was not there before, relabelling answers anew.
        again = [
            method
            for method in methods
            if method.decides
            and method not in lacking
            and any(other.needs_training for other in lacking)
        ]
        answers = self.experiment.evaluate(strength, [*again, *lacking], missing)
        np.copyto(known, answers, where=np.isnan(known))
        for method in again:
            np.copyto(
                known[rows[method]], answers[rows[method]], where=~np.isnan(answers[rows[method]])
            )

    @property
    def strengths(self) -> Float:
        """(L,), ascending."""
        return np.array(sorted(self.pvalues_at))

    @property
    def pvalues(self) -> Float:
        """(L, M, T)."""
        blank = np.empty((0, len(self.experiment.methods), self.experiment.trials))
        each = [self.pvalues_at[strength] for strength in sorted(self.pvalues_at)]
        return np.stack(each) if each else blank

    def power(self, strength: float) -> float:
        """Share of trials in which the verdict finds the defect; tests not asked find nothing."""
        pvalues, methods = self.pvalues_at[strength], self.experiment.methods
        rejected = verdict_rejections(pvalues, methods, self.tests, self.alpha)
        return float(rejected.mean()) if rejected.size else 0.0


def verdict_rejections(
    pvalues: Float, methods: Sequence[Method], tests: int, alpha: float
) -> NDArray[np.bool_]:
    """Whether the verdict rejects, in those trials (t,) in which any of methods (M, T) was asked.

    Holm's correction is over `tests`; those not asked count with p = 1.
    """
    mask = ~np.isnan(pvalues).all(axis=0)
    known = np.where(np.isnan(pvalues), 1.0, pvalues)[:, mask]
    return verdict_pvalues(known, methods, tests) <= alpha


POWER = 0.8
"""Share of tables in which a defect is found that counts as found."""

ROWS_FOR_HALF_SIZE = 4.0
"""Times the rows that a defect of half the size takes, where shares or means estimate it."""

_MORE = (2.0, 4.0, 8.0)  # times the rows that are resampled, then between
_TABLES = 200  # of each length
_NUMBERS = 1 << 22  # ranks drawn again at a time
_CLEAR, _NOTHING = 0.95, 0.7  # powers above and below which networks would change no answer
_NEAR = (0.5, 0.95)  # powers, of the first trials, that all trials may find on either side of 80%
_HALVINGS = 2  # strengths tried within the bracket

ProgressCallback = Callable[[float], None]


class _Smallest(NamedTuple):
    """The smallest size found with 80% power and its 95% interval; None where none is known.

    `low` None: the weakest one tried may already be found. `high` and `size` None: the strongest
    one tried may not be, or is not.
    """

    size: float | None
    low: float | None
    high: float | None


def power_crossing(sizes: ArrayLike, rates: ArrayLike, weights: ArrayLike) -> float | None:
    """Where a curve that cannot fall reaches 80%, interpolated over the logarithm of size.

    Rates (L,) at ascending sizes (L,) are made monotone by isotonic regression. The first size
    where they begin there; None where they never get there.
    """
    size, rate, weight = (np.asarray(part, dtype=np.float64) for part in (sizes, rates, weights))
    if not size.size:
        return None
    curve = _rising(rate, weight)
    above = np.flatnonzero(curve >= POWER)
    if not above.size:
        return None
    i = int(above[0])
    if i == 0:
        return float(size[0])
    share = (POWER - curve[i - 1]) / (curve[i] - curve[i - 1])
    return float(np.exp(np.log(size[i - 1]) + share * np.log(size[i] / size[i - 1])))


def _rising(rate: Float, weight: Float) -> Float:
    """The nearest curve (L,) that never falls: the largest least mean over what a place is in."""
    total = np.append(0.0, np.cumsum(weight))
    at = np.append(0.0, np.cumsum(weight * rate))
    first, last = np.triu_indices(len(rate))
    mean = np.full((len(rate), len(rate)), np.nan)  # of places first to last
    mean[first, last] = (at[last + 1] - at[first]) / (total[last + 1] - total[first])
    least = np.fmin.accumulate(mean[:, ::-1], axis=1)[:, ::-1]  # over all ends at or beyond
    return np.asarray(np.fmax.accumulate(least, axis=0).diagonal())


def smallest_detectable_size(sizes: ArrayLike, counts: ArrayLike, trials: ArrayLike) -> _Smallest:
    """The smallest size found, from rejections (L,) in trials (L,) at ascending sizes (L,).

    Its interval is where the curves of the exact 95% limits of the rates reach 80%.
    """
    size, count, n = (np.asarray(part, dtype=np.float64) for part in (sizes, counts, trials))
    if not size.size:
        return _Smallest(None, None, None)
    low, high = statistics.clopper_pearson(count, n)
    first = power_crossing(size, high, n)  # the most power there may be gives the least size
    return _Smallest(
        power_crossing(size, count / n, n),
        None if first is None or first <= size[0] else first,
        power_crossing(size, low, n),
    )


def informative_points(tests: ArrayLike, rates: ArrayLike) -> NDArray[np.bool_]:
    """Which points of a curve (L,), by ascending size, say something of all tests together.

    A point at which fewer tests were asked has a lower bound of the power only. It tells nothing
    beside points at which more were: between two of them, or above one that found more.
    """
    count, rate = np.asarray(tests), np.asarray(rates, dtype=np.float64)
    keep = np.ones(len(count), dtype=bool)
    for i in range(len(count)):
        weaker = [j for j in range(i) if count[j] > count[i]]
        stronger = any(count[j] > count[i] for j in range(i + 1, len(count)))
        if weaker and (stronger or rate[i] < max(rate[j] for j in weaker)):
            keep[i] = False
    return keep


def neutral_strength(strengths: Sequence[float]) -> float:
    """The strength that changes nothing: 1 for a factor, 0 for all others."""
    return 1.0 if strengths[0] >= 1 else 0.0


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
    """Ask the tests of a classifier, from what is not clearly found downwards, then between."""
    if not methods:
        return
    experiment = curve.experiment
    listed = experiment.injection.strengths
    open_ = [
        strength
        for strength in listed
        if strength not in curve.pvalues_at or curve.power(strength) < _CLEAR
    ]
    high: float | None = next((strength for strength in listed if strength not in open_), None)
    low: float | None = None
    everything = (*_asked_of(curve, experiment.methods), *methods)
    for i, strength in enumerate(reversed(open_)):
        curve.evaluate(strength, everything, experiment.batches)
        tell(0.7 * (i + 1) / len(open_))
        power = curve.power(strength)
        if power >= POWER:
            high = strength
        elif low is None:
            low = strength
        if power < _NOTHING:
            break
    _halve(curve, everything, low, high)


def search_by_localizer(curve: SearchCurve, methods: Sequence[Method]) -> None:
    """Ask the tests of a localizer, dear to train, at the strongest defect that is not found."""
    experiment = curve.experiment
    open_ = [
        strength
        for strength in experiment.injection.strengths
        if strength not in curve.pvalues_at or curve.power(strength) < POWER
    ]
    if methods and open_:
        everything = (*_asked_of(curve, experiment.methods), *methods)
        curve.evaluate(open_[-1], everything, experiment.batches)


def _asked_of(curve: SearchCurve, methods: Sequence[Method]) -> tuple[Method, ...]:
    """The methods that have been asked anywhere."""
    rows = [~np.isnan(pvalues).all(-1) for pvalues in curve.pvalues_at.values()]
    mask = np.any(rows, axis=0) if rows else np.zeros(len(methods), bool)
    return tuple(method for method, yes in zip(methods, mask, strict=True) if yes)


def _bracket(curve: SearchCurve, strengths: Sequence[float]) -> tuple[float | None, float | None]:
    """The weakest strength from which on all are found, and the one below it."""
    low: float | None = None
    for i, strength in reversed(list(enumerate(strengths))):
        if curve.power(strength) < POWER:
            low = strength
            return low, strengths[i + 1] if i + 1 < len(strengths) else None
    return None, strengths[0]


def _halve(
    curve: SearchCurve, methods: Sequence[Method], low: float | None, high: float | None
) -> None:
    if low is None or high is None:
        return
    experiment = curve.experiment
    for _ in range(_HALVINGS):
        middle = _between(low, high, neutral_strength(experiment.injection.strengths))
        curve.evaluate(middle, methods, experiment.batches)
        low, high = (low, middle) if curve.power(middle) >= POWER else (middle, high)


def rows_factor_for_half(
    curve: SearchCurve, methods: Sequence[Method], size: float
) -> float | None:
    """How many times the rows a defect of half this size takes; None if more than 8 times.

    Ranks of rows are drawn again, with replacement and from all trials, into longer tables. Only
    tests that train no network can be asked so: a network would learn from the rows as well.
    """
    experiment = curve.experiment
    zero = neutral_strength(experiment.injection.strengths)
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
    for _ in range(_HALVINGS):
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
