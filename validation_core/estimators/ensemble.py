"""Several flows of other starts as an equal mixture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from validation_core.estimators.flows import NeuralSplineFlow


@dataclass(frozen=True, kw_only=True)
class FlowEnsemble(NeuralSplineFlow):
    """An equal mixture of neural spline flows that differ in their first weights.

    They see the same batches side by side, and end together, at the mixture's best epoch.
    """

    name: ClassVar[str] = "ensemble"
    title: ClassVar[str] = "Ensemble of spline flows"
    help: ClassVar[str] = "an equal mixture of neural spline flows of other starts"

    members: int = field(default=3, metadata={"label": "Flows", "min": 2, "max": 50})

    def columns(self, dims: int) -> Sequence[slice]:
        return [slice(0, dims)] * self.members

    @property
    def step_seconds(self) -> tuple[float, float]:
        overhead, row = super().step_seconds
        return 1.5 * overhead, self.members * row
