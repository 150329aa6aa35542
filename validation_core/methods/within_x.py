"""Within-x conformal: the rank of the truth among q's own draws, under the learned score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from validation_core import statistics
from validation_core.methods.base import Method, ScoreKind
from validation_core.types import Array, MethodStyle, Outcome, Paper, Scores, TableScores


@dataclass(frozen=True, kw_only=True)
class WithinX(Method):
    """SBC whose test quantity is a classifier's logit: made for uploaded tables.

    Truth and draws share their x on purpose: given x they are exchangeable if q is right, so the
    rank is exactly uniform for any score learnt on other rows.

    Examples:
        >>> from validation_core.types import TableScores
        >>> truth, draws = rng.normal(1, 1, (1, 60)), rng.normal(0, 1, (1, 60, 20))
        >>> outcome = npt.WithinX().test(TableScores(truth, draws), rng)
        >>> f"{outcome.statistic:.3g}, p = {outcome.pvalue:.2g}"
        '0.384, p = 1.8e-08'
    """

    name: ClassVar[str] = "within_x"
    title: ClassVar[str] = "Conformal C2ST within x"
    paper: ClassVar[Paper] = Paper(
        "NPT Lab", 2026, "SBC with a learned test quantity, after Bansal, Chen, Scott"
    )
    summary: ClassVar[str] = "Do true values rank evenly among q's draws at their own x?"
    statistic: ClassVar[str] = "KS distance of true values' ranks"
    style: ClassVar[MethodStyle] = MethodStyle("#909029", "dashdot", "triangle-up")
    turn: ClassVar[int] = 4
    meaning: ClassVar[str] = (
        "A peak at the right: true values score above q's draws, so the classifier tells them "
        "apart."
    )
    score_kind: ClassVar[ScoreKind] = "classifier"

    @property
    def label(self) -> str:
        return "Within x"

    def test(self, scores: Scores, rng: np.random.Generator) -> Outcome:
        """Two-sided exact KS test of the randomised ranks."""
        assert isinstance(scores, TableScores)
        u = statistics.conformal_ranks(scores.truth, scores.draws, rng)[..., 0, :]
        uniformity = statistics.ks(u)
        n, k = scores.draws.shape[-2:]
        return Outcome(uniformity.statistic, uniformity.pvalue, self.budget(n, k), arrays={"u": u})

    def of_ranks(self, u: Array) -> statistics.Uniformity:
        """Statistic (...) and p-value (...) of `test` for ranks u (..., 1, n)."""
        return statistics.ks(u[..., 0, :])
