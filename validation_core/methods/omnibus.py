"""Relabelling within x: every statistic that can be thought of, and one exact p-value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from validation_core.omnibus import relabelled
from validation_core.omnibus.table import RELABELINGS
from validation_core.types import (
    Array,
    Budget,
    Draws,
    Layout,
    Outcome,
    Paper,
    Reads,
    Scores,
    TableScores,
)


@dataclass(frozen=True)
class WholeTable:
    """Every parameter by itself, and x beside them: what a labelling needs of a table."""

    def __call__(self, theta: Array, x: Array) -> Array:
        """The parameters (D, n) of rows theta (n, D)."""
        del x
        return theta.T

    def table(self, draws: Draws) -> TableScores:
        """Truth (D, n), draws (D, n, K) and x (n, M)."""
        return TableScores(draws.theta.T, np.moveaxis(draws.q, -1, 0), draws.x)


@dataclass(frozen=True, kw_only=True)
class Omnibus:
    """The truth and q's draws at an x are exchangeable if q is right: any could be the truth.

    Parameters' means, widths, tails and pairs, their norm, all of them over x and, in a diagnosis,
    every learned score: the largest of all, calibrated by which slot plays the truth. On a
    benchmark nothing is learned.
    """

    name: ClassVar[str] = "omnibus"
    title: ClassVar[str] = "Relabelling within x"
    paper: ClassVar[Paper] = Paper(
        "NPT Lab", 2026, "Relabelling truth and draws within x, stepping down as Westfall, Young"
    )
    summary: ClassVar[str] = (
        "Does the truth stand out among q's draws in anything: place, width, tails, pairs, over x?"
    )
    statistic: ClassVar[str] = "evidence of the clearest claim, −log p"
    layout: ClassVar[Layout] = "table"
    reads: ClassVar[Reads] = "table"
    version: ClassVar[int] = 1

    relabelings: int = field(
        default=RELABELINGS,
        metadata={
            "label": "Relabelings",
            "help": "Labellings of which slot plays the truth; no p is below 1 / (1 + these).",
            "min": 19,
        },
    )

    def __post_init__(self) -> None:
        if self.relabelings < 19:
            raise ValueError(
                f"Fewer than 19 relabelings can never reject at 5%; got {self.relabelings}. Take "
                "999."
            )

    @property
    def label(self) -> str:
        return "Relabelling"

    def budget(self, n: int, k: int = 1) -> Budget:
        return Budget(n, n * k)

    def score(self, log_q: Callable[[Array, Array], Array] | None = None) -> WholeTable:
        """All parameters with x."""
        del log_q
        return WholeTable()

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
            relabelled(
                Draws(truth[i].T, tables[i], np.moveaxis(draws[i], 0, -1)),
                int(rng.integers(2**31)), relabelings=self.relabelings,
                over_x=scores.x is not None,
            )
            for i in range(trials)
        ]  # fmt: skip
        return Outcome(
            np.array([one.evidence.max() for one in results]).reshape(lead),
            np.array([one.pvalue for one in results]).reshape(lead),
            self.budget(n, k),
            arrays={
                "null": np.stack([one.null for one in results]).reshape(*lead, -1),
                "evidence": np.array([one.evidence.max() for one in results]).reshape(lead),
            },
        )
