"""What estimators of a posterior have in common: options, training, draws and density."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from validation_core import sampling
from validation_core.keys import check_options
from validation_core.learn.scaling import moments
from validation_core.learn.stored_network import GIVEN, StoredNetwork
from validation_core.scores import Recipe
from validation_core.types import Array, Benchmark, Joint

if TYPE_CHECKING:
    from validation_core.keys import Arrays
    from validation_core.study import Report


class TrainedEstimator(Protocol):
    """A trained q(theta | x): draws, log density, and the course of its training."""

    @property
    def history(self) -> Mapping[str, Array]:
        """`epoch`, `loss` and `held_out` at every epoch.

        Nats a pair, in theta's own units, where the estimator's `nats` says so.
        """
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
        """Lowest held-out loss, for lists of networks."""
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


class TrainingDiverged(ValueError):
    """A training whose loss has become infinite or no number."""

    @classmethod
    def at(cls, epoch: int, lr: float, losses: Array) -> TrainingDiverged:
        """Where it happened."""
        loss = losses[~np.isfinite(losses)][0]
        return cls(
            f"A training's loss stays finite; got {loss} in epoch {epoch} at learning rate "
            f"{lr:g}. Train at {lr / 10:g}, or take far outliers out of the simulations."
        )


TrainingWatch = Callable[[int, TrainedEstimator], None]
"""Called with an epoch's number, 0 before the first, and the estimator as it stands."""


@dataclass(frozen=True, kw_only=True)
class Estimator(Recipe):
    """How a posterior is learnt from simulated pairs; with its simulator and seed it fixes q.

    Adam at a constant rate, so that fewer epochs are the beginning of more, whose weights are
    averaged over a few epochs; a tenth of the simulations is held out. A subclass adds its
    network's options.
    """

    batched: ClassVar[bool] = True
    name: ClassVar[str]
    title: ClassVar[str]
    help: ClassVar[str]
    """The estimator in a sentence."""
    nats: ClassVar[bool] = True
    """Whether its losses are nats a pair; else squared errors of a velocity."""

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
        default=150,
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
        default=4e-3,
        metadata={"label": "Learning rate", "min": 1e-6, "max": 0.1, "help": "Adam's."},
    )

    def __init_subclass__(cls, *, spec: str | None = None, **options: object) -> None:
        """Register the class under its name."""
        own = f"estimator:{cls.name}" if "name" in cls.__dict__ else None
        super().__init_subclass__(spec=spec or own, **options)

    def __post_init__(self) -> None:
        check_options(self)

    def for_simulations(self, simulations: int) -> Self:
        """The same on so many simulations: larger batches of many, fewer passes over very many.

        Batches grow as the square root of simulations over 1000, to eightfold; epochs and
        patience fall as the fourth root of simulations over 10,000.
        """
        doublings = int(np.clip(np.log2(simulations / 1000) / 2 + 0.5, 0, 3))
        share = min(1.0, (10_000 / simulations) ** 0.25)
        return replace(
            self,
            simulations=simulations,
            batch=self.batch * 2**doublings,
            epochs=max(1, round(self.epochs * share)),
            patience=self.patience and max(1, round(self.patience * share)),
        )

    def cost(self) -> float:
        """Seconds of training to the last epoch, about, on one 2.x GHz core."""
        batches = max(1, round(0.9 * self.simulations / self.batch))
        overhead, row = self.step_seconds
        return self.epochs * batches * (overhead + self.batch * row)

    @property
    def step_seconds(self) -> tuple[float, float]:
        """Seconds of a step: whatever its batch, and for each row of it."""
        raise NotImplementedError

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
        """Train one estimator for each set of pairs and seed: on a GPU side by side."""
        from validation_core.learn import perceptron
        from validation_core.learn.in_turn import train_in_turn

        if perceptron.pick_device().startswith("cuda"):
            return self.learn_side_by_side(data, seeds, report)
        return train_in_turn(_learn, data, self, seeds, report)

    def learn(
        self,
        data: Joint,
        seed: int,
        report: Report | None = None,
        watch: TrainingWatch | None = None,
    ) -> Any:
        """Train on pairs.

        Args:
            data: theta (n, D) and x (n, M).
            seed: of the initial parameters and the order of rows.
            report: called at every epoch with the fraction done (of the most that there can be),
                and the epoch, loss and held-out loss.
            watch: called with the estimator as it stands, before the first epoch and after each.

        Raises:
            ValueError: for pairs that are not finite.
            TrainingDiverged: when a loss is no finite number.
        """
        return self.learn_side_by_side([data], [seed], report, watch)[0]

    def learn_side_by_side(
        self,
        data: Sequence[Joint],
        seeds: Sequence[int],
        report: Report | None = None,
        watch: TrainingWatch | None = None,
    ) -> list[Any]:
        """Train on several sets of pairs of one size as one batch, each as alone to rounding.

        Args:
            data: of each network.
            seeds: of each.
            report: as in `learn`, with mean losses.
            watch: as in `learn`, for a single one.
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
        """Scales of training pairs.

        Raises:
            ValueError: for pairs that hold something other than finite numbers.
        """
        for name, rows in (("theta", data.theta), ("x", data.x)):
            bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
            if len(bad):
                raise ValueError(
                    f"Simulations to learn from are finite numbers; got {rows[bad[0]].tolist()} "
                    f"for {name} of row {bad[0]}. Leave out such rows ({len(bad):,} of "
                    f"{len(rows):,})."
                )
        with np.errstate(over="ignore", invalid="ignore"):
            scales = cls(*moments(np.asarray(data.theta)), *moments(np.asarray(data.x)))
        for name in ("theta", "x"):
            size = getattr(scales, f"{name}_shift") + getattr(scales, f"{name}_scale")
            bad = np.flatnonzero(~np.isfinite(size))
            if len(bad):
                raise ValueError(
                    f"Simulations to learn from have a mean and a spread; of column {bad[0]} of "
                    f"{name} they are beyond what a double holds. Divide it by a power of ten."
                )
        return scales

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


@dataclass(frozen=True, eq=False)
class StoredEstimator(StoredNetwork):
    """What is kept of a trained estimator: its weights, the scales of its data, its course."""

    network: Mapping[str, NDArray[Any]]
    scales: Scales
    history: Mapping[str, Array]
    recipe: Estimator = field(metadata=GIVEN)
    seconds: float = 0.0
    device: str = "cpu"

    @property
    def summary(self) -> Mapping[str, float]:
        """Lowest held-out loss, for lists of networks."""
        return {"held_out": float(np.min(self.history["held_out"]))}
