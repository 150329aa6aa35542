"""Hospitals: a hierarchical binomial model of operations and deaths (Domke 2021, Section 7)."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy.special import expit

from validation_core.bayes.model import PAPER, Model
from validation_core.bayes.unconstrained import logistic_log_density, to_interval
from validation_core.types import Array, Paper

if TYPE_CHECKING:
    from torch import Tensor


def log_ways(n: Tensor, y: Tensor) -> Tensor:
    """log of n choose y, summed over the last axis: (..., I) gives (...)."""
    import torch

    return (torch.lgamma(n + 1) - torch.lgamma(y + 1) - torch.lgamma(n - y + 1)).sum(-1)


OMEGA = 0.25, 1.0
MU = -3.0, 3.0
OPERATIONS = np.array([143.0, 187, 323, 122, 164, 405, 239, 482, 195, 177, 581, 301])
"""n_i of the Bristol inquiry: open-heart operations on children under 1 year, 1991 to 1995."""
OBSERVED = np.array([41.0, 25, 24, 23, 25, 42, 24, 53, 26, 25, 58, 31])
"""Deaths; unit 1 is Bristol."""
UNITS = len(OPERATIONS)


@dataclass(frozen=True, kw_only=True)
class Hospitals(Model, spec="hospitals"):
    """Hierarchical log odds of death in twelve hospitals: spread, centre and twelve effects."""

    name: ClassVar[str] = "hospitals"
    title: ClassVar[str] = "Hospitals"
    paper: ClassVar[Paper] = PAPER
    width: float = field(
        default=1.0,
        metadata={
            "label": "Width of the prior",
            "help": "Factor on the widths of the intervals of omega and mu; 1 as in the paper",
            "later": True,
        },
    )

    def __post_init__(self) -> None:
        if not 0 < self.width < np.inf:
            raise ValueError(
                f"The prior's width is a factor above 0; got {self.width:g}. 1 is the paper's."
            )

    @property
    def summary(self) -> str:
        return (
            "Log odds of death in 12 hospitals, their centre and spread, from the deaths among "
            "known numbers of operations"
        )

    @property
    def label(self) -> str:
        wide = "" if self.width == 1 else f", prior {self.width:g} times as wide"
        return self.title + wide

    @property
    def names(self) -> tuple[str, ...]:
        return "logit omega", "logit mu", *(f"eta {i + 1}" for i in range(UNITS))

    @property
    def dims(self) -> tuple[int, int]:
        return 2 + UNITS, UNITS

    @property
    def omega(self) -> tuple[float, float]:
        """Interval of the prior of omega, the spread of log odds between hospitals."""
        return OMEGA[0], OMEGA[0] + self.width * (OMEGA[1] - OMEGA[0])

    @property
    def mu(self) -> tuple[float, float]:
        """Interval of the prior of mu, their centre."""
        return self.width * MU[0], self.width * MU[1]

    def sample_prior(self, n: int, rng: np.random.Generator) -> Array:
        """(logit omega, logit mu, eta_1..eta_12) (n, 14).

        The logits are of the place in the interval: standard logistic under the prior.
        """
        above = rng.logistic(size=(n, 2))
        omega, mu = to_interval(above[:, :1], *self.omega), to_interval(above[:, 1:], *self.mu)
        return np.concatenate([above, mu + omega * rng.standard_normal((n, UNITS))], 1)

    def simulate_data(self, z: Array, rng: np.random.Generator) -> Array:
        """Deaths (n, 12)."""
        return rng.binomial(OPERATIONS.astype(int), expit(z[:, 2:])).astype(float)

    def unnormalised_log_joint(self, z: Tensor, y: Tensor) -> Tensor:
        """Part of log p(z, y) that depends on z (..., 14): (...)."""
        from torch.nn.functional import logsigmoid

        above, eta = z[..., :2], z[..., 2:]
        place, (flat, spread), (left, right) = above.sigmoid(), self.omega, self.mu
        omega = flat + (spread - flat) * place[..., :1]
        mu = left + (right - left) * place[..., 1:]
        around = -0.5 * ((eta - mu) / omega).square().sum(-1) - UNITS * omega.squeeze(-1).log()
        deaths = (y * eta).sum(-1) + logsigmoid(-eta) @ self._operations
        return logistic_log_density(above).sum(-1) + around + deaths

    def log_normaliser(self, y: Tensor) -> Tensor:
        """Rest of log p(z, y), a function of y (..., 12) alone: (...)."""
        return log_ways(self._operations, y) - 0.5 * UNITS * np.log(2 * np.pi)

    def exact(self, y: Array) -> None:
        """None: the posterior has no closed form."""
        del y

    @cached_property
    def _operations(self) -> Tensor:
        import torch

        return torch.tensor(OPERATIONS)
