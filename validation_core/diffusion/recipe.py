"""How a diffusion model is trained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from validation_core import sampling
from validation_core.types import Array, Benchmark, Joint

if TYPE_CHECKING:
    from validation_core.diffusion.trained import TrainedDiffusion
    from validation_core.training import Report

Preset = Literal["interactive", "paper"]


@dataclass(frozen=True, kw_only=True)
class Diffusion:
    """An EDM model of theta given x: Karras, Aittala, Aila, Laine (2022); with a seed, a network.

    Chen, Bansal, Scott, CoLT, Appendix C.3, train one on the spiral; width, depth and batch are
    our choice.
    """

    version: ClassVar[int] = 1

    pairs: int = field(
        default=32_768,
        metadata={"label": "Training pairs", "min": 100, "max": 1_000_000, "help": "(theta, x)"},
    )
    epochs: int = field(default=700, metadata={"label": "Epochs", "min": 1, "max": 100_000})
    lr: float = field(
        default=3e-3,
        metadata={
            "label": "Initial learning rate", "min": 1e-6, "max": 0.1,
            "help": "Adam's; a cosine takes it to 0.",
        },
    )  # fmt: skip
    batch: int = field(default=512, metadata={"label": "Batch", "min": 16, "max": 65_536})
    hidden: int = field(
        default=48,
        metadata={
            "label": "Hidden units", "min": 8, "max": 1024,
            "help": "Sampling evaluates the network 39 times; its cost grows with the square.",
        },
    )  # fmt: skip
    layers: int = field(default=3, metadata={"label": "Hidden layers", "min": 1, "max": 10})
    clip: float = field(
        default=10.0,
        metadata={
            "label": "Largest gradient", "min": 0.01, "max": 1000.0,
            "help": "Norm to which a step's gradient is shortened.",
        },
    )  # fmt: skip

    def __post_init__(self) -> None:
        for one in fields(self):
            value, low, high = getattr(self, one.name), one.metadata["min"], one.metadata["max"]
            if not low <= value <= high:
                raise ValueError(
                    f"{one.name} lies between {low:g} and {high:g}; got {value:g}. Choose within."
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
        from validation_core.diffusion.trained import learn

        return [learn(one, self, seed, report) for one, seed in zip(data, seeds, strict=True)]

    def read(
        self, arrays: Mapping[str, Array], *, seconds: float, device: str
    ) -> TrainedDiffusion:
        """What `TrainedDiffusion.arrays` gave."""
        from validation_core.diffusion.trained import TrainedDiffusion

        return TrainedDiffusion.read(arrays, seconds, device)

    @classmethod
    def preset(cls, name: Preset) -> Diffusion:
        """`paper`: 50,000 epochs at 1e-4 (over an hour). `interactive`: a minute or two."""
        return PRESETS[name]


PRESETS: dict[Preset, Diffusion] = {
    "interactive": Diffusion(),
    "paper": Diffusion(epochs=50_000, lr=1e-4),
}
