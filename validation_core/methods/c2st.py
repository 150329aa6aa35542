"""C2ST: held-out accuracy of the thresholded logit against one half."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy.special import ndtri

from validation_core import statistics
from validation_core.methods.base import Layout, Method, ScoreKind
from validation_core.types import (
    Benchmark,
    BlockScores,
    Budget,
    MethodStyle,
    Outcome,
    Paper,
    PowerCell,
    Scores,
)

if TYPE_CHECKING:
    from validation_core.diagnosis.records import Record
    from validation_core.figures.outcome import Drawn


@dataclass(frozen=True, kw_only=True)
class C2ST(Method):
    """Accuracy test of Lopez-Paz and Oquab, as Bansal, Chen, Scott compare with it."""

    name: ClassVar[str] = "c2st"
    title: ClassVar[str] = "C2ST"
    paper: ClassVar[Paper] = Paper(
        "Lopez-Paz, Oquab", 2017, "Revisiting classifier two-sample tests", "ICLR"
    )
    summary: ClassVar[str] = "Does a classifier tell p from q more often than one time in two?"
    statistic: ClassVar[str] = "held-out accuracy"
    style: ClassVar[MethodStyle] = MethodStyle("#CC6677", "solid", "circle")
    turn: ClassVar[int] = 6
    layout: ClassVar[Layout] = "blocks"
    score_kind: ClassVar[ScoreKind] = "classifier"

    @property
    def label(self) -> str:
        return "C2ST"

    @classmethod
    def silent_because(cls, benchmark: Benchmark, cell: PowerCell) -> tuple[str, str]:
        del benchmark
        if cell.beta > 0:
            return (
                "the degraded network's threshold no longer lies between the samples, or its "
                "order is turned round: accuracy is one half or less, and it looks to one side "
                "only.",
                "collapse",
            )
        return (
            "it counts hits at one threshold and forgets how far a score is from it; ranks keep "
            "the order of all scores.",
            "collapse",
        )

    @classmethod
    def pictures(
        cls,
        record: Record,
        *,
        alpha: float = 0.05,
        names: Sequence[str] = (),
        only: int | None = None,
    ) -> tuple[Drawn, ...]:
        from validation_core.figures.outcome import Drawn, on_null

        del names, only
        assert record.statistic is not None
        sd = np.sqrt(1 / record.draws_p + 1 / record.draws_q) / 4  # of a fair coin, both sides
        drawn = Drawn(
            "Held-out accuracy",
            on_null(
                record.statistic,
                mean=0.5,
                sd=float(sd),
                critical=0.5 + ndtri(1 - alpha) * sd,
                label="accuracy",
            ),
            "If q were right, a classifier could only guess and its accuracy would fall under the "
            "grey curve. Dashed: this test's own level, uncorrected.",
        )
        return (drawn,)

    def test(self, scores: Scores, rng: np.random.Generator) -> Outcome:
        """One-sided p-value at the nominal variance, exact where a side is small.

        arrays: pvalue_per_class (...), at both sides' own variances; p_hits, q_hits (...).
        """
        del rng
        assert isinstance(scores, BlockScores)
        c2st = statistics.c2st(scores.p, scores.q)
        return Outcome(
            c2st.accuracy,
            c2st.pvalue,
            Budget(scores.p.shape[-1], scores.q.shape[-1]),
            arrays={
                "pvalue_per_class": c2st.pvalue_per_class,
                "p_hits": c2st.p_hits,
                "q_hits": c2st.q_hits,
            },
        )
