"""A fixed smooth map that bends the Gaussian family: one hidden layer of sines.

Chen, Bansal, Scott, CoLT, Appendix C.5: theta = f(theta~) with f = Linear(D -> 128), sin,
Linear(128 -> D), at torch's default initial weights and never trained. Section 4 writes f as two
matrices without biases, of shapes that do not agree with it. Weights and biases are uniform on
+-1/sqrt(fan in), drawn once from a seed that depends on D only.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from validation_core.rng import stream
from validation_core.types import Array

HIDDEN = 128
"""Sines in the hidden layer."""


class Bend(NamedTuple):
    """The frozen weights of f for one dimension D."""

    inward: Array  # (128, D)
    phase: Array  # (128,)
    outward: Array  # (D, 128)
    offset: Array  # (D,)

    def __call__(self, theta: Array, gain: float = 1.0) -> Array:
        """f(theta~) = outward sin(gain (inward theta~ + phase)) + offset: (n, D) of (n, D).

        The gain, which the paper does not have, multiplies what goes into the sines, their phase
        included: 1 is the paper's map, near 0 it is nearly affine, and the larger the gain, the
        more curved, until the map folds.
        """
        return np.sin(gain * (theta @ self.inward.T + self.phase)) @ self.outward.T + self.offset


@lru_cache(maxsize=16)
def bend(dim: int) -> Bend:
    """The map of R^dim to itself; the seed is the dimension."""
    rng = stream(0, "curved", dim)
    first, second = 1 / np.sqrt(dim), 1 / np.sqrt(HIDDEN)
    mapping = Bend(
        inward=rng.uniform(-first, first, (HIDDEN, dim)),
        phase=rng.uniform(-first, first, HIDDEN),
        outward=rng.uniform(-second, second, (dim, HIDDEN)),
        offset=rng.uniform(-second, second, dim),
    )
    for weights in mapping:
        weights.flags.writeable = False
    return mapping
