"""What both regressions on UCI data have in common: covariates, of which each has a weight.

Domke (2021), Section 7, does not say how columns are scaled: here each has mean 0 and variance 1,
constant ones are left out, and an intercept comes first. The prior of the weights is w ~ N(0, I).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from validation_core.bayes import designs
from validation_core.bayes.model import PAPER
from validation_core.types import Array, Paper


@dataclass(frozen=True, kw_only=True)
class Regression:
    """An intercept and a weight for each covariate that varies."""

    name: ClassVar[str]
    title: ClassVar[str]
    paper: ClassVar[Paper] = PAPER

    design: str = field(default="", metadata=designs.OPTION)

    @property
    def label(self) -> str:
        return designs.label(self.title, self.design)

    @property
    def names(self) -> tuple[str, ...]:
        return "intercept", *(f"w {j}" for j in range(1, self.dims[0]))

    @property
    def dims(self) -> tuple[int, int]:
        return designs.SHAPES[self.name].dims

    @property
    def covariates(self) -> Array:
        """X (n, D).

        Raises:
            ValueError: when those of the design were not lent to this process.
        """
        return designs.matrix(self.name, self.design)
