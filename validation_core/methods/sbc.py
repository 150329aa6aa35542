"""SBC: the rank of each true parameter, or other test quantity, among q's draws."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from validation_core import statistics
from validation_core.scores.quantities import QUANTITIES, Quantities, chosen
from validation_core.types import (
    Array,
    Budget,
    Layout,
    Outcome,
    Paper,
    Reads,
    Score,
    Scores,
    TableScores,
)


@dataclass(frozen=True, kw_only=True)
class SBC:
    """Simulation-based calibration with randomised ranks and Bonferroni over test quantities.

    Both seed papers test each coordinate by KS and correct by Bonferroni; their raw
    ranks are discrete and reject too often, the randomised ones are exact.
    """

    name: ClassVar[str] = "sbc"
    title: ClassVar[str] = "SBC"
    paper: ClassVar[Paper] = Paper(
        "Talts, Betancourt, Simpson, Vehtari, Gelman", 2018,
        "Validating Bayesian inference algorithms with simulation-based calibration",
    )  # fmt: skip
    summary: ClassVar[str] = "Does each true parameter rank anywhere among q's draws?"
    statistic: ClassVar[str] = "largest KS distance over parameters"
    layout: ClassVar[Layout] = "table"
    reads: ClassVar[Reads] = "coordinates"
    version: ClassVar[int] = 1

    quantities: str = field(
        default="marginals",
        metadata={
            "label": "Test quantities",
            "help": "What is ranked, joined by +: "
            + "; ".join(f"{name}, {one.help}" for name, one in QUANTITIES.items()),
            "choices": tuple(QUANTITIES),
            "multiple": True,
        },
    )

    def __post_init__(self) -> None:
        # In one order, so that the same test has one key.
        object.__setattr__(self, "quantities", "+".join(chosen(self.quantities)))

    @property
    def label(self) -> str:
        return "SBC" if self.quantities == "marginals" else f"SBC {self.quantities}"

    def score(self, log_q: Callable[[Array, Array], Array] | None = None) -> Score:
        """The quantities as a score; `log_q` is the estimator's log density of (theta, x).

        Raises:
            ValueError: when log_q is to be ranked and none is given.
        """
        names = chosen(self.quantities)
        if "log_q" in names and log_q is None:
            raise ValueError(
                "log_q ranks the estimator's own log density; got none; bring a function of "
                "theta (n, D) and x (n, M), or leave log_q out of the test quantities"
            )
        return Quantities(names, log_q)

    def budget(self, n: int, k: int = 1) -> Budget:
        return Budget(n, n * k)

    def test(self, scores: Scores, rng: np.random.Generator) -> Outcome:
        """Per quantity an exact KS test; the smallest p-value times their number, at most 1.

        arrays: u (..., S, n); statistics, pvalues and, by Holm, adjusted p-values (..., S); k
        (...), draws at each x; kinds (..., F), places of the chosen names in the registry.
        """
        assert isinstance(scores, TableScores)
        u = statistics.conformal_ranks(scores.truth, scores.draws, rng)  # (..., S, n)
        found = statistics.ks(u)
        together = _together(found)
        *trials, _, n = u.shape
        k = scores.draws.shape[-1]
        kinds = [list(QUANTITIES).index(name) for name in chosen(self.quantities)]
        return Outcome(
            together.statistic,
            together.pvalue,
            self.budget(n, k),
            arrays={
                "u": u, "statistics": found.statistic, "pvalues": found.pvalue,
                "adjusted": statistics.holm(found.pvalue), "k": np.full(trials, k),
                "kinds": np.broadcast_to(kinds, (*trials, len(kinds))),
            },
        )  # fmt: skip

    def of_ranks(self, u: Array) -> statistics.Uniformity:
        """What `test` says of ranks u (..., S, n): statistic (...) and p-value (...)."""
        return _together(statistics.ks(u))


def _together(found: statistics.Uniformity) -> statistics.Uniformity:
    """The worst of S tests (..., S), by Bonferroni: (...)."""
    count = found.pvalue.shape[-1]
    smallest = np.minimum(1.0, count * found.pvalue.min(-1))
    return statistics.Uniformity(found.statistic.max(-1), smallest)
