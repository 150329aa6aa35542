"""A common mean of a wide and a narrow normal: the posterior is their mixture, cut to a box."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from validation_core.simulators.any_dimension import AnyDimension, dimensions_field
from validation_core.simulators.box_prior import BoxPrior
from validation_core.simulators.sources import LUECKMANN
from validation_core.simulators.truncated_normal import draw_between, log_interval_mass
from validation_core.types import Array, Paper

_SDS = np.array([1.0, 0.1])  # of the two, which are equally likely


@dataclass(frozen=True, kw_only=True)
class GaussianMixture(AnyDimension, BoxPrior):
    """theta ~ U[-10, 10]^D, x ~ N(theta, I) or N(theta, 0.01 I), with chance 1/2 each.

    The posterior mixes the two normals about x, each with the share of its mass that the box
    holds.
    """

    name: ClassVar[str] = "gaussian_mixture"
    title: ClassVar[str] = "Gaussian mixture"
    paper: ClassVar[Paper] = LUECKMANN
    edge: ClassVar[float] = 10.0

    dimensions: int = dimensions_field(2)

    @property
    def summary(self) -> str:
        return "a mean within a box, seen once under noise that is wide or, as often, narrow"

    def simulate(self, theta: Array, rng: np.random.Generator) -> Array:
        sd = rng.choice(_SDS, (len(theta), 1))
        return theta + sd * rng.standard_normal(theta.shape)

    def posterior(self, x: Array, rng: np.random.Generator) -> Array:
        wide, narrow = self._log_masses(x)
        is_narrow = rng.random(len(x)) < 1 / (1 + np.exp(wide - narrow))
        sd = np.where(is_narrow, _SDS[1], _SDS[0])[:, None]
        return x + sd * draw_between(*self.ends(x, sd), rng)

    def log_posterior(self, theta: Array, x: Array) -> Array:
        squares, d = ((theta - x) ** 2).sum(1), self.dimensions
        wide, narrow = (
            -squares / (2 * sd**2) - d / 2 * math.log(2 * math.pi * sd**2) for sd in _SDS
        )
        log = np.logaddexp(wide, narrow) - np.logaddexp(*self._log_masses(x))
        return np.where(self.inside(theta), log, -np.inf)

    def _log_masses(self, x: Array) -> list[Array]:
        """Log of each normal's mass within the box: (n,)."""
        return [log_interval_mass(*self.ends(x, sd)).sum(1) for sd in _SDS]
