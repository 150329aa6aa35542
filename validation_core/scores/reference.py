"""Reference points for TARP: drawn once from a box, or where theta is expected at each x.

Expected by a ridge on x and its products. The penalty, and whether products help, are chosen for
each parameter by leaving one row out, which a ridge tells in closed form (Allen, 1974).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np
from scipy.special import ndtri

from validation_core import sampling
from validation_core.hashing import HashWords, again, hashed, occurrences, uniforms
from validation_core.keys import Arrays
from validation_core.learn.scaling import Standardizer, moments, nonzero_scales
from validation_core.learn.stored_network import GIVEN, StoredNetwork
from validation_core.pieces import slices
from validation_core.provenance import Stopwatch
from validation_core.rng import stream
from validation_core.scores import Recipe
from validation_core.study import Report
from validation_core.types import Array, Benchmark, Float, Joint, PosteriorTable, TableScores

Follows = Literal["random", "x"]
Metric = Literal["euclidean", "manhattan"]

FEWEST = 2
"""True pairs that span a box."""
ROWS = 1000
"""Rows that are learnt from at most: bounds the time of a wide x."""

NUMBERS_AT_ONCE = 1 << 16  # of theta measured at a time, so that they stay in the cache
RIDGE_PENALTIES = np.logspace(-6, 3, 19)  # times the number of rows
_PRODUCTS = 16  # columns up to which all pairs are multiplied
_SQUARES = 200  # columns up to which each is squared
_ROUNDING = 1e-9
_CLIP = 5.0  # sds: a square must not carry a far x away


@dataclass(frozen=True, kw_only=True)
class References(Recipe, spec="references"):
    """Lemos et al. (2023), Section 3: any points independent of the test thetas are valid.

    `random`: uniform over the box from the smallest to the largest training truth of each
    parameter. They ignore x, so that a q that ignores x passes. `x`: what a regression
    of theta on x expects, plus normal noise of its held-out error. Distances are measured in
    that box, so that no parameter's unit counts; a box of the test's own truths would tell
    truths from draws.
    """

    reference: Follows = "random"
    metric: Metric = "euclidean"
    train: int = field(default=1000, metadata={"label": "Training pairs", "min": FEWEST})

    def __post_init__(self) -> None:
        for name, kind in (("reference", Follows), ("metric", Metric)):
            if getattr(self, name) not in get_args(kind):
                raise ValueError(
                    f"{name} is one of {', '.join(get_args(kind))}; got "
                    f"{getattr(self, name)!r}. Choose one of those."
                )

    @property
    def label(self) -> str:
        """Short description for a list of trained models."""
        return f"references {self.reference} {self.metric}"

    @property
    def places(self) -> int:
        return self.train

    def cost(self) -> float:
        return 0.05

    def sample(self, benchmark: Benchmark, gamma: float, rng: np.random.Generator) -> Joint:
        """True pairs."""
        return _pairs(sampling.pairs(benchmark, gamma, self.train, rng))

    def of_table(self, draws: PosteriorTable, rng: np.random.Generator) -> Joint:
        """A table's true pairs, of which all are used."""
        del rng
        return _pairs(draws)

    def learn_all(
        self, data: Sequence[Joint], seeds: Sequence[int], report: Report | None = None
    ) -> list[_TrainedReferences]:
        """References for each set of pairs and seed, in turn."""
        del report  # it takes no time
        return [self._learn(joint, seed) for joint, seed in zip(data, seeds, strict=True)]

    def _learn(self, pairs: Joint, seed: int) -> _TrainedReferences:
        watch = Stopwatch()
        theta = pairs.theta.astype(np.float64)
        low, high = theta.min(0), theta.max(0)
        # A parameter that never changes has no unit of its own.
        width = np.where(high > low, high - low, 1.0)
        mean = (
            fit_conditional_mean((theta - low) / width, pairs.x) if self.reference == "x" else None
        )
        salt = stream(seed, "references").integers(2**64, size=1, dtype=np.uint64)
        return _TrainedReferences(self.metric, low, width, salt, mean, watch.seconds)

    def read(self, arrays: Arrays, *, seconds: float, device: str) -> _TrainedReferences:
        """Trained references from the output of `_TrainedReferences.arrays`."""
        return _TrainedReferences.read(arrays, metric=self.metric, seconds=seconds, device=device)


@dataclass(frozen=True, eq=False)
class _TrainedReferences(StoredNetwork):
    """The box, the regression where there is one, and the salt of the points' noise."""

    metric: Metric = field(metadata=GIVEN)
    low: Float  # (D,)
    width: Float  # (D,)
    salt: HashWords  # (1,)
    mean: _ConditionalMean | None
    """Of theta in the unit box."""
    seconds: float = 0.0
    device: str = "cpu"

    @property
    def summary(self) -> Mapping[str, float]:
        """For references that follow x, the held-out share of theta's variance they explain."""
        return {} if self.mean is None else {"r2": float(self.mean.r2.mean())}

    def at(self, beta: float = 0.0) -> _ReferenceDistance:
        """The distance; nothing here is a network, so that no beta degrades it."""
        del beta
        return _ReferenceDistance(self.low, self.width, self.metric, self.salt, self._place)

    def _place(self, x: Array, words: HashWords) -> Float:
        noise = uniforms(words, len(self.low))
        return noise if self.mean is None else self.mean(x) + self.mean.sd * ndtri(noise)


def _pairs(draws: PosteriorTable | Joint) -> Joint:
    if len(draws) < FEWEST:
        raise ValueError(
            f"References learn their box from at least {FEWEST} true pairs; got {len(draws)}. "
            "Bring more."
        )
    if not (np.isfinite(draws.theta).all() and np.isfinite(draws.x).all()):
        raise ValueError(
            "References learn from finite numbers; got NaN or infinite ones in theta or x. Drop "
            "those rows."
        )
    return Joint(draws.theta, draws.x)


@dataclass(frozen=True, eq=False)
class _ReferenceDistance:
    """Distances in the unit box of theta from a point that depends on x alone.

    Given x, the truth and q's draws are measured from one and the same point, which saw neither:
    if q is right they are exchangeable, and the truth's rank is exactly uniform. Where x repeats
    within a table (a constant x, counts, or no columns at all), each further row of it gets
    another point by its place, so that such a table too is looked at from many sides.
    """

    low: Float  # (D,)
    width: Float  # (D,)
    metric: Metric
    salt: HashWords  # (1,)
    place: Callable[[Array, HashWords], Float]
    """Reference points (n, D) in the unit box, of x (n, M) and a word (n,) for each row."""

    def __call__(self, theta: Array, x: Array) -> Float:
        """Distances (n,) of rows theta (n, D), x (n, M); equal x have one reference."""
        points = self.place(x, hashed(x, self.salt))
        return distances_from_references(self._unit(theta[:, None]), points, self.metric)[:, 0]

    def table(self, draws: PosteriorTable) -> TableScores:
        """Distances of the truth (1, n) and of q's draws (1, n, K)."""
        n, k, d = draws.q.shape
        points = self.unit_points(draws.x)
        truth, draw_distances = np.empty((1, n)), np.empty((1, n, k))
        step = max(1, NUMBERS_AT_ONCE // ((k + 1) * d))
        for part in slices(n, step):
            together = np.concatenate([draws.theta[part, None], draws.q[part]], axis=1)
            part_distances = distances_from_references(
                self._unit(together), points[part], self.metric
            )
            truth[0, part], draw_distances[0, part] = part_distances[:, 0], part_distances[:, 1:]
        return TableScores(truth, draw_distances)

    def unit_points(self, x: Array) -> Float:
        """The reference points of a table's rows, in the unit box: (n, M) to (n, D)."""
        words = hashed(x, self.salt)
        return self.place(x, again(words, occurrences(words)))

    def points(self, x: Array) -> Float:
        """The reference points of a table's rows, in the parameters' units: (n, M) to (n, D)."""
        return self.low + self.width * self.unit_points(x)

    def _unit(self, theta: Array) -> Float:
        out = np.subtract(theta, self.low, dtype=np.float64)
        out /= self.width
        return out


def distances_from_references(theta: Array, references: Array, metric: Metric) -> Float:
    """Distances (n, R) of points theta (n, R, D) from references (n, D), euclidean ones squared.

    One point has one distance to the bit, wherever it stands: a draw that is the truth ties.
    """
    apart = np.subtract(theta, references[:, None], dtype=np.float64)
    with np.errstate(over="ignore"):  # farther than a double tells is infinitely far
        apart = np.abs(apart, out=apart) if metric == "manhattan" else np.square(apart, out=apart)
        return apart.sum(axis=-1)


@dataclass(frozen=True, eq=False)
class _ConditionalMean:
    """E[theta | x], linear or quadratic in x: (n, M) to (n, D)."""

    x_shift: Float  # (M,)
    x_scale: Float  # (M,)
    shift: Float  # (F,)
    scale: Float  # (F,)
    coefficients: Float  # (F, D)
    offset: Float  # (D,)
    sd: Float  # (D,)
    """Of theta about it, each row left out in turn."""
    r2: Float  # (D,)
    """Share of theta's variance explained (R²), leave-one-out."""

    def __call__(self, x: Array) -> Float:
        features = _features(x, self.x_shift, self.x_scale)
        return (features - self.shift) / self.scale @ self.coefficients + self.offset


def fit_conditional_mean(theta: Float, x: Array) -> _ConditionalMean:
    """Learn from the first rows of theta (n, D) and x (n, M), n >= 2."""
    theta, raw = theta[:ROWS], np.asarray(x[:ROWS], np.float64)
    x_shift, x_scale = moments(raw)
    features = _features(raw, x_shift, x_scale)
    shift, scale = moments(features)
    features = (features - shift) / scale
    offset = theta.mean(0)
    best = fit_ridge(features[:, : raw.shape[1]], theta - offset)
    weights = np.zeros((features.shape[1], theta.shape[1]))
    weights[: raw.shape[1]] = best[0]
    error = best[1]
    if features.shape[1] > raw.shape[1]:
        coefficients, with_products = fit_ridge(features, theta - offset)
        better = with_products < error
        weights[:, better] = coefficients[:, better]
        error = np.minimum(error, with_products)
    r2 = 1 - error / nonzero_scales(theta.var(0))
    return _ConditionalMean(x_shift, x_scale, shift, scale, weights, offset, np.sqrt(error), r2)


def fit_ridge(features: Float, theta: Float) -> tuple[Float, Float]:
    """Coefficients (F, D), each parameter's at its best penalty, and squared errors left out."""
    n = len(features)
    left, values, right = np.linalg.svd(features, full_matrices=False)
    real = values > _ROUNDING * values.max(initial=0.0)  # centred rows leave one direction empty
    left, values, right = left[:, real], values[real], right[real]
    along, share = left.T @ theta, left**2
    # The remainder outside all directions: zero but for rounding where there are more columns
    # than rows. So the part that a penalty leaves is added, not a difference of large numbers.
    beyond = theta - left @ along
    free = np.maximum(1 - 1 / n - share.sum(1), 0.0)  # the mean's own leverage is 1 / n
    penalties = RIDGE_PENALTIES * n
    errors = np.empty((len(penalties), theta.shape[1]))
    for i, penalty in enumerate(penalties):
        lost = penalty / (values**2 + penalty)
        residual = beyond + left @ (lost[:, None] * along)
        errors[i] = ((residual / np.maximum(free + share @ lost, _ROUNDING)[:, None]) ** 2).mean(0)
    best = penalties[errors.argmin(0)]  # (D,)
    weights = values[:, None] / (values[:, None] ** 2 + best)
    return right.T @ (weights * along), errors.min(0)


def _features(x: Array, shift: Float, scale: Float) -> Float:
    """x standardised and clipped, then its products: (n, F)."""
    z = Standardizer(shift, scale, _CLIP)(x)
    m = z.shape[1]
    if m > _SQUARES:
        return z
    rows, columns = np.triu_indices(m) if m <= _PRODUCTS else (np.arange(m), np.arange(m))
    return np.concatenate([z, z[:, rows] * z[:, columns]], axis=1)
