"""Symmetric divergence between p(theta | x) and q(theta | x), within each x, in nats.

With r = log p(theta, x) - log q(theta | x), the truth theta_i and q's draws theta_ik at x_i,
d_i = r(theta_i) - mean_k r(theta_ik) has the mean KL(p || q) + KL(q || p), averaged over x. What
depends on x alone cancels in each row; rows are never pooled before that.

References:
    An easy to interpret diagnostic for approximate inference: symmetric divergence over
    simulations, Domke (2021), Algorithm 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, ndtri

Float = NDArray[np.float64]

HEAVY = 0.5
"""Shape of the tail from which on a variance is infinite, so that intervals say too little."""

_RESAMPLES = 1999
_NUMBERS = 1 << 20  # rows drawn again at a time
_STEPS, _SMALL = 50, 1e-9  # of Newton's method for a slope


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


def differences(
    log_joint: ArrayLike, log_joint_draws: ArrayLike, log_q: ArrayLike, log_q_draws: ArrayLike
) -> Float:
    """d (..., n) from log densities at the truths (..., n) and at q's draws (..., n, K).

    log p(theta, x) may lack any constant and any function of x; log q(theta | x) may not, unless
    it lacks the same for the truth and the draws of a row. Both are in the same coordinates. An
    infinite or missing density of a row makes its d infinite or NaN.

    Raises:
        ValueError: if the shapes do not fit.
    """
    truth = [np.asarray(one, dtype=np.float64) for one in (log_joint, log_q)]
    drawn = [np.asarray(one, dtype=np.float64) for one in (log_joint_draws, log_q_draws)]
    n = truth[0].shape
    fits = truth[1].shape == n and all(one.shape[:-1] == n and one.shape[-1:] for one in drawn)
    if not n or not fits or drawn[0].shape != drawn[1].shape:
        raise ValueError(
            f"log densities have shapes (N,) at the truths and (N, K) at the draws; got "
            f"{truth[0].shape}, {truth[1].shape}, {drawn[0].shape} and {drawn[1].shape}; "
            f"give them for the same rows and draws"
        )
    with np.errstate(invalid="ignore"):
        return (truth[0] - truth[1]) - (drawn[0] - drawn[1]).mean(-1)


def divergence(d: ArrayLike, rng: np.random.Generator, level: float = 0.95) -> Divergence:
    """The symmetric divergence that d (n,) estimate, with intervals.

    Raises:
        ValueError: if fewer than two of them are finite.
    """
    every = np.asarray(d, dtype=np.float64)
    kept = every[np.isfinite(every)]
    n = len(kept)
    if n < 2:
        raise ValueError(
            f"a divergence is a mean over rows with finite log densities; got {n} of "
            f"{every.size}; bring two or more"
        )
    mean, sd = float(kept.mean()), float(kept.std(ddof=1))
    reach = float(ndtri((1 + level) / 2)) * sd / np.sqrt(n)
    low, high = np.quantile(_means(kept, rng), [(1 - level) / 2, (1 + level) / 2])
    return Divergence(
        mean, mean - reach, mean + reach, float(low), float(high), sd, float(np.median(kept)),
        float(kept.max()), float((kept > 0).mean()), tail_shape(np.abs(kept)), every.size - n,
    )  # fmt: skip


def _means(values: Float, rng: np.random.Generator) -> Float:
    """Means of resamples of the rows."""
    n = len(values)
    step = max(1, _NUMBERS // n)
    pieces = [
        values[rng.integers(n, size=(min(step, _RESAMPLES - start), n))].mean(1)
        for start in range(0, _RESAMPLES, step)
    ]
    return np.concatenate(pieces)


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
    likelihood = m * (np.log(-rates / shapes) - shapes - 1)
    weights = np.exp(likelihood - likelihood.max())
    rate = float((rates * weights).sum() / weights.sum())
    shape = float(np.log1p(-rate * over).mean())
    return (m * shape + 5) / (m + 10)


class Calibrated(NamedTuple):
    """d of a learnt logit that was put on the scale of log ratios by rows other than its own."""

    d: Float
    slope: float
    """What logits were multiplied with: below 1, the classifier was too sure of itself."""


def from_logits(truth: ArrayLike, draws: ArrayLike, rng: np.random.Generator) -> Calibrated:
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
    own, drawn = np.asarray(truth, dtype=np.float64), np.asarray(draws, dtype=np.float64)
    n = len(own)
    if n < 4:
        raise ValueError(
            f"logits are calibrated on one half of the rows and used on the other; got {n} rows; "
            f"bring four or more"
        )
    order = rng.permutation(n)
    halves = order[: n // 2], order[n // 2 :]
    d, slopes = own - drawn.mean(1), np.empty(2)
    for i, (learn, use) in enumerate((halves, halves[::-1])):
        slopes[i] = _slope(own[learn], drawn[learn])
        d[use] *= slopes[i]
    return Calibrated(d, float(slopes.mean()))


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
