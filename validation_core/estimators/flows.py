"""Normalizing flows of theta given x, by zuko: affine and spline autoregressive flows."""

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
    from zuko.flows import Flow

    from validation_core.keys import Arrays
    from validation_core.study import Report


@dataclass(frozen=True, kw_only=True)
class FlowEstimator(Estimator):
    """Autoregressive flows: one, a mixture of several, or a product of one for each parameter."""

    mixture: ClassVar[bool] = True
    """Whether several flows are components of a mixture; else factors of a product."""

    transforms: int = field(default=3, metadata={"label": "Transforms", "min": 1, "max": 20})
    hidden: int = field(
        default=64,
        metadata={
            "label": "Hidden units",
            "min": 4,
            "max": 1024,
            "help": "Of each of the two hidden layers of every transform.",
        },
    )

    @abstractmethod
    def build(self, dims: tuple[int, int]) -> Flow:
        """Build zuko's flow of so many columns of theta given x, with its initial parameters."""

    def columns(self, dims: int) -> Sequence[slice]:
        """Columns of theta (..., D) that each of the flows models."""
        return [slice(0, dims)]

    def learn_side_by_side(
        self,
        data: Sequence[Joint],
        seeds: Sequence[int],
        report: Report | None = None,
        watch: TrainingWatch | None = None,
    ) -> list[TrainedFlows]:
        from validation_core.estimators.flow_training import learn_flows

        return learn_flows(self, data, seeds, report, watch)

    def read(self, arrays: Arrays, *, seconds: float, device: str) -> TrainedFlows:
        """Rebuild flows from `TrainedFlows.arrays`."""
        return TrainedFlows.read(arrays, recipe=self, seconds=seconds, device=device)


@dataclass(frozen=True, kw_only=True)
class MaskedAutoregressiveFlow(FlowEstimator):
    """A masked autoregressive flow (Papamakarios et al. 2017)."""

    name: ClassVar[str] = "maf"
    title: ClassVar[str] = "Masked autoregressive flow"
    help: ClassVar[str] = "affine steps, each parameter given those before it"

    transforms: int = field(default=5, metadata={"label": "Transforms", "min": 1, "max": 20})

    def build(self, dims: tuple[int, int]) -> Flow:
        from zuko.flows import MAF

        return MAF(*dims, transforms=self.transforms, hidden_features=[self.hidden] * 2)

    @property
    def step_seconds(self) -> tuple[float, float]:
        return self.transforms * 1.4e-3, self.transforms * 1.2e-6


@dataclass(frozen=True, kw_only=True)
class NeuralSplineFlow(FlowEstimator):
    """A neural spline flow (Durkan et al. 2019)."""

    name: ClassVar[str] = "nsf"
    title: ClassVar[str] = "Neural spline flow"
    help: ClassVar[str] = "spline steps, each parameter given those before it"

    bins: int = field(default=8, metadata={"label": "Bins of a spline", "min": 2, "max": 64})

    def build(self, dims: tuple[int, int]) -> Flow:
        from zuko.flows import NSF

        return NSF(
            *dims, bins=self.bins, transforms=self.transforms, hidden_features=[self.hidden] * 2
        )

    @property
    def step_seconds(self) -> tuple[float, float]:
        return self.transforms * 3.2e-3, self.transforms * 4.7e-6


@dataclass(frozen=True, eq=False)
class TrainedFlows(StoredEstimator):
    """Trained flows between standardised theta and a standard normal.

    Its network is zuko's weights by name, with a leading axis where flows are several; `build`
    gives the masks.
    """

    recipe: FlowEstimator = field(metadata=GIVEN)

    def draws(self, x: Array, k: int, rng: np.random.Generator) -> Array:
        """Draw theta k times at each row of x (n, M): (n, k, D)."""
        from validation_core.estimators.flow_training import from_normal, modules

        n, d = len(x), len(self.scales.theta_shift)
        z = rng.standard_normal((n * k, d)).astype(np.float32)
        rows = np.repeat(self.scales.x(x).astype(np.float32), k, axis=0)
        flows, columns = modules(self), self.recipe.columns(d)
        mixed = self.recipe.mixture and len(flows) > 1
        chosen = rng.integers(len(flows), size=n * k) if mixed else None
        theta = np.empty((n * k, d))
        for i, (flow, part) in enumerate(zip(flows, columns, strict=True)):
            own = np.arange(n * k) if chosen is None else np.flatnonzero(chosen == i)
            theta[own, part] = from_normal(flow, z[own, part], rows[own])
        return self.scales.back(theta).reshape(n, k, d)

    def log_density(self, theta: Array, x: Array) -> Array:
        """log q(theta | x): (n,)."""
        from validation_core.estimators.flow_training import log_density, modules

        standard, rows = (
            each.astype(np.float32) for each in (self.scales.theta(theta), self.scales.x(x))
        )
        columns = self.recipe.columns(standard.shape[1])
        logs = np.stack(
            [
                log_density(flow, standard[:, part], rows)
                for flow, part in zip(modules(self), columns, strict=True)
            ]
        )
        if self.recipe.mixture:
            together = np.logaddexp.reduce(logs, axis=0) - np.log(len(logs))
        else:
            together = logs.sum(axis=0)
        return together - self.scales.log_volume
