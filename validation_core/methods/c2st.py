"""C2ST: held-out accuracy of the thresholded logit against one half."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from validation_core import statistics
from validation_core.types import BlockScores, Budget, Layout, Outcome, Paper, Reads, Scores


@dataclass(frozen=True, kw_only=True)
class C2ST:
    """Accuracy test of Lopez-Paz and Oquab, as Bansal, Chen, Scott compare with it."""

    name: ClassVar[str] = "c2st"
    title: ClassVar[str] = "C2ST"
    paper: ClassVar[Paper] = Paper(
        "Lopez-Paz, Oquab", 2017, "Revisiting classifier two-sample tests", "ICLR"
    )
    summary: ClassVar[str] = "Does a classifier tell p from q more often than one time in two?"
    statistic: ClassVar[str] = "held-out accuracy"
    layout: ClassVar[Layout] = "blocks"
    reads: ClassVar[Reads] = "classifier"
    version: ClassVar[int] = 1

    @property
    def label(self) -> str:
        return "C2ST"

    def budget(self, n: int, k: int = 1) -> Budget:
        del k
        return Budget(n, n)

    def test(self, scores: Scores, rng: np.random.Generator) -> Outcome:
        """One-sided p-value at the nominal variance, exact where a side is small.

        arrays: pvalue_per_class (...), at both sides' own variances; p_hits, q_hits (...).
        """
        del rng
        assert isinstance(scores, BlockScores)
        found = statistics.c2st(scores.p, scores.q)
        return Outcome(
            found.accuracy,
            found.pvalue,
            Budget(scores.p.shape[-1], scores.q.shape[-1]),
            arrays={
                "pvalue_per_class": found.pvalue_per_class,
                "p_hits": found.p_hits,
                "q_hits": found.q_hits,
            },
        )
