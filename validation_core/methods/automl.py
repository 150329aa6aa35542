"""AutoML two-sample test: is a learned witness higher under p than under q?"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from validation_core.scores import witness
from validation_core.scores.witness import Engine, Witness
from validation_core.statistics.witness import permuted
from validation_core.types import (
    Benchmark,
    BlockScores,
    Budget,
    Layout,
    Outcome,
    Paper,
    Reads,
    Scores,
)


@dataclass(frozen=True, kw_only=True)
class AutoML:
    """Difference of a regression witness's means, by permutation.

    The paper's witness is AutoGluon's. The default here is an ensemble of our own in its style,
    deterministic and stored as plain arrays; FLAML and AutoGluon can be asked for where installed.
    """

    name: ClassVar[str] = "automl"
    title: ClassVar[str] = "AutoML two-sample test"
    paper: ClassVar[Paper] = Paper(
        "Kübler, Stimper, Buchholz, Muandet, Schölkopf", 2022, "AutoML two-sample test",
        "Sections 2 and 3",
    )  # fmt: skip
    summary: ClassVar[str] = "Is a witness, regressed on p against q, higher under p on average?"
    statistic: ClassVar[str] = "difference of the witness's means"
    layout: ClassVar[Layout] = "blocks"
    reads: ClassVar[Reads] = "witness"
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

    def budget(self, n: int, k: int = 1) -> Budget:
        del k
        return Budget(n, n)

    def test(self, scores: Scores, rng: np.random.Generator) -> Outcome:
        """One-sided: large tau = mean_p h - mean_q h.

        arrays: p (..., n_p), q (..., n_q), the witness's values; null (..., B), tau of each
        relabelling.
        """
        assert isinstance(scores, BlockScores)
        found = permuted(scores.p, scores.q, self.permutations, rng)
        return Outcome(
            found.statistic,
            found.pvalue,
            Budget(scores.p.shape[-1], scores.q.shape[-1]),
            arrays={"p": scores.p, "q": scores.q, "null": found.null},
        )
