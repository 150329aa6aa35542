"""A round's hidden defect of q in the Gaussian family, of the size of its level."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np

from validation_core import sampling
from validation_core.benchmarks.gaussian import Gaussian
from validation_core.benchmarks.perturbations import Perturbation
from validation_core.rng import stream
from validation_core.types import Array, PosteriorTable

N = 500
"""Simulations of a round."""
K = 100
"""Draws of q at each x."""
ROUNDS = 10
"""Rounds of a game."""
Defect = Literal["none", "biased", "narrow", "wide", "blind", "missed", "extra", "tails"]
Level = Literal["easy", "middle", "hard"]
LEVELS: tuple[Level, ...] = get_args(Level)


class _Kind(NamedTuple):
    """A kind of defect in words, and its perturbation, with gamma at each level."""

    title: str
    letter: str
    """Its letter in a link."""
    perturbation: Perturbation
    gammas: tuple[float, float, float]


DEFECTS: Mapping[Defect, _Kind] = {
    "none": _Kind("No defect: q is correct", "c", "mean_shift", (0, 0, 0)),
    "biased": _Kind("Biased", "b", "mean_shift", (0.25, 0.08, 0.03)),
    "narrow": _Kind("Over-confident (too narrow)", "n", "covariance_scaling", (-0.5, -0.2, -0.1)),
    "wide": _Kind("Under-confident (too wide)", "w", "covariance_scaling", (1, 0.3, 0.12)),
    "blind": _Kind("Ignores x", "i", "blind_prior", (1, 0.25, 0.08)),
    "missed": _Kind("Misses a mode", "m", "mode_collapse", (0.2, 0.05, 0.01)),
    "extra": _Kind("Has an extra mode", "e", "additional_mode", (0.2, 0.05, 0.01)),
    "tails": _Kind("Heavy tails", "t", "heavy_tail", (0.7, 0.3, 0.12)),
}
"""Ignores x: q takes a draw of the marginal of theta in place of p's with chance gamma."""


@dataclass(frozen=True)
class Round:
    """One hidden q: its defect, and the seed of its simulations."""

    defect: Defect
    level: Level
    seed: int
    number: int
    """Of the round, and of its simulations: further ones follow in steps of ROUNDS."""
    up: bool = True
    """Sign of a bias: whether q's mean is too far from 0, or too near."""

    @property
    def gamma(self) -> float:
        """Size of the defect, in its perturbation's own unit."""
        size = DEFECTS[self.defect].gammas[LEVELS.index(self.level)]
        return -size if self.defect == "biased" and not self.up else size

    @property
    def benchmark(self) -> Gaussian:
        """The benchmark: one theta and four x, so that modes at mu and -mu lie apart."""
        perturbation = DEFECTS[self.defect].perturbation
        return Gaussian(perturbation=perturbation, dim_x=4, dim_theta=1)

    @property
    def words(self) -> str:
        """What is hidden, in a sentence."""
        size = abs(self.gamma)
        return {
            "none": "q is exactly p.",
            "biased": f"q's mean is {size:.0%} too {'far from' if self.gamma > 0 else 'near'} 0.",
            "narrow": f"q's variance is {size:.0%} too small.",
            "wide": f"q's variance is {size:.0%} too large.",
            "blind": f"{size:.0%} of q's draws ignore x.",
            "missed": f"The truth has a second bump with {size:.0%} of its mass, q has none.",
            "extra": f"q has a second bump with {size:.0%} of its mass, the truth has none.",
            "tails": f"q is Student's t with {1 / (size or 1):.1f} degrees of freedom.",
        }[self.defect]

    def table(self) -> PosteriorTable:
        """Table of the round's simulations: theta (N, 1), x (N, 4) and q's draws (N, K, 1)."""
        names = ("game", self.defect, self.level, self.number)
        drawn = sampling.table(self.benchmark, self.gamma, N, K, stream(self.seed, *names))
        if self.defect != "blind":
            return drawn
        at = np.repeat(drawn.x, K, axis=0)
        right = self.benchmark.theta(at, 0.0, stream(self.seed, *names, "right"))
        ignores = stream(self.seed, *names, "share").random((N, K, 1)) < self.gamma
        return PosteriorTable(
            drawn.theta, drawn.x, np.where(ignores, drawn.q, right.reshape(N, K, 1))
        )

    def densities(self, theta: Array, x: Array) -> tuple[Array, Array]:
        """Densities of p and q at theta (G,), given one x (4,): (G,) each."""
        rows, at = theta[:, None], np.broadcast_to(x, (len(theta), len(x)))
        log_p = self.benchmark.log_p(rows, at, self.gamma)
        log_ratio = self.benchmark.log_ratio(rows, at, self.gamma)
        assert log_p is not None
        assert log_ratio is not None
        p, q = np.exp(log_p), np.exp(log_p - log_ratio)
        return p, (1 - self.gamma) * p + self.gamma * q if self.defect == "blind" else q
