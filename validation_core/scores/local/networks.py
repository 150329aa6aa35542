"""H + 1 small networks as one batch: their start, their logits, their training.

They share rows and batches and differ in start and labels alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from validation_core.nets import Parameters, uniform
from validation_core.optim import Adam

if TYPE_CHECKING:
    from validation_core.scores.local.recipe import Local

Inputs = NDArray[np.float32]
_LAYERS = 3
_AT_ONCE = 100  # networks trained side by side on a processor: more would leave its cache


def initial(count: int, inputs: int, hidden: int, rng: np.random.Generator) -> Parameters:
    """PyTorch's default start of two hidden layers, drawn for each network by itself."""
    parameters: Parameters = {}
    widths = [inputs, hidden, hidden, 1]
    for i, (fan_in, fan_out) in enumerate(itertools.pairwise(widths)):
        bound = 1 / np.sqrt(max(fan_in, 1))
        parameters[f"weight{i}"] = uniform(rng, bound, (count, fan_in, fan_out))
        parameters[f"bias{i}"] = uniform(rng, bound, (count, 1, fan_out))
    return parameters


def tensors(parameters: Mapping[str, NDArray[np.float32]], device: str) -> dict[str, Tensor]:
    """Arrays as tensors."""
    return {name: torch.from_numpy(array).to(device) for name, array in parameters.items()}


def forward(parameters: Mapping[str, Tensor], z: Tensor) -> Tensor:
    """Logits (B, n) of the same inputs z (n, inputs) under B networks."""
    h = z.expand(len(parameters["bias0"]), -1, -1)  # a view: rows are never copied
    for i in range(_LAYERS):
        h = torch.baddbmm(parameters[f"bias{i}"], h, parameters[f"weight{i}"])
        h = functional.relu(h) if i < _LAYERS - 1 else h
    return h.squeeze(-1)


def train(
    first: Inputs, second: Inputs, signs: Inputs, recipe: Local, rng: np.random.Generator,
    device: str,
) -> Parameters:  # fmt: skip
    """Parameters of B networks, by AdamW along a cosine on batches of whole pairs.

    Losses add up and Adam works element by element, so each takes the steps it would take alone,
    whichever others are trained beside it.

    Args:
        first: one row of each pair (n, inputs).
        second: the other (n, inputs).
        signs: 1 where a network calls `first` the truth, -1 where `second`: (B, n).
        recipe: width, epochs and rates.
        rng: draws the networks' starts and the common order of pairs.
        device: where to compute.
    """
    start = initial(len(signs), first.shape[1], recipe.hidden, rng)
    orders = [rng.permutation(len(first)) for _ in range(recipe.epochs)]
    step = _AT_ONCE if device == "cpu" else len(signs)
    parts = [
        _trained(
            {name: array[i : i + step] for name, array in start.items()},
            (first, second, signs[i : i + step]), orders, recipe, device,
        )
        for i in range(0, len(signs), step)
    ]  # fmt: skip
    return {name: np.concatenate([part[name] for part in parts]) for name in start}


def _trained(
    start: Parameters, pairs_of: tuple[Inputs, Inputs, Inputs],
    orders: list[NDArray[np.int64]], recipe: Local, device: str,
) -> Parameters:  # fmt: skip
    """Some of the networks, on pairs and signs as in `train`; each epoch has its order."""
    learnt = {name: tensor.requires_grad_() for name, tensor in tensors(start, device).items()}
    one, other, sign = (torch.from_numpy(array).to(device) for array in pairs_of)
    batches = recipe.batches(len(one))
    adam = Adam(
        [(learnt.values(), recipe.lr)], over=recipe.epochs * batches, decay=recipe.weight_decay
    )
    for order in orders:
        for pairs in torch.tensor_split(torch.from_numpy(order).to(device), batches):
            logits = forward(learnt, torch.cat([one[pairs], other[pairs]]))  # (B, 2 b)
            label = sign[:, pairs]
            losses = functional.softplus(-logits * torch.cat([label, -label], dim=1)).mean(1)
            gradients = torch.autograd.grad(losses.sum(), list(learnt.values()))
            for tensor, gradient in zip(learnt.values(), gradients, strict=True):
                tensor.grad = gradient
            adam.step()
            adam.cool()
    return {name: tensor.detach().cpu().numpy() for name, tensor in learnt.items()}
