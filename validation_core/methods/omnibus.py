"""Relabelling within x: many statistics, and one exact p-value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from validation_core.drawing import style
from validation_core.drawing.drawn import Drawn
from validation_core.drawing.marks import Axis, Line, Panel, Points, VLine
from validation_core.drawing.null_histogram import relabelling_histogram
from validation_core.methods.base import RANKED, Method, RecordView, Work
from validation_core.relabelling import exact_test
from validation_core.relabelling.families import LEARNED, Family
from validation_core.relabelling.result import OmnibusResult
from validation_core.relabelling.table_statistics import RELABELINGS
from validation_core.types import (
    Array,
    LogDensity,
    MethodStyle,
    Outcome,
    Paper,
    PosteriorTable,
    Scores,
    TableScores,
)

if TYPE_CHECKING:
    from validation_core.methods.record import Record
    from validation_core.relabelling.claims import Claims
    from validation_core.tables import Upload
    from validation_core.tables.ranges import Range

_LEVEL = 0.05
_LINE = 26  # pixels of one family
_SHORT: Mapping[Family, str] = {
    "means": "Place",
    "widths": "Width",
    "shapes": "Skew and tails",
    "pairs": "Pairs",
    "together": "Together",
    "outliers": "Outliers",
    "spacing": "Nearest draw",
    "support": "Outside range",
    "norm": "From q's centre",
    "densities": "Densities",
    "learned": "Learned scores",
    "over_x": "Over x",
    "together_over_x": "Together, over x",
    "learned_over_x": "Learned, over x",
    "observation": "Near x_o",
    "weights": "Weights",
    "own": "Own quantities",
    "own_over_x": "Own, over x",
}
"""Families beside an axis, that a phone has room for."""
_READ_NULL = (
    "Grey: the clearest of all claims when true value and q's draws are relabelled at random at "
    "every x. Dashed: what 1 in 20 of those exceed. Red: this table. If q were correct, red would "
    "be anywhere in the grey. Evidence is −log of the number of claims as clear that chance is "
    "expected to make: below 0 where it makes several."
)
_READ_FAMILIES = (
    "p-value of each kind of claim, adjusted for all of them together. Filled: left of the "
    "dashed level, and not explained by errors of other kinds. If q were correct, every mark "
    "would stay right of the level in at least 95 of 100 tables."
)


_MOST = 100_000  # relabelings


@dataclass(frozen=True)
class WholeTable:
    """All parameters of a table and its x, as relabelling reads them."""

    def __call__(self, theta: Array, x: Array) -> Array:
        """The parameters (D, n) of rows theta (n, D)."""
        del x
        return theta.T

    def table(self, draws: PosteriorTable) -> TableScores:
        """Truth (D, n), draws (D, n, K) and x (n, M)."""
        return TableScores(draws.theta.T, np.moveaxis(draws.q, -1, 0), draws.x)


@dataclass(frozen=True, kw_only=True)
class Omnibus(Method):
    """The truth and q's draws at an x are exchangeable if q is right: any could be the truth.

    Parameters' means, widths, tails and pairs, their norm and their magnitudes, all of them over x
    and, in a diagnosis, every learned score: the largest of all, calibrated by which slot plays
    the truth. On a benchmark nothing is learned.

    Exact for scores fixed beforehand, however they depend on one another. Scores that a diagnosis
    learns have a fifth of the level, and the rows they did not learn from, to themselves: given
    what they learned from, which slots play the truth there is still uniform, so that this part
    rejects with at most its share, and both together with at most the level, for any learner (the
    proof is in `validation_core.relabelling`). The first look is final: learned scores add to it.
    `learned=False` leaves them out: nothing is trained, and the whole level is the others'.

    Examples:
        >>> result = npt.run("omnibus", npt.Boundary(), gamma=1, n=40, k=10, relabelings=39)
        >>> result.draws, result.pvalue
        ((40, 400), 0.025)
    """

    name: ClassVar[str] = "omnibus"
    version: ClassVar[int] = 2
    title: ClassVar[str] = "Relabelling within x"
    paper: ClassVar[Paper] = Paper(
        "NPT Lab",
        2026,
        ("Relabelling true value and draws within x, stepping down as Westfall, Young"),
    )
    summary: ClassVar[str] = (
        "Do true values differ from q's draws in anything: place, width, tails, pairs, over x?"
    )
    statistic: ClassVar[str] = "evidence of the clearest claim, −log of how many chance makes"
    style: ClassVar[MethodStyle] = MethodStyle("#5E6B51", "solid", "star-diamond")
    turn: ClassVar[int] = 0
    decides: ClassVar[bool] = True
    pools_groups: ClassVar[bool] = True
    relabelings: int = field(
        default=RELABELINGS,
        metadata={
            "label": "Relabelings",
            "help": (
                "Random relabellings of true value and draws; no p-value is below 1 / (1 + "
                "relabelings)."
            ),
            "min": 19,
            "max": _MOST,
        },
    )
    learned: bool = field(
        default=True,
        metadata={
            "label": "Learned scores",
            "help": (
                "Whether a table's learned scores join, a fifth of the level to themselves; "
                "without them nothing is trained, the test is as exact, and takes a second."
            ),
            "tables": True,
            "later": True,
        },
    )

    def __post_init__(self) -> None:
        if self.relabelings > _MOST:
            raise ValueError(
                f"relabelings are 19 to {_MOST:,}; got {self.relabelings:,}. The default is "
                f"{RELABELINGS}."
            )
        if self.relabelings < 19:
            raise ValueError(
                f"Fewer than 19 relabelings can never reject at 5%; got {self.relabelings}. Take "
                "999."
            )

    @property
    def label(self) -> str:
        return "Relabelling"

    def score(self, log_q: LogDensity | None = None) -> WholeTable:
        """All parameters with x."""
        del log_q
        return WholeTable()

    def squared(self, upload: Upload) -> Sequence[Range]:
        del upload
        return ()

    @property
    def resamples(self) -> int:
        return self.relabelings

    def cost(self, work: Work) -> float:
        each, of_parameter = 1.5e-7, 8e-8  # for each row and labelling, and its parameters
        labelled = each + of_parameter * min(work.d, 50)
        return work.n * self.relabelings * labelled + work.rows * RANKED

    @classmethod
    def pictures(cls, record: Record, view: RecordView) -> list[Drawn]:
        arrays = record.arrays
        sheets: list[Drawn] = []
        if "claims" in arrays:
            from validation_core.relabelling.claims import Claims

            claims = Claims(OmnibusResult.read(arrays), _LEVEL, record.effect.quantities or ())
            sheets.append(Drawn("What is claimed", _families(claims, view.names), _READ_FAMILIES))
        for observed, relabelled_evidence, of in _parts(arrays):
            label = "clearest claim, −log of how many chance makes"
            null = relabelling_histogram(relabelled_evidence, float(observed), label)
            sheets.append(Drawn(f"Seen, and relabelled{of}", null, _READ_NULL))
        return sheets

    def test(self, scores: Scores, rng: np.random.Generator) -> Outcome:
        """The largest evidence of each trial's table, among that of its other labellings.

        arrays: null (..., B), the largest evidence of each labelling; evidence (...), that of
        the observed one.
        """
        assert isinstance(scores, TableScores)
        *lead, d, n, k = scores.draws.shape
        trials = int(np.prod(lead, dtype=int))
        truth = scores.truth.reshape(trials, d, n)
        draws = scores.draws.reshape(trials, d, n, k)
        x = np.zeros((n, 1)) if scores.x is None else scores.x
        tables = np.broadcast_to(x, (*lead, *x.shape[-2:])).reshape(trials, n, -1)
        results = [
            exact_test(
                PosteriorTable(truth[i].T, tables[i], np.moveaxis(draws[i], 0, -1)),
                int(rng.integers(2**31)),
                relabelings=self.relabelings,
                over_x=scores.x is not None,
            )
            for i in range(trials)
        ]
        evidence = np.array([result.minus_log_p.max() for result in results], float).reshape(lead)
        return Outcome(
            evidence,
            np.array([result.pvalue for result in results]).reshape(lead),
            self.budget(n, k),
            arrays={
                "null": np.stack([result.null for result in results]).reshape(*lead, -1),
                "evidence": evidence,
            },
        )


def _parts(arrays: Mapping[str, Array]) -> list[tuple[float, Array, str]]:
    """The largest evidence seen and relabelled (B,), without learned scores and of them."""
    if "evidence" not in arrays:
        return []
    if "claims" not in arrays:
        return [(float(np.max(arrays["evidence"])), np.asarray(arrays["null"]), "")]
    result = OmnibusResult.read(arrays)
    learned = np.array([claim.of in LEARNED for claim in result.claims])
    parts = [(float(result.minus_log_p[~learned].max()), result.null, "")]
    if learned.any():
        parts.append(
            (float(result.minus_log_p[learned].max()), result.learned_null, ", learned scores")
        )
    return [part for part in parts if np.isfinite(part[0])]


def _families(claims: Claims, names: Sequence[str]) -> Panel:
    """Adjusted p of each family on a log axis, the smallest on top."""
    rows = claims.families(names)
    p = np.array([row["pvalue"] for row in rows])
    least = 0.7 * float(p.min(initial=1 / (claims.result.relabelings + 1)))
    places = np.arange(len(rows))
    points = Points(
        p,
        places,
        color=style.method_style("omnibus").color,
        size=10,
        symbol=[
            "circle" if row["named"] and row["pvalue"] <= claims.alpha else "ring" for row in rows
        ],
        texts=[f"{row['title']}: {escape(row['claim'])}" for row in rows],
        hover="%{text}: p = %{x:.3g}",
    )
    return Panel(
        [
            VLine(claims.alpha, dash="dash"),
            *(Line([p[i], 1.0], [i, i], color=style.NULL, width=1) for i in places),
            points,
        ],
        x=Axis((least, 1.3), "adjusted p", log=True, ticks=[0.001, 0.01, 0.05, 0.2, 1.0]),
        y=Axis.of_rows([_SHORT[row["family"]] for row in rows]),
        height=80 + _LINE * len(rows),
    )
