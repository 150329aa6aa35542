"""The two networks of a localizer, as functions of named tensors: the centre and phi."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from validation_core.nets import Parameters, uniform
from validation_core.optim import Adam
from validation_core.scores.localizer.recipe import Embedding, Localizer

FEATURES = 64
"""Frequencies of the fourier embedding; each gives a sine and a cosine."""
SCALES = (3.0, 30.0)
"""Their range, in radians per sd of q's spread: from a bend of the whole to its finest branch."""
_FOURIER_HIDDEN = (128, 128)

Tensors = Mapping[str, Tensor]


def centre_parameters(recipe: Localizer, m: int, d: int, rng: np.random.Generator) -> Parameters:
    """A network of x that says 0 nearly everywhere, and a linear map of x beside it."""
    parameters = _mlp(rng, [m, *[recipe.hidden] * recipe.layers, d])
    parameters[f"bias{recipe.layers}"] *= 0
    return {**parameters, "linear": np.zeros((m, d), np.float32), "shift": np.zeros(d, np.float32)}


def embedding_parameters(kind: Embedding, d: int, rng: np.random.Generator) -> Parameters:
    """What phi begins with: `mlp` a random map, `residual` and `fourier` the identity."""
    if kind == "identity":
        return {}
    if kind == "mlp":
        return _mlp(rng, [d, 256, 256, 256, d])
    if kind == "residual":
        return _silent(_mlp(rng, [d, 256, 256, 256, d]))
    scales = np.geomspace(*SCALES, FEATURES)
    frequency = rng.standard_normal((d, FEATURES)) * scales / np.sqrt(d)
    return {
        **_silent(_mlp(rng, [2 * FEATURES, *_FOURIER_HIDDEN, d])),
        "frequency": frequency.astype(np.float32),
    }


def centre(parameters: Tensors, x: Tensor) -> Tensor:
    """theta_l(x) in the frame: x (n, M) to (n, D)."""
    return (
        _forward(parameters, x) + torch.addmm(parameters["shift"], x, parameters["linear"])
    )  # fmt: skip


def embed(kind: Embedding, parameters: Tensors, z: Tensor) -> Tensor:
    """phi of places in the frame: (n, D) to (n, D)."""
    if kind == "identity":
        return z
    if kind == "mlp":
        return _forward(parameters, z)
    if kind == "residual":
        return z + _forward(parameters, z)
    angle = z @ parameters["frequency"]
    return z + _forward(parameters, torch.cat([torch.sin(angle), torch.cos(angle)], dim=1))


def tensors(parameters: Mapping[str, np.ndarray[Any, Any]], device: str) -> dict[str, Tensor]:
    """Arrays as tensors."""
    return {name: torch.from_numpy(array).to(device) for name, array in parameters.items()}


def learnable(parameters: Parameters, device: str) -> dict[str, Tensor]:
    """Arrays as tensors of their own that collect gradients."""
    copies = {name: array.copy() for name, array in parameters.items()}
    return {name: tensor.requires_grad_() for name, tensor in tensors(copies, device).items()}


def arrays(named: Tensors) -> Parameters:
    """The way back, as copies."""
    return {name: tensor.detach().cpu().numpy().copy() for name, tensor in named.items()}


def optimiser(recipe: Localizer, centre: Tensors, phi: Tensors, steps: int) -> Adam:
    """Adam with a rate for each network: along a cosine to 0, or constant as in the paper."""
    groups = [(centre.values(), recipe.lr), (phi.values(), recipe.lr_embedding)]
    return Adam(groups, over=steps if recipe.keep_best else None)


def _mlp(rng: np.random.Generator, widths: Sequence[int]) -> Parameters:
    parameters: Parameters = {}
    for i, (fan_in, fan_out) in enumerate(itertools.pairwise(widths)):
        bound = 1 / np.sqrt(max(fan_in, 1))  # an x of no columns is a layer's bias alone
        parameters[f"weight{i}"] = uniform(rng, bound, (fan_in, fan_out))
        parameters[f"bias{i}"] = uniform(rng, bound, (fan_out,))
    return parameters


def _silent(parameters: Parameters) -> Parameters:
    """The same network with its last layer at 0: it adds nothing until it has learnt."""
    last = sum(name.startswith("weight") for name in parameters) - 1
    for name in (f"weight{last}", f"bias{last}"):
        parameters[name] = np.zeros_like(parameters[name])
    return parameters


def _forward(parameters: Tensors, h: Tensor) -> Tensor:
    last = sum(name.startswith("weight") for name in parameters) - 1
    for i in range(last + 1):
        h = torch.addmm(parameters[f"bias{i}"], h, parameters[f"weight{i}"])
        if i < last:
            h = functional.silu(h)
    return h
