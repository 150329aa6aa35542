"""A prior that is flat over a box."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from validation_core.simulators.base import Simulator
from validation_core.types import Array


class BoxPrior(Simulator):
    """theta ~ U[-edge, edge]^D."""

    edge: ClassVar[float]

    @property
    def support(self) -> tuple[Array, Array]:
        """The box: low (D,) and high (D,)."""
        return np.full(self.dims[0], -self.edge), np.full(self.dims[0], self.edge)

    def prior(self, n: int, rng: np.random.Generator) -> Array:
        """Draw n parameters: (n, D)."""
        return rng.uniform(-self.edge, self.edge, (n, self.dims[0]))

    def log_prior(self, theta: Array) -> Array:
        """log p(theta): (n,); -inf outside the box."""
        return np.where(self.inside(theta), -self.dims[0] * math.log(2 * self.edge), -np.inf)

    def ends(self, x: Array, sd: Array | float) -> tuple[Array, Array]:
        """The box about x (n, D), in sds: its low and its high end, (n, D)."""
        return (-self.edge - x) / sd, (self.edge - x) / sd
