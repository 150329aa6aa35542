"""What estimators of a posterior have in common: options, training, draws and density."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np

from validation_core import sampling
from validation_core.learn.scaling import moments
from validation_core.scores import Recipe
from validation_core.types import Array, Benchmark, Joint

if TYPE_CHECKING:
    from validation_core.keys import Arrays
    from validation_core.learn.training import Report


class TrainedEstimator(Protocol):
    """A trained q(theta | x): draws, log density, and the course of its training."""

    @property
    def history(self) -> Mapping[str, Array]:
        """`epoch`, `loss` and `held_out` at every epoch: nats a pair, in theta's own units."""
        ...

    @property
    def seconds(self) -> float:
        """Seconds of training."""
        ...

    @property
    def device(self) -> str:
        """Where it was trained."""
        ...

    @property
    def summary(self) -> Mapping[str, float]:
        """Held-out loss, nats a pair, for lists of networks."""
        ...

    def arrays(self) -> Arrays:
        """Everything to store, by flat names."""
        ...

    def draws(self, x: Array, k: int, rng: np.random.Generator) -> Array:
        """Draw theta k times at each row of x (n, M): (n, k, D)."""
        ...

    def log_density(self, theta: Array, x: Array) -> Array:
        """log q(theta | x), normalised: (n,) of rows theta (n, D), x (n, M)."""
        ...


Watch = Callable[[int, TrainedEstimator], None]
"""Called with an epoch's number, 0 before the first, and the estimator as it stands."""


@dataclass(frozen=True, kw_only=True)
class Estimator(Recipe):
    """How a posterior is learnt from simulated pairs; with its simulator and seed it fixes q.

    Adam at a constant rate, so that fewer epochs are the beginning of more; a tenth of the
    simulations is held out. A subclass adds its network's options.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    help: ClassVar[str]
    """The estimator in a sentence."""
    nats: ClassVar[bool] = True
    """Whether its losses are nats a pair."""

    simulations: int = field(
        default=1000,
        metadata={
            "label": "Simulations",
            "min": 50,
            "max": 1_000_000,
            "help": "Pairs of theta and x; a tenth of them is held out.",
        },
    )
    epochs: int = field(
        default=200,
        metadata={"label": "Most epochs", "min": 1, "max": 100_000, "help": "Passes over them."},
    )
    patience: int = field(
        default=20,
        metadata={
            "label": "Patience, epochs",
            "min": 0,
            "max": 100_000,
            "help": "Training ends once so many epochs bring no lower held-out loss, and the best "
            "epoch is kept; 0 trains to the end and keeps the last.",
        },
    )
    batch: int = field(default=128, metadata={"label": "Batch", "min": 8, "max": 65_536})
    lr: float = field(
        default=1e-3,
        metadata={"label": "Learning rate", "min": 1e-6, "max": 0.1, "help": "Adam's."},
    )

    def __init_subclass__(cls, *, spec: str | None = None, **options: object) -> None:
        """Register the class under its name."""
        own = f"estimator:{cls.name}" if "name" in cls.__dict__ else None
        super().__init_subclass__(spec=spec or own, **options)

    def for_simulations(self, simulations: int) -> Self:
        """The same on so many simulations; many of them go in larger batches."""
        batch = self.batch * max(1, min(8, round((simulations / 5000) ** 0.5)))
        return replace(self, simulations=simulations, batch=batch)

    @property
    def label(self) -> str:
        """Name and number of simulations, for a list of trained models."""
        return f"{self.title}, {self.simulations:,} simulations"

    def sample(self, benchmark: Benchmark, gamma: float, rng: np.random.Generator) -> Joint:
        """Draw pairs (theta, x) of the truth.

        More simulations begin with the same pairs as fewer.
        """
        return sampling.pairs(benchmark, gamma, self.simulations, rng)

    def learn_all(
        self, data: Sequence[Joint], seeds: Sequence[int], report: Report | None = None
    ) -> list[Any]:
        """Train one estimator for each set of pairs and seed."""
        from validation_core.learn.in_turn import train_in_turn

        return train_in_turn(_learn, data, self, seeds, report)

    def learn(
        self, data: Joint, seed: int, report: Report | None = None, watch: Watch | None = None
    ) -> Any:
        """Train on pairs.

        Args:
            data: theta (n, D) and x (n, M).
            seed: of the initial parameters and the order of rows.
            report: called at every epoch with the fraction done (of the most that there can be),
                and the epoch, loss and held-out loss.
            watch: called with the estimator as it stands, before the first epoch and after each.
        """
        raise NotImplementedError


def _learn(data: Joint, recipe: Estimator, seed: int, report: Report | None) -> Any:
    return recipe.learn(data, seed, report)


@dataclass(frozen=True, eq=False)
class Scales:
    """Means and sds of the training pairs' columns: networks see standardised numbers."""

    theta_shift: Array
    """(D,)"""
    theta_scale: Array
    x_shift: Array
    """(M,)"""
    x_scale: Array

    @classmethod
    def of(cls, data: Joint) -> Scales:
        """Scales of training pairs."""
        return cls(*moments(np.asarray(data.theta)), *moments(np.asarray(data.x)))

    def theta(self, theta: Array) -> Array:
        """Standardised theta (..., D)."""
        return (theta - self.theta_shift) / self.theta_scale

    def x(self, x: Array) -> Array:
        """Standardised x (..., M)."""
        return (x - self.x_shift) / self.x_scale

    def back(self, z: Array) -> Array:
        """theta (..., D) of standardised theta."""
        return self.theta_shift + self.theta_scale * z

    @property
    def log_volume(self) -> float:
        """Log of theta's volume over the standardised one's."""
        return float(np.log(self.theta_scale).sum())
