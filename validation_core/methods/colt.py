"""CoLT: the rank of the truth's distance from a learnt centre, among q's draws' distances."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from validation_core import statistics
from validation_core.scores import localizer
from validation_core.scores.localizer import Divergence, Embedding, Localizer, Preset
from validation_core.types import (
    Array,
    Benchmark,
    Budget,
    Layout,
    Outcome,
    Paper,
    Reads,
    Scores,
    TableScores,
)


@dataclass(frozen=True, kw_only=True)
class CoLT:
    """Conditional localization test, with randomised ranks and the exact law of KS.

    The statistic estimates the Kolmogorov distance d~ for the learnt centre and embedding: not
    the paper's ACLD, whose balls have one radius for all x (their Theorem 3 takes one for the
    other). Both vanish for every centre and embedding if and only if p = q.
    """

    name: ClassVar[str] = "colt"
    title: ClassVar[str] = "CoLT"
    paper: ClassVar[Paper] = Paper(
        "Chen, Bansal, Scott", 2025, "Conditional localization test", "Algorithms 1 and 2"
    )
    summary: ClassVar[str] = "Where is there a ball to which q gives the wrong mass?"
    statistic: ClassVar[str] = "Kolmogorov distance for the learned ball"
    layout: ClassVar[Layout] = "table"
    reads: ClassVar[Reads] = "localizer"
    version: ClassVar[int] = 1

    embedding: Embedding = field(
        default="fourier",
        metadata={"label": "Embedding", "help": "What distances are measured in: phi(theta)."},
    )
    preset: Preset = field(
        default="interactive",
        metadata={"label": "Training", "help": "interactive, or the paper's Table 2"},
    )
    divergence: Divergence = field(
        default="w2",
        metadata={"label": "Divergence", "help": "What training climbs: exact W2, or Sinkhorn."},
    )
    fresh: bool = field(
        default=False,
        metadata={"label": "Fresh anchors", "help": "New anchors at every step: a larger budget."},
    )

    @property
    def label(self) -> str:
        options = [
            self.embedding,
            *([self.preset] if self.preset != "interactive" else []),
            *([self.divergence] if self.divergence != "w2" else []),
            *(["fresh"] if self.fresh else []),
        ]
        return f"CoLT {' '.join(options)}"

    def recipe(self, n: int, k: int, benchmark: Benchmark | None = None) -> Localizer:
        """How its localizer is trained on a table of n simulations with k draws of q."""
        return localizer.recipe(
            self.preset, self.embedding, n, k, benchmark, divergence=self.divergence,
            fresh=self.fresh,
        )  # fmt: skip

    def budget(self, n: int, k: int = 1) -> Budget:
        return Budget(n, n * k)

    def test(self, scores: Scores, rng: np.random.Generator) -> Outcome:
        """Two-sided exact KS test of the randomised ranks of the truth's distance.

        arrays: u (..., n); low, high: 95% interval of d~; u_star, inside, inside_low, inside_high:
        q's and the truth's mass in the ball that the first half of the ranks points at, by the
        second half; tied: share of truths that tie with a draw.
        """
        assert isinstance(scores, TableScores)
        below, equal = statistics.count(scores.truth, scores.draws)
        n, k = scores.draws.shape[-2:]
        u = statistics.randomised_ranks(below, equal, k, rng)[..., 0, :]
        found, half = statistics.ks(u), n // 2
        distance = statistics.kolmogorov(u)
        ball = statistics.ball(u[..., :half], u[..., half:])
        return Outcome(
            found.statistic, found.pvalue, self.budget(n, k),
            arrays={
                "u": u, "low": distance.low, "high": distance.high, "u_star": ball.u_star,
                "inside": ball.inside, "inside_low": ball.low, "inside_high": ball.high,
                "tied": (equal > 0).mean(axis=(-2, -1)),
            },
        )  # fmt: skip

    def of_ranks(self, u: Array) -> statistics.Uniformity:
        """What `test` says of ranks u (..., 1, n): statistic (...) and p-value (...)."""
        return statistics.ks(u[..., 0, :])
