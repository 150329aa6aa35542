"""Heart transplants: survival of the operation, and years lived after it (Domke 2021, Section 7).

BUGS Book, Example 3.5.1, with the prior of Domke (2021), Section 7: p ~ Uniform(0, 1), theta ~
Gamma(1/3, 1/3) (shape, rate), y ~ Binomial(10, p) survive the operation and each of 8 lives
s_i ~ Exponential(theta) years more (theta a rate). The 8 are simulated whatever y is: they are
covariates of the data's shape, not survivors of this y. Coordinates u = logit p, v = log theta.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaln, log_expit, polygamma

from validation_core.bayes.model import PAPER, Model
from validation_core.bayes.unconstrained import logistic_log_density
from validation_core.types import Array, Paper

if TYPE_CHECKING:
    from torch import Tensor


OPERATED, SURVIVORS = 10, 8
SHAPE = RATE = 1 / 3


@dataclass(frozen=True, kw_only=True)
class HeartTransplants(Model, spec="heart_transplants"):
    """Survival of an operation and years lived after it, with a closed-form posterior."""

    name: ClassVar[str] = "heart_transplants"
    title: ClassVar[str] = "Heart transplants"
    paper: ClassVar[Paper] = PAPER

    @property
    def summary(self) -> str:
        return (
            "Chance to survive a transplant and rate of dying after it, from 10 operations and "
            "the years that 8 patients lived"
        )

    @property
    def label(self) -> str:
        return self.title

    @property
    def names(self) -> tuple[str, ...]:
        return "logit p", "log theta"

    @property
    def dims(self) -> tuple[int, int]:
        return 2, 1 + SURVIVORS

    def sample_prior(self, n: int, rng: np.random.Generator) -> Array:
        """(logit p, log theta) (n, 2)."""
        u = rng.logistic(size=n)
        return np.stack([u, _log_gamma(SHAPE, n, rng) - np.log(RATE)], 1)

    def simulate_data(self, z: Array, rng: np.random.Generator) -> Array:
        """(y, s_1..s_8) (n, 9)."""
        y = rng.binomial(OPERATED, np.exp(log_expit(z[:, 0])))
        s = rng.standard_exponential((len(z), SURVIVORS)) * np.exp(-z[:, 1:])
        return np.concatenate([y[:, None], s], 1)

    def unnormalised_log_joint(self, z: Tensor, y: Tensor) -> Tensor:
        """Part of log p(z, y) that depends on z (..., 2): (...)."""
        from torch.nn.functional import logsigmoid

        u, v = z[..., 0], z[..., 1]
        lived, years = y[..., 0], y[..., 1:].sum(-1)
        survive = lived * logsigmoid(u) + (OPERATED - lived) * logsigmoid(-u)
        return (
            logistic_log_density(u) + survive + (SHAPE + SURVIVORS) * v - (RATE + years) * v.exp()
        )

    def log_normaliser(self, y: Tensor) -> Tensor:
        """Rest of log p(z, y), a function of y (..., 9) alone: (...)."""
        import torch

        lived = y[..., 0]
        ways = gammaln(OPERATED + 1) - torch.lgamma(lived + 1)
        return ways - torch.lgamma(OPERATED - lived + 1) + SHAPE * np.log(RATE) - gammaln(SHAPE)

    def exact(self, y: Array) -> _HeartPosterior:
        """Exact posterior at each y: p ~ Beta(y + 1, 11 - y), theta ~ Gamma(a + 8, b + sum s)."""
        lived = y[:, 0]
        return _HeartPosterior(lived + 1, OPERATED - lived + 1, RATE + y[:, 1:].sum(1))


@dataclass(frozen=True, eq=False)
class _HeartPosterior:
    """logit of Beta(a, b) and log of Gamma(1/3 + 8, rate), independent; a, b, rate (K,)."""

    a: Array
    b: Array
    rate: Array

    @property
    def ok(self) -> NDArray[np.bool_]:
        return np.ones(len(self.a), bool)

    def sample(self, s: int, rngs: Sequence[np.random.Generator]) -> Array:
        """s draws for each data set: (K, s, 2)."""
        draws = [
            np.stack(
                [
                    _log_gamma(a, s, rng) - _log_gamma(b, s, rng),
                    _log_gamma(SHAPE + SURVIVORS, s, rng) - np.log(rate),
                ],
                1,
            )
            for a, b, rate, rng in zip(self.a, self.b, self.rate, rngs, strict=True)
        ]
        return np.stack(draws)

    def log_density(self, z: Array) -> Array:
        """log q of z (K, S, 2): (K, S)."""
        u, v = z[..., 0], z[..., 1]
        a, b, rate, shape = self.a[:, None], self.b[:, None], self.rate[:, None], SHAPE + SURVIVORS
        beta = gammaln(a + b) - gammaln(a) - gammaln(b) + a * log_expit(u) + b * log_expit(-u)
        return np.asarray(beta + shape * (np.log(rate) + v) - gammaln(shape) - rate * np.exp(v))

    def moments(self) -> tuple[Array, Array]:
        """Means and variances (K, 2) of (u, v)."""
        shape = np.full(len(self.a), SHAPE + SURVIVORS)
        means = digamma(self.a) - digamma(self.b), digamma(shape) - np.log(self.rate)
        spread = polygamma(1, self.a) + polygamma(1, self.b), polygamma(1, shape)
        return np.stack(means, 1), np.stack(spread, 1)


def _log_gamma(shape: float, n: int, rng: np.random.Generator) -> Array:
    """Logarithms of Gamma(shape, 1) draws (n,): small shapes underflow before the logarithm."""
    return np.log(rng.standard_gamma(shape + 1, n)) - rng.standard_exponential(n) / shape
