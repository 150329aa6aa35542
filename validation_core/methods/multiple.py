"""Multiple: the mean conformal rank, with one calibration set for all test points."""

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
class Multiple(Method):
    """Conformal test with the variance of A.4: asymptotic, exact where a side is small.

    Examples:
        >>> from validation_core.types import BlockScores
        >>> scores = BlockScores(p=rng.normal(1, 1, 200), q=rng.normal(0, 1, 200))
        >>> outcome = npt.Multiple().test(scores, rng)
        >>> f"{outcome.statistic:.3g}, p = {outcome.pvalue:.2g}"
        '10, p = 6e-24'
    """

    name: ClassVar[str] = "multiple"
    title: ClassVar[str] = "Conformal C2ST, Multiple"
    paper: ClassVar[Paper] = Paper(
        "Bansal, Chen, Scott", 2025, "Conformal C2ST", "Section 4, Appendix A.4"
    )
    summary: ClassVar[str] = "Do q's scores rank below p's on average? Needs no extra draws."
    statistic: ClassVar[str] = "standardised mean rank T"
    style: ClassVar[MethodStyle] = MethodStyle("#2E9B8A", "dash", "square")
    turn: ClassVar[int] = 5
    layout: ClassVar[Layout] = "blocks"
    score_kind: ClassVar[ScoreKind] = "classifier"

    @property
    def label(self) -> str:
        return "Multiple"

    @classmethod
    def silent_because(cls, benchmark: Benchmark, cell: PowerCell) -> tuple[str, str]:
        if cell.beta > 0:
            return (
                "the degraded network's order is weak or reversed: it asks whether p's scores "
                "rank above q's, not whether the ranks are uniform.",
                "collapse",
            )
        return super().silent_because(benchmark, cell)

    @classmethod
    def pictures(cls, record: Record, view: RecordView) -> tuple[Drawn, ...]:
        assert record.statistic is not None
        return drawn_on_normal_null(
            record.statistic,
            view.alpha,
            ("Standardised mean rank", "T"),
            "If q were correct, T would fall under the grey curve; far to the right, the "
            "classifier's scores tell q's draws from true values.",
        )

    def test(self, scores: Scores, rng: np.random.Generator) -> Outcome:
        """One-sided: large T where p scores above q."""
        assert isinstance(scores, BlockScores)
        multiple = statistics.multiple(scores.p, scores.q, rng)
        return Outcome(
            multiple.statistic,
            multiple.pvalue,
            Budget(scores.p.shape[-1], scores.q.shape[-1]),
            arrays={"auc": multiple.auc, "sigma": multiple.sigma},
        )
