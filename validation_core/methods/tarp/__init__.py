"""TARP: how often q's balls about a reference point cover the truth as often as they say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from validation_core import statistics
from validation_core.methods.base import RANK_ROWS, Method, ScoreKind
from validation_core.methods.words import signed
from validation_core.scores.reference import FEWEST, Follows, Metric, References
from validation_core.statistics.coverage import atc, reading
from validation_core.types import (
    Array,
    Benchmark,
    MethodStyle,
    Outcome,
    Paper,
    PowerCell,
    Scores,
    TableScores,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from validation_core.diagnosis.records import Effect, Record
    from validation_core.figures.outcome import Drawn
    from validation_core.tables import Upload
    from validation_core.tables.floats import Range


@dataclass(frozen=True, kw_only=True)
class TARP(Method):
    """Tests of accuracy with random points: an exact test of the coverage values themselves.

    Ranks are randomised, hence exactly uniform if q is right; libraries that compare the points
    of the coverage curve with those of the diagonal, as two samples, hardly ever reject.
    """

    name: ClassVar[str] = "tarp"
    title: ClassVar[str] = "TARP"
    paper: ClassVar[Paper] = Paper(
        "Lemos, Coogan, Hezaveh, Perreault-Levasseur",
        2023,
        "Sampling-based accuracy testing of posterior estimators for general inference",
        "Section 3",
    )
    summary: ClassVar[str] = "Do q's balls about a reference point cover the truth as they state?"
    statistic: ClassVar[str] = "KS distance of the coverage values"
    style: ClassVar[MethodStyle] = MethodStyle("#2D8FBF", "dash", "cross")
    turn: ClassVar[int] = 2
    repeats_findings: ClassVar[bool] = True
    about: ClassVar[str] = "the reference"
    score_kind: ClassVar[ScoreKind] = "recipe"
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

    @property
    def runs_network(self) -> bool:
        return False

    @property
    def stage(self) -> str:
        return "ranks"

    @property
    def verdict_score(self) -> str:
        return "tarp"

    def recipe(self, n: int, k: int, benchmark: Benchmark | None = None) -> References:
        """What its references learn from: as many true pairs as a test has."""
        del k, benchmark
        return References(reference=self.reference, metric=self.metric, train=max(n, FEWEST))

    def least_rows(self, upload: Upload) -> tuple[int, str]:
        del upload
        return 2 * RANK_ROWS, "learns the box of its references on half of the rows"

    def squared(self, upload: Upload) -> Sequence[Range]:
        theta, x = upload.extreme
        wide = tuple(extreme for extreme in theta if extreme.infinite)
        return (*wide, *x) if self.reference == "x" else wide

    @property
    def scoring(self) -> float:
        return 0.12

    def effects(self, outcome: Outcome) -> dict[str, Effect]:
        low, high = (float(outcome.arrays[name]) for name in ("atc_low", "atc_high"))
        return {"reading": reading(low, high)}

    @classmethod
    def findings(cls, record: Record, x_names: Sequence[str] = ()) -> tuple[str, ...]:
        del x_names
        effect = record.effect
        confidence = effect["reading"]
        word = (
            f"q is {confidence}"
            if confidence != "neither"
            else "neither over- nor under-confident"
        )
        return (
            f"Area between expected coverage and level (ATC): {signed(effect['atc'])} "
            f"[{signed(effect['atc_low'])}, {signed(effect['atc_high'])}]; by this 95% interval "
            f"alone, {word}.",
        )

    @classmethod
    def silent_because(cls, benchmark: Benchmark, cell: PowerCell) -> tuple[str, str]:
        if cell.options.get("reference") == "random":
            return (
                (
                    "q ignores x, and so do its references: distances of truth and draws share "
                    "one law."
                    if getattr(benchmark, "perturbation", "") == "blind_prior"
                    else "its random references lie anywhere: most balls it asks about have "
                    "nothing "
                    "to do with where q is wrong at this x."
                ),
                "references",
            )
        return (
            "its references follow the mean: an error that leaves the mass of balls round the "
            "mean in place is not seen.",
            "references",
        )

    @classmethod
    def figures(cls, arrays: Mapping[str, Array], names: Sequence[str] = ()) -> list[Drawn]:
        from validation_core.methods.tarp import figures

        return figures.outcome(arrays, names)

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
        uniformity, area = statistics.ks(u), atc(u, rng)
        return Outcome(
            uniformity.statistic,
            uniformity.pvalue,
            self.budget(n, k),
            arrays={
                "u": u,
                "k": np.full(trials, k),
                "atc": area.estimate,
                "atc_low": area.low,
                "atc_high": area.high,
                "tied": (equal > 0).mean(axis=-1),
            },
        )

    def of_ranks(self, u: Array) -> statistics.Uniformity:
        """What `test` says of ranks u (..., 1, n): statistic (...) and p-value (...)."""
        return statistics.ks(u[..., 0, :])
