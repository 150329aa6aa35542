"""Concrete: linear regression of compressive strength on the mixture and its age.

Domke (2021), Section 7: w ~ N(0, I) and y_i ~ N(x_i w, s^2) for the 1030 rows of the UCI data.
Only the covariates are held fixed; strengths are simulated. The paper gives neither the noise nor
how columns are scaled: here s^2 = 1, each column has mean 0 and variance 1, and an intercept comes
first, so that w has 9 entries. The posterior is N(S X'y / s^2, S), S = (X'X / s^2 + I)^-1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from validation_core.bayes.model import CovariateRegression
from validation_core.bayes.posterior import FullGaussian
from validation_core.types import Array, Joint

if TYPE_CHECKING:
    from torch import Tensor

NOISE = 1.0
"""s^2, a variance."""


@dataclass(frozen=True, kw_only=True)
class Concrete(CovariateRegression, spec="concrete"):
    """An intercept and 8 weights, whose posterior is normal and known."""

    name: ClassVar[str] = "concrete"
    title: ClassVar[str] = "Concrete"

    @property
    def summary(self) -> str:
        return (
            "Weights of a linear regression, from the strengths of 1030 samples of concrete with "
            "known covariates and noise"
        )

    def simulate(self, n: int, rng: np.random.Generator) -> Joint:
        """theta = w (n, 9), x = strengths (n, 1030)."""
        w = rng.standard_normal((n, self.dims[0]))
        mean = w @ self.covariates.T
        return Joint(w, mean + np.sqrt(NOISE) * rng.standard_normal(mean.shape))

    def kernel(self, z: Tensor, y: Tensor) -> Tensor:
        """What depends on z (..., 9); the strengths enter by their sums with each covariate."""
        x, precision = self._tensors
        return (z * (y @ x / NOISE - 0.5 * (z @ precision))).sum(-1)

    def constant(self, y: Tensor) -> Tensor:
        """What does not."""
        d, n = self.dims
        noise = y.square().sum(-1) / NOISE + n * np.log(2 * np.pi * NOISE)
        return -0.5 * (noise + d * np.log(2 * np.pi))

    def exact(self, y: Array) -> FullGaussian:
        """N(S X'y / s^2, S) at each row of y (K, 1030)."""
        x = self.covariates
        covariance = np.linalg.inv(x.T @ x / NOISE + np.eye(x.shape[1]))
        scale = np.linalg.cholesky((covariance + covariance.T) / 2)
        mean = y @ x @ covariance / NOISE
        return FullGaussian(mean, np.broadcast_to(scale, (len(y), *scale.shape)))

    @cached_property
    def _tensors(self) -> tuple[Tensor, Tensor]:
        """X and X'X / s^2 + I."""
        import torch

        x = torch.tensor(self.covariates)
        return x, x.T @ x / NOISE + torch.eye(self.dims[0], dtype=x.dtype)
