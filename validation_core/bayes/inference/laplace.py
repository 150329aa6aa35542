"""Laplace's approximation: a normal at the mode, as wide as the curvature there says.

Domke (2021), Section 2.1: Adam climbs log p(z, y) from z = 0, with rate .01 for the first half of
the iterations and .001 for the second, to z^; q is N(z^, -H^-1), H the Hessian there. Adjusted
Laplace moves the mean by one Newton step, to z^ - H^-1 g, g the gradient at z^: exact for a normal
posterior after any number of iterations. (The paper prints the mean as H^-1 g.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from validation_core.bayes.model import Model, gradient, hessian
from validation_core.bayes.posterior import FullGaussian
from validation_core.optim import Adam
from validation_core.types import Array

RATES = 0.01, 0.001


@dataclass(frozen=True, kw_only=True)
class Laplace:
    """N(z^, -H^-1), or with the mean adjusted by a Newton step."""

    version: ClassVar[int] = 1

    adjusted: bool = False

    @property
    def name(self) -> str:
        return "adjusted_laplace" if self.adjusted else "laplace"

    @property
    def label(self) -> str:
        return "Adjusted Laplace" if self.adjusted else "Laplace"

    def fit(
        self, model: Model, y: Array, iterations: int, rngs: Sequence[np.random.Generator],
        report: Callable[[float], None] | None = None,
    ) -> FullGaussian:  # fmt: skip
        """q at each row of y (K, M); nothing is random. A Hessian that is not negative definite
        at z^ is a failure: there is no q.
        """
        import torch

        del rngs
        data = torch.from_numpy(np.ascontiguousarray(y, dtype=np.float64))
        z = torch.zeros((len(y), model.dims[0]), dtype=torch.float64)
        for rate, steps in zip(
            RATES, (iterations // 2, iterations - iterations // 2), strict=True
        ):
            adam = Adam([([z], rate)])
            for step in range(steps):
                z.grad = -gradient(model, z, data)
                adam.step()
                if report and step % 100 == 0:
                    report(step / iterations)
        curvature, slope = hessian(model, z, data).numpy(), gradient(model, z, data).numpy()
        return _normal(z.numpy(), slope, curvature, self.adjusted)


def _normal(mode: Array, slope: Array, curvature: Array, adjusted: bool) -> FullGaussian:
    mean, scale = np.full_like(mode, np.nan), np.full_like(curvature, np.nan)
    for k, (at, g, h) in enumerate(zip(mode, slope, curvature, strict=True)):
        try:
            precision = np.linalg.cholesky(-h)
        except np.linalg.LinAlgError:
            continue
        if not np.isfinite(precision).all():
            continue
        covariance = np.linalg.inv(-h)
        scale[k] = np.linalg.cholesky((covariance + covariance.T) / 2)
        mean[k] = at + covariance @ g if adjusted else at
    return FullGaussian(mean, scale)
