"""The log ratio itself, where a benchmark knows it: no score tells more, and none is learnt."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from validation_core.types import Array, Benchmark, Weighted


@dataclass(frozen=True)
class Ratio:
    """log p(theta, x) - log q(theta | x), up to a function of x, of one benchmark at one gamma."""

    benchmark: Benchmark
    gamma: float

    def __post_init__(self) -> None:
        if isinstance(self.benchmark, Weighted):
            return
        theta, x = (np.zeros((1, width)) for width in self.benchmark.dims)
        if self.benchmark.log_ratio(theta, x, self.gamma) is None:
            raise ValueError(
                f"The symmetric divergence reads log p(theta, x) - log q(theta | x); "
                f"{self.benchmark.label} does not know it at gamma = {self.gamma:g}. Choose a "
                f"benchmark with densities, or DC, which learns to tell p from q."
            )

    def __call__(self, theta: Array, x: Array) -> Array:
        """Log ratios (n,) of rows theta (n, D), x (n, M)."""
        if isinstance(self.benchmark, Weighted):
            return self.benchmark.log_weight(theta, x, self.gamma)
        found = self.benchmark.log_ratio(theta, x, self.gamma)
        assert found is not None
        return found
