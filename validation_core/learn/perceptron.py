"""Perceptrons as named arrays, any number of one shape at once.

How they start, their one forward pass, to tensors and back.

Parameters may have a leading axis of networks, so that a gamma grid by seeds trains as one
batch, and psi_beta = (1 - beta) psi + beta psi_rand is one line.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from validation_core.keys import Arrays
from validation_core.settings import DEVICE

# Networks this small lose from more threads, and by a factor of 100 beside another busy process;
# one thread also makes results independent of the machine's cores.
torch.set_num_threads(1)
_Single = NDArray[np.float32]
Parameters = dict[str, _Single]
Tensors = Mapping[str, Tensor]


def perceptron(
    rng: np.random.Generator, widths: Sequence[int], count: int | None = None
) -> Parameters:
    """Layers `weight0`, `bias0`, ... between these widths.

    Weights (fan in, fan out) and biases (fan out,); for `count` networks at once, each drawn by
    itself, (count, fan in, fan out) and (count, 1, fan out).
    """
    parameters: Parameters = {}
    for i, (fan_in, fan_out) in enumerate(itertools.pairwise(widths)):
        weight, bias = layer(rng, fan_in, fan_out, count)
        parameters |= {f"weight{i}": weight, f"bias{i}": bias}
    return parameters


def layer(
    rng: np.random.Generator, fan_in: int, fan_out: int, count: int | None = None
) -> tuple[_Single, _Single]:
    """PyTorch's default start, U(-1, 1) / sqrt(fan in) for weights and biases alike."""
    bound = 1 / np.sqrt(max(fan_in, 1))  # an input of no columns is a layer's bias alone
    networks, rows = ((), ()) if count is None else ((count,), (1,))
    shapes = ((*networks, fan_in, fan_out), (*networks, *rows, fan_out))
    weight, bias = (rng.uniform(-bound, bound, shape).astype(np.float32) for shape in shapes)
    return weight, bias


def reinitialise(network: torch.nn.Module, rng: np.random.Generator) -> None:
    """Start a module of another library anew by our own generator, as PyTorch's default does."""
    state = network.state_dict()
    for name in [name for name in state if name.endswith("weight")]:
        bound = 1 / np.sqrt(state[name].shape[1])
        for each in (name, name.removesuffix("weight") + "bias"):
            values = rng.uniform(-bound, bound, state[each].shape).astype(np.float32)
            state[each].copy_(torch.from_numpy(values))


def zero_last_layer(parameters: Parameters) -> Parameters:
    """The same network with its last layer at 0: it adds nothing before training."""
    last = _depth(parameters) - 1
    zeros = {name: np.zeros_like(parameters[name]) for name in (f"weight{last}", f"bias{last}")}
    return {**parameters, **zeros}


def forward(
    parameters: Tensors,
    h: Tensor,
    *,
    skips: bool = False,
    activation: Callable[[Tensor], Tensor] = functional.silu,
) -> Tensor:
    """Output of a perceptron for rows h (n, inputs), or B of them of rows (B, n, inputs).

    With `skips` a hidden layer from the second on adds to the one before: h <- h + a(h W + b).
    """
    last = _depth(parameters) - 1
    for i in range(last):
        after = activation(_affine(parameters, i, h))
        h = h + after if skips and i else after
    return _affine(parameters, last, h)


def _affine(parameters: Tensors, i: int, h: Tensor) -> Tensor:
    weight, bias = parameters[f"weight{i}"], parameters[f"bias{i}"]
    if weight.ndim == 2:
        return torch.addmm(bias, h, weight)
    if bias.ndim == 3:
        return torch.baddbmm(bias, h, weight)
    if len(weight) == 1:  # one network: the plain product is faster than the batched one
        return torch.addmm(bias.squeeze(0), h.squeeze(0), weight.squeeze(0)).unsqueeze(0)
    return torch.baddbmm(bias.unsqueeze(1), h, weight)


def _depth(parameters: Mapping[str, object]) -> int:
    return sum(name.startswith("weight") for name in parameters)


def tensors(parameters: Arrays, device: str | torch.device) -> dict[str, Tensor]:
    """Arrays as tensors, which share their memory on a processor."""
    return {name: torch.from_numpy(array).to(device) for name, array in parameters.items()}


def learnable(parameters: Arrays, device: str | torch.device) -> dict[str, Tensor]:
    """Arrays as tensors of their own that collect gradients."""
    copies = tensors({name: array.copy() for name, array in parameters.items()}, device)
    return {name: tensor.requires_grad_() for name, tensor in copies.items()}


def arrays(parameters: Tensors) -> Parameters:
    """Tensors as arrays, copied."""
    return {name: tensor.detach().cpu().numpy().copy() for name, tensor in parameters.items()}


def unstack(networks: Parameters) -> list[Parameters]:
    """Split a leading axis: one dictionary of arrays per network."""
    count = len(next(iter(networks.values())))
    return [{name: array[i].copy() for name, array in networks.items()} for i in range(count)]


def interpolate_parameters(
    trained: Mapping[str, _Single], initial: Mapping[str, _Single], beta: float
) -> Parameters:
    """psi_beta = (1 - beta) psi_trained + beta psi_initial, in single precision."""
    if beta == 0:
        return dict(trained)
    share, other = np.float32(1 - beta), np.float32(beta)
    return {name: share * array + other * initial[name] for name, array in trained.items()}


def pick_device(wanted: str | None = None, *, double: bool = False) -> str:
    """`wanted`, else NPTLAB_DEVICE, else the best this machine has: cuda, mps, cpu.

    For work in `double` precision, which an Apple GPU refuses, cpu in place of mps.
    """
    chosen = wanted or DEVICE.value() or _best_device()
    return "cpu" if double and chosen.startswith("mps") else chosen


def _best_device() -> str:
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"
