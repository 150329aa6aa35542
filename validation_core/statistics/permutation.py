"""The p-value of a permutation test."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from validation_core.types import Float

SUMMATION_ROUNDING = 1e-12  # what sums in another order differ by, as a share of the largest value


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


def require_permutations(count: int) -> None:
    if count < 1:
        raise ValueError(
            f"a permutation test needs at least one permutation; got {count}; "
            "99 is the fewest that reach a p-value of 0.01"
        )
