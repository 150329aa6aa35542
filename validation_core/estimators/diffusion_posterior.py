"""The diffusion model of `diffusion` as a posterior: EDM's network along its probability flow.

With noise sd sigma = 1/2 tan t, EDM's state over sqrt(sigma^2 + 1/4) is cos(t) 2 theta + sin(t)
noise, and its network F the velocity's negative: scalings and the linear part of the ODE are gone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from validation_core.estimators.diffusion import SIGMA_DATA, edm_scalings, noise_levels
from validation_core.estimators.transport import TransportEstimator
from validation_core.types import Array

if TYPE_CHECKING:
    from validation_core.estimators.fitting import Examples


@dataclass(frozen=True, kw_only=True)
class DiffusionPosterior(TransportEstimator):
    """A diffusion model of theta given x (Karras et al. 2022), drawn along its ODE."""

    name: ClassVar[str] = "diffusion"
    title: ClassVar[str] = "Diffusion model"
    help: ClassVar[str] = "noise is taken away step by step, along the probability flow"

    def examples(self, theta: Array, rng: np.random.Generator) -> Examples:
        from validation_core.estimators.diffusion.network import draw_noisy_examples

        noisy = draw_noisy_examples(SIGMA_DATA * theta, rng)
        return noisy.into, noisy.code, -noisy.target

    def times(self) -> Array:
        """Angles of EDM's noise levels, from 80 to 0.002."""
        return np.arctan(noise_levels(self.steps + 1)[:-1] / SIGMA_DATA)

    def code(self, time: float) -> float:
        return float(edm_scalings(SIGMA_DATA * np.tan(time)).code)
