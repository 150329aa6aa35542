"""The sphere flow: a posterior of 100 dimensions, and q from the same flow, its base moved.

Bansal, Chen, Scott, Conformal C2ST, Appendix C. A point s of the unit sphere is carried into 100
dimensions, theta = W's + 0.5 N(0, I) with W (3, 100) standard normal, and x holds its angles,
(phi / pi, tau / 2 pi). The true posterior is a conditional flow that was trained on such pairs;
q is the same flow from the base N(gamma g, I), |g| = 1, in place of N(0, I). Both share the flow
and its Jacobian, so that the log ratio is known whatever the flow: gamma^2 / 2 - gamma g'z at
z = f(theta; x). Without a network the flow is the law of the pairs itself,
z = (theta - W's) / 0.5.

The paper draws phi uniformly, which crowds the poles, and calls that uniform on the sphere; phi =
arccos(1 - 2u) is uniform. Here both can be had. It says neither W's seed, the noise nor g.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from validation_core import sampling
from validation_core.learn.stored_network import StoredNetwork
from validation_core.pieces import slices
from validation_core.rng import stream
from validation_core.scores import Recipe
from validation_core.shared_arrays import read_only
from validation_core.types import Array, Benchmark, Integers, Joint, Paper

if TYPE_CHECKING:
    from torch import Tensor
    from zuko.flows import RealNVP

    from validation_core.keys import Arrays
    from validation_core.study import Report

D = 100
"""Dimensions of theta."""
NOISE = 0.5
"""Standard deviation of theta about its point of the sphere; the sphere's radius there is 10."""

_COUPLINGS, _HIDDEN = 8, 512  # Appendix C
_ROWS = 4096  # of a pass through the flow


@cache
@read_only
def sphere_axes() -> Array:
    """Axes W (3, 100) of the sphere in theta's space."""
    return stream(0, "sphere flow", "directions").standard_normal((3, D))


def sphere_points(x: Array) -> Array:
    """Points s (n, 3) of the unit sphere at angles x (n, 2)."""
    phi, tau = np.pi * x[:, 0], 2 * np.pi * x[:, 1]
    return np.stack([np.sin(phi) * np.cos(tau), np.sin(phi) * np.sin(tau), np.cos(phi)], axis=1)


@dataclass(frozen=True, kw_only=True)
class SphereFlow(Benchmark):
    """A sphere in 100 dimensions, and a flow whose base q shifts by gamma."""

    name: ClassVar[str] = "sphere_flow"
    title: ClassVar[str] = "Sphere flow"
    paper: ClassVar[Paper] = Paper("Bansal, Chen, Scott", 2025, "Conformal C2ST", "Appendix C")
    points: Literal["even", "paper"] = field(
        default="even",
        metadata={
            "label": "Points",
            "help": "even: uniform on the sphere; paper: uniform polar angle, which crowds the "
            "poles.",
        },
    )
    flow: Literal["closed form", "trained"] = field(
        default="closed form",
        metadata={
            "label": "Flow",
            "help": "closed form: the law of the pairs itself; trained: a conditional RealNVP of "
            "8 couplings, hidden 512, that learnt it.",
        },
    )

    def __post_init__(self) -> None:
        if self.points not in ("even", "paper") or self.flow not in ("closed form", "trained"):
            raise ValueError(
                f"points is even or paper, flow is closed form or trained; got {self.points!r} "
                f"and {self.flow!r}. Choose among those."
            )

    @property
    def summary(self) -> str:
        return "q moves the base of a flow in 100 dimensions by gamma standard deviations"

    @property
    def label(self) -> str:
        own = ", polar angle uniform" * (self.points == "paper")
        return f"{self.title}{own}, {'trained' if self.flow == 'trained' else 'closed form'}"

    @property
    def sampler(self) -> Recipe | None:
        """Training recipe of the flow that draws p and q; None in closed form."""
        return ConditionalFlow() if self.flow == "trained" else None

    @property
    def truth(self) -> SphereFlow:
        """The benchmark whose pairs train the flow."""
        return SphereFlow(points=self.points)

    def use_network(self, network: _TrainedFlow) -> None:
        """Use this flow in this process from now on."""
        LOADED_FLOWS[self.points] = network

    @property
    def gammas(self) -> tuple[float, ...]:
        return 0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5

    @property
    def dims(self) -> tuple[int, int]:
        return D, 2

    def x(self, n: int, rng: np.random.Generator) -> Array:
        """Draw angles, scaled to [0, 1]: (n, 2)."""
        u = rng.random((n, 2))
        phi = u[:, 0] if self.points == "paper" else np.arccos(1 - 2 * u[:, 0]) / np.pi
        return np.stack([phi, u[:, 1]], axis=1)

    def theta(self, x: Array, gamma: float, rng: np.random.Generator) -> Array:
        del gamma
        return self._from_base(rng.standard_normal((len(x), D)), x)

    def q(self, x: Array, gamma: float, rng: np.random.Generator) -> Array:
        return self._from_base(rng.standard_normal((len(x), D)) + gamma * self.shift, x)

    @property
    def shift(self) -> Array:
        """Unit direction g (100,) of the shift of q's base; all coordinates equal."""
        return np.full(D, 1 / math.sqrt(D))

    def base(self, theta: Array, x: Array) -> Array:
        """Base z = f(theta; x): (n, 100), standard normal under p, N(gamma g, I) under q."""
        if self.flow == "trained":
            return self._network.forward(theta, x)[0]
        return (theta - sphere_points(x) @ sphere_axes()) / NOISE

    def _from_base(self, z: Array, x: Array) -> Array:
        if self.flow == "trained":
            return self._network.inverse(z, x)
        return sphere_points(x) @ sphere_axes() + NOISE * z

    def log_ratio(self, theta: Array, x: Array, gamma: float) -> Array:
        """log p - log q = gamma^2 / 2 - gamma g'z: (n,)."""
        return np.asarray(gamma**2 / 2 - gamma * (self.base(theta, x) @ self.shift))

    def log_p(self, theta: Array, x: Array, gamma: float) -> Array:
        del gamma
        if self.flow == "trained":
            z, volume = self._network.forward(theta, x)
        else:
            z, volume = self.base(theta, x), np.full(len(x), -D * math.log(NOISE))
        return np.asarray(volume - (z**2).sum(1) / 2 - D / 2 * math.log(2 * math.pi))

    @property
    def _network(self) -> _TrainedFlow:
        if self.points not in LOADED_FLOWS:
            raise ValueError(
                "The trained sphere flow draws from a network; got none in this process. Let "
                "trained_scores.ready fetch or train it."
            )
        return LOADED_FLOWS[self.points]


@dataclass(frozen=True, kw_only=True)
class ConditionalFlow(Recipe, spec="sphere_flow_network"):
    """Recipe of a conditional RealNVP of theta given x; with a seed it fixes a network.

    Bansal, Chen, Scott, Appendix C: 8 couplings, one hidden layer of 512, 500 epochs. Pairs,
    epochs, batch and rate are our choice: more pairs and fewer rounds, which avoids overfitting.
    """

    pairs: int = 200_000
    epochs: int = 10
    lr: float = 1e-3
    batch: int = 256
    clip: float = 10.0

    @property
    def label(self) -> str:
        return "conditional RealNVP"

    def sample(self, benchmark: Benchmark, gamma: float, rng: np.random.Generator) -> Joint:
        """Draw pairs (theta, x) of the truth."""
        return sampling.pairs(benchmark, gamma, self.pairs, rng)

    def learn_all(
        self, data: Sequence[Joint], seeds: Sequence[int], report: Report | None = None
    ) -> list[_TrainedFlow]:
        """Train one flow for each set of pairs and seed."""
        from validation_core.learn.in_turn import train_in_turn

        return train_in_turn(_learn, data, self, seeds, report)

    def read(self, arrays: Arrays, *, seconds: float, device: str) -> _TrainedFlow:
        """Rebuild a flow from its arrays."""
        return _TrainedFlow.read(arrays, seconds=seconds, device=device)


@dataclass(frozen=True, eq=False)
class _TrainedFlow(StoredNetwork):
    """A trained RealNVP between theta, with one scale for all coordinates, and its base."""

    network: Mapping[str, NDArray[Any]]
    """zuko's parameters and masks, by their names."""
    scale: float
    """One unit of the flow's theta, in theta's own units."""
    history: Mapping[str, NDArray[np.floating]]
    """epoch and loss, nats a pair."""
    seconds: float = 0.0
    device: str = "cpu"

    @property
    def summary(self) -> Mapping[str, float]:
        """Last training loss, for lists of networks."""
        return {"loss": float(self.history["loss"][-1])}

    def forward(self, theta: Array, x: Array) -> tuple[Array, Array]:
        """z (n, 100) of theta (n, 100) at x (n, 2), and log |dz / dtheta| (n,)."""
        z, volume = np.empty(theta.shape), np.empty(len(theta))
        for part, transform in self._passes(x):
            base, of_flow = transform.call_and_ladj(_single(theta[part] / self.scale))
            z[part], volume[part] = base.cpu().numpy(), of_flow.cpu().numpy()
        return z, volume - theta.shape[1] * math.log(self.scale)

    def inverse(self, z: Array, x: Array) -> Array:
        """theta (n, 100) of z (n, 100) at x (n, 2)."""
        theta = np.empty(z.shape)
        for part, transform in self._passes(x):
            theta[part] = transform.inv(_single(z[part])).cpu().numpy() * self.scale
        return theta

    def _passes(self, x: Array) -> Any:
        import torch

        from validation_core.learn import perceptron

        flow = build_flow(self.network).to(perceptron.pick_device())
        with torch.inference_mode():
            for part in slices(len(x), _ROWS):
                yield part, flow(_single(x[part])).transform


LOADED_FLOWS: dict[str, _TrainedFlow] = {}


def _single(rows: Array) -> Tensor:
    """Rows in single precision, where networks run."""
    import torch

    from validation_core.learn import perceptron

    single = torch.from_numpy(np.ascontiguousarray(rows, dtype=np.float32))
    return single.to(perceptron.pick_device())


def build_flow(network: Mapping[str, NDArray[Any]] | None = None) -> RealNVP:
    """Build the flow with these parameters, or with zuko's initial ones."""
    import torch
    from zuko.flows import RealNVP

    flow = RealNVP(D, 2, transforms=_COUPLINGS, hidden_features=(_HIDDEN,))
    if network is not None:
        flow.load_state_dict({name: torch.from_numpy(part) for name, part in network.items()})
    return flow


def _learn(
    data: Joint, recipe: ConditionalFlow, seed: int, report: Report | None = None
) -> _TrainedFlow:
    """Train on all of `data`; the seed fixes the initial parameters and the order of rows."""
    from validation_core.learn import perceptron, training
    from validation_core.learn.adam import Adam

    scale = float(data.theta.std())
    theta, x = _single(data.theta / scale), _single(data.x)
    flow = build_flow()
    perceptron.reinitialise(flow, stream(seed, "initial"))
    flow.to(perceptron.pick_device())
    adam = Adam([(list(flow.parameters()), recipe.lr)], over=recipe.epochs)
    rng = stream(seed, "order")
    parts = training.equal_slices(len(x), max(1, round(len(x) / recipe.batch)))

    def batches() -> list[Integers]:
        order = rng.permutation(len(x))
        return [order[part] for part in parts]

    loss = training.flow_loss(flow, theta, x)

    def fit() -> list[float]:
        losses = []
        epochs = (batches() for _ in range(recipe.epochs))
        for epoch, of_epoch in enumerate(
            training.descend(adam, epochs, loss, clip=recipe.clip), 1
        ):
            nats = float(np.mean([float(each) for each in of_epoch])) + D * math.log(scale)
            losses.append(nats)
            if report:
                report(epoch / recipe.epochs, {"epoch": float(epoch), "loss": nats})
        return losses

    losses, seconds = training.timed(fit)
    history = {"epoch": np.arange(1, recipe.epochs + 1), "loss": np.array(losses)}
    network = {name: part.cpu().numpy().copy() for name, part in flow.state_dict().items()}
    return _TrainedFlow(
        network,
        scale,
        {name: column.astype(np.float32) for name, column in history.items()},
        seconds=seconds,
        device=perceptron.pick_device(),
    )
