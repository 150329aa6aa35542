"""Contraction of the prior, and z-scores of true values."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit
from scipy.stats import mannwhitneyu

from validation_core.pieces import slices
from validation_core.statistics.effects import IntervalEstimate
from validation_core.types import Array, Float

_DRAWS = 1 << 19  # draws in float64 at a time: the table itself is never copied


class _Moments(NamedTuple):
    """Of q's draws at each x: (n, D) each."""

    mean: Float
    variance: Float
    """Unbiased; NaN where there is one draw only."""


def moments(draws: Array) -> _Moments:
    """Mean and variance of q's draws (n, K, D) at each x, in float64, a few rows at a time.

    Draws that are all the same have a variance of exactly 0.
    """
    n, k, d = draws.shape
    mean, variance = np.empty((n, d)), np.full((n, d), np.nan)
    step = max(1, _DRAWS // max(k * d, 1))
    with np.errstate(over="ignore", invalid="ignore"):
        for part in slices(n, step):
            off = draws[part].astype(np.float64)
            first = off[:, :1].copy()
            off -= first
            middle = off.mean(axis=1, keepdims=True)
            mean[part] = (first + middle)[:, 0]
            if k > 1:
                off -= middle
                variance[part] = np.einsum("nkd,nkd->nd", off, off) / (k - 1)
    return _Moments(mean, variance)


def zscores(found: _Moments, truth: ArrayLike) -> Float:
    """(Mean of q's draws - truth) / their sd: (n, D); positive where q is too high.

    NaN where the draws at an x do not differ.
    """
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        z = (found.mean - np.asarray(truth, dtype=np.float64)) / np.sqrt(found.variance)
    return np.where((found.variance > 0) & np.isfinite(z), z, np.nan)


def contraction(found: _Moments, truth: ArrayLike, level: float = 0.95) -> IntervalEstimate:
    """1 - mean variance of q / variance of the truths: (D,), which is not cut off at 0.

    0 is as wide as the prior, negative is wider, 1 is a point. The interval takes the log of the
    ratio as normal, with the sd that its linear expansion has over simulations. NaN where a
    truth never varies or q has one draw at each x.
    """
    theta = np.asarray(truth, dtype=np.float64)
    n = len(theta)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        squares = (theta - theta.mean(0)) ** 2
        prior, own = squares.sum(0) / max(n - 1, 1), found.variance.mean(0)
        ratio = np.where(prior > 0, own / prior, np.nan)
        each = found.variance / own - squares / prior
        reach = -stdtrit(max(n - 1, 1), (1 - level) / 2) * each.std(0, ddof=1) / np.sqrt(n)
        # Draws that never vary have a ratio of exactly 0.
        wide = np.where(own > 0, np.exp(reach), 1.0)
        return IntervalEstimate(1 - ratio, 1 - ratio * wide, 1 - ratio / wide)


def wider_pvalue(draws: Array, truth: ArrayLike, rng: np.random.Generator) -> Float:
    """p (D,) that q is no wider than the prior, against its being wider; NaN for one draw.

    Distances of two draws at each x (n) are ranked among those of pairs of truths (n / 2). Where q
    is the prior at every x all are alike, whatever its law: no variance is estimated, which a
    heavy tail would make useless.

    Args:
        draws: (n, K, D).
        truth: (n, D).
        rng: pairs the truths.
    """
    theta = np.asarray(truth, dtype=np.float64)
    n, d = theta.shape
    if draws.shape[1] < 2 or n < 4:
        return np.full(d, np.nan)
    pairs = theta[rng.permutation(n)[: n // 2 * 2]].reshape(-1, 2, d)
    with np.errstate(over="ignore", invalid="ignore"):
        apart = np.abs(draws[:, 0].astype(np.float64) - draws[:, 1])
        between = np.abs(pairs[:, 0] - pairs[:, 1])
    return np.asarray(mannwhitneyu(apart, between, alternative="greater").pvalue)
