"""The linear Gaussian system of the lensing benchmark: prior, forward map, posterior moments."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from validation_core.benchmarks.galaxies import Galaxies
from validation_core.benchmarks.galaxy_files import load_galaxies
from validation_core.benchmarks.lens import NOISE, PIXELS, RIDGE, TURNED, Lens, lens_matrix
from validation_core.types import Array

STEPS = 100
"""Steps of the reverse diffusion."""
LARGEST, SMALLEST = 30.0, 0.003
"""Ends of the geometric grid of noise levels: some ten times the prior's widest direction, and
less than the posterior's narrowest."""


class GaussianLaw(NamedTuple):
    """A Gaussian of theta given x: N(m + gain (x - A m), root root')."""

    gain: Array  # (D, M)
    root: Array  # (D, D), lower
    whitening: Array  # (D, D), the inverse of root

    @classmethod
    def of(cls, gain: Array, covariance: Array) -> GaussianLaw:
        """The law with this covariance (D, D)."""
        root = np.linalg.cholesky((covariance + covariance.T) / 2)
        whitening = solve_triangular(root, np.eye(len(root)), lower=True)
        return cls(gain, root, whitening)

    @property
    def covariance(self) -> Array:
        """Covariance (D, D) of theta given x."""
        return np.asarray(self.root @ self.root.T)

    def draws(self, off: Array, rng: np.random.Generator) -> Array:
        """Draw theta - m (n, D), once for each x - A m (n, M)."""
        return np.asarray(off @ self.gain.T + rng.standard_normal(off.shape) @ self.root.T)

    def log_density(self, theta: Array, off: Array) -> Array:
        """Log density (n,) of theta - m (n, D) at x - A m (n, M)."""
        z = (theta - off @ self.gain.T) @ self.whitening.T
        constant = np.log(np.diag(self.whitening)).sum() - 0.5 * PIXELS * np.log(2 * np.pi)
        return np.asarray(constant - 0.5 * np.einsum("ij,ij->i", z, z))


class PosteriorMoments(NamedTuple):
    """Mean and standard deviations of a Gaussian posterior at each of n images."""

    mean: Array
    """(n, D)."""
    sd: Array
    """(D,), the same at each."""


class LensingSystem(NamedTuple):
    """A prior and a lens: everything that does not depend on gamma."""

    mean: Array  # (D,) m
    prior: Array  # (D, D) P
    prior_root: Array  # (D, D), lower
    lens: Array  # (M, D) A
    seen: Array  # (M,) A m
    posterior: GaussianLaw
    turned: GaussianLaw  # the posterior under the turned lens


@cache
def lensing_system(lens: Lens, galaxies: Galaxies, path: str) -> LensingSystem:
    """Build the system of a lens and of galaxies; `path` names the file of the galaxies."""
    del path  # part of the key: another file, another prior
    mean, prior = _prior(galaxies)
    forward = lens_matrix(lens)
    laws = [_posterior(prior, lens_matrix(lens, turned)) for turned in (0.0, TURNED[lens])]
    return LensingSystem(mean, prior, np.linalg.cholesky(prior), forward, forward @ mean, *laws)


def _posterior(prior: Array, forward: Array) -> GaussianLaw:
    """Conjugate posterior of theta - m given x - A m."""
    covariance = np.linalg.inv(np.linalg.inv(prior) + forward.T @ forward / NOISE**2)
    return GaussianLaw.of(covariance @ forward.T / NOISE**2, covariance)


def _prior(name: Galaxies) -> tuple[Array, Array]:
    """Mean (D,) and covariance (D, D) of the galaxies, over all eight symmetries of the square."""
    images = load_galaxies(name)
    turned = [
        np.rot90(side, turns, (1, 2))
        for side in (images, images[:, :, ::-1])
        for turns in range(4)
    ]
    pixels = np.concatenate(turned).reshape(-1, PIXELS)
    return pixels.mean(0), np.cov(pixels.T) + RIDGE * np.eye(PIXELS)
