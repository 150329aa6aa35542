"""Normalizing flows of theta given x, by zuko: affine and spline autoregressive flows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from validation_core.estimators.base import Estimator, Scales, Watch
from validation_core.learn.stored_network import GIVEN, StoredNetwork
from validation_core.rng import stream
from validation_core.types import Array, Joint

if TYPE_CHECKING:
    from torch import Tensor
    from zuko.flows import Flow

    from validation_core.keys import Arrays
    from validation_core.learn.training import Report

_ROWS = 16_384  # of a pass through the flow


@dataclass(frozen=True, kw_only=True)
class _AutoregressiveFlow(Estimator):
    """An autoregressive flow, its options."""

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
        """Build zuko's flow of theta (D) given x (M), with its initial parameters."""

    def learn(
        self, data: Joint, seed: int, report: Report | None = None, watch: Watch | None = None
    ) -> TrainedFlow:
        """Train on pairs by maximum likelihood."""
        from validation_core.estimators.fitting import Course, fit
        from validation_core.learn import perceptron, training

        device = perceptron.pick_device()
        scales = Scales.of(data)
        theta, x = _single(scales.theta(data.theta), device), _single(scales.x(data.x), device)
        flow = self.build((theta.shape[1], x.shape[1]))
        perceptron.reinitialise(flow, stream(seed, "initial"))
        flow.to(device)

        def loss(rows: NDArray[np.int64]) -> Tensor:
            nats: Tensor = -flow(x[rows]).log_prob(theta[rows]).mean()
            return nats

        def parameters() -> perceptron.Parameters:
            return perceptron.arrays(flow.state_dict())

        def trained(network: Arrays, history: Mapping[str, Array], seconds: float) -> TrainedFlow:
            return TrainedFlow(network, scales, history, self, seconds, device)

        fitted, seconds = training.timed(
            lambda: fit(
                Course(list(flow.parameters()), loss, loss, parameters),
                self,
                len(theta),
                stream(seed, "order"),
                volume=scales.log_volume,
                report=report,
                watch=watch and (lambda epoch, now: watch(epoch, trained(now, {}, 0.0))),
            )
        )
        return trained(fitted.parameters, fitted.history, seconds)

    def read(self, arrays: Arrays, *, seconds: float, device: str) -> TrainedFlow:
        """Rebuild a flow from `TrainedFlow.arrays`."""
        return TrainedFlow.read(arrays, recipe=self, seconds=seconds, device=device)


@dataclass(frozen=True, kw_only=True)
class MaskedAutoregressiveFlow(_AutoregressiveFlow):
    """A masked autoregressive flow (Papamakarios et al. 2017)."""

    name: ClassVar[str] = "maf"
    title: ClassVar[str] = "Masked autoregressive flow"
    help: ClassVar[str] = "affine steps, each parameter given those before it"

    def build(self, dims: tuple[int, int]) -> Flow:
        from zuko.flows import MAF

        return MAF(*dims, transforms=self.transforms, hidden_features=[self.hidden] * 2)


@dataclass(frozen=True, kw_only=True)
class NeuralSplineFlow(_AutoregressiveFlow):
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


@dataclass(frozen=True, eq=False)
class TrainedFlow(StoredNetwork):
    """A trained flow between standardised theta and a standard normal."""

    network: Mapping[str, NDArray[Any]]
    """zuko's parameters and masks, by their names."""
    scales: Scales
    history: Mapping[str, Array]
    recipe: _AutoregressiveFlow = field(metadata=GIVEN)
    seconds: float = 0.0
    device: str = "cpu"

    @property
    def summary(self) -> Mapping[str, float]:
        """Lowest held-out loss, nats a pair."""
        return {"held_out": float(np.min(self.history["held_out"]))}

    def draws(self, x: Array, k: int, rng: np.random.Generator) -> Array:
        """Draw theta k times at each row of x (n, M): (n, k, D)."""
        d = len(self.scales.theta_shift)
        z = rng.standard_normal((k, len(x), d)).astype(np.float32)
        theta = np.empty((len(x), k, d))
        for part, transform in self._passes(x, max(1, _ROWS // k)):
            inverse = transform.inv(_single(z[:, part], self.device_here))
            theta[part] = self.scales.back(inverse.cpu().numpy().swapaxes(0, 1).astype(np.float64))
        return theta

    def log_density(self, theta: Array, x: Array) -> Array:
        """log q(theta | x): (n,)."""
        import torch

        out = np.empty(len(theta))
        standard = self.scales.theta(theta)
        for part, transform in self._passes(x, _ROWS):
            z, ladj = transform.call_and_ladj(_single(standard[part], self.device_here))
            base = torch.distributions.Normal(0.0, 1.0).log_prob(z).sum(-1)
            out[part] = (base + ladj).cpu().numpy()
        return out - self.scales.log_volume

    @property
    def device_here(self) -> str:
        """The device of this process."""
        from validation_core.learn import perceptron

        return perceptron.pick_device()

    def _passes(self, x: Array, rows: int) -> Iterator[tuple[slice, Any]]:
        """Parts of the rows of x, and the flow's transform at them."""
        import torch

        flow = self.recipe.build((len(self.scales.theta_shift), len(self.scales.x_shift)))
        flow.load_state_dict({name: torch.from_numpy(part) for name, part in self.network.items()})
        flow.to(self.device_here)
        standard = self.scales.x(x)
        with torch.inference_mode():
            for first in range(0, len(x), rows):
                part = slice(first, first + rows)
                yield part, flow(_single(standard[part], self.device_here)).transform


def _single(rows: Array, device: str) -> Tensor:
    """Rows in single precision, where networks run."""
    import torch

    return torch.from_numpy(np.ascontiguousarray(rows, dtype=np.float32)).to(device)
