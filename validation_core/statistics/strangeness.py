"""How strange an observation is among simulations, with an exact conformal p-value.

A strangeness is a number for each x, learnt from a bag of x whose order does not matter. One
observation joins the bag itself (full conformal): under the null it and the n simulations are
exchangeable, so its rank among n + 1 strangenesses is uniform, whatever the strangeness and
however badly it is learnt. Several observations would hide one another in such a bag: for them
it is learnt from one half of the simulations and they are ranked among the other half (split
conformal).

The strangenesses are joined before they are ranked: each x has the smallest share of the bag
that is as strange as it is in one of them. That is again a strangeness that treats the bag alike,
so its rank is exact as well, and nothing is paid to Bonferroni.

References:
    Vovk, Gammerman, Shafer (2005), Algorithmic learning in a random world.
    Bates, Candès, Lei, Romano, Sesia (2023), Testing for outliers with conformal p-values.
    Marandon, Lei, Mary, Roquain (2024), Adaptive novelty detection with false discovery rate
    guarantee (Benjamini-Hochberg over p-values of one bag).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from validation_core.statistics.permutation import share_beyond
from validation_core.types import Array, Float, Integers

NEIGHBOURS = 5
"""The neighbour whose distance is the strangeness of a point."""
FEWEST = 20
"""Simulations below which no strangeness is told: 1 in 21 is the smallest p."""
_JOINT = 1999  # subsets of the joint test
_TAIL = 0.05  # of a column's values beyond its scale, at either side
_CONSTANT = 1e-9  # spread of a column that is called constant, of its largest number


@dataclass(frozen=True, eq=False)
class Strangeness:
    """Conformal p-values of J observations among n simulations."""

    pvalue: Float
    """(J,): of all strangenesses together; exact."""
    parts: Mapping[str, Float]
    """(J,) p-values of each strangeness by itself, by name."""
    coordinates: Float
    """(J, M): share of the simulations that lie as far out in any coordinate as this one in that,
    alone or given the others; it allows for all M."""
    alone: Float
    """(J, M): the same of the coordinates alone."""
    deviations: Float
    """(J, M): each coordinate's distance from the median, in sds of the side it lies on."""
    residuals: Float
    """(J, M): each coordinate's distance from what the others predict by a line, in sds."""
    values: Mapping[str, tuple[Float, Float]]
    """Strangenesses of the simulations (n,) and of the observations (J,), by name."""
    joint: float | None
    """Of all J together; None for one."""
    n: int
    """Simulations that the observations are ranked among."""
    learnt: int
    """Simulations that the strangenesses are learnt from."""

    @property
    def as_strange(self) -> tuple[int, ...]:
        """Number of simulations (J,) that are at least as strange; ties are broken at random."""
        return tuple(round(float(p) * (self.n + 1)) - 1 for p in self.pvalue)

    @property
    def adjusted(self) -> Float:
        """The p-values by Benjamini and Hochberg: the share of wrong claims among all is held."""
        return benjamini_hochberg(self.pvalue)

    @property
    def overall(self) -> float:
        """p-value of all J: of several, twice the smaller of the joint one and the smallest
        adjusted one, which is Simes's (Bonferroni over the two)."""
        least = float(self.adjusted.min())
        return least if self.joint is None else min(1.0, 2 * min(least, self.joint))

    def unlike(self, alpha: float) -> Integers:
        """Places of those that are unlike the simulations where `overall` has level alpha: of
        several, half of it is the joint test's."""
        return np.flatnonzero(self.adjusted <= (alpha if self.joint is None else alpha / 2))


def benjamini_hochberg(pvalues: Array) -> Float:
    """Adjusted p-values (J,) under which claims at level a have a false discovery rate of a.

    >>> benjamini_hochberg(np.array([0.01, 0.04, 0.03, 0.5]))
    array([0.04      , 0.05333333, 0.05333333, 0.5       ])
    """
    p = np.asarray(pvalues, dtype=np.float64)
    order = np.argsort(-p, kind="stable")
    ranked = p[order] * len(p) / np.arange(len(p), 0, -1)
    out = np.empty(len(p))
    out[order] = np.minimum(np.minimum.accumulate(ranked), 1.0)
    return out


def strangeness(
    x: Array, x_o: Array, rng: np.random.Generator, *, summaries: tuple[Array, Array] | None = None
) -> Strangeness:
    """Rank observations among simulations by how strange they are.

    Args:
        x: simulations (n, M), finite.
        x_o: observations (J, M), finite.
        rng: of ties, of the split where J > 1, and of the joint test's subsets.
        summaries: further quantities of the simulations (n, S) and of the observations (J, S),
            which count as one strangeness more.

    Raises:
        ValueError: for fewer than 20 simulations.
    """
    n, several = len(x), len(x_o) > 1
    if n < FEWEST:
        raise ValueError(
            f"An observation is ranked among at least {FEWEST} simulations; got {n}. Bring more."
        )
    half = rng.permutation(n) if several else np.arange(n)
    learn, held = (half[: n // 2], half[n // 2 :]) if several else (half[:0], half)
    found = _scores(x[learn], x[held], x_o)
    scores = found.by_name
    if summaries is not None:
        of_x, of_o = (np.asarray(part, dtype=np.float64) for part in summaries)
        more = _scores(of_x[learn], of_x[held], of_o).by_name
        scores["summaries"] = _joined([*more.values()])
    count = len(held)
    together = _joined([*scores.values()])
    farthest = scores["coordinates"]
    seen = found.deviations[count:], found.residuals[count:]
    return Strangeness(
        pvalue=conformal_pvalues(together[:count], together[count:], rng),
        parts={
            name: conformal_pvalues(score[:count], score[count:], rng)
            for name, score in scores.items()
        },
        coordinates=_beyond(np.maximum(*map(np.abs, seen)), farthest[:count]),
        alone=_beyond(np.abs(seen[0]), farthest[:count]),
        deviations=seen[0],
        residuals=seen[1],
        values={name: (score[:count], score[count:]) for name, score in scores.items()},
        joint=_joint_pvalue(together, len(x_o), rng) if several else None,
        n=count,
        learnt=len(learn) if several else n,
    )


def _beyond(out: Array, farthest: Array) -> Float:
    """The share (J, M) of simulations (n,) that are as far out anywhere as each number (J, M)."""
    return np.stack([share_beyond(row, farthest) for row in out])


def conformal_pvalues(held: Array, seen: Array, rng: np.random.Generator) -> Float:
    """Conformal p-values (J,): (1 + number stranger + random place among ties) / (n + 1).

    Uniform on 1 / (n + 1), .., 1 where the seen value is exchangeable with the held ones.

    Args:
        held: strangenesses of simulations (n,).
        seen: strangenesses of observations (J,).
        rng: breaks ties.
    """
    ordered = np.sort(held)
    below = np.searchsorted(ordered, seen, side="left")
    ties = np.searchsorted(ordered, seen, side="right") - below
    stranger = len(held) - below - ties
    return (1 + stranger + rng.integers(0, ties + 1)) / (len(held) + 1)


class _Scores(NamedTuple):
    """Strangenesses (n + J,) by name, and each coordinate's distances (n + J, M)."""

    by_name: dict[str, Float]
    deviations: Float
    residuals: Float


def _scores(learn: Array, held: Array, seen: Array) -> _Scores:
    """Strangenesses of held and seen rows, learnt from `learn`; where there are none, from all."""
    bag = np.concatenate([held, seen]).astype(np.float64)
    size = np.abs(np.concatenate([learn, bag])).max(0)  # no square of such numbers overflows
    size = np.where(size > 0, size, 1.0)
    bag = bag / size
    known = learn / size if len(learn) else bag
    deviations = deviations_from_median(known, bag)
    middle, scale = known.mean(0), _spread(known)
    known, at = (known - middle) / scale, (bag - middle) / scale
    shrunk = ShrunkCovariance(known)
    residuals = shrunk.residuals(at)
    by_name = {
        "mahalanobis": shrunk.mahalanobis(at),
        "neighbours": _neighbour_distance(known, at, own=not len(learn)),
        "coordinates": np.maximum(np.abs(deviations), np.abs(residuals)).max(1, initial=0.0),
    }
    return _Scores(by_name, deviations, residuals)


def _spread(rows: Array) -> Float:
    """sd (M,) of columns of size 1; of a constant one so little that other values are far."""
    sd = rows.std(0)
    return np.where(sd > _CONSTANT, sd, _CONSTANT)


def deviations_from_median(learn: Array, at: Array) -> Float:
    """Distances (n, M) of each column from its median, in sds of the side they lie on.

    The scale is the tail's own, so that a skewed column has no strange side: the distance of its
    5% or 95% quantile, by that of a normal; where a side has none, the column's sd.
    """
    low, middle, high = np.quantile(learn, [_TAIL, 0.5, 1 - _TAIL], axis=0)
    sd = np.maximum(learn.std(0), _CONSTANT * np.abs(learn).max(0))
    sd = np.where(sd > 0, sd, 1.0)
    normal = 1.6448536269514722
    below, above = (
        np.where(side > 0, side / normal, sd) for side in (middle - low, high - middle)
    )
    away = at - middle
    return away / np.where(away < 0, below, above)


class ShrunkCovariance:
    """Ledoit and Wolf's covariance of rows (m, M), by its eigenvectors.

    scikit-learn's is the same (its `ledoit_wolf`), but takes over a second to be
    imported, which is longer than all of the answer, and inverts a matrix of M columns.

    References:
        Ledoit, Wolf (2004), A well-conditioned estimator for large-dimensional covariance
        matrices.
    """

    def __init__(self, rows: Array) -> None:
        m, columns = rows.shape
        self.mean = rows.mean(0)
        centred = rows - self.mean
        wide = columns > m  # then the nonzero eigenvalues are those of the rows' products
        value, vector = np.linalg.eigh((centred @ centred.T if wide else centred.T @ centred) / m)
        value = np.maximum(value, 0)
        if wide:
            some = value > 1e-10 * value[-1]
            value, vector = value[some], centred.T @ vector[:, some] / np.sqrt(m * value[some])
        mean = float(value.sum()) / columns
        squares = float(np.square(value).sum())
        noise = (float(np.square(np.square(centred).sum(1)).sum()) / m - squares) / (columns * m)
        distance = squares / columns - mean**2
        shrunk = min(noise, distance) / distance if distance > 0 and noise > 0 else 0.0
        shrunk = max(shrunk, 1e-9)
        floor = max(shrunk * mean, 1e-300)
        self._least = 1 / floor
        self._more = 1 / ((1 - shrunk) * value + floor) - self._least
        self._vector = vector

    def mahalanobis(self, at: Array) -> Float:
        """Squared Mahalanobis distances (n,) of rows (n, M) from the mean."""
        away = at - self.mean
        turned = np.square(away @ self._vector)
        return np.asarray(np.square(away).sum(1) * self._least + turned @ self._more)

    def residuals(self, at: Array) -> Float:
        """Distances (n, M) of each column from what the others predict by a line, in sds.

        The inverse covariance P has them: (P x)_j / sqrt(P_jj) is the residual of column j.
        """
        away = at - self.mean
        scaled = away * self._least + (away @ self._vector * self._more) @ self._vector.T
        own = self._least + np.square(self._vector) @ self._more
        return np.asarray(scaled / np.sqrt(np.maximum(own, 1e-300)))


def _neighbour_distance(learn: Array, at: Array, *, own: bool) -> Float:
    """Distance (n,) of each row to its fifth nearest other; `own`: both are the same rows."""
    squares = np.square(learn).sum(1)
    apart = squares - 2 * at @ learn.T + np.square(at).sum(1)[:, None]
    if own:
        np.fill_diagonal(apart, np.inf)
    place = min(NEIGHBOURS, len(learn) - own) - 1
    return np.sqrt(np.maximum(np.partition(apart, place, axis=1)[:, place], 0))


def _joined(scores: list[Float]) -> Float:
    """One strangeness (n,) of several (n,): the smallest share of rows that are as strange.

    Where these are equal, the product of all shares decides.
    """
    n = len(scores[0])
    shares = np.stack([_share_as_large(score) for score in scores])
    product = -np.log(shares).mean(0) / np.log(n + 1)  # in [0, 1)
    return -shares.min(0) + 0.5 * product / n


def _share_as_large(score: Array) -> Float:
    """The share (n,) of values (n,) that are at least as large as each."""
    ordered = np.sort(score)
    return (len(score) - np.searchsorted(ordered, score, side="left")) / len(score)


def _joint_pvalue(together: Array, several: int, rng: np.random.Generator) -> float:
    """Permutation p-value that the last J of pooled rows are no stranger on average than any J.

    Their mean log share is compared with that of random subsets of J: exact, since all are
    exchangeable if the simulator made them.
    """
    evidence = -np.log(_share_as_large(together))
    observed = evidence[-several:].mean()
    subsets = rng.random((_JOINT, len(evidence))).argpartition(several - 1, axis=1)[:, :several]
    return float(share_beyond(observed, evidence[subsets].mean(1), 1e-12))
