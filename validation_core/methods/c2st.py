"""C2ST: held-out accuracy of the thresholded logit against one half."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from validation_core import statistics
from validation_core.drawing.drawn import Drawn
from validation_core.drawing.null_histogram import drawn_on_normal_null
from validation_core.methods.base import Layout, Method, RecordView, ScoreKind
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
    from validation_core.methods.record import Record


@dataclass(frozen=True, kw_only=True)
class C2ST(Method):
    """Accuracy test of Lopez-Paz and Oquab, as Bansal, Chen, Scott compare with it.

    Examples:
        >>> from validation_core.types import BlockScores
        >>> scores = BlockScores(p=rng.normal(1, 1, 200), q=rng.normal(0, 1, 200))
        >>> outcome = npt.C2ST().test(scores, rng)
        >>> f"{outcome.statistic:.3g}, p = {outcome.pvalue:.2g}"
        '0.672, p = 2.6e-12'
    """

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
                "order is reversed: accuracy is near one half or below, and the test looks to one "
                "side.",
                "collapse",
            )
        return (
            "it counts hits at one threshold and forgets how far a score is from it; ranks keep "
            "the order of all scores.",
            "collapse",
        )

    @classmethod
    def pictures(cls, record: Record, view: RecordView) -> tuple[Drawn, ...]:
        assert record.statistic is not None
        sd = np.sqrt(1 / record.draws_p + 1 / record.draws_q) / 4  # of a fair coin, both sides
        return drawn_on_normal_null(
            record.statistic,
            view.alpha,
            ("Held-out accuracy", "accuracy"),
            "If q were correct, a classifier could only guess and its accuracy would fall under "
            "the grey curve.",
            mean=0.5,
            sd=float(sd),
        )

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
