"""Exact tests that differences of exchangeable pairs have no mean: of counts, or of several."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from validation_core.statistics.permutation import (
    SUMMATION_ROUNDING,
    PermutationResult,
    share_beyond,
)

_FLIPS = 1999


def largest_mean(differences: ArrayLike, rng: np.random.Generator) -> PermutationResult:
    """Test that no mean of several paired differences is off, by the farthest of them.

    Where the two members of each pair are exchangeable, all differences of a pair may be negated
    together. The statistic is the largest |sum of a difference| over the root of its sum of
    squares, which no sign changes: about the largest of so many standard normal sizes.

    Args:
        differences: of F functions on n pairs (F, n).
        rng: of the signs.

    Returns:
        The statistic; (1 + number of flipped ones at least as large) / 2000; and these 1999.

    Raises:
        ValueError: for other shapes, or differences that are not finite.
    """
    d = np.asarray(differences, dtype=np.float64)
    if d.ndim != 2 or not d.size or not np.isfinite(d).all():
        raise ValueError(
            f"differences are finite numbers (F, n) of F functions on n pairs; got shape "
            f"{d.shape}; leave out pairs of which one is missing"
        )
    root = np.sqrt(np.square(d).sum(1, keepdims=True))
    scaled = np.divide(d, root, out=np.zeros_like(d), where=root > 0)
    observed = np.abs(scaled.sum(1)).max()
    signs = rng.choice(np.array([-1.0, 1.0]), size=(_FLIPS, d.shape[1]))
    null = np.abs(signs @ scaled.T).max(1)
    slack = SUMMATION_ROUNDING * np.sqrt(d.shape[1])
    return PermutationResult(observed, share_beyond(observed, null, slack), null)


def count_pvalue(differences: ArrayLike) -> float:
    """Two-sided p-value that differences of exchangeable pairs of counts have no mean.

    By the law of their sum over all signs. For counts of 0 and 1 it is McNemar's exact test.

    Args:
        differences: whole numbers (n,).

    Raises:
        ValueError: for other shapes, or numbers that are not whole.
    """
    d = np.asarray(differences)
    if d.ndim != 1 or d.dtype.kind not in "iu":
        raise ValueError(
            f"differences of counts are whole numbers (n,) of n pairs; got {d.dtype} of shape "
            f"{d.shape}; count in each pair"
        )
    sizes = np.abs(d[d != 0])
    law = np.ones(1)  # of sums from the lowest to the highest
    for size in sizes:
        law = (np.pad(law, (0, 2 * size)) + np.pad(law, (2 * size, 0))) / 2
    most = sizes.sum()
    sums = np.arange(-most, most + 1)
    return float(law[np.abs(sums) >= abs(d.sum())].sum())
