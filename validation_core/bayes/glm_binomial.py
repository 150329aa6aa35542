"""Binomial regression: breeding success of peregrine falcons as a curve over 40 years.

Domke (2021), Section 7: alpha, beta_1, beta_2 ~ N(0, 10^2), and of n_i pairs in year i
y_i ~ Binomial(n_i, sigmoid(alpha + beta_1 t_i + beta_2 t_i^2)) succeed, with t_i from -1 to 1.
(The paper prints the predictor without its sigmoid.) Most chances drawn from so wide a prior are
close to 0 or 1, which leaves skewed posteriors. Only n_i and t_i are held fixed; y is simulated.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from scipy.special import expit

from validation_core.bayes.model import PAPER
from validation_core.bayes.peregrines import BOOK, PEREGRINES, Counts
from validation_core.keys import Specification
from validation_core.types import Array, Joint, Paper

if TYPE_CHECKING:
    from torch import Tensor


SD = 10.0
"""Of each coefficient under the prior."""


@dataclass(frozen=True, kw_only=True)
class GLMBinomial(Specification, spec="glm_binomial"):
    """Three coefficients of a parabola in time, on the scale of log odds."""

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
    def counts(self) -> Counts:
        """Years, pairs and the successes that were observed."""
        return PEREGRINES if self.data == "peregrine" else BOOK

    @cached_property
    def powers(self) -> Array:
        """1, t, t^2: (40, 3)."""
        return np.vander(self.counts.t, 3, increasing=True)

    def simulate(self, n: int, rng: np.random.Generator) -> Joint:
        """theta = coefficients (n, 3), x = successes (n, 40)."""
        z = SD * rng.standard_normal((n, 3))
        y = rng.binomial(self.counts.n.astype(int), expit(z @ self.powers.T))
        return Joint(z, y.astype(float))

    def kernel(self, z: Tensor, y: Tensor) -> Tensor:
        """What depends on z (..., 3); the data enter by their sums with 1, t and t^2."""
        from torch.nn.functional import logsigmoid

        powers, pairs = self._tensors
        failures = logsigmoid(z @ -powers.T) @ pairs
        return (z * (y @ powers)).sum(-1) + failures - z.square().sum(-1) / (2 * SD**2)

    def constant(self, y: Tensor) -> Tensor:
        """What does not."""
        return log_ways(self._tensors[1], y) - 3 * np.log(SD * np.sqrt(2 * np.pi))

    def exact(self, y: Array) -> None:
        """None: there is no closed form."""
        del y

    @cached_property
    def _tensors(self) -> tuple[Tensor, Tensor]:
        import torch

        return torch.tensor(self.powers), torch.tensor(self.counts.n)


# ---- What log Binomial(y | n, sigmoid(eta)) has in common wherever a model uses it ----


def log_ways(n: Tensor, y: Tensor) -> Tensor:
    """log of n choose y, summed over the last axis: (..., I) gives (...)."""
    import torch

    return (torch.lgamma(n + 1) - torch.lgamma(y + 1) - torch.lgamma(n - y + 1)).sum(-1)
