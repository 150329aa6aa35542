"""Binomial regression: breeding success of peregrine falcons over 40 years (Domke 2021, Section
7).

Domke (2021), Section 7: alpha, beta_1, beta_2 ~ N(0, 10^2), and of n_i pairs in year i
y_i ~ Binomial(n_i, sigmoid(alpha + beta_1 t_i + beta_2 t_i^2)) succeed, with t_i from -1 to 1.
(The paper prints the predictor without its sigmoid.) Most chances drawn from so wide a prior are
close to 0 or 1, which leaves skewed posteriors. Only n_i and t_i are held fixed; y is simulated.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

import numpy as np
from scipy.special import expit

from validation_core.bayes.hospitals import log_ways
from validation_core.bayes.model import PAPER, Model
from validation_core.types import Array, Paper

if TYPE_CHECKING:
    from torch import Tensor


class PeregrineCounts(NamedTuple):
    """Counts of breeding pairs and successes, a row for each of 40 years."""

    t: Array
    """Year, scaled to about -1 to 1."""
    n: Array
    """Pairs."""
    y: Array
    """Pairs that reproduced: shown to readers, never used by the diagnostic."""


PEREGRINES = PeregrineCounts(
    (np.arange(1964.0, 2004) - 1983.5) / 19.5,
    np.array([
        34.0, 45, 39, 36, 20, 18, 21, 20, 17, 20, 23, 27, 29, 39, 43, 47, 57, 56, 63, 70,
        82, 90, 95, 107, 114, 121, 132, 134, 143, 150, 154, 172, 163, 164, 161, 137, 157, 153,
        191, 193,
    ]),
    np.array([
        19.0, 18, 22, 19, 8, 7, 9, 11, 10, 12, 15, 19, 21, 27, 32, 35, 42, 36, 52, 44,
        58, 54, 59, 72, 80, 81, 95, 101, 92, 114, 74, 79, 115, 102, 102, 76, 104, 64, 107, 104,
    ]),
)  # fmt: skip
"""Peregrine falcons of the French Jura, 1964 to 2003: Kery and Schaub (2012), Bayesian population
analysis using WinBUGS, file falcons.txt."""
BOOK = PeregrineCounts(
    np.arange(-19.0, 21) / 20,
    np.array([
        43.0, 83, 53, 91, 95, 24, 62, 91, 64, 57, 97, 56, 74, 66, 28, 92, 40, 23, 46, 96,
        91, 75, 71, 100, 72, 77, 64, 68, 43, 32, 97, 92, 75, 84, 22, 58, 81, 37, 45, 39,
    ]),
    np.array([
        27.0, 42, 35, 55, 61, 19, 41, 74, 43, 42, 73, 37, 48, 49, 19, 72, 30, 18, 31, 71,
        63, 51, 48, 73, 49, 54, 43, 59, 30, 24, 62, 55, 51, 47, 14, 27, 45, 20, 26, 19,
    ]),
)  # fmt: skip
"""Simulated in Section 3.5.1 of the same book; public collections of models carry these numbers
under the falcons' name."""
SD = 10.0
"""Prior standard deviation of each coefficient."""


@dataclass(frozen=True, kw_only=True)
class GLMBinomial(Model, spec="glm_binomial"):
    """Binomial regression on time: three coefficients of a parabola in log odds."""

    name: ClassVar[str] = "glm_binomial"
    title: ClassVar[str] = "Peregrine falcons"
    paper: ClassVar[Paper] = PAPER
    data: Literal["peregrine", "book"] = field(
        default="peregrine",
        metadata={
            "label": "Years and pairs",
            "help": "peregrine: the real counts of pairs in the French Jura, 1964 to 2003; book: "
            "the simulated ones of the book's exercise, which public collections give that name",
            "choices": ("peregrine", "book"),
        },
    )

    def __post_init__(self) -> None:
        if self.data not in ("peregrine", "book"):
            raise ValueError(
                f"Binomial regression is on the years of peregrine or of book; got "
                f"{self.data!r}; take one of the two"
            )

    @property
    def summary(self) -> str:
        return (
            "Log odds of breeding success as a parabola in time, from successes among known "
            "numbers of pairs in 40 years"
        )

    @property
    def label(self) -> str:
        return self.title if self.data == "peregrine" else f"{self.title}, the book's simulation"

    @property
    def names(self) -> tuple[str, ...]:
        return "alpha", "beta 1", "beta 2"

    @property
    def dims(self) -> tuple[int, int]:
        return 3, len(self.counts.n)

    @property
    def counts(self) -> PeregrineCounts:
        """Years, pairs and observed successes."""
        return PEREGRINES if self.data == "peregrine" else BOOK

    @cached_property
    def powers(self) -> Array:
        """Predictors 1, t, t^2: (40, 3)."""
        return np.vander(self.counts.t, 3, increasing=True)

    def sample_prior(self, n: int, rng: np.random.Generator) -> Array:
        """Coefficients (n, 3)."""
        return SD * rng.standard_normal((n, 3))

    def simulate_data(self, z: Array, rng: np.random.Generator) -> Array:
        """Successes (n, 40)."""
        return rng.binomial(self.counts.n.astype(int), expit(z @ self.powers.T)).astype(float)

    def unnormalised_log_joint(self, z: Tensor, y: Tensor) -> Tensor:
        """Part of log p(z, y) that depends on z (..., 3): (...).

        The data enter by their sums with 1, t and t^2.
        """
        from torch.nn.functional import logsigmoid

        powers, pairs = self._tensors
        failures = logsigmoid(z @ -powers.T) @ pairs
        return (z * (y @ powers)).sum(-1) + failures - z.square().sum(-1) / (2 * SD**2)

    def log_normaliser(self, y: Tensor) -> Tensor:
        """Rest of log p(z, y), a function of y (..., 40) alone: (...)."""
        return log_ways(self._tensors[1], y) - 3 * np.log(SD * np.sqrt(2 * np.pi))

    def exact(self, y: Array) -> None:
        """None: the posterior has no closed form."""
        del y

    @cached_property
    def _tensors(self) -> tuple[Tensor, Tensor]:
        import torch

        return torch.tensor(self.powers), torch.tensor(self.counts.n)
