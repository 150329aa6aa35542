"""Symmetric divergence between p(theta | x) and q(theta | x), row by row, in nats.

With r = log p(theta, x) - log q(theta | x), the truth theta_i and q's draws theta_ik at x_i,
d_i = r(theta_i) - mean_k r(theta_ik) has the mean KL(p || q) + KL(q || p), averaged over x. What
depends on x alone cancels in each row; rows are never pooled before that.

References:
    An easy to interpret diagnostic for approximate inference: symmetric divergence over
    simulations, Domke (2021), Algorithms 1 and 4.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from validation_core.types import Float


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
    there are, over which d is averaged: with M = 1 it is log w at the truth less its mean over
    the draws.

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
