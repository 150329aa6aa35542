"""The network F of the denoiser: plain arrays by name, as every network of the house."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from validation_core.nets import Parameters

_FREQUENCIES = 8
_FASTEST = 8.0  # ln(sigma) / 4 lies between -1.6 and 1.1


@dataclass(frozen=True, kw_only=True)
class Shape:
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
        """PyTorch's default start, U(-1, 1) / sqrt(fan in) for weights and biases alike."""
        wide = self.hidden
        sizes = {
            "theta": (self.theta, wide), "x0": (self.x, wide), "x1": (wide, wide),
            "x2": (wide, wide), "level0": (2 * _FREQUENCIES, wide), "level1": (wide, wide),
            **{f"trunk{i}": (wide, wide) for i in range(1, self.layers)},
            "out": (wide, self.theta),
        }  # fmt: skip
        parameters: Parameters = {}
        for name, (fan_in, fan_out) in sizes.items():
            bound = 1 / np.sqrt(fan_in)
            parameters[f"{name}.weight"] = _uniform(rng, bound, (fan_in, fan_out))
            parameters[f"{name}.bias"] = _uniform(rng, bound, (fan_out,))
        return parameters


def _uniform(
    rng: np.random.Generator, bound: float, shape: tuple[int, ...]
) -> NDArray[np.float32]:
    return rng.uniform(-bound, bound, shape).astype(np.float32)


def embed_x(parameters: Mapping[str, Tensor], x: Tensor) -> Tensor:
    """What x (n, M) adds to the first hidden layer: (n, hidden)."""
    h = functional.silu(_affine(parameters, "x0", x))
    h = h + functional.silu(_affine(parameters, "x1", h))
    return _affine(parameters, "x2", h)


def embed_level(parameters: Mapping[str, Tensor], code: Tensor) -> Tensor:
    """What the level, as ln(sigma) / 4 (n, 1), adds to the first hidden layer: (n, hidden)."""
    powers = torch.linspace(0, math.log(_FASTEST), _FREQUENCIES, device=code.device)
    angles = code * powers.exp()  # (n, frequencies)
    waves = torch.cat([angles.sin(), angles.cos()], dim=1)
    return _affine(parameters, "level1", functional.silu(_affine(parameters, "level0", waves)))


def forward(
    parameters: Mapping[str, Tensor], into: Tensor, about_x: Tensor, about_level: Tensor
) -> Tensor:
    """F (n, D) of scaled noisy theta (n, D) and both embeddings, (n, hidden) or (1, hidden)."""
    h = functional.silu(_affine(parameters, "theta", into) + about_x + about_level)
    layer = 1
    while f"trunk{layer}.weight" in parameters:
        h = h + functional.silu(_affine(parameters, f"trunk{layer}", h))
        layer += 1
    return _affine(parameters, "out", h)


def _affine(parameters: Mapping[str, Tensor], name: str, h: Tensor) -> Tensor:
    return torch.addmm(parameters[f"{name}.bias"], h, parameters[f"{name}.weight"])
