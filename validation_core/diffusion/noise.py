"""Noise levels and scalings of EDM, and what its network learns from.

Karras, Aittala, Aila, Laine (2022), Table 1. All of it in the training scale, where each
coordinate of theta has standard deviation 0.5.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core.types import Array

SIGMA_DATA = 0.5
STEPS = 20
"""Reverse steps of Chen, Bansal, Scott, Appendix C.3."""

_HIGH, _LOW, _RHO = 80.0, 0.002, 7.0
_P_MEAN, _P_SD = -1.2, 1.2  # of ln sigma in training


def levels(n: int = STEPS) -> NDArray[np.float64]:
    """Noise sd before the first step and after each of n: (n + 1,), from 80 to 0.002, then 0.

    Raises:
        ValueError: for fewer than two steps.
    """
    if n < 2:
        raise ValueError(f"A sampler takes at least two steps; got {n}. Raise it.")
    high, low = _HIGH ** (1 / _RHO), _LOW ** (1 / _RHO)
    return np.append((high + np.arange(n) / (n - 1) * (low - high)) ** _RHO, 0.0)


class Scalings(NamedTuple):
    """D(theta; s) = skip theta + out F(into theta, code): F sees and gives unit variance."""

    skip: Array
    out: Array
    into: Array
    code: Array


def scalings(sigma: Array | float) -> Scalings:
    """The scalings at noise sd `sigma`, each of its shape."""
    total = np.sqrt(np.square(sigma) + SIGMA_DATA**2)
    return Scalings(
        skip=SIGMA_DATA**2 / total**2,
        out=sigma * SIGMA_DATA / total,
        into=1 / total,
        code=np.log(sigma) / 4,
    )


class Examples(NamedTuple):
    """A regression: F(into, code) is to be `target`. (n, D), (n, 1), (n, D), float32."""

    into: NDArray[np.float32]
    code: NDArray[np.float32]
    target: NDArray[np.float32]


def examples(theta: Array, rng: np.random.Generator) -> Examples:
    """Noise every row of theta (n, D) once, at a lognormal level; unit weight is EDM's."""
    sigma = np.exp(_P_MEAN + _P_SD * rng.standard_normal((len(theta), 1)))
    noisy = theta + sigma * rng.standard_normal(theta.shape)
    scale = scalings(sigma)
    made = scale.into * noisy, scale.code, (theta - scale.skip * noisy) / scale.out
    return Examples(*(array.astype(np.float32) for array in made))
