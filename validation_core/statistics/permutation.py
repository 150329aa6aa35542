"""The p-value of a permutation test: the identity is one of the permutations."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def share_beyond(
    observed: ArrayLike, null: ArrayLike, slack: ArrayLike = 0.0
) -> NDArray[np.float64]:
    """(1 + number of null values (..., B) >= observed - slack (...)) / (B + 1): never 0."""
    bound = np.asarray(observed, dtype=np.float64) - np.asarray(slack)
    values = np.asarray(null, dtype=np.float64)
    return (1 + (values >= bound[..., None]).sum(axis=-1)) / (values.shape[-1] + 1)
