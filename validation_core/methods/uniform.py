"""Uniform(m): exact conformal ranks, each against m calibration draws of its own."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from validation_core import statistics
from validation_core.types import BlockScores, Budget, Layout, Outcome, Paper, Reads, Scores


@dataclass(frozen=True, kw_only=True)
class Uniform:
    """Finite-sample exact conformal test."""

    name: ClassVar[str] = "uniform"
    title: ClassVar[str] = "Conformal C2ST, Uniform"
    paper: ClassVar[Paper] = Paper(
        "Bansal, Chen, Scott", 2025, "Conformal C2ST", "Section 3, Equation 1"
    )
    summary: ClassVar[str] = "Are q's scores exchangeable with p's? Exact for any classifier."
    statistic: ClassVar[str] = "KS distance of conformal ranks"
    layout: ClassVar[Layout] = "blocks"
    reads: ClassVar[Reads] = "classifier"
    version: ClassVar[int] = 1

    m: int = field(
        default=50,
        metadata={"label": "m", "help": "Calibration draws per test point", "min": 1, "max": 1000},
    )

    def __post_init__(self) -> None:
        if not 1 <= self.m <= 1000:
            raise ValueError(f"m lies between 1 and 1000; got {self.m}. The paper uses 50.")

    @property
    def label(self) -> str:
        return f"Uniform({self.m})"

    def budget(self, n: int, k: int = 1) -> Budget:
        del k
        return Budget(self.m * n, n)

    def test(self, scores: Scores, rng: np.random.Generator) -> Outcome:
        """Two-sided exact KS test of the ranks.

        Raises:
            ValueError: when there are fewer than m calibration scores per test score.
        """
        assert isinstance(scores, BlockScores)
        below, equal = self._counts(scores, rng)
        u = statistics.randomised_ranks(below, equal, self.m, rng)
        found = statistics.ks(u)
        budget = self.budget(scores.q.shape[-1])
        return Outcome(found.statistic, found.pvalue, budget, arrays={"u": u})

    def _counts(self, scores: BlockScores, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
        if scores.reference is not None:
            return scores.reference.counts(scores.q, self.m, rng)
        n = scores.q.shape[-1]
        if scores.p.shape[-1] < self.m * n:
            raise ValueError(
                f"Uniform({self.m}) needs {self.m} calibration scores of its own for each of "
                f"{n} test scores; got {scores.p.shape[-1]}. Bring more, or lower m or n."
            )
        own = scores.p[..., : self.m * n].reshape(*scores.p.shape[:-1], n, self.m)
        return statistics.count(scores.q, own)
