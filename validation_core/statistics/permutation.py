"""P-values of permutation tests: of one statistic, and of several that step down."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from validation_core.types import Array, Float

SUMMATION_ROUNDING = 1e-12  # what sums in another order differ by, as a share of the largest value
SINGLE_ROUNDING = 1e-5
"""Like `SUMMATION_ROUNDING`, of sums in single precision."""


class PermutationResult(NamedTuple):
    """A statistic (...), its p-value (...), and the statistic of each permutation (..., B)."""

    statistic: Float
    pvalue: Float
    null: Float


def share_beyond(
    observed: ArrayLike, null: ArrayLike, slack: ArrayLike = 0.0
) -> NDArray[np.float64]:
    """Permutation p-value with the +1 rule, never 0.

    Args:
        observed: statistics (...).
        null: their permuted values (..., B).
        slack: rounding (...) by which equal statistics may differ.

    Returns:
        (1 + number of null values >= observed - slack) / (B + 1): (...).
    """
    bound = np.asarray(observed, dtype=np.float64) - np.asarray(slack)
    values = np.asarray(null, dtype=np.float64)
    return (1 + (values >= bound[..., None]).sum(axis=-1)) / (values.shape[-1] + 1)


def single_precision_slack(observed: Array) -> Array:
    """Rounding (...) of statistics (...) that are sums in single precision."""
    return np.asarray(SINGLE_ROUNDING * np.maximum(np.abs(observed), 1.0))


def step_down(observed: Array, null: Array) -> Array:
    """Adjusted p-values of several statistics, in single precision, that step down.

    Args:
        observed: statistics (T,).
        null: their permuted values (B, T).

    Returns:
        p-values (T,), of which any is at most a with chance a at most where its null holds,
        however the statistics depend on one another; a smaller statistic has no smaller p.

    References:
        Westfall, Young, Resampling-based multiple testing (1993), Algorithm 4.1.

    >>> step_down(np.array([2.0, 3.0]), np.array([[0.0, 1.0], [2.5, 0.0], [4.0, 0.0]]))
    array([0.75, 0.5 ])
    """
    order = np.argsort(-observed, kind="stable")
    # The largest of those that are not larger, in each null table.
    tail = np.maximum.accumulate(null[:, order[::-1]], axis=1)[:, ::-1]
    least = observed[order] - single_precision_slack(observed[order])
    raw = (1 + (tail >= least).sum(0)) / (len(null) + 1)
    out = np.empty(len(observed))
    out[order] = np.maximum.accumulate(raw)
    return out


def require_permutations(count: int) -> None:
    """Refuse a test without permutations.

    Raises:
        ValueError: if the count is below 1.
    """
    if count < 1:
        raise ValueError(
            f"a permutation test needs at least one permutation; got {count}; "
            "99 is the fewest that reach a p-value of 0.01"
        )
