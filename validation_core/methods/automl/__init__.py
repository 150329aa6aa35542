"""AutoML two-sample test: is a learned witness higher under p than under q?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from validation_core.methods.base import Further, Layout, Method, ScoreKind
from validation_core.methods.words import signed
from validation_core.scores import witness
from validation_core.scores.witness import Engine, Witness
from validation_core.statistics.permutation import permuted
from validation_core.types import (
    Array,
    Benchmark,
    BlockScores,
    Budget,
    MethodStyle,
    Outcome,
    Paper,
    Scores,
)

if TYPE_CHECKING:
    from validation_core.diagnosis.records import Effect, Record
    from validation_core.figures.outcome import Drawn


@dataclass(frozen=True, kw_only=True)
class AutoML(Method):
    """Difference of a regression witness's means, by permutation.

    The paper's witness is AutoGluon's. The default here is an ensemble of our own in its style,
    deterministic and stored as plain arrays; FLAML and AutoGluon can be asked for where installed.
    """

    name: ClassVar[str] = "automl"
    title: ClassVar[str] = "AutoML two-sample test"
    paper: ClassVar[Paper] = Paper(
        "Kübler, Stimper, Buchholz, Muandet, Schölkopf",
        2022,
        "AutoML two-sample test",
        "Sections 2 and 3",
    )
    summary: ClassVar[str] = "Is a witness, regressed on p against q, higher under p on average?"
    statistic: ClassVar[str] = "difference of the witness's means"
    style: ClassVar[MethodStyle] = MethodStyle("#B03A76", "longdashdot", "pentagon")
    turn: ClassVar[int] = 21
    layout: ClassVar[Layout] = "blocks"
    score_kind: ClassVar[ScoreKind] = "recipe"
    version: ClassVar[int] = 2

    engine: Engine = field(
        default="ensemble",
        metadata={
            "label": "Witness",
            "help": "Our AutoML-style ensemble, or a library's search where it is installed.",
        },
    )
    seconds: int = field(
        default=60,
        metadata={
            "label": "Time for the witness, in seconds",
            "min": 1,
            "max": 86_400,
            "help": "The ensemble begins no member after it; a library searches until then. Where "
            "it cuts something off, results depend on the machine's speed.",
        },
    )
    permutations: int = field(
        default=999,
        metadata={
            "label": "Permutations",
            "min": 19,
            "max": 100_000,
            "help": "The smallest p-value is 1 / (permutations + 1).",
        },
    )

    def __post_init__(self) -> None:
        if self.permutations < 1:
            raise ValueError(
                f"permutations is at least 1; got {self.permutations}. 999 serves most levels."
            )
        self.recipe(witness.FEWEST, 1)

    @property
    def label(self) -> str:
        return witness.NAMES[self.engine]

    def recipe(self, n: int, k: int, benchmark: Benchmark | None = None) -> Witness:
        """How its witness is trained: on as many rows of p and of q as a test has."""
        del k, benchmark
        return Witness(engine=self.engine, n=n, seconds=self.seconds)

    @property
    def in_spreads(self) -> bool:
        return True

    @property
    def scoring(self) -> float:
        return 7.0

    @property
    def resamples(self) -> int:
        return self.permutations

    @classmethod
    def further(cls) -> Further:
        return Further(
            cls(permutations=1999),
            7,
            "trees, neighbours, a ridge and a network together, where one classifier sees nothing",
        )

    def effects(self, outcome: Outcome) -> dict[str, Effect]:
        return {"tau": float(outcome.statistic)}

    @classmethod
    def findings(cls, record: Record, x_names: Sequence[str] = ()) -> tuple[str, ...]:
        del x_names
        effect = record.effect
        took = f" It was learnt in {effect['training_seconds']:.1f} s on rows that no test reads."
        return (f"The witness is higher under p than under q by {signed(effect['tau'])}.{took}",)

    @classmethod
    def figures(cls, arrays: Mapping[str, Array], names: Sequence[str] = ()) -> list[Drawn]:
        from validation_core.methods.automl import figures

        return figures.outcome(arrays, names)

    @classmethod
    def training_figures(cls, summary: Mapping[str, float]) -> list[Drawn]:
        from validation_core.figures.outcome import Drawn
        from validation_core.methods.automl import figures

        if not summary:
            return []
        return [
            Drawn(
                "What the witness is made of",
                figures.members(summary),
                "Each member's weight, chosen on held-out folds. Were q right, none of them would "
                "explain held-out labels (R² near 0).",
            )
        ]

    def test(self, scores: Scores, rng: np.random.Generator) -> Outcome:
        """One-sided: large tau = mean_p h - mean_q h.

        arrays: p (..., n_p), q (..., n_q), the witness's values; null (..., B), tau of each
        relabelling.
        """
        assert isinstance(scores, BlockScores)
        permutation = permuted(scores.p, scores.q, self.permutations, rng)
        return Outcome(
            permutation.statistic,
            permutation.pvalue,
            Budget(scores.p.shape[-1], scores.q.shape[-1]),
            arrays={"p": scores.p, "q": scores.q, "null": permutation.null},
        )
