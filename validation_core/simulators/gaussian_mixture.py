"""A common mean of a wide and a narrow normal: the posterior is their mixture, cut to a box."""

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

_SDS = np.array([1.0, 0.1])  # of the two, which are equally likely
_EDGE = 10.0  # of the box


@dataclass(frozen=True, kw_only=True)
class GaussianMixture(Simulator):
    """theta ~ U[-10, 10]^D, x ~ N(theta, I) or N(theta, 0.01 I), with chance 1/2 each.

    The posterior mixes the two normals about x, each with the share of its mass that the box
    holds.
    """

    name: ClassVar[str] = "gaussian_mixture"
    title: ClassVar[str] = "Gaussian mixture"
    paper: ClassVar[Paper] = LUECKMANN

    dimensions: int = field(
        default=2,
        metadata={"label": "Dimensions", "min": 1, "max": 20, "help": "Of theta and of x."},
    )

    def __post_init__(self) -> None:
        keys.check_options(self)

    @property
    def summary(self) -> str:
        return "a mean within a box, seen once under noise that is wide or, as often, narrow"

    @property
    def dims(self) -> tuple[int, int]:
        return self.dimensions, self.dimensions

    @property
    def support(self) -> tuple[Array, Array]:
        return np.full(self.dimensions, -_EDGE), np.full(self.dimensions, _EDGE)

    def prior(self, n: int, rng: np.random.Generator) -> Array:
        return rng.uniform(-_EDGE, _EDGE, (n, self.dimensions))

    def simulate(self, theta: Array, rng: np.random.Generator) -> Array:
        sd = rng.choice(_SDS, (len(theta), 1))
        return theta + sd * rng.standard_normal(theta.shape)

    def log_prior(self, theta: Array) -> Array:
        return np.where(self.inside(theta), -self.dimensions * math.log(2 * _EDGE), -np.inf)

    def posterior(self, x: Array, rng: np.random.Generator) -> Array:
        wide, narrow = _log_masses(x)
        is_narrow = rng.random(len(x)) < 1 / (1 + np.exp(wide - narrow))
        sd = np.where(is_narrow, _SDS[1], _SDS[0])[:, None]
        return x + sd * draw_between(*_ends(x, sd), rng)

    def log_posterior(self, theta: Array, x: Array) -> Array:
        squares, d = ((theta - x) ** 2).sum(1), self.dimensions
        wide, narrow = (
            -squares / (2 * sd**2) - d / 2 * math.log(2 * math.pi * sd**2) for sd in _SDS
        )
        log = np.logaddexp(wide, narrow) - np.logaddexp(*_log_masses(x))
        return np.where(self.inside(theta), log, -np.inf)


def _log_masses(x: Array) -> list[Array]:
    """Log of each normal's mass within the box: (n,)."""
    return [log_interval_mass(*_ends(x, sd)).sum(1) for sd in _SDS]


def _ends(x: Array, sd: Array) -> tuple[Array, Array]:
    """The box about x, in sds."""
    return (-_EDGE - x) / sd, (_EDGE - x) / sd
