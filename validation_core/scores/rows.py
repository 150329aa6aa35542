"""Whole rows as a score: what kernels compare."""

from __future__ import annotations

import numpy as np

from validation_core.types import Array


class Rows:
    """theta (n, D), x (n, M) -> (D + M, n): every number of a row, nothing learnt."""

    def __call__(self, theta: Array, x: Array) -> Array:
        return np.ascontiguousarray(np.concatenate([theta, x], axis=1).T)
