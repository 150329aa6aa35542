"""Multiple: the mean conformal rank, with one calibration set for all test points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from validation_core import statistics
from validation_core.types import BlockScores, Budget, Layout, Outcome, Paper, Reads, Scores


@dataclass(frozen=True, kw_only=True)
class Multiple:
    """Conformal test with the variance of A.4: asymptotic, exact where a side is small."""

    name: ClassVar[str] = "multiple"
    title: ClassVar[str] = "Conformal C2ST, Multiple"
    paper: ClassVar[Paper] = Paper(
        "Bansal, Chen, Scott", 2025, "Conformal C2ST", "Section 4, Appendix A.4"
    )
    summary: ClassVar[str] = "Do q's scores rank below p's on average? Needs no extra draws."
    statistic: ClassVar[str] = "standardised mean rank T"
    layout: ClassVar[Layout] = "blocks"
    reads: ClassVar[Reads] = "classifier"
    version: ClassVar[int] = 1

    @property
    def label(self) -> str:
        return "Multiple"

    def budget(self, n: int, k: int = 1) -> Budget:
        del k
        return Budget(n, n)

    def test(self, scores: Scores, rng: np.random.Generator) -> Outcome:
        """One-sided: large T where p scores above q."""
        assert isinstance(scores, BlockScores)
        found = statistics.multiple(scores.p, scores.q, rng)
        return Outcome(
            found.statistic,
            found.pvalue,
            Budget(scores.p.shape[-1], scores.q.shape[-1]),
            arrays={"auc": found.auc, "sigma": found.sigma},
        )
