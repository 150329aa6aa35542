"""A normal mean with a flat prior: the posterior is a normal that is cut to the prior's box."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from validation_core.simulators.any_dimension import AnyDimension
from validation_core.simulators.box_prior import BoxPrior
from validation_core.simulators.sources import LUECKMANN
from validation_core.simulators.truncated_normal import draw_between, log_interval_mass
from validation_core.text import count_text
from validation_core.types import Array, Paper

_SD = math.sqrt(0.1)  # of x about theta


@dataclass(frozen=True, kw_only=True)
class GaussianLinearUniform(AnyDimension, BoxPrior):
    """theta ~ U[-1, 1]^D, x ~ N(theta, 0.1 I); theta | x ~ N(x, 0.1 I) within the box."""

    name: ClassVar[str] = "gaussian_linear_uniform"
    title: ClassVar[str] = "Linear Gaussian, flat prior"
    paper: ClassVar[Paper] = LUECKMANN
    edge: ClassVar[float] = 1.0

    @property
    def summary(self) -> str:
        size = count_text(self.dimensions, "dimension")
        return f"a mean of {size} within a box, seen once under normal noise"

    def simulate(self, theta: Array, rng: np.random.Generator) -> Array:
        return theta + _SD * rng.standard_normal(theta.shape)

    def posterior(self, x: Array, rng: np.random.Generator) -> Array:
        return x + _SD * draw_between(*self.ends(x, _SD), rng)

    def log_posterior(self, theta: Array, x: Array) -> Array:
        off = (theta - x) / _SD
        normal = -(off**2) / 2 - math.log(math.sqrt(2 * math.pi) * _SD)
        log = (normal - log_interval_mass(*self.ends(x, _SD))).sum(1)
        return np.where(self.inside(theta), log, -np.inf)
