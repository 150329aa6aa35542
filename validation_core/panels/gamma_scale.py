"""How a benchmark's gammas are named on sliders and axes, and where they are drawn."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from validation_core.types import Array, Benchmark


class GammaScale(NamedTuple):
    """Words for gamma, and whether its axis is logarithmic; by default a strength."""

    slider: str = "Strength, gamma"
    """Label of a slider."""
    axis: str = "strength gamma"
    """Label of an axis."""
    logarithmic: bool = False

    @classmethod
    def of(cls, benchmark: Benchmark) -> GammaScale:
        """That of a benchmark: counts are logarithmic and have their own name."""
        if not benchmark.counts_iterations:
            return cls()
        return cls(benchmark.axis.capitalize(), benchmark.axis, min(benchmark.gammas) > 0)

    def places(self, gammas: ArrayLike) -> Array:
        """Positions of gammas on the axis."""
        values = np.asarray(gammas, float)
        return np.log10(values) if self.logarithmic else values

    def text(self, gamma: float) -> str:
        """One gamma, to follow "at"."""
        return f"{gamma:,g} {self.axis}" if self.logarithmic else f"gamma = {gamma:g}"


STRENGTH = GammaScale()
