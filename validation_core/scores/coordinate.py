"""Each coordinate of theta as a score: what SBC ranks."""

from __future__ import annotations

import numpy as np

from validation_core.types import Array


class Coordinates:
    """theta (n, D) -> (D, n): one test quantity per parameter, nothing learnt."""

    def __call__(self, theta: Array, x: Array) -> Array:
        del x
        return np.ascontiguousarray(theta.T)
