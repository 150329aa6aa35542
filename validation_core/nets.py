"""Network configurations and their one forward pass, over any number of networks at once.

Parameters are plain arrays by name with a leading axis of networks, so that a gamma grid by seeds
trains as one batch, and psi_beta = (1 - beta) psi + beta psi_rand is one line.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

# Networks this small lose from more threads, and by a factor of 100 beside another busy process;
# one thread also makes results independent of the machine's cores.
torch.set_num_threads(1)

Parameters = dict[str, NDArray[np.float32]]


@dataclass(frozen=True, kw_only=True)
class SkipMLP:
    """`layers` hidden layers of `hidden` units, h <- h + silu(h W + b) from the second on.

    Bansal, Chen, Scott, Appendix B: three layers with skip connections, 256 hidden. SiLU and the
    place of the skips are our choice; no BatchNorm, which interpolated weights would break.
    """

    inputs: int
    hidden: int = 256
    layers: int = 3

    def initial(self, rng: np.random.Generator) -> Parameters:
        """PyTorch's default start, U(-1, 1) / sqrt(fan in) for weights and biases alike."""
        widths = [self.inputs, *[self.hidden] * self.layers, 1]
        parameters: Parameters = {}
        for i, (fan_in, fan_out) in enumerate(itertools.pairwise(widths)):
            bound = 1 / np.sqrt(fan_in)
            parameters[f"weight{i}"] = uniform(rng, bound, (fan_in, fan_out))
            parameters[f"bias{i}"] = uniform(rng, bound, (fan_out,))
        return parameters


def uniform(rng: np.random.Generator, bound: float, shape: tuple[int, ...]) -> NDArray[np.float32]:
    """Numbers in (-bound, bound), as PyTorch starts a layer."""
    return rng.uniform(-bound, bound, shape).astype(np.float32)


def forward(parameters: Mapping[str, Tensor], z: Tensor) -> Tensor:
    """Logits (B, n) of inputs z (B, n, inputs) under B networks."""
    last = len(parameters) // 2 - 1
    h = functional.silu(_affine(parameters, 0, z))  # (B, n, hidden)
    for i in range(1, last):
        h = h + functional.silu(_affine(parameters, i, h))
    return _affine(parameters, last, h).squeeze(-1)


def _affine(parameters: Mapping[str, Tensor], i: int, h: Tensor) -> Tensor:
    weight, bias = parameters[f"weight{i}"], parameters[f"bias{i}"]
    if len(weight) == 1:  # one network: the plain product is faster than the batched one
        return torch.addmm(bias[0], h[0], weight[0]).unsqueeze(0)
    return torch.baddbmm(bias.unsqueeze(1), h, weight)


def stack(networks: list[Parameters], device: str) -> dict[str, Tensor]:
    """Networks of one shape as tensors with a leading axis."""
    return {
        name: torch.from_numpy(np.stack([network[name] for network in networks])).to(device)
        for name in networks[0]
    }


def unstack(tensors: Mapping[str, Tensor]) -> list[Parameters]:
    """The way back: one dictionary of arrays per network."""
    arrays = {name: tensor.detach().cpu().numpy() for name, tensor in tensors.items()}
    count = len(next(iter(arrays.values())))
    return [{name: array[i].copy() for name, array in arrays.items()} for i in range(count)]


def pick_device(wanted: str | None = None) -> str:
    """`wanted`, else NPTLAB_DEVICE, else the best this machine has: cuda, mps, cpu."""
    chosen = wanted or os.environ.get("NPTLAB_DEVICE")
    if chosen:
        return chosen
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"
