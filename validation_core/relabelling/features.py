"""Features of slots: functions of their ranks and magnitudes, which have mean 0 over a pool.

mean     Phi^-1(u): above 0 where the truth lies above q's draws, so that q sits too low
width    Phi^-1(|2 u - 1|) and Phi^-1(u)^2 - 1: above 0 where q is too narrow
shape    third and fourth Hermite polynomial and the outermost ranks: skew and tails
pair     product of two parameters' scores: correlation that q lacks, or has too much
far      distance from the row's median, and whether it is gross: outliers
gap      log distance to the nearest other slot: draws that are rounded or repeated
score    of a learned score, one-sided as high looks like the truth; and steps 1{u > c}
own      of a user's own quantity: place, width and the outermost ranks
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core.relabelling.families import (
    LEARNED,
    OWN,
    RATIOS,
    WEIGHT,
    Family,
    StatisticKind,
)
from validation_core.relabelling.magnitudes import FAR
from validation_core.relabelling.normal_scores import normal_scores, width_scores
from validation_core.relabelling.pools import Pools, SlotRanks
from validation_core.types import Array, Integers

_STEPS = (0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95, 0.98)
_OUTER = 0.96  # of |2 u - 1|
_PAIRED_OVER_X = 6  # parameters up to which their products are tested over x


@dataclass(frozen=True)
class Feature:
    """One function of a slot."""

    family: Family
    kind: StatisticKind
    of: str
    which: tuple[int, ...] = ()
    one_sided: bool = False
    over_x: bool = False
    """Whether it is tested over x too; the first function of each kind is."""
    counts: bool = False
    """Whether it is 1 or 0: where it is seldom 1, the law of its sum is Poisson's."""
    mean_moves: bool = False
    """Whether its mean over a pool changes where one slot is moved: that of a rank does not."""


RankFunction = Callable[[Array], Array | NDArray[np.bool_]]
Valued = tuple[Feature, Callable[[], Array | NDArray[np.bool_]]]
"""A feature, and the function that computes its values (E,)."""


class MovedSlots(NamedTuple):
    """Slots that were moved and then play the truth."""

    places: Integers
    """(T, n) among all slots of all pools."""
    share: NDArray[np.float32]
    """(n,) of its pool that one slot is."""


class Truths(NamedTuple):
    """Features of truths, less their mean over the pool that each is in."""

    values: NDArray[np.float32]
    """(n, T, F') of those that are looked at over x."""
    sums: NDArray[np.float32]
    """(T, F - F') over rows of the others."""
    raised: NDArray[np.float32]
    """(T, F - F') by how much these are expected to be more than beside the pools as they were."""


@dataclass(frozen=True, eq=False)
class Block:
    """Features of the slots of some rows."""

    rows: Integers
    """(n,) of the table."""
    features: tuple[Feature, ...]
    values: NDArray[np.float32]
    """(E, F') of all slots of all pools, mean 0 over every pool, of the features that are looked
    at over x, which come first; one slot's stand together, so that a labelling gathers rows."""
    others: NDArray[np.float32]
    """(E, F - F') of the other features."""
    variance: NDArray[np.float32]
    """(n, F) of each row, over its pool."""
    mean: NDArray[np.float32]
    """(n, F) of each row, over its pool, that the values have been freed of."""
    names: tuple[tuple[str, int], ...]
    """Name and parameter of each score that the features are functions of."""
    measured: Callable[[Sequence[SlotRanks]], list[Valued]]
    """The features of scores."""

    def truths(self, scores: Sequence[SlotRanks], moved: MovedSlots | None = None) -> Truths:
        """Features of truths beside these rows' pools.

        Args:
            scores: u (T, n) of truths; or of whole pools, the truth first (P, T, n).
            moved: the slots that the truths are, where they were moved.
        """
        entries = _ordered(self.measured(scores))
        trials, n = scores[0].u.shape[-2:]
        values = np.empty((n, trials, self.over), np.float32)
        sums, raised = (np.zeros((trials, len(entries) - self.over), np.float32) for _ in range(2))
        column = np.empty((n, trials), np.float32)
        for at, (feature, function) in enumerate(entries):
            every, mean = np.asarray(function(), np.float32), self.mean[:, at, None]
            higher: NDArray[np.float32] | None = None  # mean of the pool with the truth in it
            if every.ndim == 3:
                higher = every.mean(axis=0).T - mean
                every = every[0]
            np.subtract(every.T, mean, out=column)
            if higher is None and moved is not None and feature.mean_moves:
                before, place = (
                    (self.values, at) if at < self.over else (self.others, at - self.over)
                )
                higher = (column - before[moved.places, place].T) * moved.share[:, None]
            if higher is not None:
                column -= higher
            if at < self.over:
                values[..., at] = column
            else:
                sums[:, at - self.over] = column.sum(axis=0)
                if higher is not None:
                    raised[:, at - self.over] = higher.sum(axis=0)
        return Truths(values, sums, raised)

    @property
    def over(self) -> int:
        """F'."""
        return self.values.shape[1]

    @property
    def parameters(self) -> list[int]:
        """Those that its scores are of."""
        return [which for of, which in self.names if of == "theta"]

    @property
    def means(self) -> int:
        """Places of parameters, which come first of all."""
        return sum(feature.family == "means" for feature in self.features)


def _skew(u: Array) -> Array:
    z = normal_scores(u)
    return z * (np.square(z) - 3)


_MARGINAL: tuple[tuple[StatisticKind, RankFunction, bool], ...] = (
    ("mean", normal_scores, True),
    ("width", width_scores, True),
    ("width", lambda u: np.square(normal_scores(u)) - 1, False),
    ("shape", _skew, False),
    ("shape", lambda u: np.abs(2 * u - 1) > _OUTER, False),
)


def _score_features(score: SlotRanks) -> list[Valued]:
    """Features of one score's ranks."""
    own = () if score.which < 0 else (score.which,)
    u = score.u
    if score.of in ("theta", "norm"):
        family: dict[str, Family] = {"mean": "means", "width": "widths", "shape": "shapes"}
        ranked: list[Valued] = [
            (
                Feature(
                    "norm" if score.of == "norm" else family[kind],
                    kind,
                    score.of,
                    own,
                    over_x=over,
                ),
                partial(function, u),
            )
            for kind, function, over in _MARGINAL
        ]
        return ranked + _magnitude_features(score)
    if score.of == OWN:
        return [
            (Feature("own", kind, OWN, own, over_x=over), partial(function, u))
            for kind, function, over in _MARGINAL
            if function is not _skew
        ]
    group: Family = "learned" if score.of in LEARNED else "densities"
    group = "weights" if score.of == WEIGHT else group
    sided = score.of in RATIOS
    some: list[Valued] = [
        (
            Feature(group, "score", score.of, own, one_sided=sided, over_x=True),
            partial(normal_scores, u),
        )
    ]
    some += [
        (Feature(group, "score", score.of, own), partial(np.greater, u, step)) for step in _STEPS
    ]
    if score.raw is not None:
        raw = score.raw
        ratio = Feature(group, "score", score.of, own, one_sided=True, mean_moves=True)
        some.append((ratio, lambda: raw))
    return some


def _magnitude_features(score: SlotRanks) -> list[Valued]:
    """Features of how far out a parameter's slots lie, and how near to one another."""
    if score.magnitude is None:
        return []
    far, gap, own = score.magnitude.far, score.magnitude.gap, (score.which,)
    distance = Feature("outliers", "far", score.of, own, mean_moves=True)
    entries: list[Valued] = [
        (replace(distance, counts=True), partial(np.greater, far, bound)) for bound in FAR
    ]
    entries.append((distance, partial(np.log1p, far)))
    entries.append((replace(distance, family="spacing", kind="gap"), lambda: gap))
    return entries


def features_near(pools: Pools, rows: Integers, scores: Sequence[SlotRanks]) -> Block:
    """Place and width of every parameter at the rows nearest to an observation."""

    def measured(scores: Sequence[SlotRanks]) -> list[Valued]:
        entries = [
            (replace(feature, family="observation", over_x=False), values)
            for score in scores
            for feature, values in _score_features(score)
            if feature.kind in ("mean", "width")
        ]
        return [*entries, *_joint_width(scores, "observation", over_x=False)]

    some = [score for score in scores if score.of in ("theta", "norm")]
    return _block(pools, rows, some, measured)


def feature_block(pools: Pools, rows: Integers, scores: Sequence[SlotRanks]) -> Block:
    """All features of these scores at these rows."""
    return _block(pools, rows, scores, _all_features)


def over_x_block(pools: Pools, rows: Integers, scores: Sequence[SlotRanks]) -> Block:
    """Those that are looked at over x alone."""

    def measured(scores: Sequence[SlotRanks]) -> list[Valued]:
        return [entry for entry in _all_features(scores) if entry[0].over_x]

    return _block(pools, rows, scores, measured)


def _all_features(scores: Sequence[SlotRanks]) -> list[Valued]:
    entries = [entry for score in scores for entry in _score_features(score)]
    entries += _joint_width(scores, "widths", over_x=True)
    theta = [score for score in scores if score.of == "theta"]
    if 1 < len(theta) <= _PAIRED_OVER_X:
        for a, b in combinations(theta, 2):
            which = (a.which, b.which)
            pair = Feature("pairs", "pair", "theta", which, over_x=True, mean_moves=True)
            entries.append((pair, partial(_product, a, b)))
    return entries


def _joint_width(scores: Sequence[SlotRanks], family: Family, *, over_x: bool) -> list[Valued]:
    """The width of all parameters together, where there are several."""
    theta = [score for score in scores if score.of == "theta"]

    def wide() -> Array:
        out = np.zeros(theta[0].u.shape, np.float32)
        for score in theta:
            out += width_scores(score.u)
        return out

    return [(Feature(family, "width", "theta", over_x=over_x), wide)] if len(theta) > 1 else []


def _product(a: SlotRanks, b: SlotRanks) -> Array:
    return normal_scores(a.u) * normal_scores(b.u)


def _ordered(every: Sequence[Valued]) -> list[Valued]:
    return sorted(every, key=lambda one: (one[0].family != "means", not one[0].over_x))


def _block(
    pools: Pools,
    rows: Integers,
    scores: Sequence[SlotRanks],
    measured: Callable[[Sequence[SlotRanks]], list[Valued]],
) -> Block:
    """Features in their order, one after the other: of large tables two copies would not fit."""
    entries = _ordered(measured(scores))
    first, size, inverse = pools.distinct
    over = sum(feature.over_x for feature, _ in entries)
    values = np.empty((pools.total, over), np.float32)
    others = np.empty((pools.total, len(entries) - over), np.float32)
    variance, mean = (np.empty((len(rows), len(entries)), np.float32) for _ in range(2))
    for at, (_, function) in enumerate(entries):
        column = np.array(function(), np.float32)
        with np.errstate(invalid="ignore"):  # NaN where a row has no score
            middle = np.add.reduceat(column, first, dtype=np.float64) / size
            column -= np.repeat(middle, size)
            squares = np.add.reduceat(np.square(column), first, dtype=np.float64) / size
        if at < over:
            values[:, at] = column
        else:
            others[:, at - over] = column
        variance[:, at], mean[:, at] = squares[inverse[rows]], middle[inverse[rows]]
    names = tuple((score.of, score.which) for score in scores)
    features = tuple(feature for feature, _ in entries)
    return Block(rows, features, values, others, variance, mean, names, measured)
