"""Zuko's flows: how they learn, one or several side by side, and how they are evaluated."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.func import functional_call, vmap
from torch.nn.functional import linear
from zuko.flows import MaskedAutoregressiveTransform
from zuko.utils import unpack

from validation_core.estimators.base import Scales, TrainingWatch
from validation_core.estimators.fitting import Course, Examples, learn
from validation_core.estimators.flows import FlowEstimator, TrainedFlows
from validation_core.learn import perceptron
from validation_core.learn.perceptron import Parameters
from validation_core.pieces import slices, stack_by_name
from validation_core.rng import stream
from validation_core.study import Report
from validation_core.types import Array, Integers, Joint

if TYPE_CHECKING:
    from zuko.flows import Flow
    from zuko.lazy import LazyTransform

_ROWS = 16_384  # of a pass through a flow
_Single = NDArray[np.float32]


class _LogDensity(torch.nn.Module):
    """log q of rows, as a module, whose parameters torch.func can put in."""

    def __init__(self, flow: Flow) -> None:
        super().__init__()
        self.flow = flow

    def forward(self, theta: Tensor, x: Tensor) -> Tensor:
        return self.flow(x).log_prob(theta)


def learn_flows(
    recipe: FlowEstimator,
    data: Sequence[Joint],
    seeds: Sequence[int],
    report: Report | None,
    watch: TrainingWatch | None,
) -> list[TrainedFlows]:
    """Train one estimator for each set of pairs and seed, side by side.

    Side by side they are one batch of torch.func.vmap, and what is alone takes the same steps to
    rounding. `watch` is for a single one.
    """
    device = perceptron.pick_device()
    scales = [Scales.of(each) for each in data]
    pairs = [
        (s.theta(each.theta).astype(np.float32), s.x(each.x).astype(np.float32))
        for s, each in zip(scales, data, strict=True)
    ]
    course = _course(recipe, pairs, seeds, [s.log_volume for s in scales], device)

    def trained(
        network: Parameters, s: int, history: Mapping[str, Array], seconds: float
    ) -> TrainedFlows:
        return TrainedFlows(network, scales[s], history, recipe, seconds, device)

    return learn(course, recipe, len(pairs[0][0]), seeds, trained, report=report, watch=watch)


def _course(
    recipe: FlowEstimator,
    pairs: Sequence[tuple[_Single, _Single]],
    seeds: Sequence[int],
    volumes: Sequence[float],
    device: str,
) -> Course:
    """Flows of every seed, as they begin, and their losses."""
    columns = recipe.columns(pairs[0][0].shape[1])
    dims = columns[0].stop - columns[0].start, pairs[0][1].shape[1]
    flow = _LogDensity(recipe.build(dims)).to(device)
    several, together = len(columns) > 1, len(seeds) > 1

    def initial(seed: int, *member: int) -> Parameters:
        perceptron.reinitialise(flow, stream(seed, "initial", *member))
        return perceptron.arrays(dict(flow.named_parameters()))

    def network(seed: int) -> Parameters:
        if not several:
            return initial(seed)
        return stack_by_name([initial(seed, i) for i in range(len(columns))])

    def examples(s: int, rows: Integers, _: np.random.Generator) -> Examples:
        theta, x = pairs[s]
        return theta[rows], x[rows]

    networks = [network(seed) for seed in seeds]
    losses = _Losses(flow, columns, recipe.mixture)
    if not (several or together):  # torch.func costs a flow that is alone a third more
        own = dict(flow.named_parameters())
        return Course(
            own, examples, lambda *rows: -flow(*rows).mean(), losses.of_all, volumes, device=device
        )
    parameters = perceptron.learnable(stack_by_name(networks) if together else networks[0], device)
    of_training = vmap(losses.of_training) if together else losses.of_training
    return Course(
        parameters,
        examples,
        lambda *rows: of_training(parameters, *rows),
        vmap(losses.of_all) if together else losses.of_all,
        volumes,
        device=device,
    )


class _Losses:
    """Losses of one estimator, whose flows' weights have a leading axis where it has several."""

    def __init__(self, flow: _LogDensity, columns: Sequence[slice], mixture: bool) -> None:
        self._flow, self._columns, self._mixture = flow, columns, mixture
        self._buffers = dict(flow.named_buffers())

    def of_training(self, parameters: Mapping[str, Tensor], theta: Tensor, x: Tensor) -> Tensor:
        """Mean over rows: of the average component, or summed over factors."""
        logs = self._logs(parameters, theta, x)
        return -(logs.mean() if self._mixture else logs.sum(0).mean())

    def of_all(self, parameters: Mapping[str, Tensor], theta: Tensor, x: Tensor) -> Tensor:
        """Mean over rows, of the mixture or product."""
        logs = self._logs(parameters, theta, x)
        if self._mixture:
            return math.log(len(logs)) - logs.logsumexp(0).mean()
        return -logs.sum(0).mean()

    def _logs(self, parameters: Mapping[str, Tensor], theta: Tensor, x: Tensor) -> Tensor:
        """log q of each flow at each row: (flows, n)."""
        if len(self._columns) == 1:
            return self._log(parameters, theta, x)[None]
        parts = torch.stack([theta[:, part] for part in self._columns])
        return vmap(self._log, (0, 0, None))(parameters, parts, x)

    def _log(self, parameters: Mapping[str, Tensor], theta: Tensor, x: Tensor) -> Tensor:
        return functional_call(self._flow, (dict(parameters), self._buffers), (theta, x))


def modules(trained: TrainedFlows) -> list[_LogDensity]:
    """A trained estimator's flows, on the device of this process."""
    columns = trained.recipe.columns(len(trained.scales.theta_shift))
    device, m = perceptron.pick_device(), len(trained.scales.x_shift)
    flows = []
    for i, part in enumerate(columns):
        flow = _LogDensity(trained.recipe.build((part.stop - part.start, m)))
        for name, parameter in flow.named_parameters():
            weights = trained.network[name][i] if len(columns) > 1 else trained.network[name]
            parameter.data = torch.from_numpy(weights)
        flows.append(flow.to(device))
    return flows


def log_density(flow: _LogDensity, theta: _Single, x: _Single) -> Array:
    """log q of standardised rows: (n,)."""
    out = np.empty(len(theta))
    device = next(flow.parameters()).device
    with torch.inference_mode():
        for part in slices(len(theta), _ROWS):
            rows = (torch.from_numpy(each[part]).to(device) for each in (theta, x))
            out[part] = flow(*rows).cpu().numpy()
    return out


def from_normal(flow: _LogDensity, z: _Single, x: _Single) -> Array:
    """Standardised theta (n, d) of normal draws z (n, d) at standardised x."""
    out = np.empty(z.shape)
    device = next(flow.parameters()).device
    with torch.inference_mode():
        for part in slices(len(z), _ROWS):
            at, drawn = (torch.from_numpy(each[part]).to(device) for each in (x, z))
            for step in reversed(flow.flow.transform.transforms):
                drawn = _undone(step, drawn, at)
            out[part] = drawn.cpu().numpy()
    return out


def _undone(step: LazyTransform, y: Tensor, x: Tensor) -> Tensor:
    """The input of one transform that gives y at x.

    A coordinate is found once those before it are: each pass asks the network's last layer for its
    curve alone, where zuko's own inverse builds those of all d coordinates d times over.
    """
    if not isinstance(step, MaskedAutoregressiveTransform):
        return step(x).inv(y)
    *hidden, last = step.hyper
    within = torch.nn.Sequential(*hidden)
    weight, bias = (
        part.unflatten(0, (-1, step.total)) for part in (last.mask * last.weight, last.bias)
    )
    found = torch.zeros_like(y)
    for turn in range(step.passes):
        at = torch.nonzero(step.order == turn).squeeze(1)
        inside = within(torch.cat((found, x), dim=-1))
        parameters = linear(inside, weight[at].flatten(0, 1), bias[at].flatten())
        curve = step.univariate(*unpack(parameters.unflatten(-1, (-1, step.total)), step.shapes))
        found[:, at] = curve.inv(y[:, at])
    return found
