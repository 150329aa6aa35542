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
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from validation_core.omnibus.slots import Pools, SlotScore, normal
from validation_core.types import Array

Kind = Literal["mean", "width", "shape", "pair", "score"]
Family = Literal[
    "means", "widths", "shapes", "pairs", "norm", "densities", "learned",
    "over_x", "learned_over_x", "observation",
]  # fmt: skip

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


@dataclass(frozen=True, eq=False)
class Block:
    """Features of the slots of some rows."""

    rows: NDArray[np.int64]
    """(n,) of the table."""
    features: tuple[Feature, ...]
    values: NDArray[np.float32]
    """(F, E) of all slots of all pools, mean 0 over every pool."""
    variance: NDArray[np.float32]
    """(F, n) of each row, over its pool."""
    mean: NDArray[np.float32]
    """(F, n) of each row, over its pool, that the values have been freed of."""
    names: tuple[tuple[str, int], ...]
    """Of whom, and of which parameter, the scores are that they are made of."""
    of: NDArray[np.int64]
    """(F,) which of what `measured` gives of these scores."""

    @property
    def over(self) -> NDArray[np.int64]:
        """Features that are looked at over x."""
        return np.array([i for i, one in enumerate(self.features) if one.over_x], np.int64)

    def some(self, which: NDArray[np.int64], family: Family | None = None) -> Block:
        """Some of the features in this order, as features of another family where one is given."""
        features = tuple(self.features[i] for i in which)
        if family is not None:
            features = tuple(replace(one, family=family, over_x=False) for one in features)
        return Block(
            self.rows, features, self.values[which], self.variance[which], self.mean[which],
            self.names, self.of[which],
        )  # fmt: skip

    def truths(self, scores: Sequence[SlotScore]) -> NDArray[np.float32]:
        """Features (F, T, n) of truths with scores u (T, n), beside these rows' pools."""
        return measured(scores)[1][self.of] - self.mean[:, None]


Of = Callable[[Array], Array]

_MARGINAL: tuple[tuple[Kind, Of, bool], ...] = (
    ("mean", lambda u: ndtri(u), True),
    ("width", lambda u: ndtri(np.clip(np.abs(2 * u - 1), _EDGE, 1 - _EDGE)), True),
    ("width", lambda u: ndtri(u) ** 2 - 1, False),
    ("shape", lambda u: ndtri(u) ** 3 - 3 * ndtri(u), False),
    ("shape", lambda u: (np.abs(2 * u - 1) > _OUTER) * 1.0, False),
)


def of_score(score: SlotScore) -> tuple[list[Feature], list[Array]]:
    """The functions of one score's ranks, and their values (E,)."""
    features: list[Feature] = []
    values: list[Array] = []
    own = () if score.which < 0 else (score.which,)
    if score.of in ("theta", "norm"):
        family: dict[str, Family] = {"mean": "means", "width": "widths", "shape": "shapes"}
        for kind, function, over in _MARGINAL:
            group: Family = "norm" if score.of == "norm" else family[kind]
            features.append(Feature(group, kind, score.of, own, over_x=over))
            values.append(function(score.u))
        return features, values
    group = "learned" if score.of in LEARNED else "densities"
    sided = score.of in RATIOS
    features.append(Feature(group, "score", score.of, own, one_sided=sided, over_x=True))
    values.append(ndtri(score.u))
    for step in _STEPS:
        features.append(Feature(group, "score", score.of, own))
        values.append((score.u > step) * 1.0)
    if score.raw is not None:
        features.append(Feature(group, "score", score.of, own, one_sided=True))
        values.append(score.raw)
    return features, values


def measured(scores: Sequence[SlotScore]) -> tuple[tuple[Feature, ...], NDArray[np.float32]]:
    """All functions of these scores, and their values (F, ...) at ranks u (...)."""
    features: list[Feature] = []
    values: list[Array] = []
    for score in scores:
        some, numbers = of_score(score)
        features += some
        values += [np.asarray(one, np.float32) for one in numbers]
    theta = [score for score in scores if score.of == "theta"]
    if len(theta) > 1:
        wide = [
            one for feature, one in zip(features, values, strict=True)
            if feature.of == "theta" and feature.kind == "width" and feature.over_x
        ]  # fmt: skip
        features.append(Feature("widths", "width", "theta", over_x=True))  # of all together
        values.append(np.sum(wide, axis=0))
    if 1 < len(theta) <= _PAIRED_OVER_X:
        z = [normal(score.u) for score in theta]
        for a, b in combinations(range(len(theta)), 2):
            which = (theta[a].which, theta[b].which)
            features.append(Feature("pairs", "pair", "theta", which, over_x=True))
            values.append(z[a] * z[b])
    return tuple(features), np.stack(values).astype(np.float32)


def block(pools: Pools, rows: NDArray[np.int64], scores: Sequence[SlotScore]) -> Block:
    """All features of these scores, which say something of these rows."""
    features, values = measured(scores)
    names = tuple((score.of, score.which) for score in scores)
    every = np.arange(len(features))
    return Block(rows, features, *_centred(values, pools, rows), names, every)


def near(pools: Pools, rows: NDArray[np.int64], scores: Sequence[SlotScore]) -> Block:
    """Place and width of every parameter at the rows nearest to an observation."""
    whole = block(pools, rows, [score for score in scores if score.of in ("theta", "norm")])
    some = [i for i, one in enumerate(whole.features) if one.kind in ("mean", "width")]
    return whole.some(np.array(some), "observation")


def _centred(
    values: NDArray[np.float32], pools: Pools, rows: NDArray[np.int64]
) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
    """Values (F, E) less their mean over each pool, and variances and means (F, n) there."""
    first, inverse = np.unique(pools.first, return_inverse=True)
    size = np.diff(np.append(first, pools.total))
    with np.errstate(invalid="ignore"):  # NaN where a score says nothing of a row
        mean = np.add.reduceat(values, first, axis=1, dtype=np.float64) / size
        centred = values - np.repeat(mean, size, axis=1).astype(np.float32)
        variance = np.add.reduceat(np.square(centred), first, axis=1, dtype=np.float64) / size
    here = inverse[rows]
    return centred, variance[:, here].astype(np.float32), mean[:, here].astype(np.float32)
