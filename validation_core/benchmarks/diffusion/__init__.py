"""A conditional diffusion model, small enough to train and to sample on one processor.

How it is trained, and the noise levels, scalings and sampler of EDM: Karras, Aittala, Aila, Laine
(2022), Table 1 and Algorithm 1. Noise is in the training scale, where each coordinate of theta has
standard deviation 0.5.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from validation_core import sampling
from validation_core.scores import Recipe
from validation_core.types import Array, Benchmark, Joint

if TYPE_CHECKING:
    from torch import Tensor

    from validation_core.benchmarks.diffusion.trained import TrainedDiffusion
    from validation_core.learn.stored import Arrays
    from validation_core.learn.training import Report

Preset = Literal["interactive", "paper"]
_State = TypeVar("_State", "Tensor", NDArray[np.floating])

SIGMA_DATA = 0.5
STEPS = 20
"""Reverse steps of Chen, Bansal, Scott, Appendix C.3."""

_HIGH, _LOW, _RHO = 80.0, 0.002, 7.0


@dataclass(frozen=True, kw_only=True)
class Diffusion(Recipe, spec="diffusion"):
    """An EDM model of theta given x: Karras, Aittala, Aila, Laine (2022); with a seed, a network.

    Chen, Bansal, Scott, CoLT, Appendix C.3, train one on the spiral; width, depth and batch are
    our choice.
    """

    pairs: int = field(
        default=32_768,
        metadata={"label": "Training pairs", "min": 100, "max": 1_000_000, "help": "(theta, x)"},
    )
    epochs: int = field(default=700, metadata={"label": "Epochs", "min": 1, "max": 100_000})
    lr: float = field(
        default=3e-3,
        metadata={
            "label": "Initial learning rate",
            "min": 1e-6,
            "max": 0.1,
            "help": "Adam's; a cosine takes it to 0.",
        },
    )
    batch: int = field(default=512, metadata={"label": "Batch", "min": 16, "max": 65_536})
    hidden: int = field(
        default=48,
        metadata={
            "label": "Hidden units",
            "min": 8,
            "max": 1024,
            "help": "Sampling evaluates the network 39 times; its cost grows with the square.",
        },
    )
    layers: int = field(default=3, metadata={"label": "Hidden layers", "min": 1, "max": 10})
    clip: float = field(
        default=10.0,
        metadata={
            "label": "Largest gradient",
            "min": 0.01,
            "max": 1000.0,
            "help": "Norm to which a step's gradient is shortened.",
        },
    )

    def __post_init__(self) -> None:
        for setting in fields(self):
            value, low, high = (
                getattr(self, setting.name),
                setting.metadata["min"],
                setting.metadata["max"],
            )
            if not low <= value <= high:
                raise ValueError(
                    f"{setting.name} lies between {low:g} and {high:g}; got {value:g}. Choose "
                    f"within."
                )

    @property
    def label(self) -> str:
        """What it is, for a list of trained models."""
        return "diffusion model"

    def sample(self, benchmark: Benchmark, gamma: float, rng: np.random.Generator) -> Joint:
        """Pairs (theta, x) of the truth."""
        return sampling.pairs(benchmark, gamma, self.pairs, rng)

    def learn_all(
        self, data: Sequence[Joint], seeds: Sequence[int], report: Report | None = None
    ) -> list[TrainedDiffusion]:
        """One model for each set of pairs and seed, in turn."""
        from validation_core.benchmarks.diffusion.trained import learn

        return [learn(joint, self, seed, report) for joint, seed in zip(data, seeds, strict=True)]

    def read(self, arrays: Arrays, *, seconds: float, device: str) -> TrainedDiffusion:
        """What `TrainedDiffusion.arrays` gave."""
        from validation_core.benchmarks.diffusion.trained import TrainedDiffusion

        return TrainedDiffusion.read(arrays, seconds=seconds, device=device)

    @classmethod
    def preset(cls, name: Preset) -> Diffusion:
        """`paper`: 50,000 epochs at 1e-4 (over an hour). `interactive`: a minute or two."""
        return PRESETS[name]


PRESETS: dict[Preset, Diffusion] = {
    "interactive": Diffusion(),
    "paper": Diffusion(epochs=50_000, lr=1e-4),
}


def levels(n: int = STEPS) -> NDArray[np.float64]:
    """Noise sd before the first step and after each of n: (n + 1,), from 80 to 0.002, then 0.

    Raises:
        ValueError: for fewer than two steps.
    """
    if n < 2:
        raise ValueError(f"A sampler takes at least two steps; got {n}. Raise it.")
    high, low = _HIGH ** (1 / _RHO), _LOW ** (1 / _RHO)
    return np.append((high + np.arange(n) / (n - 1) * (low - high)) ** _RHO, 0.0)


class _Scalings(NamedTuple):
    """D(theta; s) = skip theta + out F(into theta, code): F sees and gives unit variance."""

    skip: Array
    out: Array
    into: Array
    code: Array


def scalings(sigma: Array | float) -> _Scalings:
    """The scalings at noise sd `sigma`, each of its shape."""
    total = np.sqrt(np.square(sigma) + SIGMA_DATA**2)
    return _Scalings(
        skip=SIGMA_DATA**2 / total**2,
        out=sigma * SIGMA_DATA / total,
        into=1 / total,
        code=np.log(sigma) / 4,
    )


def trajectory(
    denoise: Callable[[_State, float], _State], latents: _State, total: int = STEPS
) -> Iterator[_State]:
    """The states before the first and after each of `total` steps, made as they are asked for.

    Args:
        denoise: D(state, sd of its noise).
        latents: standard normal (n, D); everything follows from them.
        total: steps of the whole way.
    """
    schedule = [float(level) for level in levels(total)]
    state = latents * schedule[0]
    yield state
    for now, after in itertools.pairwise(schedule):
        slope = (state - denoise(state, now)) / now
        euler = state + slope * (after - now)
        if after > 0:
            slope = (slope + (euler - denoise(euler, after)) / after) / 2
            state = state + slope * (after - now)
        else:  # D has no slope at 0
            state = euler
        yield state
