"""Images: theta is an image, x its label, and q's images are blurred, swirled or noisy.

Bansal, Chen, Scott, Section 5.2 and Appendix B.3, where the images are CIFAR-10's. That is read
where the user has it; the default draws 32 x 32 crops of ten photographs instead, so that draws
are independent and never run out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, get_args

import numpy as np
from numpy.typing import NDArray

from validation_core.benchmarks.corruptions import Corruption, corrupt
from validation_core.benchmarks.image_sources import (
    LABELS,
    SIDE,
    Source,
    crop_photographs,
    source_images,
    source_names,
)
from validation_core.scores.feature_classifier import FeatureClassifier
from validation_core.settings import CIFAR10
from validation_core.types import Array, Benchmark, GammaDomain, Paper

_SHAPE = (SIDE, SIDE, 3)
_TABLE_3: Mapping[Corruption, tuple[float, ...]] = {
    "blur": (0.0, 0.36, 0.37, 0.38, 0.39),
    "swirl": (0.0, 0.25, 0.3, 0.35, 0.4, 0.5),
    "noise": (0.0, 0.001, 0.002, 0.003, 0.004, 0.005, 0.006, 0.007, 0.008),
}
"""Bansal, Chen, Scott, Table 3, on CIFAR-10."""
_CROPS: Mapping[Corruption, tuple[float, ...]] = {
    "blur": (0.0, 0.3, 0.33, 0.35, 0.37, 0.4, 0.45),
    "swirl": (0.0, 0.02, 0.04, 0.06, 0.1, 0.2),
    "noise": (0.0, 0.001, 0.002, 0.003, 0.004, 0.006),
}
"""Strengths over which power rises from the level to 1 on the photographs."""
_DOES: Mapping[Corruption, str] = {
    "blur": "q's images are blurred by a Gaussian of sd gamma pixels",
    "swirl": "q's images are swirled by gamma radians at their centre",
    "noise": "q's images carry noise of sd gamma, where pixels run from -1 to 1",
}


@dataclass(frozen=True, kw_only=True)
class Images(Benchmark):
    """A labelled image, and an estimator whose images are corrupted."""

    name: ClassVar[str] = "images"
    title: ClassVar[str] = "Images"
    paper: ClassVar[Paper] = Paper(
        "Bansal, Chen, Scott", 2025, "Conformal C2ST", "Section 5.2, Appendix B.3"
    )
    corruption: Corruption = field(
        default="blur",
        metadata={"label": "Corruption", "help": "What is done to q's images, by gamma."},
    )
    source: Source = field(
        default="photographs",
        metadata={
            "label": "Images",
            "help": "photographs: crops of ten that are here; cifar10: the paper's, from your "
            f"folder ({CIFAR10.name}).",
        },
    )

    def __post_init__(self) -> None:
        for name, allowed in (("corruption", Corruption), ("source", Source)):
            value, known = getattr(self, name), get_args(allowed)
            if value not in known:
                raise ValueError(
                    f"{name} is one of {', '.join(known)}; got {value!r}. Choose one of those."
                )

    @property
    def summary(self) -> str:
        """Effect of gamma on q, in one sentence."""
        return _DOES[self.corruption]

    @property
    def label(self) -> str:
        """Title, with the images and their corruption."""
        what = "CIFAR-10" if self.source == "cifar10" else "crops of photographs"
        return f"{self.title}, {what}, {self.corruption}"

    @property
    def gammas(self) -> tuple[float, ...]:
        """Strengths: the paper's for CIFAR-10, for crops those over which power rises."""
        return (_TABLE_3 if self.source == "cifar10" else _CROPS)[self.corruption]

    @property
    def domain(self) -> GammaDomain | None:
        """0 or more for the sd of a blur or of noise; a swirl turns either way."""
        if self.corruption == "swirl":
            return None
        return GammaDomain(f"the sd of the {self.corruption}", 0)

    @property
    def axis(self) -> str:
        """Name of gamma on an axis."""
        return {
            "blur": "sd of the blur, gamma (pixels)",
            "swirl": "strength of the swirl, gamma (radians)",
            "noise": "sd of the noise, gamma",
        }[self.corruption]

    @property
    def dims(self) -> tuple[int, int]:
        """Dimensions of theta and of x: 3072 pixels, ten labels."""
        return SIDE * SIDE * 3, LABELS

    @property
    def shape(self) -> tuple[int, int, int]:
        """Height, width and channels of an image; theta holds it row by row."""
        return _SHAPE

    @property
    def classifier(self) -> FeatureClassifier:
        """Classifier recipe: a head on frozen features, as raw pixels teach a network little."""
        return FeatureClassifier(shape=self.shape)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the ten labels."""
        return source_names(self.source)

    def x(self, n: int, rng: np.random.Generator) -> Array:
        """Uniform labels, one-hot: (n, 10)."""
        labels = (LABELS * rng.random(n)).astype(np.int64)
        return np.eye(LABELS)[labels]

    def theta(self, x: Array, gamma: float, rng: np.random.Generator) -> NDArray[np.float32]:
        """Draw an image of each label: (n, 3072), float32 in [-1, 1].

        Raises:
            ValueError: where CIFAR-10 is chosen but missing.
        """
        del gamma
        return self._images(x, rng).reshape(len(x), -1)

    def q(self, x: Array, gamma: float, rng: np.random.Generator) -> NDArray[np.float32]:
        """Draw and corrupt an image of each label (n, 3072), the same one at every gamma."""
        images = self._images(x, rng)
        return corrupt(self.corruption, images, gamma, rng).reshape(len(x), -1)

    def log_ratio(self, theta: Array, x: Array, gamma: float) -> None:
        """None: images have no known density."""

    def log_p(self, theta: Array, x: Array, gamma: float) -> None:
        """None: images have no known density."""

    def _images(self, x: Array, rng: np.random.Generator) -> NDArray[np.float32]:
        labels = np.asarray(x).argmax(axis=1)
        if self.source == "cifar10":
            raw = source_images(labels, rng.random(len(x)))
        else:
            raw = crop_photographs(labels, rng.random((len(x), 2)))
        return _LEVELS[raw]


_LEVELS = (np.arange(256) / 127.5 - 1).astype(np.float32)
"""The 256 values of a pixel, scaled to [-1, 1]."""
