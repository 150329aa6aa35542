"""The reverse diffusion by which the lensing benchmark draws its estimated posterior."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from validation_core.benchmarks.galaxies import Galaxies
from validation_core.benchmarks.lens import NOISE, PIXELS, Bias, Lens
from validation_core.benchmarks.lensing_system import (
    LARGEST,
    SMALLEST,
    STEPS,
    GaussianLaw,
    LensingSystem,
    lensing_system,
)
from validation_core.types import Array


class _ReverseStep(NamedTuple):
    """A step from one noise level to the next: theta <- keep theta + pull (x - A m) + jitter z."""

    keep: Array  # (D, D)
    pull: Array  # (D, M)
    jitter: Array  # (D, D)


def _levels() -> Array:
    """Noise levels (STEPS + 1,), decreasing to 0."""
    return np.append(np.geomspace(LARGEST, SMALLEST, STEPS), 0.0)


def _reverse_steps(system: LensingSystem, bias: Bias, gamma: float) -> Iterator[_ReverseStep]:
    """Coefficients of the sampler's steps, in order, for theta - m.

    Ancestral steps of a variance-exploding diffusion: the mean moves by the drop in variance
    times the score (Tweedie), the noise is that of the exact reverse step. At gamma = 0 both are
    exact, whatever the number of steps.
    """
    posterior = system.posterior
    values, axes = np.linalg.eigh(posterior.covariance)
    biased = _turned(system) if bias == "turned lens" else _convolved(system)
    levels = _levels()
    for high, low in pairwise(levels):
        drop = high**2 - low**2
        true = (axes / (values + high**2)) @ axes.T
        other, pull = biased(high)
        slope = (1 - gamma) * true + gamma * other
        pull = (1 - gamma) * true @ posterior.gain + gamma * pull
        # drop I - drop^2 true, in the posterior's axes
        variance = drop * (values + low**2) / (values + high**2)
        yield _ReverseStep(
            np.eye(PIXELS) - drop * slope, drop * pull, axes * np.sqrt(np.maximum(variance, 0))
        )


_Slopes = Callable[[float], tuple[Array, Array]]
"""Of a score pull (x - A m) - slope (theta_t - m), at a noise level: slope (D, D), pull (D, M)."""


def _turned(system: LensingSystem) -> _Slopes:
    """Score of the posterior under the turned lens."""
    values, axes = np.linalg.eigh(system.turned.covariance)

    def at(level: float) -> tuple[Array, Array]:
        slope = (axes / (values + level**2)) @ axes.T
        return slope, slope @ system.turned.gain

    return at


def _convolved(system: LensingSystem) -> _Slopes:
    """Sum of the prior's score and of the convolved likelihood's (Adam et al. 2022)."""
    values, axes = np.linalg.eigh(system.prior)
    left, singular, right = np.linalg.svd(system.lens)

    def at(level: float) -> tuple[Array, Array]:
        prior = (axes / (values + level**2)) @ axes.T
        pull = (right.T * (singular / (NOISE**2 + level**2 * singular**2))) @ left.T
        return prior + pull @ system.lens, pull

    return at


def _start(system: LensingSystem) -> Array:
    """Covariance (D, D) of theta given x at the largest noise level, where the sampler starts."""
    return np.asarray(system.posterior.covariance + LARGEST**2 * np.eye(PIXELS))


@lru_cache(maxsize=64)
def diffusion_estimator(
    lens: Lens, galaxies: Galaxies, path: str, bias: Bias, gamma: float
) -> GaussianLaw:
    """The law q_gamma of the sampler's last state; at gamma = 0 the exact posterior."""
    system = lensing_system(lens, galaxies, path)
    if gamma == 0:
        return system.posterior
    gain, covariance = system.posterior.gain, _start(system)
    for step in _reverse_steps(system, bias, gamma):
        gain = step.keep @ gain + step.pull
        covariance = step.keep @ covariance @ step.keep.T + step.jitter @ step.jitter.T
    return GaussianLaw.of(gain, covariance)


def sample_reverse_diffusion(
    system: LensingSystem, bias: Bias, gamma: float, off: Array, rng: np.random.Generator
) -> Array:
    """Draw theta - m (n, D) by running the sampler's steps, in single precision.

    Args:
        system: prior and lens.
        bias: kind of the biased score.
        gamma: weight of the biased score.
        off: x - A m (n, M).
        rng: draws the noise.
    """
    start = np.linalg.cholesky(_start(system))
    theta: Array = (off @ system.posterior.gain.T).astype(np.float32)
    single = off.astype(np.float32)
    theta += _noise(theta.shape, rng) @ start.T.astype(np.float32)
    for step in _reverse_steps(system, bias, gamma):
        keep, pull, jitter = (part.T.astype(np.float32) for part in step)
        theta = theta @ keep + single @ pull + _noise(theta.shape, rng) @ jitter
    return theta.astype(np.float64)


def _noise(shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    return rng.standard_normal(shape, dtype=np.float32)
