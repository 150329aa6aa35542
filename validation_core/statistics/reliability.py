"""Whether stated probabilities of classes are right: reliability curve, Brier score, exact test.

If probabilities P_i of row i are right, its class is drawn from them. Given all P the classes are
then independent and of known law, so that classes can be drawn again and again: any statistic of
the observed ones ranks evenly among those of drawn ones, whatever the statistic, and the largest
of several does. p = (1 + number of drawn tables at least as extreme) / (B + 1) is exact.

So it is over x too, where x is known: given all x and P, classes are drawn alike. Over regions V
of x the check of an event is the largest |z_V| of what it happened more often than stated inside
than outside,

    z_V = (S_V - v_V / v S) / sqrt(v_V (1 - v_V / v)),   S_V = sum over V of (event - p),

v_V the sum of p (1 - p): an error in proportion to p (1 - p) cancels. It is one more check beside
those of all rows, drawn with them and stepping down with them, so that the verdict, which rejects
where any adjusted p is at most alpha, keeps its level with no further correction.

Any other error that depends on the stated probability alone (p too high by .06 in every row, say)
does not cancel: regions differ in their p. It makes the verdict right and "off more in part of x"
wrong, so that this claim has a null of its own (`pvalues_beyond_curve`): rows of about equal p
exchange what happened more often than stated, which keeps every error of the curve as it is.

References:
    Stable reliability diagrams for probabilistic classifiers, Dimitriadis, Gneiting, Jordan
    (2021), PNAS 118(8): the curve by isotonic regression, and the split of the Brier score.
    Metrics of calibration for probabilistic predictions, Arrieta-Ibarra, Gujral, Tannen, Tygert,
    Xu (2022), JMLR 23: the largest cumulative difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core.pieces import slices
from validation_core.statistics.permutation import step_down
from validation_core.types import Array, Integers

ClassLabels = Integers
Check = Literal["share", "confidence", "curve", "over_x", "surprise"]
"""Mean of an event's probability; its slope; the largest cumulative difference; the largest
contrast of a region of x; the log score."""
RegionSums = Callable[[Array], Array]
"""Sums (B, V) of values (B, N) over regions of x, of which the last is all of it."""
_NUMBERS = 4_000_000  # of drawn classes at a time
_LEAST = 1e-9  # probabilities are kept from 0 and 1 by so much under logarithms
_TINY = 1e-9
_ROOM = 2.0  # v_V (1 - v_V / v) that a region has at least: some 10 rows inside and outside
_EXCHANGED = 10  # rows of about equal stated probability
_TAIL = 0.95  # quantile of each check that they are measured in
_DRAWN = 200  # tables of events that a curve's band is made of


class Events(NamedTuple):
    """E events with their probabilities: each class, and that the most probable one is right."""

    p: Array
    """(N, E)."""
    of: tuple[int, ...]
    """(E,) the class, from 0; -1 that the most probable class is the true one."""

    def happened(
        self, classes: ClassLabels, most_probable: ClassLabels
    ) -> Iterator[NDArray[np.bool_]]:
        """For each event, whether it happened (..., N), for classes (..., N)."""
        for which in self.of:
            yield classes == (most_probable if which < 0 else which)


def events_of(p: Array) -> Events:
    """The events of probabilities (N, C): of two classes only the second, the other mirrors it."""
    if p.shape[1] == 2:
        return Events(p[:, 1:], (1,))
    return Events(np.column_stack([p, p.max(axis=1)]), (*range(p.shape[1]), -1))


class ReliabilityChecks(NamedTuple):
    """The observed classes among drawn ones."""

    of: tuple[tuple[Check, int], ...]
    """(F,) each check, and its event; -1 for the log score, which is of all classes."""
    z: Array
    """(F,) signed: above 0 where the event happened more often than stated; where confidence is
    too low; where the classes surprise more than they should; above 0 for a curve and over x."""
    adjusted: Array
    """(F,) p, stepping down: that any is at most a has chance at most a if all are right."""

    @property
    def pvalue(self) -> float:
        """Exact p-value of all checks together."""
        return float(self.adjusted.min())


def reliability_checks(
    p: Array,
    classes: ClassLabels,
    rng: np.random.Generator,
    tables: int = 999,
    regions: RegionSums | None = None,
) -> ReliabilityChecks:
    """Test whether classes (N,) were drawn from the probabilities (N, C).

    Args:
        p: rows that sum to 1.
        classes: 0 to C - 1.
        rng: draws classes.
        tables: number of tables of classes that are drawn.
        regions: sums over regions of x, that the choice of classes has no part in; None where x
            is not looked along.
    """
    measured = _Checks(p, regions)
    observed = measured.signed(classes[None])
    values = np.concatenate([
        np.abs(observed),
        *(np.abs(measured.signed(drawn)) for drawn in _drawn_in_pieces(p, tables, rng)),
    ])  # fmt: skip
    # Comparable by a scale in which all tables, the observed one among them, count alike.
    values /= np.maximum(np.quantile(values, _TAIL, axis=0), _TINY)
    return ReliabilityChecks(measured.of, observed[0], step_down(values[0], values[1:]))


class _Checks:
    """All checks of one table of probabilities, for any classes."""

    def __init__(self, p: Array, regions: RegionSums | None) -> None:
        self._log_p = np.log(np.maximum(p, _LEAST))
        self._most_probable = np.asarray(p.argmax(axis=1), np.int64)
        self._events = events_of(p)
        self._orders = [np.argsort(one, kind="stable") for one in self._events.p.T]
        mean = (p * self._log_p).sum(axis=1)
        self._surprise = -mean.sum()
        self._spread = max(
            np.sqrt(((p * np.square(self._log_p)).sum(axis=1) - np.square(mean)).sum()), _TINY
        )
        self._contrasts = (
            None
            if regions is None
            else [RegionContrasts(one, regions) for one in self._events.p.T]
        )
        over_x: tuple[Check, ...] = () if regions is None else ("over_x",)
        checks: tuple[Check, ...] = ("share", "confidence", "curve", *over_x)
        self.of: tuple[tuple[Check, int], ...] = (
            *((check, event) for event in range(len(self._events.of)) for check in checks),
            ("surprise", -1),
        )

    def signed(self, classes: ClassLabels) -> Array:
        """Standardised checks (B, F) of classes (B, N)."""
        out = []
        hits = self._events.happened(classes, self._most_probable)
        for at, (p, order, hit) in enumerate(
            zip(self._events.p.T, self._orders, hits, strict=True)
        ):
            off = hit - p
            variance = p * (1 - p)
            sd = max(float(np.sqrt(variance.sum())), _TINY)
            logit = np.log(np.maximum(p, _LEAST)) - np.log(np.maximum(1 - p, _LEAST))
            slope = logit - np.average(logit, weights=variance + _TINY)
            slope_sd = max(float(np.sqrt((variance * np.square(slope)).sum())), _TINY)
            sums = off[:, order].cumsum(axis=1)
            last = np.append(np.flatnonzero(np.diff(p[order]) > 0), len(p) - 1)
            out += [off.sum(axis=1) / sd, off @ slope / slope_sd]
            out.append(np.abs(sums[:, last]).max(axis=1) / sd)
            if self._contrasts is not None:
                out.append(np.abs(self._contrasts[at].of(off)).max(axis=1))
        rows = np.arange(len(self._log_p))
        seen = -self._log_p[rows, classes].sum(axis=1)
        out.append((seen - self._surprise) / self._spread)
        return np.stack(out, axis=1)


class RegionContrasts:
    """What an event happens more often than stated inside each region of x than outside."""

    def __init__(self, p: Array, regions: RegionSums) -> None:
        variance = regions((p * (1 - p))[None])[0]
        self._sums = regions
        self._share = variance / max(float(variance[-1]), _TINY)
        room = variance * (1 - self._share)
        self._scale = np.where(room >= _ROOM, 1 / np.sqrt(np.maximum(room, _ROOM)), 0.0)

    def of(self, off: Array) -> Array:
        """z (B, V) of how much more the event happened than stated, off (B, N); 0 for a region
        with too few rows inside or outside."""
        sums = self._sums(off)
        return np.asarray((sums - self._share * sums[:, -1:]) * self._scale)


def pvalues_beyond_curve(
    p: Array,
    classes: ClassLabels,
    rng: np.random.Generator,
    regions: RegionSums,
    tables: int = 399,
) -> Array:
    """p (E,) that each event is off alike at all rows of equal stated probability, whatever their
    x, stepping down; of the largest contrast of a region, as the check over x has it.

    Rows ordered by the event's p, in tens, exchange event - p less its mean among the ten: exact
    where the curve's error is the same for all ten.

    Args:
        p: rows (N, C) that sum to 1.
        classes: (N,) 0 to C - 1.
        rng: exchanges rows.
        regions: sums over regions of x.
        tables: number of tables whose rows are exchanged.
    """
    events, n = events_of(p), len(p)
    ten = np.arange(n) // _EXCHANGED
    values = []
    hits = events.happened(classes, np.asarray(p.argmax(axis=1), np.int64))
    for one, hit in zip(events.p.T, hits, strict=True):
        contrasts = RegionContrasts(one, regions)
        order = np.lexsort((rng.random(n), one))  # equal p at random: x may order the rows
        off = (hit - one)[order]
        off -= (np.bincount(ten, weights=off) / np.bincount(ten))[ten]
        largest = np.empty(1 + tables)
        for part in slices(1 + tables, max(1, _NUMBERS // n)):
            exchanged = (ten + rng.random((part.stop - part.start, n))).argsort(axis=1)
            if part.start == 0:  # the observed table comes first
                exchanged[0] = np.arange(n)
            among = np.empty(exchanged.shape)
            among[:, order] = off[exchanged]
            largest[part] = np.abs(contrasts.of(among)).max(axis=1)
        values.append(largest / max(float(np.quantile(largest, _TAIL)), _TINY))
    every = np.stack(values, axis=1)
    return step_down(every[0], every[1:])


def _drawn_in_pieces(p: Array, tables: int, rng: np.random.Generator) -> Iterator[ClassLabels]:
    """Classes (B, N) drawn from probabilities (N, C), some tables at a time."""
    edges = np.cumsum(p, axis=1)[:, :-1]
    for part in slices(tables, max(1, _NUMBERS // len(p))):
        u = rng.random((part.stop - part.start, len(p)))
        drawn = np.zeros(u.shape, np.int64)
        for edge in edges.T:
            drawn += u >= edge
        # Rounding of the sums must not draw a class of probability 0.
        yield np.where(p[np.arange(len(p)), drawn] > 0, drawn, p.argmax(axis=1))


def recalibrated(p: Array, happened: Array) -> Array:
    """The isotonic regression (n,) of what happened (n,) on the stated probability (n,)."""
    from scipy.optimize import isotonic_regression  # 0.3 s that most diagnoses do without

    stated, place, count = np.unique(p, return_inverse=True, return_counts=True)
    mean = np.bincount(place, weights=happened, minlength=len(stated)) / count
    return np.asarray(isotonic_regression(mean, weights=count).x)[place]


class BrierSplit(NamedTuple):
    """Brier score = reliability - resolution + uncertainty, of one event."""

    score: float
    reliability: float
    """Its loss against recalibrated probabilities: 0 if they needed no change."""
    resolution: float
    """Gain of recalibrated probabilities over one probability for all rows."""
    uncertainty: float
    """Score of one probability for all rows, the share that happened."""


def brier_split(p: Array, happened: Array) -> BrierSplit:
    """The Brier score of an event's probabilities (n,), split by isotonic regression."""
    best, share = recalibrated(p, happened), float(happened.mean())
    score, least = (float(np.square(one - happened).mean()) for one in (p, best))
    uncertainty = share * (1 - share)
    return BrierSplit(score, score - least, uncertainty - least, uncertainty)


class ReliabilityCurve(NamedTuple):
    """Share that happens against the probability that is stated, of one event."""

    happens: Array
    """(G,) on the grid, by isotonic regression; NaN outside of the stated probabilities."""
    low: Array
    """(G,) 2.5% of curves lie below, if the probabilities are right."""
    high: Array
    by_chance: float
    """Mean reliability part of the Brier score, if the probabilities are right."""


def reliability_curve(
    p: Array, happened: Array, grid: Array, rng: np.random.Generator
) -> ReliabilityCurve:
    """The reliability curve of an event's probabilities (n,) on a grid (G,), with its band."""
    curves, parts = np.empty((_DRAWN, len(grid))), np.empty(_DRAWN)
    for at in range(_DRAWN):
        drawn = (rng.random(len(p)) < p).astype(np.float64)
        best = recalibrated(p, drawn)
        curves[at] = _on_grid(p, best, grid)
        parts[at] = np.square(p - drawn).mean() - np.square(best - drawn).mean()
    low, high = np.quantile(curves, [0.025, 0.975], axis=0)
    seen = _on_grid(p, recalibrated(p, happened), grid)
    return ReliabilityCurve(seen, low, high, float(parts.mean()))


def _on_grid(p: Array, best: Array, grid: Array) -> Array:
    order = np.argsort(p, kind="stable")
    values = np.interp(grid, p[order], best[order])
    return np.where((grid < p.min()) | (grid > p.max()), np.nan, values)


def pooled_shares(truth: Array, draws: Array) -> tuple[Array, ClassLabels, Array]:
    """Shares of each value among a discrete parameter's slots: truth (N,) and draws (N, K).

    If q is right, the truth is any of a row's K + 1 slots: given the slots, its value is drawn
    from their shares, so that `reliability_checks` of these is exact, draws of q or not.

    Returns:
        shares (N, C), the class of each truth (N,), and the C values.
    """
    slots = np.concatenate([truth[:, None], draws], axis=1)
    values, place = np.unique(slots, return_inverse=True)
    place = place.reshape(slots.shape)
    shares = np.stack([(place == c).mean(axis=1) for c in range(len(values))], axis=1)
    return shares, np.asarray(place[:, 0], np.int64), values
