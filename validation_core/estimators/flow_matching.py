"""Flow matching: a velocity that carries noise to theta along straight lines, on average."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from validation_core.estimators.transport import TransportEstimator
from validation_core.types import Array

if TYPE_CHECKING:
    from validation_core.estimators.fitting import Examples


@dataclass(frozen=True, kw_only=True)
class FlowMatching(TransportEstimator):
    """Flow matching for posteriors (Lipman et al. 2023; Wildberger et al. 2023).

    The state at time t is t theta + (1 - t) noise, its velocity theta - noise.
    """

    name: ClassVar[str] = "flow_matching"
    title: ClassVar[str] = "Flow matching"
    help: ClassVar[str] = "a velocity carries noise to theta, on average along straight lines"

    def examples(self, theta: Array, rng: np.random.Generator) -> Examples:
        time, noise = rng.random((len(theta), 1)), rng.standard_normal(theta.shape)
        state = time * theta + (1 - time) * noise
        arrays = state, 2 * time - 1, theta - noise
        return tuple(array.astype(np.float32) for array in arrays)

    def times(self) -> Array:
        """From 0 to 1, twice as dense at theta's end as in the mean."""
        left = 1 - np.arange(self.steps + 1) / self.steps
        return 1 - (left + left**2) / 2

    def code(self, time: float) -> float:
        return 2 * time - 1
