"""The base of regressions on covariates."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from validation_core.bayes.covariates import OPTION, SHAPES, Design, design_matrix, digest, read
from validation_core.bayes.model import PAPER, Model
from validation_core.types import Array, Paper


@dataclass(frozen=True, kw_only=True)
class CovariateRegression(Model):
    """Regression with an intercept and a weight for each non-constant covariate."""

    paper: ClassVar[Paper] = PAPER

    design: Design = field(default="real", metadata=OPTION)

    def __post_init__(self) -> None:
        object.__setattr__(self, "design", read(self.name, self.design))

    @property
    def digest(self) -> str:
        """Digest of the covariates, part of the key."""
        return digest(self.name, self.design)

    @property
    def label(self) -> str:
        return self.title if self.design == "real" else f"{self.title}, stand-in covariates"

    @property
    def names(self) -> tuple[str, ...]:
        return "intercept", *(f"w {j}" for j in range(1, self.dims[0]))

    @property
    def dims(self) -> tuple[int, int]:
        return SHAPES[self.name].dims

    def sample_prior(self, n: int, rng: np.random.Generator) -> Array:
        """Standard normal weights (n, D)."""
        return rng.standard_normal((n, self.dims[0]))

    @property
    def covariates(self) -> Array:
        """Design matrix X (n, D)."""
        return design_matrix(self.name, self.design)
