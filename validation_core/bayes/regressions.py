"""Regressions on real covariates: Ionosphere (logistic) and Concrete (linear; Domke 2021, Section
7).

Domke (2021), Section 7: w ~ N(0, I) and y_i ~ Bernoulli(sigmoid(x_i w)) for the 351 rows of the
UCI data. Only the covariates are held fixed; labels are simulated. The paper does not say how
columns are scaled: here each has mean 0 and variance 1, the constant one is left out, and an
intercept comes first, so that w has 34 entries.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy.special import expit

from validation_core.bayes.posterior import FullGaussian
from validation_core.bayes.regression import CovariateRegression
from validation_core.types import Array

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class Ionosphere(CovariateRegression, spec="ionosphere"):
    """Logistic regression: an intercept and 33 weights."""

    name: ClassVar[str] = "ionosphere"
    title: ClassVar[str] = "Ionosphere"

    @property
    def summary(self) -> str:
        return (
            "Weights of a logistic regression, from the labels of 351 radar returns with known "
            "covariates"
        )

    def simulate_data(self, z: Array, rng: np.random.Generator) -> Array:
        """Labels 0 or 1 (n, 351)."""
        chance = expit(z @ self.covariates.T)
        return (rng.random(chance.shape) < chance).astype(float)

    def unnormalised_log_joint(self, z: Tensor, y: Tensor) -> Tensor:
        """Part of log p(z, y) that depends on z (..., 34): (...).

        The labels enter by their sums with each covariate.
        """
        from torch.nn.functional import logsigmoid

        x, minus = self._signed
        failures = logsigmoid(z @ minus.T).sum(-1)
        return (z * (y @ x)).sum(-1) + failures - 0.5 * z.square().sum(-1)

    def log_normaliser(self, y: Tensor) -> Tensor:
        """Rest of log p(z, y), a function of y (..., 351) alone: (...)."""
        return y.new_full(y.shape[:-1], -0.5 * self.dims[0] * np.log(2 * np.pi))

    def exact(self, y: Array) -> None:
        """None: the posterior has no closed form."""
        del y

    @cached_property
    def _signed(self) -> tuple[Tensor, Tensor]:
        """X and -X: negating every linear predictor instead costs a pass over all of them."""
        import torch

        x = torch.tensor(self.covariates)
        return x, -x


NOISE = 1.0
"""s^2, a variance."""


@dataclass(frozen=True, kw_only=True)
class Concrete(CovariateRegression, spec="concrete"):
    """Linear regression: an intercept and 8 weights, with a normal posterior in closed form."""

    name: ClassVar[str] = "concrete"
    title: ClassVar[str] = "Concrete"

    @property
    def summary(self) -> str:
        return (
            "Weights of a linear regression, from the strengths of 1030 samples of concrete with "
            "known covariates and noise"
        )

    def simulate_data(self, z: Array, rng: np.random.Generator) -> Array:
        """Strengths (n, 1030)."""
        mean = z @ self.covariates.T
        return mean + np.sqrt(NOISE) * rng.standard_normal(mean.shape)

    def unnormalised_log_joint(self, z: Tensor, y: Tensor) -> Tensor:
        """Part of log p(z, y) that depends on z (..., 9): (...).

        The strengths enter by their sums with each covariate.
        """
        x, precision = self._tensors
        return (z * (y @ x / NOISE - 0.5 * (z @ precision))).sum(-1)

    def log_normaliser(self, y: Tensor) -> Tensor:
        """Rest of log p(z, y), a function of y (..., 1030) alone: (...)."""
        d, n = self.dims
        noise = y.square().sum(-1) / NOISE + n * np.log(2 * np.pi * NOISE)
        return -0.5 * (noise + d * np.log(2 * np.pi))

    def exact(self, y: Array) -> FullGaussian:
        """Exact posterior N(S X'y / s^2, S) at each row of y (K, 1030)."""
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
