"""Right marginals, wrong joint: every parameter by itself given x."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from validation_core.estimators.flows import NeuralSplineFlow


@dataclass(frozen=True, kw_only=True)
class ProductOfMarginals(NeuralSplineFlow):
    """A product of one-dimensional spline flows, each of a parameter given x.

    However well it learns, q takes parameters as independent at each x. Foundation models that
    are asked for one parameter at a time and not for the next given those before share the defect.
    """

    name: ClassVar[str] = "marginals"
    title: ClassVar[str] = "Right marginals, wrong joint"
    help: ClassVar[str] = "a spline flow for each parameter, as if the others told nothing"
    mixture: ClassVar[bool] = False

    def columns(self, dims: int) -> Sequence[slice]:
        return [slice(i, i + 1) for i in range(dims)]
