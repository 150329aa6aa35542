"""The exact test of no divergence: any of the K + 1 values at an x could be the truth's."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from validation_core.statistics import slots
from validation_core.statistics.permutation import (
    SUMMATION_ROUNDING,
    PermutationResult,
    share_beyond,
)
from validation_core.types import Float

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
