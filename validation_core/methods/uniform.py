"""Uniform(m): exact conformal ranks, each against m calibration draws of its own."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from validation_core import statistics
from validation_core.methods.base import Layout, Method, ScoreKind
from validation_core.types import (
    BlockScores,
    Budget,
    MethodStyle,
    Outcome,
    Paper,
    PosteriorTable,
    Scores,
)

if TYPE_CHECKING:
    from validation_core.tables import Upload

_UNIFORM_POINTS = 50  # test points below which its KS test sees nothing


@dataclass(frozen=True, kw_only=True)
class Uniform(Method):
    """Finite-sample exact conformal test.

    Examples:
        >>> from validation_core.types import BlockScores
        >>> scores = BlockScores(p=rng.normal(1, 1, 500), q=rng.normal(0, 1, 50))
        >>> outcome = npt.Uniform(m=10).test(scores, rng)
        >>> f"{outcome.statistic:.3g}, p = {outcome.pvalue:.2g}"
        '0.34, p = 1.1e-05'
    """

    name: ClassVar[str] = "uniform"
    title: ClassVar[str] = "Conformal C2ST, Uniform"
    paper: ClassVar[Paper] = Paper(
        "Bansal, Chen, Scott", 2025, "Conformal C2ST", "Section 3, Equation 1"
    )
    summary: ClassVar[str] = "Are q's scores exchangeable with p's? Exact for any classifier."
    statistic: ClassVar[str] = "KS distance of conformal ranks"
    style: ClassVar[MethodStyle] = MethodStyle("#AA4499", "dot", "diamond")
    turn: ClassVar[int] = 7
    meaning: ClassVar[str] = (
        "A peak at the left: q's draws score below true values, so the classifier tells them "
        "apart."
    )
    layout: ClassVar[Layout] = "blocks"
    score_kind: ClassVar[ScoreKind] = "classifier"
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

    @property
    def label_of_several(self) -> str:
        return "Uniform(m)"

    def budget(self, n: int, k: int = 1) -> Budget:
        del k
        return Budget(self.m * n, n)

    @staticmethod
    def calibration_rows(n: int, *, table: bool) -> int:
        """True values to calibrate with in a table, else in two samples, of n rows.

        Half of the rows train the score. A table's other half is split by x: a quarter is left.
        """
        held_out = n - round(n / 2)
        return held_out // 2 if table else held_out

    @classmethod
    def most_m(cls, n: int, *, table: bool) -> int:
        """Largest m that leaves enough tested draws; 0 where there are too few rows for any."""
        return cls.calibration_rows(n, table=table) // _UNIFORM_POINTS

    def obstacle(self, upload: Upload) -> str | None:
        table = isinstance(upload.data, PosteriorTable)
        most = self.most_m(upload.n, table=table)
        if self.m <= most:
            return None
        rows = self.calibration_rows(upload.n, table=table)
        remedy = f"m up to {most} would fit" if most else "there are too few rows for any m"
        beside = " Within x covers the same question." * table  # two samples have no x
        return (
            f"{rows} held-out rows are too few: it needs {self.m} for each tested draw, and at "
            f"least {_UNIFORM_POINTS} tested draws; {remedy}.{beside}"
        )

    def rows(self, n: int, k: int, pooled: bool = False) -> int:
        return 2 * n + 100 * n // 50 if pooled else super().rows(n, k)  # a pool serves 50 trials

    def test(self, scores: Scores, rng: np.random.Generator) -> Outcome:
        """Two-sided exact KS test of the ranks.

        Raises:
            ValueError: when there are fewer than m calibration scores per test score.
        """
        assert isinstance(scores, BlockScores)
        below, equal = self._counts(scores, rng)
        u = statistics.randomised_ranks(below, equal, self.m, rng)
        uniformity = statistics.ks(u)
        budget = self.budget(scores.q.shape[-1])
        return Outcome(uniformity.statistic, uniformity.pvalue, budget, arrays={"u": u})

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
