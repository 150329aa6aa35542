"""Symmetric divergence between p(theta | x) and q(theta | x), within each x, in nats.

With r = log p(theta, x) - log q(theta | x), the truth theta_i and q's draws theta_ik at x_i,
d_i = r(theta_i) - mean_k r(theta_ik) has the mean KL(p || q) + KL(q || p), averaged over x. What
depends on x alone cancels in each row; rows are never pooled before that.

References:
    An easy to interpret diagnostic for approximate inference: symmetric divergence over
    simulations, Domke (2021), Algorithms 1 and 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, ndtri

from validation_core.statistics import slots
from validation_core.statistics.intervals import binomial_bounds
from validation_core.statistics.laws import SUMMATION_ROUNDING, PermutationResult, share_beyond
from validation_core.types import Float

HEAVY = 0.5
"""Shape of the tail from which on a variance is infinite, so that intervals say too little."""


def tail_shape(values: ArrayLike) -> float:
    """Shape k of the generalised Pareto law of the largest values (n,); the 1/k-th moment is
    infinite. NaN with fewer than 25 values, or where the largest do not differ.

    References:
        A new and efficient estimation method for the generalized Pareto distribution, Zhang &
        Stephens (2009); weak prior and tail length of Pareto smoothed importance sampling,
        Vehtari et al. (2024).
    """
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    n = len(ordered)
    m = int(min(0.2 * n, 3 * np.sqrt(n)))
    if m < 5 or not ordered[-1] > ordered[-m]:
        return float("nan")
    over = ordered[-m:] - ordered[-m - 1]
    quarter = over[int(m / 4 + 0.5) - 1]
    if not quarter > 0:
        return float("nan")
    points = 30 + int(np.sqrt(m))
    rates = 1 / over[-1] + (1 - np.sqrt(points / (np.arange(1, points + 1) - 0.5))) / (3 * quarter)
    shapes = np.log1p(-rates[:, None] * over).mean(1)
    # At a rate of 0 the law is exponential: its scale is the mean.
    scales = np.full_like(rates, 1 / over.mean())
    np.divide(-rates, shapes, out=scales, where=shapes != 0)
    likelihood = m * (np.log(scales) - shapes - 1)
    weights = np.exp(likelihood - likelihood.max())
    rate = float((rates * weights).sum() / weights.sum())
    shape = float(np.log1p(-rate * over).mean())
    return (m * shape + 5) / (m + 10)


# ---- The mean of d over rows, with intervals ----


_RESAMPLES = 1999
_NUMBERS = 1 << 20  # rows drawn again at a time


class Divergence(NamedTuple):
    """The mean of d over rows, and what to think of it."""

    estimate: float
    low: float
    """Normal interval of the mean; it may be below 0, which a divergence is not."""
    high: float
    boot_low: float
    boot_high: float
    """Percentile bootstrap over rows."""
    sd: float
    """Of d, over rows."""
    median: float
    largest: float
    positive: float
    """Share of rows with d > 0."""
    tail: float
    """Shape of the generalised Pareto law of the largest |d|; NaN with too few rows."""
    infinite: int
    """Rows left out because d is not finite: q gives no density where the truth is, say."""

    @property
    def heavy(self) -> bool:
        """Whether the variance of d may be infinite."""
        return self.tail > HEAVY


def divergence(d: ArrayLike, rng: np.random.Generator, level: float = 0.95) -> Divergence:
    """The symmetric divergence that d (n,) estimate, with intervals.

    Raises:
        ValueError: if fewer than two of them are finite.
    """
    terms = np.asarray(d, dtype=np.float64)
    finite = terms[np.isfinite(terms)]
    n = len(finite)
    if n < 2:
        raise ValueError(
            f"a divergence is a mean over rows with finite log densities; got {n} of "
            f"{terms.size}; bring two or more"
        )
    mean, sd = float(finite.mean()), float(finite.std(ddof=1))
    reach = float(ndtri((1 + level) / 2)) * sd / np.sqrt(n)
    low, high = np.quantile(_means(finite, rng), [(1 - level) / 2, (1 + level) / 2])
    return Divergence(
        mean,
        mean - reach,
        mean + reach,
        float(low),
        float(high),
        sd,
        float(np.median(finite)),
        float(finite.max()),
        float((finite > 0).mean()),
        tail_shape(np.abs(finite)),
        terms.size - n,
    )


class MeanInterval(NamedTuple):
    """Means or medians over the last axis, with their intervals."""

    estimate: Float
    low: Float
    high: Float


def means(d: ArrayLike, level: float = 0.95) -> MeanInterval:
    """The mean of d (..., n) and the normal interval about it, formed before any logarithm: its
    low end may be below 0. NaN where a d is.

    Raises:
        ValueError: with fewer than two rows.
    """
    values = np.asarray(d, dtype=np.float64)
    n = values.shape[-1] if values.ndim else 0
    if n < 2:
        raise ValueError(f"an interval needs d of two rows or more; got {n}; bring more")
    with np.errstate(invalid="ignore"):
        mean = values.mean(axis=-1)
        reach = ndtri((1 + level) / 2) * values.std(axis=-1, ddof=1) / np.sqrt(n)
        return MeanInterval(mean, mean - reach, mean + reach)


def medians(d: ArrayLike, level: float = 0.95) -> MeanInterval:
    """The median of d (..., n) and its interval between two of the ordered d, which holds whatever
    their law. NaN where a d is; ends are NaN with too few rows for any such interval, 5 at 95%.

    Raises:
        ValueError: without any row.
    """
    values = np.sort(np.asarray(d, dtype=np.float64), axis=-1)
    n = values.shape[-1] if values.ndim else 0
    if n < 1:
        raise ValueError(f"a median needs d of a row or more; got {n}; bring more")
    values = np.where(np.isnan(values[..., -1:]), np.nan, values)  # NaN is sorted last
    outside, _ = binomial_bounds(n, 0.5, level)
    middle = np.median(values, axis=-1)
    if not outside:
        return MeanInterval(middle, *np.full((2, *middle.shape), np.nan))
    return MeanInterval(middle, values[..., outside - 1], values[..., n - outside])


def _means(values: Float, rng: np.random.Generator) -> Float:
    """Means of resamples of the rows."""
    n = len(values)
    step = max(1, _NUMBERS // n)
    pieces = [
        values[rng.integers(n, size=(min(step, _RESAMPLES - start), n))].mean(1)
        for start in range(0, _RESAMPLES, step)
    ]
    return np.concatenate(pieces)


# ---- d, row by row: what their mean is, with and without importance weighting ----


def log_ratio_differences(
    log_joint: ArrayLike, log_joint_draws: ArrayLike, log_q: ArrayLike, log_q_draws: ArrayLike
) -> Float:
    """d (..., n) from log densities at the truths (..., n) and at q's draws (..., n, K).

    log p(theta, x) may lack any constant and any function of x; log q(theta | x) may not, unless
    it lacks the same for the truth and the draws of a row. Both are in the same coordinates. An
    infinite or missing density of a row makes its d infinite or NaN.

    Raises:
        ValueError: if the shapes do not fit.
    """
    truth = [np.asarray(density, dtype=np.float64) for density in (log_joint, log_q)]
    draw_densities = [
        np.asarray(density, dtype=np.float64) for density in (log_joint_draws, log_q_draws)
    ]
    n = truth[0].shape
    fits = truth[1].shape == n and all(
        density.shape[:-1] == n and density.shape[-1:] for density in draw_densities
    )
    if not n or not fits or draw_densities[0].shape != draw_densities[1].shape:
        raise ValueError(
            "log densities have shapes (N,) at the true values and (N, K) at the draws; got "
            f"{truth[0].shape}, {truth[1].shape}, {draw_densities[0].shape} and "
            f"{draw_densities[1].shape}; give them for the same rows and draws"
        )
    with np.errstate(invalid="ignore"):
        return (truth[0] - truth[1]) - (draw_densities[0] - draw_densities[1]).mean(-1)


def importance_weighted(truth: ArrayLike, draws: ArrayLike, ms: Sequence[int]) -> Float:
    """d (len(ms), ..., n) of q's draws weighed by p / q, M of them: Algorithm 4.

    d = logsumexp of the truth's side - logsumexp of the other, log w = log p - log q; the
    1 / M cancels, and M = 1 is Algorithm 1. Its mean bounds the symmetric divergence of the
    posterior that picks one of M draws of q by weight, from above.

    Args:
        truth: log w (..., n, M) at the truth, then at M - 1 draws of q.
        draws: log w (..., n, M) at M other draws of q.
        ms: how many of each side are taken, the first of them.

    Raises:
        ValueError: if the shapes differ, or an M is not among 1 to theirs.
    """
    sides = [np.asarray(side, dtype=np.float64) for side in (truth, draws)]
    shape = sides[0].shape
    if len(shape) < 2 or sides[1].shape != shape:
        raise ValueError(
            "log weights have one shape (..., N, M) on the true value's side and on the "
            f"other; got {shape} and {sides[1].shape}; split q's draws into M - 1 and M"
        )
    if not len(ms) or min(ms) < 1 or max(ms) > shape[-1]:
        raise ValueError(
            f"M lies among 1 to {shape[-1]}, the weights there are of each side; got "
            f"{', '.join(map(str, ms)) or 'none'}; leave out what is beyond or bring more draws"
        )
    with np.errstate(invalid="ignore"):  # of two infinities there is no difference
        first, second = (np.logaddexp.accumulate(side, axis=-1) for side in sides)
        return np.stack([first[..., m - 1] - second[..., m - 1] for m in ms])


def weighted(truth: ArrayLike, draws: ArrayLike, m: int) -> Float:
    """d (..., n) of Algorithm 4 from log w at the truth (..., n) and at q's draws (..., n, K).

    Draws are cut into as many disjoint groups of M - 1, beside the truth, and M, against it, as
    there are, over which d is averaged: with M = 1 it is d of `differences`.

    Raises:
        ValueError: with fewer than 2 M - 1 draws.
    """
    own, draw_weights = np.asarray(truth, dtype=np.float64), np.asarray(draws, dtype=np.float64)
    each, k = 2 * m - 1, draw_weights.shape[-1]
    if m < 1 or k < each:
        raise ValueError(
            "M draws against the true value and M - 1 others take 2 M - 1 draws of q at each "
            f"x; got M = {m} and {k}; lower M or bring more draws"
        )
    groups = draw_weights[..., : k // each * each].reshape(*draw_weights.shape[:-1], -1, each)
    beside = np.broadcast_to(own[..., None, None], (*groups.shape[:-1], 1))
    first = np.concatenate([beside, groups[..., : m - 1]], axis=-1)
    return np.asarray(importance_weighted(first, groups[..., m - 1 :], (m,))[0].mean(axis=-1))


def paired(truth: ArrayLike, draws: ArrayLike) -> Float:
    """Share of q's draws (..., n, K) in each row whose score is below the truth's (..., n); ties
    count half. NaN where a score is."""
    own, draw_scores = (
        np.asarray(truth, dtype=np.float64)[..., None],
        np.asarray(draws, np.float64),
    )
    shares: Float = ((own > draw_scores) + 0.5 * (own == draw_scores)).mean(axis=-1)
    unknown = np.isnan(own[..., 0]) | np.isnan(draw_scores).any(axis=-1)
    return np.where(unknown, np.nan, shares)


def paired_auc(truth: ArrayLike, draws: ArrayLike) -> Float:
    """How often a truth (..., n) outscores a draw of q (..., n, K) at its own x: (...), 1/2 if
    q = p. NaN where a score is."""
    return np.asarray(paired(truth, draws).mean(axis=-1))


# ---- d of a classifier, whose logits are put on the scale of log ratios ----


_STEPS, _SMALL = 50, 1e-9  # of Newton's method for a slope


class _Calibrated(NamedTuple):
    """d of a learnt logit that was put on the scale of log ratios by rows other than its own."""

    d: Float
    slope: float
    """What logits were multiplied with: below 1, the classifier was too sure of itself."""


def from_logits(truth: ArrayLike, draws: ArrayLike, rng: np.random.Generator) -> _Calibrated:
    """d (n,) from a classifier's logits at the truths (n,) and at q's draws (n, K).

    A calibrated logit is the log ratio of the laws of the logit itself under p and q, so that
    its mean d is the symmetric divergence of these two laws: at most that of p and q, by as much
    as the classifier overlooks. Logits are made calibrated by a slope, learnt by logistic
    regression on one half of the rows and used on the other, and the other way round.

    Args:
        truth: logits of "this is the truth" (n,), of rows the classifier did not learn from.
        draws: the same at q's draws (n, K).
        rng: halves the rows.

    Raises:
        ValueError: with fewer than four rows.
    """
    own, draw_logits = np.asarray(truth, dtype=np.float64), np.asarray(draws, dtype=np.float64)
    n = len(own)
    if n < 4:
        raise ValueError(
            f"logits are calibrated on one half of the rows and used on the other; got {n} rows; "
            f"bring four or more"
        )
    order = rng.permutation(n)
    halves = order[: n // 2], order[n // 2 :]
    d, slopes = own - draw_logits.mean(1), np.empty(2)
    for i, (learn, use) in enumerate((halves, halves[::-1])):
        slopes[i] = _slope(own[learn], draw_logits[learn])
        d[use] *= slopes[i]
    return _Calibrated(d, float(slopes.mean()))


def _slope(truth: Float, draws: Float) -> float:
    """By logistic regression on logits (n,) of truths and (n, K) of draws, of equal weight.

    The targets are a little inside 0 and 1 (Platt, 1999), so that halves which a logit tells
    apart entirely have a finite slope.
    """
    first = np.concatenate([truth, draws[:, 0]])
    scale = float(first.std())
    if not scale > 0:
        return 0.0
    n, k = draws.shape
    x = (np.concatenate([truth, draws.ravel()]) - first.mean()) / scale
    weight = np.concatenate([np.full(n, 0.5 / n), np.full(n * k, 0.5 / (n * k))])
    high = (n + 1) / (n + 2)
    target = np.concatenate([np.full(n, high), np.full(n * k, 1 - high)])

    def loss(at: Float) -> float:
        line = at[0] * x + at[1]
        return float(weight @ (np.logaddexp(0.0, line) - target * line))

    at, now = np.zeros(2), np.log(2)
    for _ in range(_STEPS):
        chance = expit(at[0] * x + at[1])
        residual, spread = weight * (target - chance), weight * chance * (1 - chance)
        cross = spread @ x
        hessian = np.array([[spread @ (x * x), cross], [cross, spread.sum()]]) + 1e-12 * np.eye(2)
        step = np.linalg.solve(hessian, [residual @ x, residual.sum()])
        while (then := loss(at + step)) > now and np.abs(step).max() > _SMALL:
            step = step / 2
        if not then < now - 1e-14:
            break
        at, now = at + step, then
    return float(at[0] / scale)


# ---- The exact test of no divergence: any of the K + 1 values at an x could be the truth's ----


RELABELINGS = 1999


def relabelled(
    truth: ArrayLike, draws: ArrayLike, rng: np.random.Generator, relabelings: int = RELABELINGS
) -> PermutationResult:
    """Test that the mean of d is 0, against its being larger.

    If q = p, the truth and q's draws at an x are exchangeable, and so are their K + 1 values of
    any function of (theta, x): any of them, at random in each row, takes the truth's place. With
    K = 1 that flips the signs of d; with more draws signs may not be flipped, since d is then
    not symmetric about 0. p-value = (1 + number of relabelled means at least the observed) /
    (B + 1): never 0, and 1 where nothing differs. Rows where a value is not finite are left out:
    a rule that treats truth and draws alike, so that the test stays exact.

    Args:
        truth: log ratios (..., n), up to anything that depends on x alone.
        draws: the same at q's draws (..., n, K).
        rng: chooses the truths.
        relabelings: B.

    Raises:
        ValueError: if the shapes do not fit, or B < 1.
    """
    table = _table(truth, draws)
    finite = np.asarray(np.isfinite(table).all(axis=-1))  # (..., n)
    table[~finite] = 0.0
    least = table.min(axis=-1, keepdims=True)
    size = np.maximum(table.max(axis=-1), -least[..., 0]).mean(axis=-1)
    table -= least  # equal values are exactly equal
    table -= table.mean(axis=-1, keepdims=True)
    count, rows = table.shape[-1], table.shape[-2]
    table *= count / (count - 1)
    permuted = slots.permutation(table, relabelings, rng)
    finite_count = finite.sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        more = (
            rows / finite_count
        )  # from means over all rows to those over rows with finite values
        observed, null = permuted.statistic * more, permuted.null * more[..., None]
        slack = SUMMATION_ROUNDING * np.maximum(size * more, 1.0)
    pvalue = np.where(finite_count > 0, share_beyond(observed, null, slack), 1.0)
    return PermutationResult(np.asarray(observed), pvalue, null)


def _table(truth: ArrayLike, draws: ArrayLike) -> Float:
    """(..., n, K + 1), the truth first: a copy, to write into."""
    own, draw_ratios = np.asarray(truth, dtype=np.float64), np.asarray(draws, dtype=np.float64)
    if not own.ndim or draw_ratios.shape[:-1] != own.shape or not draw_ratios.size:
        raise ValueError(
            "log ratios have shapes (..., N) at the true values and (..., N, K) at the draws; "
            f"got {own.shape} and {draw_ratios.shape}; give them for the same rows"
        )
    return np.concatenate([own[..., None], draw_ratios], axis=-1)
