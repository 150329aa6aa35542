"""The training loop of a diffusion model: a regression whose noise is drawn anew every epoch."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from validation_core.diffusion import network
from validation_core.diffusion.noise import examples
from validation_core.diffusion.recipe import Diffusion
from validation_core.nets import Parameters
from validation_core.optim import Adam
from validation_core.training import Report


class Fit(NamedTuple):
    """A trained network and its loss on the way: `epoch` and `loss`, averaged since the last."""

    parameters: Parameters
    history: dict[str, NDArray[np.float32]]


def fit(
    theta: NDArray[np.float32],
    x: NDArray[np.float32],
    start: Parameters,
    recipe: Diffusion,
    rng: np.random.Generator,
    *,
    report: Report | None = None,
    device: str = "cpu",
    checks: int = 100,
) -> Fit:
    """Train one network.

    Args:
        theta: (n, D), in the training scale.
        x: (n, M), standardised.
        start: initial parameters.
        recipe: optimiser's settings.
        rng: orders the rows and draws the noise.
        report: told the progress at every epoch, with the loss at every check.
        device: where to compute.
        checks: how often the loss is noted.
    """
    tensors = {name: torch.from_numpy(array).to(device) for name, array in start.items()}
    for tensor in tensors.values():
        tensor.requires_grad_()
    weights = list(tensors.values())
    adam = Adam([(weights, recipe.lr)], over=recipe.epochs)
    every = max(1, recipe.epochs // checks)
    rows: list[tuple[int, float]] = []
    recent: list[Tensor] = []
    for epoch in range(1, recipe.epochs + 1):
        for into, about, code, target in _batches(theta, x, recipe.batch, rng, device):
            made = network.forward(
                tensors, into, network.embed_x(tensors, about), network.embed_level(tensors, code)
            )
            loss = (made - target).square().mean()
            adam.zero_grad()
            torch.autograd.backward(loss)
            torch.nn.utils.clip_grad_norm_(weights, recipe.clip)
            adam.step()
            recent.append(loss.detach())
        adam.cool()
        live: dict[str, float] = {}
        if epoch % every == 0 or epoch == recipe.epochs:
            rows.append((epoch, float(torch.stack(recent).mean())))
            live = {"epoch": float(epoch), "loss": rows[-1][1]}
            recent = []
        if report:
            report(epoch / recipe.epochs, live)
    columns = np.array(rows, dtype=np.float32).T
    trained = {name: tensor.detach().cpu().numpy().copy() for name, tensor in tensors.items()}
    return Fit(trained, {"epoch": columns[0], "loss": columns[1]})


def _batches(
    theta: NDArray[np.float32],
    x: NDArray[np.float32],
    batch: int,
    rng: np.random.Generator,
    device: str,
) -> list[tuple[Tensor, ...]]:
    """One epoch: scaled noisy theta, x, level's code and target, in a new order."""
    order = rng.permutation(len(theta))
    drawn = examples(theta[order], rng)
    arrays = drawn.into, x[order], drawn.code, drawn.target
    tensors = [torch.from_numpy(array).to(device) for array in arrays]
    bounds = np.linspace(0, len(theta), max(1, round(len(theta) / batch)) + 1).astype(int)
    return [tuple(one[a:b] for one in tensors) for a, b in itertools.pairwise(bounds.tolist())]
