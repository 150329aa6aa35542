"""CoLT: the rank of the truth's distance from a learnt centre, among q's draws' distances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from validation_core import statistics
from validation_core.drawing.drawn import Drawn
from validation_core.drawing.marks import Panel, VLine
from validation_core.methods.base import Method, RecordView, ScoreKind, effect_interval_text
from validation_core.methods.record import Record, few_draws_text
from validation_core.scores import localizer
from validation_core.scores.localizer import Embedding, Localizer, RankDivergence
from validation_core.text import interval_text
from validation_core.types import (
    Array,
    Benchmark,
    MethodStyle,
    Outcome,
    Paper,
    Preset,
    Scores,
    TableScores,
)

if TYPE_CHECKING:
    from validation_core.tables import Upload

_EMBEDDED = {"identity": 0.1, "residual": 3.7, "mlp": 3.7, "fourier": 1.2}
"""Seconds for a million rows."""
LEAST_ROWS = 40
"""Of an upload: half of them learn, a quarter of those are held out."""


@dataclass(frozen=True, kw_only=True)
class CoLT(Method):
    """Conditional localization test, with randomised ranks and the exact law of KS.

    The statistic estimates the Kolmogorov distance d~ for the learnt centre and embedding: not
    the paper's ACLD, whose balls have one radius for all x (their Theorem 3 takes one for the
    other). Both vanish for every centre and embedding if and only if p = q.

    Examples:
        >>> result = npt.run("colt", table, embedding="fourier")
        >>> result.draws, result.pvalue < 0.05
        ((30, 600), True)
    """

    name: ClassVar[str] = "colt"
    title: ClassVar[str] = "CoLT"
    paper: ClassVar[Paper] = Paper(
        "Chen, Bansal, Scott", 2025, "Conditional localization test", "Algorithms 1 and 2"
    )
    summary: ClassVar[str] = "Where is there a region to which q gives the wrong mass?"
    statistic: ClassVar[str] = "Kolmogorov distance for the learned region"
    style: ClassVar[MethodStyle] = MethodStyle("#6A5ACD", "solid", "star")
    turn: ClassVar[int] = 8
    meaning: ClassVar[str] = (
        "A peak at the left: true values lie nearer the centre than q's draws, so that regions "
        "around it hold more of them than of q's draws; on the right: fewer."
    )
    repeats_findings: ClassVar[bool] = True
    score_kind: ClassVar[ScoreKind] = "recipe"
    localizes: ClassVar[bool] = True
    embedding: Embedding = field(
        default="fourier",
        metadata={"label": "Embedding", "help": "What distances are measured in: phi(theta)."},
    )
    preset: Preset = field(
        default="interactive",
        metadata={"label": "Training", "help": "interactive, or the paper's Table 2"},
    )
    divergence: RankDivergence = field(
        default="w2",
        metadata={"label": "Divergence", "help": "What training climbs: exact W2, or Sinkhorn."},
    )
    fresh: bool = field(
        default=False,
        metadata={"label": "Fresh anchors", "help": "New anchors at every step: a larger budget."},
    )
    outputs: int = field(
        default=0,
        metadata={
            "label": "Dimensions of phi",
            "min": 0,
            "max": 1000,
            "help": "Length of the vectors phi(theta); 0 for that of theta, the paper's choice.",
            "later": True,
        },
    )

    def __post_init__(self) -> None:
        if self.outputs < 0 or (self.outputs and self.embedding == "identity"):
            raise ValueError(
                "outputs is the number of dimensions of a learnt phi, or 0 for those of theta; "
                f"got {self.outputs} with the embedding {self.embedding}. Take 0, or an embedding "
                "that learns."
            )

    def embedded(self, embedding: Embedding) -> CoLT:
        """The same with another embedding; the identity has as many outputs as theta."""
        outputs = 0 if embedding == "identity" else self.outputs
        return replace(self, embedding=embedding, outputs=outputs)

    @property
    def label(self) -> str:
        options = [
            self.embedding,
            *([self.preset] if self.preset != "interactive" else []),
            *([self.divergence] if self.divergence != "w2" else []),
            *(["fresh"] if self.fresh else []),
            *([f"in {self.outputs} dimensions"] if self.outputs else []),
        ]
        return f"CoLT {' '.join(options)}"

    @property
    def degrades(self) -> bool:
        return True

    @property
    def stream(self) -> tuple[str, ...]:
        """A map of the same rows and seed breaks ties alike and shows the reported ball."""
        return "map", "ranks"

    @property
    def stage(self) -> str:
        return "localizer"

    @property
    def verdict_score(self) -> str:
        return "colt"

    def recipe(self, n: int, k: int, benchmark: Benchmark | None = None) -> Localizer:
        """How its localizer is trained on a table of n simulations with k draws of q."""
        return localizer.recipe(
            self.preset,
            self.embedding,
            n,
            k,
            benchmark,
            divergence=self.divergence,
            fresh=self.fresh,
            outputs=self.outputs,
        )

    def least_rows(self, *, table: bool) -> tuple[int, str]:
        del table
        return LEAST_ROWS, "learns its centre on half of the rows, a quarter of them held out,"

    def obstacle(self, upload: Upload) -> str | None:
        del upload
        if not self.fresh:
            return None
        return (
            "Fresh anchors at every step are drawn by a simulator, which an uploaded table "
            "does not have; got fresh=true. Leave it out."
        )

    @property
    def scoring(self) -> float:
        return _EMBEDDED[self.embedding]

    @classmethod
    def findings(cls, record: Record, x_names: Sequence[str] = ()) -> tuple[str, ...]:
        del x_names
        effect, numbers = record.effect, record.effect.numbers
        assert record.statistic is not None
        distance = interval_text((record.statistic, numbers["low"], numbers["high"]), ".3f")
        return (
            f"q puts {numbers['u_star']:.0%} of its mass into the region around the learnt "
            f"centre; the true value lies inside in {effect_interval_text(numbers, 'inside')} of "
            "the simulations that did not choose it.",
            f"Estimate of the Kolmogorov distance d~ for the learned region: {distance}."
            f"{few_draws_text(record)}",
            f"Centre and embedding were learnt on rows that no test reads, in "
            f"{effect.training_seconds:.1f} s; on rows held out meanwhile the distance was "
            f"{effect.localizer_distance:.3f}. Brackets are 95% intervals.",
        )

    @classmethod
    def pictures(cls, record: Record, view: RecordView) -> tuple[Drawn, ...]:
        """With the mass of the region marked where ranks are cumulated."""
        histogram, cumulated = super().pictures(record, view)
        assert isinstance(cumulated.picture, Panel)
        ball = VLine(
            record.effect.numbers["u_star"], color=cls.style.color, dash="dot", label="u*"
        )
        picture = replace(cumulated.picture, marks=[*cumulated.picture.marks, ball])
        words = (
            f"{cumulated.caption} Dotted: the region's mass u*, chosen by one half of the ranks."
        )
        return histogram, replace(cumulated, picture=picture, caption=words)

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
        uniformity, half = statistics.ks(u), n // 2
        distance = statistics.kolmogorov(u)
        ball = statistics.ball_mass(u[..., :half], u[..., half:])
        return Outcome(
            uniformity.statistic,
            uniformity.pvalue,
            self.budget(n, k),
            arrays={
                "u": u,
                "low": distance.low,
                "high": distance.high,
                "u_star": ball.u_star,
                "inside": ball.inside,
                "inside_low": ball.low,
                "inside_high": ball.high,
                "tied": (equal > 0).mean(axis=(-2, -1)),
            },
        )

    def of_ranks(self, u: Array) -> statistics.Uniformity:
        """Statistic (...) and p-value (...) of `test` for ranks u (..., 1, n)."""
        return statistics.ks(u[..., 0, :])
