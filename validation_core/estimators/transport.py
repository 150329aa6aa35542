"""Posteriors that carry normal noise to theta along an ODE: diffusion and flow matching.

A state is a(t) theta + b(t) noise; a network learns its mean velocity given where it is, t and x
by least squares. Following the velocity from noise draws theta; the way back, with the volume that
its steps fill, gives theta's density (Chen, Rubanova, Bettencourt, Duvenaud 2018).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from validation_core.estimators.base import Estimator, StoredEstimator, TrainingWatch
from validation_core.learn.stored_network import GIVEN
from validation_core.types import Array, Joint

if TYPE_CHECKING:
    from validation_core.estimators.fitting import Examples
    from validation_core.keys import Arrays
    from validation_core.study import Report


@dataclass(frozen=True, kw_only=True)
class TransportEstimator(Estimator):
    """Options of an ODE between noise and theta."""

    nats: ClassVar[bool] = False

    epochs: int = field(
        default=1000,
        metadata={"label": "Most epochs", "min": 1, "max": 100_000, "help": "Passes over them."},
    )
    patience: int = field(
        default=300,
        metadata={
            "label": "Patience, epochs",
            "min": 0,
            "max": 100_000,
            "help": "As with flows; long, as a velocity's held-out error says little of the nats.",
        },
    )
    lr: float = field(
        default=2e-3,
        metadata={"label": "Learning rate", "min": 1e-6, "max": 0.1, "help": "Adam's."},
    )
    hidden: int = field(
        default=64,
        metadata={
            "label": "Hidden units",
            "min": 8,
            "max": 1024,
            "help": "A draw evaluates the network twice a step.",
        },
    )
    layers: int = field(default=3, metadata={"label": "Hidden layers", "min": 1, "max": 10})
    steps: int = field(
        default=40,
        metadata={
            "label": "Steps of the ODE",
            "min": 2,
            "max": 1000,
            "help": "Between noise and theta, for draws and densities, by Heun's method.",
        },
    )

    @property
    def step_seconds(self) -> tuple[float, float]:
        return 1.2e-3, 3e-10 * self.hidden**2 * (self.layers + 3)

    @abstractmethod
    def examples(self, theta: Array, rng: np.random.Generator) -> Examples:
        """State (n, D), time's code (n, 1) and velocity (n, D) of standardised theta (n, D)."""

    @abstractmethod
    def times(self) -> Array:
        """Times from noise to theta: (steps + 1,)."""

    @abstractmethod
    def code(self, time: float) -> float:
        """What the network is told of a time."""

    def learn_side_by_side(
        self,
        data: Sequence[Joint],
        seeds: Sequence[int],
        report: Report | None = None,
        watch: TrainingWatch | None = None,
    ) -> list[TrainedTransport]:
        from validation_core.estimators.transport_training import learn_transports

        return learn_transports(self, data, seeds, report, watch)

    def read(self, arrays: Arrays, *, seconds: float, device: str) -> TrainedTransport:
        """Rebuild an estimator from `TrainedTransport.arrays`."""
        return TrainedTransport.read(arrays, recipe=self, seconds=seconds, device=device)


@dataclass(frozen=True, eq=False)
class TrainedTransport(StoredEstimator):
    """A trained velocity, and the scales of its data."""

    recipe: TransportEstimator = field(metadata=GIVEN)

    def draws(self, x: Array, k: int, rng: np.random.Generator) -> Array:
        """Draw theta k times at each row of x (n, M): (n, k, D)."""
        from validation_core.estimators.transport_training import carry

        n, d = len(x), len(self.scales.theta_shift)
        noise = rng.standard_normal((n * k, d))
        rows = np.repeat(self.scales.x(x), k, axis=0)
        return self.scales.back(carry(self, noise, rows)).reshape(n, k, d)

    def log_density(self, theta: Array, x: Array) -> Array:
        """log q(theta | x): (n,), of the ODE's way back in `recipe.steps` steps, which integrates
        to 1."""
        from validation_core.estimators.transport_training import log_density

        return log_density(self, self.scales.theta(theta), self.scales.x(x)) - (
            self.scales.log_volume
        )
