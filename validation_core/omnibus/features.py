"""What is summed over rows: functions of a slot's ranks, each with mean 0 over its pool.

    mean     Phi^-1(u): above 0 where the truth lies above q's draws, so that q sits too low
    width    Phi^-1(|2 u - 1|) and Phi^-1(u)^2 - 1: above 0 where q is too narrow
    shape    third and fourth Hermite polynomial and the outermost ranks: skew and tails
    pair     product of two parameters' scores: correlation that q lacks, or has too much
    score    of a learned score, one-sided as high looks like the truth; and steps 1{u > c}

What a function's mean over the slots of a row is, and its variance, holds for every labelling.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from validation_core.omnibus.slots import Pools, SlotScore, normal
from validation_core.types import Array

Kind = Literal["mean", "width", "shape", "pair", "score"]
Family = Literal[
    "means",
    "widths",
    "shapes",
    "pairs",
    "norm",
    "densities",
    "learned",
    "over_x",
    "learned_over_x",
    "observation",
]

LEARNED = ("classifier", "slots", "dc", "colt", "tarp")
"""Scores that are learned on other rows, by name."""
RATIOS = ("classifier", "slots", "dc", "log_ratio")  # high looks like the truth
_STEPS = (0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95, 0.98)
_OUTER = 0.96  # of |2 u - 1|
_EDGE = 1e-6
_PAIRED_OVER_X = 6  # parameters up to which their products are looked at over x


@dataclass(frozen=True)
class Feature:
    """One function of a slot."""

    family: Family
    kind: Kind
    of: str
    which: tuple[int, ...] = ()
    one_sided: bool = False
    over_x: bool = False
    """Whether it is looked at over x too; its first function of each kind is."""


Of = Callable[[Array], Array | NDArray[np.bool_]]
Valued = tuple[Feature, Callable[[], Array | NDArray[np.bool_]]]
"""A feature, and what works out its values (E,)."""


@dataclass(frozen=True, eq=False)
class Block:
    """Features of the slots of some rows."""

    rows: NDArray[np.int64]
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
    """Of whom, and of which parameter, the scores are that they are made of."""
    measured: Callable[[Sequence[SlotScore]], list[Valued]]
    """The features of scores."""

    def truths(
        self, scores: Sequence[SlotScore]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Features (n, T, F') and (n, T, F - F') of truths with scores u (T, n) beside these
        rows' pools."""
        entries = _ordered(self.measured(scores))
        out = np.empty((*scores[0].u.shape[::-1], len(entries)), np.float32)
        for at, (_, function) in enumerate(entries):
            out[..., at] = np.asarray(function(), np.float32).T - self.mean[:, at, None]
        return np.ascontiguousarray(out[..., : self.over]), out[..., self.over :]

    @property
    def over(self) -> int:
        """F'."""
        return self.values.shape[1]

    @property
    def means(self) -> int:
        """Places of parameters, which come first of all."""
        return sum(feature.family == "means" for feature in self.features)


def width(u: Array) -> Array:
    """Normal scores of |2 u - 1|: above 0 where u is farther out than half of all are."""
    return normal(np.clip(np.abs(2 * u - 1), _EDGE, 1 - _EDGE))


def _skew(u: Array) -> Array:
    z = normal(u)
    return z * (np.square(z) - 3)


_MARGINAL: tuple[tuple[Kind, Of, bool], ...] = (
    ("mean", normal, True),
    ("width", width, True),
    ("width", lambda u: np.square(normal(u)) - 1, False),
    ("shape", _skew, False),
    ("shape", lambda u: np.abs(2 * u - 1) > _OUTER, False),
)


def of_score(score: SlotScore) -> list[Valued]:
    """The functions of one score's ranks."""
    own = () if score.which < 0 else (score.which,)
    u = score.u
    if score.of in ("theta", "norm"):
        family: dict[str, Family] = {"mean": "means", "width": "widths", "shape": "shapes"}
        return [
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
    group: Family = "learned" if score.of in LEARNED else "densities"
    sided = score.of in RATIOS
    some: list[Valued] = [
        (Feature(group, "score", score.of, own, one_sided=sided, over_x=True), partial(normal, u))
    ]
    some += [
        (Feature(group, "score", score.of, own), partial(np.greater, u, step)) for step in _STEPS
    ]
    if score.raw is not None:
        raw = score.raw
        some.append((Feature(group, "score", score.of, own, one_sided=True), lambda: raw))
    return some


def near(pools: Pools, rows: NDArray[np.int64], scores: Sequence[SlotScore]) -> Block:
    """Place and width of every parameter at the rows nearest to an observation."""

    def measured(scores: Sequence[SlotScore]) -> list[Valued]:
        entries = [
            (replace(feature, family="observation", over_x=False), values)
            for score in scores
            for feature, values in of_score(score)
            if feature.kind in ("mean", "width")
        ]
        return [*entries, *_together(scores, "observation", over_x=False)]

    some = [score for score in scores if score.of in ("theta", "norm")]
    return _block(pools, rows, some, measured)


def block(pools: Pools, rows: NDArray[np.int64], scores: Sequence[SlotScore]) -> Block:
    """All features of these scores, which say something of these rows."""
    return _block(pools, rows, scores, _measured)


def _measured(scores: Sequence[SlotScore]) -> list[Valued]:
    entries = [entry for score in scores for entry in of_score(score)]
    entries += _together(scores, "widths", over_x=True)
    theta = [score for score in scores if score.of == "theta"]
    if 1 < len(theta) <= _PAIRED_OVER_X:
        for a, b in combinations(theta, 2):
            pair = Feature("pairs", "pair", "theta", (a.which, b.which), over_x=True)
            entries.append((pair, partial(_product, a, b)))
    return entries


def _together(scores: Sequence[SlotScore], family: Family, *, over_x: bool) -> list[Valued]:
    """The width of all parameters together, where there are several."""
    theta = [score for score in scores if score.of == "theta"]

    def wide() -> Array:
        out = np.zeros(theta[0].u.shape, np.float32)
        for score in theta:
            out += width(score.u)
        return out

    return [(Feature(family, "width", "theta", over_x=over_x), wide)] if len(theta) > 1 else []


def _product(a: SlotScore, b: SlotScore) -> Array:
    return normal(a.u) * normal(b.u)


def _ordered(every: Sequence[Valued]) -> list[Valued]:
    return sorted(every, key=lambda one: (one[0].family != "means", not one[0].over_x))


def _block(
    pools: Pools,
    rows: NDArray[np.int64],
    scores: Sequence[SlotScore],
    measured: Callable[[Sequence[SlotScore]], list[Valued]],
) -> Block:
    """Features in their order, one after the other: of large tables two copies would not fit."""
    entries = _ordered(measured(scores))
    first, inverse = np.unique(pools.first, return_inverse=True)
    size = np.diff(np.append(first, pools.total))
    over = sum(feature.over_x for feature, _ in entries)
    values = np.empty((pools.total, over), np.float32)
    others = np.empty((pools.total, len(entries) - over), np.float32)
    variance, mean = (np.empty((len(rows), len(entries)), np.float32) for _ in range(2))
    for at, (_, function) in enumerate(entries):
        column = np.array(function(), np.float32)
        with np.errstate(invalid="ignore"):  # NaN where a score says nothing of a row
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
