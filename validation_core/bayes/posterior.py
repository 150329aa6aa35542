"""Approximate posteriors of K data sets at once: their draws and log densities.

No torch: pages read them from the store.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from validation_core.types import Array


class Posterior(Protocol):
    """q(z | y_k) for k = 1..K, normalised, in unconstrained coordinates."""

    @property
    def ok(self) -> NDArray[np.bool_]:
        """Whether inference gave a q, for each data set (K,)."""
        ...

    def sample(self, s: int, rngs: Sequence[np.random.Generator]) -> Array:
        """Draw s times from each q, with its own generator: (K, s, D), NaN where there is no q."""
        ...

    def log_density(self, z: Array) -> Array:
        """log q(z | y_k) of z (K, S, D): (K, S), NaN where there is no q."""
        ...


@dataclass(frozen=True, eq=False)
class FullGaussian:
    """Normal posterior: mean (K, D) and scale (K, D, D), with covariance scale scale^T.

    Scales are lower triangular with a diagonal that is not 0 (of either sign); NaN where
    inference failed.
    """

    mean: Array
    scale: Array

    @cached_property
    def ok(self) -> NDArray[np.bool_]:
        """Whether mean and scale are finite and the scale is invertible (K,)."""
        diagonal = np.diagonal(self.scale, axis1=-2, axis2=-1)
        finite = np.isfinite(self.mean).all(-1) & np.isfinite(self.scale).all((-2, -1))
        return np.asarray(finite & (diagonal != 0).all(-1))

    def sample(self, s: int, rngs: Sequence[np.random.Generator]) -> Array:
        """s draws for each data set: (K, s, D)."""
        d = self.mean.shape[1]
        noise = np.stack([rng.standard_normal((s, d)) for rng in rngs])
        return np.asarray(self.mean[:, None] + noise @ np.swapaxes(self.scale, 1, 2))

    def log_density(self, z: Array) -> Array:
        """log q of z (K, S, D): (K, S)."""
        log_density = np.full(z.shape[:2], np.nan)
        ok = self.ok
        scale, off = self.scale[ok], z[ok] - self.mean[ok, None]
        whitened = np.linalg.solve(scale, np.swapaxes(off, 1, 2))  # (K, D, S)
        size = np.log(np.abs(np.diagonal(scale, axis1=-2, axis2=-1))).sum(-1)
        constant = size + 0.5 * z.shape[2] * np.log(2 * np.pi)
        log_density[ok] = -0.5 * np.square(whitened).sum(1) - constant[:, None]
        return log_density
