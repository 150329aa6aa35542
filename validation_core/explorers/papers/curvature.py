"""Curvature of the CoLT paper's normal posterior, and of the same posterior bent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from validation_core.benchmarks.gaussian import Gaussian
from validation_core.rng import stream
from validation_core.study import Report, Study
from validation_core.types import Array

if TYPE_CHECKING:
    from validation_core.store import Store


class Curvatures(NamedTuple):
    """Radians that the principal curve turns in all."""

    turn: Array
    """(2,) of the normal posterior, and of the bent one."""


@dataclass(frozen=True, kw_only=True)
class CurvatureStudy(Study[Curvatures], spec="paper_curvature"):
    """Chen, Bansal, Scott, CoLT, Appendix C.5: principal curves of draws of p at the mean x."""

    draws: int = 20_000
    seed: int = 0

    @property
    def label(self) -> str:
        return "Curvature of the CoLT paper's posteriors"

    def compute(self, store: Store, report: Report) -> Curvatures:
        """Draw p straight and bent, and follow both."""
        del store, report
        from validation_core.statistics.curves import principal_curve

        turns = []
        for curved in (False, True):
            benchmark = Gaussian(dim_x=2, dim_theta=2, curved=curved)
            x = np.ones((self.draws, benchmark.dim_x))  # the mean of x
            draws = benchmark.theta(x, 0.0, stream(self.seed, "curvature"))
            turns.append(principal_curve(draws).total_abs_curvature)
        return Curvatures(np.array(turns))
