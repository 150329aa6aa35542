"""A normal mean with a flat prior: the posterior is a normal that is cut to the prior's box."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from validation_core import keys
from validation_core.simulators.base import Simulator
from validation_core.simulators.sources import LUECKMANN
from validation_core.simulators.truncated_normal import draw_between, log_interval_mass
from validation_core.types import Array, Paper

_SD = math.sqrt(0.1)  # of x about theta
_EDGE = 1.0  # of the box


@dataclass(frozen=True, kw_only=True)
class GaussianLinearUniform(Simulator):
    """theta ~ U[-1, 1]^D, x ~ N(theta, 0.1 I); theta | x ~ N(x, 0.1 I) within the box."""

    name: ClassVar[str] = "gaussian_linear_uniform"
    title: ClassVar[str] = "Linear Gaussian, flat prior"
    paper: ClassVar[Paper] = LUECKMANN

    dimensions: int = field(
        default=10,
        metadata={"label": "Dimensions", "min": 1, "max": 20, "help": "Of theta and of x."},
    )

    def __post_init__(self) -> None:
        keys.check_options(self)

    @property
    def summary(self) -> str:
        return f"a mean of {self.dimensions} dimensions within a box, seen once under normal noise"

    @property
    def dims(self) -> tuple[int, int]:
        return self.dimensions, self.dimensions

    @property
    def support(self) -> tuple[Array, Array]:
        return np.full(self.dimensions, -_EDGE), np.full(self.dimensions, _EDGE)

    def prior(self, n: int, rng: np.random.Generator) -> Array:
        return rng.uniform(-_EDGE, _EDGE, (n, self.dimensions))

    def simulate(self, theta: Array, rng: np.random.Generator) -> Array:
        return theta + _SD * rng.standard_normal(theta.shape)

    def log_prior(self, theta: Array) -> Array:
        return np.where(self.inside(theta), -self.dimensions * math.log(2 * _EDGE), -np.inf)

    def posterior(self, x: Array, rng: np.random.Generator) -> Array:
        return x + _SD * draw_between(*_ends(x), rng)

    def log_posterior(self, theta: Array, x: Array) -> Array:
        off = (theta - x) / _SD
        normal = -(off**2) / 2 - math.log(math.sqrt(2 * math.pi) * _SD)
        log = (normal - log_interval_mass(*_ends(x))).sum(1)
        return np.where(self.inside(theta), log, -np.inf)


def _ends(x: Array) -> tuple[Array, Array]:
    """The box about x, in sds."""
    return (-_EDGE - x) / _SD, (_EDGE - x) / _SD
