"""Velocities: how they learn, and their ODE between noise and theta, with its density."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import numpy as np
import torch
from torch import Tensor
from torch.func import vmap

from validation_core.estimators.base import Scales, TrainingWatch
from validation_core.estimators.diffusion.network import (
    NetworkShape,
    embed_level,
    embed_x,
    forward_pass,
)
from validation_core.estimators.fitting import Course, Examples, learn
from validation_core.estimators.transport import TrainedTransport, TransportEstimator
from validation_core.learn import perceptron
from validation_core.learn.perceptron import Parameters, Tensors
from validation_core.pieces import slices, stack_by_name
from validation_core.rng import stream
from validation_core.study import Report
from validation_core.types import Array, Integers, Joint

_LOOKS = 8  # noises at which each held-out pair is looked at
_CPU_ROWS, _GPU_ROWS = 2048, 1 << 16  # of a pass along the ODE
_Velocity = Callable[[Tensor, float], Tensor]


def learn_transports(
    recipe: TransportEstimator,
    data: Sequence[Joint],
    seeds: Sequence[int],
    report: Report | None,
    watch: TrainingWatch | None,
) -> list[TrainedTransport]:
    """Train one estimator for each set of pairs and seed, side by side.

    `watch` is for a single one.
    """
    device = perceptron.pick_device()
    scales = [Scales.of(each) for each in data]
    pairs = [(s.theta(each.theta), s.x(each.x)) for s, each in zip(scales, data, strict=True)]
    shape = NetworkShape(
        theta=pairs[0][0].shape[1],
        x=pairs[0][1].shape[1],
        hidden=recipe.hidden,
        layers=recipe.layers,
    )
    start = [shape.initial(stream(seed, "initial")) for seed in seeds]
    together = len(seeds) > 1
    parameters = perceptron.learnable(stack_by_name(start) if together else start[0], device)
    loss = vmap(_error) if together else _error

    def examples(s: int, rows: Integers, rng: np.random.Generator) -> Examples:
        theta, x = pairs[s]
        return *recipe.examples(theta[rows], rng), x[rows].astype(np.float32)

    def trained(
        network: Parameters, s: int, history: Mapping[str, Array], seconds: float
    ) -> TrainedTransport:
        return TrainedTransport(network, scales[s], history, recipe, seconds, device)

    course = Course(
        parameters,
        examples,
        lambda *rows: loss(parameters, *rows),
        loss,
        [0.0] * len(seeds),
        repeats=_LOOKS,
        device=device,
    )
    return learn(course, recipe, len(pairs[0][0]), seeds, trained, report=report, watch=watch)


def _error(parameters: Tensors, state: Tensor, code: Tensor, target: Tensor, x: Tensor) -> Tensor:
    """Mean squared error of the velocity."""
    about_x, about_time = embed_x(parameters, x), embed_level(parameters, code)
    return (forward_pass(parameters, state, about_x, about_time) - target).square().mean()


def carry(trained: TrainedTransport, noise: Array, x: Array) -> Array:
    """Standardised theta (n, D) that normal noise (n, D) is carried to, at standardised x."""
    times = trained.recipe.times().tolist()
    out = np.empty(noise.shape)
    with torch.inference_mode():
        for part, velocity, state in _passes(trained, noise, x):
            for now, after in itertools.pairwise(times):
                state = _heun_step(velocity, state, now, after)
            out[part] = state.cpu().numpy()
    return out


def log_density(trained: TrainedTransport, theta: Array, x: Array) -> Array:
    """log q of standardised theta (n, D) at standardised x: (n,).

    Of the map that Heun's steps are, from theta back to noise: it integrates to 1 however few the
    steps, which the ODE's divergence summed over them does not.
    """
    times = trained.recipe.times()[::-1].tolist()
    d = theta.shape[1]
    out = np.empty(len(theta))
    with torch.no_grad():
        for part, velocity, state in _passes(trained, theta, x):
            volume = torch.zeros_like(state[:, 0])
            for now, after in itertools.pairwise(times):
                step = partial(_heun_step, velocity, now=now, after=after)
                state, jacobian = _with_jacobian(step, state)
                volume += torch.linalg.slogdet(jacobian).logabsdet
            noise = -state.square().sum(1) / 2 - d / 2 * math.log(2 * math.pi)
            out[part] = (noise + volume).cpu().numpy()
    return out


def _passes(
    trained: TrainedTransport, states: Array, x: Array
) -> Iterator[tuple[slice, _Velocity, Tensor]]:
    """Parts of the rows, the velocity at their x, and their states."""
    device = perceptron.pick_device()
    parameters = perceptron.tensors(trained.network, device)
    about_times = _embed_times(trained.recipe, parameters, device)
    size = _CPU_ROWS if device == "cpu" else _GPU_ROWS
    for part in slices(len(x), size):
        state, at = (
            torch.from_numpy(each[part].astype(np.float32)).to(device) for each in (states, x)
        )
        yield part, _velocity(parameters, embed_x(parameters, at), about_times), state


def _embed_times(
    recipe: TransportEstimator, parameters: Tensors, device: str
) -> dict[float, Tensor]:
    """Embedding (1, hidden) of each of the ODE's times."""
    return {
        time: embed_level(parameters, torch.full((1, 1), recipe.code(time), device=device))
        for time in recipe.times().tolist()
    }


def _velocity(
    parameters: Tensors, about_x: Tensor, about_times: Mapping[float, Tensor]
) -> _Velocity:
    def velocity(state: Tensor, time: float) -> Tensor:
        return forward_pass(parameters, state, about_x, about_times[time])

    return velocity


def _heun_step(velocity: _Velocity, state: Tensor, now: float, after: float) -> Tensor:
    """The state (n, D) a step of Heun's method later."""
    step = after - now
    slope = velocity(state, now)
    ahead = velocity(state + step * slope, after)
    return state + step / 2 * (slope + ahead)


def _with_jacobian(move: Callable[[Tensor], Tensor], state: Tensor) -> tuple[Tensor, Tensor]:
    """States (n, D) after a map of each row, and its Jacobians (n, D, D)."""
    at = state.detach().requires_grad_()
    with torch.enable_grad():
        moved = move(at)
        rows = [
            torch.autograd.grad(column.sum(), at, retain_graph=True)[0]
            for column in moved.unbind(1)
        ]
    return moved.detach(), torch.stack(rows, dim=1)
