"""TARP: whether q's balls about a reference point cover the truth at their nominal rate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from validation_core import statistics
from validation_core.drawing import style
from validation_core.drawing.drawn import Drawn
from validation_core.drawing.ecdf_difference import ecdf_difference
from validation_core.drawing.marks import Axis, Band, Line, Note, Panel, empty
from validation_core.methods.base import (
    RANK_ROWS,
    Method,
    RecordView,
    ScoreKind,
    effect_interval_text,
)
from validation_core.rng import stream
from validation_core.scores.reference import FEWEST, Follows, Metric, References
from validation_core.statistics.coverage import atc, bootstrap_band, coverage, reading
from validation_core.text import interval_text
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
    from validation_core.methods.record import Effect, Record
    from validation_core.tables import Upload
    from validation_core.tables.ranges import Range

_HEIGHT = 340
_OFF = 0.05  # p-value of a coverage that is off
_WORDS = {
    "covers more than stated": "q's balls about the references hold true values more often than "
    "they state there",
    "covers less than stated": "q's balls about the references hold true values less often than "
    "they state there",
}
"""Sentence of each reading: about balls, not widths, which a bias can hide or mimic."""
_FEWEST = 2  # ranks that make a curve


@dataclass(frozen=True, kw_only=True)
class TARP(Method):
    """Tests of accuracy with random points: an exact test of the coverage values themselves.

    Ranks are randomised, hence exactly uniform if q is right; libraries that compare the points
    of the coverage curve with those of the diagonal, as two samples, hardly ever reject.

    Examples:
        >>> result = npt.run("tarp", table, reference="x")
        >>> result.draws, result.effect["reading"]
        ((30, 600), 'covers less than stated')
    """

    name: ClassVar[str] = "tarp"
    title: ClassVar[str] = "TARP"
    paper: ClassVar[Paper] = Paper(
        "Lemos, Coogan, Hezaveh, Perreault-Levasseur",
        2023,
        "Sampling-based accuracy testing of posterior estimators for general inference",
        "Section 3",
    )
    summary: ClassVar[str] = (
        "Do q's balls about a reference point cover true values as often as they state?"
    )
    statistic: ClassVar[str] = "KS distance of the coverage values"
    style: ClassVar[MethodStyle] = MethodStyle("#2D8FBF", "dash", "circle-open")
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
        """Recipe of its references, which learn from as many true pairs as a test has."""
        del k, benchmark
        return References(reference=self.reference, metric=self.metric, train=max(n, FEWEST))

    def least_rows(self, *, table: bool) -> tuple[int, str]:
        del table
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
        area = effect_interval_text(record.effect.numbers, "atc", "+.3f")
        word = _WORDS.get(str(record.effect.words["reading"]), "they hold as many as they state")
        if word not in _WORDS.values() and record.pvalue is not None and record.pvalue <= _OFF:
            word = "coverage is off in both directions"
        return (f"Area between expected coverage and level, above 50% (ATC): {area}; {word}.",)

    @classmethod
    def silent_because(cls, benchmark: Benchmark, cell: PowerCell) -> tuple[str, str]:
        if cell.options.get("reference") == "random":
            return (
                (
                    "q ignores x, and so do its references: distances of true values and "
                    "draws share one law."
                    if getattr(benchmark, "perturbation", "") == "blind_prior"
                    else "its random references lie anywhere: the mass of most balls round them "
                    "changes too little by this error to see at this number of draws."
                ),
                "references",
            )
        return (
            "its references follow the mean: the mass of balls round it changes too little by "
            "this error to see at this number of draws.",
            "references",
        )

    @classmethod
    def pictures(cls, record: Record, view: RecordView) -> list[Drawn]:
        del view
        arrays = record.arrays
        u = _ranks(arrays)
        return [
            Drawn(
                "Expected coverage",
                coverage_curve(u),
                f"{area_to_curve_text(arrays)}The line says how often q's ball of each mass about "
                "the reference covers the true value. If q were correct, all of it would stay in "
                "the grey band in 95 of 100 tables. Coloured: its 95% bootstrap interval, at "
                "each level by itself.",
            ),
            Drawn(
                "Coverage less level",
                ecdf_difference(u),
                "The same line less the diagonal. If q were correct, all of it would stay in "
                "the grey band in 95 of 100 tables. About random references, below and then "
                "above 0: q is too wide; above and then below: too narrow. About references "
                "that follow x, above 0: true values lie nearer to them than q's draws do.",
            ),
        ]

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
        """Statistic (...) and p-value (...) of `test` for ranks u (..., 1, n)."""
        return statistics.ks(u[..., 0, :])


def area_to_curve_text(arrays: Mapping[str, Array]) -> str:
    """The area to curve with its interval, as text; empty without ranks."""
    u = _ranks(arrays)
    if u.size == 0:
        return ""
    if all(name in arrays for name in ("atc", "atc_low", "atc_high")):
        estimate, low, high = (float(arrays[name]) for name in ("atc", "atc_low", "atc_high"))
    else:
        estimate, low, high = (float(part) for part in atc(u, stream(0, "area to curve")))
    return (
        f"ATC {interval_text((estimate, low, high), '+.3f')}, the area between line and "
        "diagonal above level 50% with its 95% interval. "
    )


def coverage_curve(u: Array) -> Panel:
    """Share of ranks u (n,) up to each level in [0, 1], over the whole range.

    Grey: where the whole curve stays in 95 of 100 tables when q = p. Coloured: the bootstrap band
    over simulations, at each level by itself.
    """
    if u.size == 0:
        return empty("No coverage yet", height=_HEIGHT)
    levels = statistics.GRID
    low, high = statistics.ecdf_band(u.size, grid=levels)
    ends = bootstrap_band(u, stream(0, "coverage band"), levels=levels)
    return Panel(
        [
            Band(levels, levels + low, levels + high, opacity=0.3),
            Line([0, 1], [0, 1], color=style.NULL, dash="dash", width=1),
            Band(levels, *ends, color=style.Q, opacity=0.25),
            Line(
                levels, coverage(u, levels), color=style.Q, hover="level %{x:.0%}: covers %{y:.1%}"
            ),
            Note(0.62, 0.95, "covers more than it states", color=style.NULL, anchor="end"),
            Note(0.98, 0.5, "covers less", color=style.NULL, anchor="end"),
        ],
        x=Axis((0, 1), "level: q's mass in the ball", percent=True),
        y=Axis((0, 1), "expected coverage", percent=True),
        height=_HEIGHT,
    )


def _ranks(arrays: Mapping[str, Array]) -> Array:
    """The ranks (n,); none where there are too few for a curve."""
    u = np.asarray(arrays.get("u", np.zeros(0)), dtype=np.float64)
    return u if u.size >= _FEWEST else u[:0]
