"""TARP: how often q's balls about a reference point cover the truth as often as they say."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from validation_core import statistics
from validation_core.scores.reference import FEWEST, Follows, Metric, References
from validation_core.statistics.coverage import atc
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
class TARP:
    """Tests of accuracy with random points: an exact test of the coverage values themselves.

    Ranks are randomised, hence exactly uniform if q is right; libraries that compare the points
    of the coverage curve with those of the diagonal, as two samples, hardly ever reject.
    """

    name: ClassVar[str] = "tarp"
    title: ClassVar[str] = "TARP"
    paper: ClassVar[Paper] = Paper(
        "Lemos, Coogan, Hezaveh, Perreault-Levasseur", 2023,
        "Sampling-based accuracy testing of posterior estimators for general inference",
        "Section 3",
    )  # fmt: skip
    summary: ClassVar[str] = "Do q's balls about a reference point cover the truth as they state?"
    statistic: ClassVar[str] = "KS distance of the coverage values"
    layout: ClassVar[Layout] = "table"
    reads: ClassVar[Reads] = "reference"
    version: ClassVar[int] = 1

    reference: Follows = field(
        default="random",
        metadata={
            "label": "Reference points",
            "help": "random: anywhere in theta's box, blind to a q that ignores x. x: about "
            "where theta is expected at x.",
        },
    )
    metric: Metric = field(
        default="euclidean",
        metadata={"label": "Metric", "help": "Of distances in the unit box of theta."},
    )

    def __post_init__(self) -> None:
        self.recipe(FEWEST, 1)

    @property
    def label(self) -> str:
        options = [
            *([self.reference] if self.reference != "random" else []),
            *([self.metric] if self.metric != "euclidean" else []),
        ]
        return " ".join(["TARP", *options])

    def recipe(self, n: int, k: int, benchmark: Benchmark | None = None) -> References:
        """What its references learn from: as many true pairs as a test has."""
        del k, benchmark
        return References(reference=self.reference, metric=self.metric, train=max(n, FEWEST))

    def budget(self, n: int, k: int = 1) -> Budget:
        return Budget(n, n * k)

    def test(self, scores: Scores, rng: np.random.Generator) -> Outcome:
        """Two-sided exact KS test of the truth's randomised rank by distance.

        arrays: u (..., n); k (...), draws at each x; atc, atc_low, atc_high (...): the area of
        coverage less level above level 1/2, with its 95% bootstrap interval; tied: share of
        truths that tie with a draw.
        """
        assert isinstance(scores, TableScores)
        below, equal = statistics.count(scores.truth[..., 0, :], scores.draws[..., 0, :, :])
        *trials, n, k = scores.draws[..., 0, :, :].shape
        u = statistics.randomised_ranks(below, equal, k, rng)
        found, area = statistics.ks(u), atc(u, rng)
        return Outcome(
            found.statistic, found.pvalue, self.budget(n, k),
            arrays={
                "u": u, "k": np.full(trials, k), "atc": area.estimate, "atc_low": area.low,
                "atc_high": area.high, "tied": (equal > 0).mean(axis=-1),
            },
        )  # fmt: skip

    def of_ranks(self, u: Array) -> statistics.Uniformity:
        """What `test` says of ranks u (..., 1, n): statistic (...) and p-value (...)."""
        return statistics.ks(u[..., 0, :])
