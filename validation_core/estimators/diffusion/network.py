"""The denoiser's network F, its training examples, and its training."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from validation_core.estimators.diffusion import Diffusion, edm_scalings
from validation_core.learn import perceptron
from validation_core.learn.adam import Adam
from validation_core.learn.perceptron import Parameters, Tensors
from validation_core.learn.training import descend, equal_slices
from validation_core.study import Report
from validation_core.types import Array

_FREQUENCIES = 8
_FASTEST = 8.0  # ln(sigma) / 4 lies between -1.6 and 1.1
_P_MEAN, _P_SD = -1.2, 1.2  # of ln sigma in training
_CHECKS = 100  # times that the loss is recorded in a training


@dataclass(frozen=True, kw_only=True)
class NetworkShape:
    """`layers` hidden layers of `hidden` units on theta (D), x (M) and the noise's level.

    The first hidden layer is a sum of three parts: linear in theta, a perceptron of x, a
    perceptron of sines and cosines of the level. x's is computed once for all steps and the
    level's once for all rows, so that a step costs what the small trunk costs.
    """

    theta: int
    x: int
    hidden: int
    layers: int

    def initial(self, rng: np.random.Generator) -> Parameters:
        """PyTorch's default initial parameters: U(-1, 1) / sqrt(fan in) for weights and biases."""
        wide = self.hidden
        sizes = {
            "theta": (self.theta, wide),
            "x0": (self.x, wide),
            "x1": (wide, wide),
            "x2": (wide, wide),
            "level0": (2 * _FREQUENCIES, wide),
            "level1": (wide, wide),
            **{f"trunk{i}": (wide, wide) for i in range(1, self.layers)},
            "out": (wide, self.theta),
        }
        parameters: Parameters = {}
        for name, (fan_in, fan_out) in sizes.items():
            weight, bias = perceptron.layer(rng, fan_in, fan_out)
            parameters |= {f"{name}.weight": weight, f"{name}.bias": bias}
        return parameters


def embed_x(parameters: Tensors, x: Tensor) -> Tensor:
    """Contribution of x (n, M) to the first hidden layer: (n, hidden)."""
    h = functional.silu(_affine(parameters, "x0", x))
    h = h + functional.silu(_affine(parameters, "x1", h))
    return _affine(parameters, "x2", h)


def embed_level(parameters: Tensors, code: Tensor) -> Tensor:
    """Contribution of the level ln(sigma) / 4 (n, 1) to the first hidden layer: (n, hidden)."""
    powers = torch.linspace(0, math.log(_FASTEST), _FREQUENCIES, device=code.device)
    angles = code * powers.exp()  # (n, frequencies)
    waves = torch.cat([angles.sin(), angles.cos()], dim=1)
    return _affine(parameters, "level1", functional.silu(_affine(parameters, "level0", waves)))


def forward_pass(
    parameters: Tensors, into: Tensor, about_x: Tensor, about_level: Tensor
) -> Tensor:
    """Evaluate the network F: (n, D).

    Args:
        parameters: weights and biases, by name.
        into: scaled noisy theta (n, D).
        about_x: embedding of x, (n, hidden) or (1, hidden).
        about_level: embedding of the noise level, (n, hidden) or (1, hidden).
    """
    spent = not torch.is_grad_enabled()  # no gradient will read the sums: write over them
    h = _affine(parameters, "theta", into).add_(about_x).add_(about_level)
    h = functional.silu(h, inplace=spent)
    layer = 1
    while f"trunk{layer}.weight" in parameters:
        change = functional.silu(_affine(parameters, f"trunk{layer}", h), inplace=spent)
        h = h.add_(change) if spent else h + change
        layer += 1
    return _affine(parameters, "out", h)


def _affine(parameters: Tensors, name: str, h: Tensor) -> Tensor:
    return torch.addmm(parameters[f"{name}.bias"], h, parameters[f"{name}.weight"])


class _Examples(NamedTuple):
    """Regression examples, float32: inputs `into` (n, D) and `code` (n, 1), target (n, D)."""

    into: NDArray[np.float32]
    code: NDArray[np.float32]
    target: NDArray[np.float32]


def draw_noisy_examples(theta: Array, rng: np.random.Generator) -> _Examples:
    """One example of each row of theta (n, D), its level lognormal: unit weight is EDM's."""
    sigma = np.exp(_P_MEAN + _P_SD * rng.standard_normal((len(theta), 1)))
    noisy = theta + sigma * rng.standard_normal(theta.shape)
    scale = edm_scalings(sigma)
    arrays = scale.into * noisy, scale.code, (theta - scale.skip * noisy) / scale.out
    return _Examples(*(array.astype(np.float32) for array in arrays))


class _DiffusionFit(NamedTuple):
    """A trained network and its history: `epoch` and the mean `loss` since the last check."""

    parameters: Parameters
    history: dict[str, NDArray[np.float32]]


def fit_network(
    theta: NDArray[np.float32],
    x: NDArray[np.float32],
    start: Parameters,
    recipe: Diffusion,
    rng: np.random.Generator,
    *,
    report: Report | None,
    device: str,
) -> _DiffusionFit:
    """Train one network.

    Args:
        theta: (n, D), in the training scale.
        x: (n, M), standardised.
        start: initial parameters.
        recipe: optimiser's settings.
        rng: orders the rows and draws the noise.
        report: called with the progress at every epoch, with the loss at every check.
        device: where to compute.
    """
    tensors = perceptron.learnable(start, device)
    adam = Adam([(tensors.values(), recipe.lr)], over=recipe.epochs)

    def loss(batch: tuple[Tensor, ...]) -> Tensor:
        into, about, code, target = batch
        prediction = forward_pass(
            tensors, into, embed_x(tensors, about), embed_level(tensors, code)
        )
        return (prediction - target).square().mean()

    interval = max(1, recipe.epochs // _CHECKS)
    rows: list[tuple[int, float]] = []
    recent: list[Tensor] = []
    epochs = (_batches(theta, x, recipe.batch, rng, device) for _ in range(recipe.epochs))
    for epoch, losses in enumerate(descend(adam, epochs, loss, clip=recipe.clip), 1):
        recent += losses
        live: dict[str, float] = {}
        if epoch % interval == 0 or epoch == recipe.epochs:
            rows.append((epoch, float(torch.stack(recent).mean())))
            live = {"epoch": float(epoch), "loss": rows[-1][1]}
            recent = []
        if report:
            report(epoch / recipe.epochs, live)
    columns = np.array(rows, dtype=np.float32).T
    return _DiffusionFit(perceptron.arrays(tensors), {"epoch": columns[0], "loss": columns[1]})


def _batches(
    theta: NDArray[np.float32],
    x: NDArray[np.float32],
    batch: int,
    rng: np.random.Generator,
    device: str,
) -> list[tuple[Tensor, ...]]:
    """Batches of an epoch in a new order: scaled noisy theta, x, level and target."""
    order = rng.permutation(len(theta))
    noisy = draw_noisy_examples(theta[order], rng)
    arrays = noisy.into, x[order], noisy.code, noisy.target
    tensors = [torch.from_numpy(array).to(device) for array in arrays]
    parts = equal_slices(len(theta), max(1, round(len(theta) / batch)))
    return [tuple(tensor[part] for tensor in tensors) for part in parts]
