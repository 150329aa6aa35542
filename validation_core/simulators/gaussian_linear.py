"""A normal mean with a normal prior: the posterior is conjugate."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from validation_core.simulators.any_dimension import AnyDimension
from validation_core.simulators.sources import LUECKMANN
from validation_core.text import count_text
from validation_core.types import Array, Paper

_VARIANCE = 0.1  # of the prior, and of x about theta


@dataclass(frozen=True, kw_only=True)
class GaussianLinear(AnyDimension):
    """theta ~ N(0, 0.1 I), x ~ N(theta, 0.1 I); theta | x ~ N(x / 2, 0.05 I)."""

    name: ClassVar[str] = "gaussian_linear"
    title: ClassVar[str] = "Linear Gaussian"
    paper: ClassVar[Paper] = LUECKMANN

    @property
    def summary(self) -> str:
        size = count_text(self.dimensions, "dimension")
        return f"a mean of {size}, seen once under normal noise"

    def prior(self, n: int, rng: np.random.Generator) -> Array:
        return math.sqrt(_VARIANCE) * rng.standard_normal((n, self.dimensions))

    def simulate(self, theta: Array, rng: np.random.Generator) -> Array:
        return theta + math.sqrt(_VARIANCE) * rng.standard_normal(theta.shape)

    def log_prior(self, theta: Array) -> Array:
        return _log_normal(theta, _VARIANCE)

    def posterior(self, x: Array, rng: np.random.Generator) -> Array:
        return x / 2 + math.sqrt(_VARIANCE / 2) * rng.standard_normal(x.shape)

    def log_posterior(self, theta: Array, x: Array) -> Array:
        return _log_normal(theta - x / 2, _VARIANCE / 2)


def _log_normal(off: Array, variance: float) -> Array:
    d = off.shape[1]
    return -(off**2).sum(1) / (2 * variance) - d / 2 * math.log(2 * math.pi * variance)
