"""The base of regressions on covariates, each of which has a weight."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from validation_core.bayes.covariates import OPTION, SHAPES, Design, design_matrix, digest, read
from validation_core.bayes.model import PAPER, Model
from validation_core.types import Array, Paper


@dataclass(frozen=True, kw_only=True)
class CovariateRegression(Model):
    """An intercept and a weight for each covariate that varies."""

    paper: ClassVar[Paper] = PAPER

    design: Design = field(default="real", metadata=OPTION)

    def __post_init__(self) -> None:
        object.__setattr__(self, "design", read(self.name, self.design))

    @property
    def digest(self) -> str:
        """Of the covariates, in its key."""
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

    @property
    def covariates(self) -> Array:
        """X (n, D)."""
        return design_matrix(self.name, self.design)
