"""SBC: the rank of each true parameter among q's draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from validation_core import statistics
from validation_core.types import Budget, Layout, Outcome, Paper, Reads, Scores, TableScores


@dataclass(frozen=True, kw_only=True)
class SBC:
    """Simulation-based calibration with randomised ranks and Bonferroni over parameters.

    Both seed papers test each coordinate by KS and correct by Bonferroni; their raw
    ranks are discrete and reject too often, the randomised ones are exact.
    """

    name: ClassVar[str] = "sbc"
    title: ClassVar[str] = "SBC"
    paper: ClassVar[Paper] = Paper(
        "Talts, Betancourt, Simpson, Vehtari, Gelman", 2018,
        "Validating Bayesian inference algorithms with simulation-based calibration",
    )  # fmt: skip
    summary: ClassVar[str] = "Does each true parameter rank anywhere among q's draws?"
    statistic: ClassVar[str] = "largest KS distance over parameters"
    layout: ClassVar[Layout] = "table"
    reads: ClassVar[Reads] = "coordinates"
    version: ClassVar[int] = 1

    @property
    def label(self) -> str:
        return "SBC"

    def budget(self, n: int, k: int = 1) -> Budget:
        return Budget(n, n * k)

    def test(self, scores: Scores, rng: np.random.Generator) -> Outcome:
        """Per parameter an exact KS test; the smallest p-value times their number, at most 1."""
        assert isinstance(scores, TableScores)
        u = statistics.conformal_ranks(scores.truth, scores.draws, rng)  # (..., D, n)
        found = statistics.ks(u)
        parameters = u.shape[-2]
        n, k = scores.draws.shape[-2:]
        return Outcome(
            found.statistic.max(-1),
            np.minimum(1.0, parameters * found.pvalue.min(-1)),
            self.budget(n, k),
            arrays={"u": u, "statistics": found.statistic, "pvalues": found.pvalue},
        )
