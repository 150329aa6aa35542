"""Is a witness higher under p than under q? The difference of means, with a permutation null."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from validation_core.pieces import slices
from validation_core.statistics.permutation import (
    SUMMATION_ROUNDING,
    PermutationResult,
    require_permutations,
    share_beyond,
)
from validation_core.statistics.ranks import require_numbers
from validation_core.types import Float

NUMBERS_AT_ONCE = 1 << 21  # scores or labels held at a time: 16 MB


def permuted(
    p: ArrayLike, q: ArrayLike, permutations: int, rng: np.random.Generator
) -> PermutationResult:
    """tau = mean p - mean q against relabellings of the pooled scores; large where p's are higher.

    p-value = (1 + number of relabellings with tau at least the observed) / (permutations + 1),
    never 0. All leading indices share their label sets but each has its scores shuffled first:
    every test meets relabellings that are uniform and its own, for the price of one product.

    Args:
        p: scores (..., n_p) of draws from p.
        q: scores (..., n_q) of draws from q, independent of p's.
        permutations: B, how many relabellings.
        rng: draws them.

    Raises:
        ValueError: if a side has fewer than two scores, one is not finite, or B < 1.
    """
    both, n_p = _pooled(p, q)
    require_permutations(permutations)
    tau = _differences(both, n_p)
    flat = both.reshape(-1, both.shape[-1])
    shuffled = rng.permuted(flat, axis=-1)
    null = np.empty((len(flat), permutations))
    for piece in _pieces(permutations, both.shape[-1]):
        null[:, piece] = relabelled(
            shuffled, _labels(piece.stop - piece.start, *_sizes(both, n_p), rng)
        )
    null = null.reshape(*both.shape[:-1], permutations)
    return PermutationResult(tau, share_beyond(tau, null, mean_difference_slack(both)), null)


def relabelled(scores: ArrayLike, is_p: NDArray[np.bool_]) -> Float:
    """tau (..., B) of pooled scores (..., N) under B label sets is_p (B, N)."""
    pool = np.asarray(scores, dtype=np.float64)
    labels = np.asarray(is_p, dtype=np.float64)
    n_p = labels.sum(axis=-1)
    n_q = labels.shape[-1] - n_p
    # The mean of rows labelled q follows from the total: one product, not two.
    total = pool.sum(axis=-1)[..., None]
    above = pool @ labels.T
    return above / n_p - (total - above) / n_q


def mean_difference_slack(scores: ArrayLike) -> Float:
    """Rounding by which equal differences of means may differ: (..., N) to (...)."""
    return SUMMATION_ROUNDING * np.abs(np.asarray(scores, dtype=np.float64)).max(axis=-1)


def _pooled(p: ArrayLike, q: ArrayLike) -> tuple[Float, int]:
    """Both sides joined (..., n_p + n_q), about their common mean, and n_p."""
    sides = [np.asarray(side, dtype=np.float64) for side in (p, q)]
    if min(side.ndim for side in sides) < 1 or min(side.shape[-1] for side in sides) < 2:
        raise ValueError(
            "a witness is compared between samples of at least two scores each; got shapes "
            f"{sides[0].shape} and {sides[1].shape}; draw more"
        )
    for side in sides:
        if np.isinf(require_numbers(side)).any():
            raise ValueError(
                "a witness has a mean only where its scores are finite; got "
                f"{int(np.isinf(side).sum())} infinite of {side.size}; bound the score"
            )
    lead = np.broadcast_shapes(*(side.shape[:-1] for side in sides))
    both = np.concatenate(
        [np.broadcast_to(side, (*lead, side.shape[-1])) for side in sides], axis=-1
    )
    # Far from 0 the sums would round away what tells the sides apart.
    return both - both.mean(axis=-1, keepdims=True), sides[0].shape[-1]


def _sizes(both: Float, n_p: int) -> tuple[int, int]:
    return n_p, both.shape[-1] - n_p


def _differences(both: Float, n_p: int) -> Float:
    tau: Float = both[..., :n_p].mean(axis=-1) - both[..., n_p:].mean(axis=-1)
    return tau


def _labels(count: int, n_p: int, n_q: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Label sets (count, n_p + n_q) with n_p scores of p in each, every one as likely."""
    is_p = np.zeros((count, n_p + n_q), dtype=bool)
    is_p[:, :n_p] = True
    return rng.permuted(is_p, axis=-1)


def _pieces(count: int, n: int) -> Iterator[slice]:
    return slices(count, max(1, NUMBERS_AT_ONCE // n))
