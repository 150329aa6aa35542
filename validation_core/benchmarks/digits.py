"""Digits: theta is a handwritten digit, x its label, and q a trained generator of them.

Bansal, Chen, Scott, Section 5.2, test a generator of images. Here p
draws, with replacement, from 5,000 digits of MNIST reduced to 14 x 14, which ship with the
program (`validation_core/data/digits`, CC BY-SA 3.0); q is a diffusion (`estimators.diffusion`)
trained on them with their labels, whose sampler leaves out its last gamma steps of 20. Its own
flaws are there at gamma 0 already. To see the steps alone, p can be the generator itself with all
of its steps; then q is p at gamma 0.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from validation_core.estimators.diffusion import LEFT_OUT, STEPS, Diffusion, steps_left_out
from validation_core.scores.feature_classifier import FeatureClassifier
from validation_core.shared_arrays import read_only
from validation_core.types import Array, Benchmark, Paper

if TYPE_CHECKING:
    from validation_core.estimators.diffusion import TrainedDiffusion
    from validation_core.scores import Recipe

Truth = Literal["handwritten", "generated"]

SIDE = 14
"""Pixels of a digit, up and across."""
LABELS = 10

_FILE = Path(__file__).parents[1] / "data" / "digits" / "mnist.npz"
LOADED_GENERATORS: dict[str, TrainedDiffusion] = {}


@dataclass(frozen=True, kw_only=True)
class _DigitDiffusion(Diffusion, spec="digit_diffusion"):
    """Diffusion over pixels of one common scale, so that nearly constant ones stay small."""

    one_scale: ClassVar[bool] = True


_PAPER = Paper("Bansal, Chen, Scott", 2025, "Conformal C2ST", "Section 5.2")


@dataclass(frozen=True, kw_only=True)
class _Handwritten(Benchmark, spec="handwritten_digits"):
    """Handwritten digits with their labels: the generator's training data."""

    paper: ClassVar[Paper] = _PAPER

    @property
    def label(self) -> str:
        return "Digits, handwritten"

    @property
    def gammas(self) -> tuple[float, ...]:
        return (0,)

    @property
    def dims(self) -> tuple[int, int]:
        return SIDE * SIDE, LABELS

    def x(self, n: int, rng: np.random.Generator) -> Array:
        """Uniform labels, one-hot: (n, 10)."""
        return np.eye(LABELS)[rng.integers(LABELS, size=n)]

    def theta(self, x: Array, gamma: float, rng: np.random.Generator) -> Array:
        """Draw a digit of each label: (n, 196), black -1, white 1, in 255 steps."""
        del gamma
        digits = load_mnist_digits()  # (10, each, 196)
        which = rng.integers(digits.shape[1], size=len(x))
        return scale_pixels(digits[np.asarray(x).argmax(1), which])

    q = theta


@dataclass(frozen=True, kw_only=True)
class Digits(Benchmark):
    """A handwritten digit of a label, and a generator that stops gamma steps early."""

    name: ClassVar[str] = "digits"
    title: ClassVar[str] = "Digits"
    paper: ClassVar[Paper] = _PAPER
    truth_is: Truth = field(
        default="handwritten",
        metadata={
            "label": "p draws",
            "help": "handwritten: from MNIST; generated: by all 20 steps of the generator, so "
            "that q is p at gamma 0.",
        },
    )

    def __post_init__(self) -> None:
        if self.truth_is not in ("handwritten", "generated"):
            raise ValueError(
                f"truth_is is handwritten or generated; got {self.truth_is!r}. Choose one."
            )

    @property
    def summary(self) -> str:
        return "q is a trained generator that leaves out the last gamma of its 20 steps"

    @property
    def label(self) -> str:
        """Title, with the law of p."""
        return f"{self.title}, {self.truth_is} against generated"

    @property
    def sampler(self) -> Recipe:
        """Training recipe of the generator: some 16,000 steps of Adam, minutes."""
        return _DigitDiffusion(pairs=20_000, epochs=200, lr=2e-3, batch=256, hidden=384, layers=4)

    @property
    def truth(self) -> Benchmark:
        """The benchmark whose pairs train the generator."""
        return _Handwritten()

    def use_network(self, network: TrainedDiffusion) -> None:
        """Use this generator in this process from now on."""
        LOADED_GENERATORS[self.name] = network

    @property
    def classifier(self) -> FeatureClassifier:
        """Classifier recipe: a head on filter-bank features of 14 x 14 pixels."""
        return FeatureClassifier(shape=self.shape, epochs=100, lr=2e-4)

    @property
    def gammas(self) -> tuple[float, ...]:
        return LEFT_OUT

    def check_gamma(self, gamma: float) -> None:
        """Refuse what is no number of steps to leave out."""
        steps_left_out(gamma)

    def is_exact(self, gamma: float) -> bool:
        """Whether q is p: never beside handwritten digits, which the generator only imitates."""
        return gamma == 0 and self.truth_is == "generated"

    @property
    def axis(self) -> str:
        return "steps left out, gamma"

    @property
    def dims(self) -> tuple[int, int]:
        """Dimensions of theta and of x: 196 pixels, ten labels."""
        return SIDE * SIDE, LABELS

    @property
    def shape(self) -> tuple[int, int, int]:
        """Height, width and channels of an image; theta holds it row by row."""
        return SIDE, SIDE, 1

    def x(self, n: int, rng: np.random.Generator) -> Array:
        """Uniform labels, one-hot: (n, 10)."""
        return _Handwritten().x(n, rng)

    def theta(self, x: Array, gamma: float, rng: np.random.Generator) -> Array:
        """Draw a digit of each label: (n, 196), black -1, white 1, in 255 steps."""
        if self.truth_is == "generated":
            return self._generated(x, STEPS, rng)
        return _Handwritten().theta(x, gamma, rng)

    def q(self, x: Array, gamma: float, rng: np.random.Generator) -> Array:
        """Draw a digit of each label from the generator: (n, 196), rounded to the same 255 steps.

        Raises:
            ValueError: unless gamma is an integer from 0 to 5.
        """
        return self._generated(x, STEPS - steps_left_out(gamma), rng)

    def states(self, x: Array, rng: np.random.Generator) -> list[Array]:
        """Draws of q at every gamma, from the same latents: (n, 196) each."""
        latents = rng.standard_normal((len(x), SIDE * SIDE))
        steps = [STEPS - int(gamma) for gamma in self.gammas]
        return [_rounded(state) for state in self._generator.sample(x, steps, latents)]

    def _generated(self, x: Array, step: int, rng: np.random.Generator) -> Array:
        latents = rng.standard_normal((len(x), SIDE * SIDE))
        return _rounded(self._generator.sample(x, [step], latents)[0])

    @property
    def _generator(self) -> TrainedDiffusion:
        generator = LOADED_GENERATORS.get(self.name)
        if generator is None:
            raise ValueError(
                "Generated digits come from a network; got none in this process. Let "
                "trained_scores.ready fetch or train it."
            )
        return generator


@cache
@read_only
def load_mnist_digits() -> NDArray[np.uint8]:
    """Load MNIST's digits by label: (10, 500, 196), means of 2 x 2 pixels, rounded."""
    with np.load(_FILE) as file:
        digits: NDArray[np.uint8] = file["digits"]
    return digits


def scale_pixels(pixels: NDArray[np.uint8]) -> Array:
    """Scale pixels from 0 to 255 to -1 to 1."""
    return np.asarray(pixels / 127.5 - 1)


def _rounded(state: Array) -> Array:
    """Round a generator's state to the 256 levels of an image between -1 and 1."""
    return scale_pixels(np.rint(np.clip((state + 1) * 127.5, 0, 255)).astype(np.uint8))
