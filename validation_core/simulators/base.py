"""What a simulator with a known posterior has: prior, simulation, and the posterior at any x."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from validation_core.keys import Specification
from validation_core.types import Array, Joint, Paper


class Simulator(Specification):
    """A prior and a simulator, and their exact posterior at every x: draws and log density.

    A subclass is a frozen dataclass whose fields are its options. Shapes: n rows, D parameters,
    M data.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    paper: ClassVar[Paper]
    quasi: ClassVar[str] = ""
    """How far the posterior is from exact, in a sentence; empty where it is exact."""

    def __init_subclass__(cls, *, spec: str | None = None, **options: object) -> None:
        """Register the class under its name."""
        own = f"simulator:{cls.name}" if "name" in cls.__dict__ else None
        super().__init_subclass__(spec=spec or own, **options)

    @property
    def summary(self) -> str:
        """The prior and the simulator, in one sentence."""
        raise NotImplementedError

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the D parameters."""
        return tuple(f"theta{i}" for i in range(1, self.dims[0] + 1))

    @property
    def dims(self) -> tuple[int, int]:
        """(D, M): dimensions of theta and x."""
        raise NotImplementedError

    @property
    def support(self) -> tuple[Array, Array] | None:
        """Bounds of the prior's box, low (D,) and high (D,); None where it has no bounds."""
        return None

    def inside(self, theta: Array) -> NDArray[np.bool_]:
        """Whether each row of theta (n, D) lies in the prior's support: (n,)."""
        if self.support is None:
            return np.ones(len(theta), bool)
        low, high = self.support
        return np.asarray(((theta >= low) & (theta <= high)).all(axis=1))

    def prior(self, n: int, rng: np.random.Generator) -> Array:
        """Draw n parameters from the prior: (n, D)."""
        raise NotImplementedError

    def simulate(self, theta: Array, rng: np.random.Generator) -> Array:
        """Simulate data of each row of theta (n, D): (n, M)."""
        raise NotImplementedError

    def pairs(self, n: int, rng: np.random.Generator) -> Joint:
        """Draw n pairs from the prior and the simulator."""
        theta = self.prior(n, rng)
        return Joint(theta, self.simulate(theta, rng))

    def log_prior(self, theta: Array) -> Array:
        """log p(theta), normalised: (n,); -inf outside the prior's support."""
        raise NotImplementedError

    def posterior(self, x: Array, rng: np.random.Generator) -> Array:
        """Draw theta once from the exact posterior at each row of x (n, M): (n, D)."""
        raise NotImplementedError

    def log_posterior(self, theta: Array, x: Array) -> Array:
        """log p(theta | x), normalised: (n,) of theta (n, D), x (n, M); -inf where it is 0."""
        raise NotImplementedError
