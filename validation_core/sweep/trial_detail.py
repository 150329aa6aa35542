"""One trial of a sweep in full: its draws, ranks and scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from validation_core.methods.base import Method
from validation_core.provenance import Stopwatch
from validation_core.scores import trained_scores
from validation_core.scores.trained_scores import Training
from validation_core.study import Report, Study
from validation_core.sweep import trials
from validation_core.sweep.plan import MethodTrials, Sweep, SweepPlace
from validation_core.types import Array

if TYPE_CHECKING:
    from validation_core.store import Store

_KEPT = 200_000  # numbers of a table's draws that are kept to be drawn


class TrialDetail(NamedTuple):
    """Outcome of one trial, with its draws and scores."""

    statistic: float
    pvalue: float
    draws_p: int
    draws_q: int
    seconds: float
    effect: Mapping[str, float]
    arrays: Mapping[str, Array]
    learned: Mapping[str, float]
    """Training summary of the network that the test read."""
    theta: Array
    """Draws of q at each x (n, K, D) of a small table; empty where there is none."""


@dataclass(frozen=True, kw_only=True)
class TrialStudy(Study[TrialDetail], spec="look"):
    """The first trial of a part of a sweep, stored in full."""

    trials: MethodTrials

    @property
    def label(self) -> str:
        return f"One test: {self.trials.method.label}, {self.trials.source.label}"

    @property
    def gpu(self) -> bool:  # type: ignore[override]
        """Whether its trials run a network."""
        return self.trials.gpu

    @property
    def trainings(self) -> tuple[Training, ...]:
        """Trainings that its trials need."""
        return self.trials.trainings

    def compute(self, store: Store, report: Report) -> TrialDetail:
        """Run the trial; train the network unless the store has it."""
        part = self.trials
        trained_scores.ready(store, part.source.benchmark)
        network = trained_scores.trained(store, part.network, report) if part.network else None
        watch = Stopwatch()
        outcome, table = trials.run_trial(
            part.source.benchmark,
            part.source.gamma,
            part.score(network) if network else None,
            part.method,
            part.design,
            part.first,
        )
        return TrialDetail(
            statistic=float(outcome.statistic),
            pvalue=float(outcome.pvalue),
            draws_p=outcome.budget.p,
            draws_q=outcome.budget.q,
            seconds=watch.seconds,
            effect={name: float(value) for name, value in outcome.effect.items()},
            arrays={name: np.asarray(array) for name, array in outcome.arrays.items()},
            learned=dict(network.summary) if network else {},
            theta=table.q if table is not None and table.q.size <= _KEPT else np.zeros((0, 0, 0)),
        )


def first_trial(sweep: Sweep, method: Method, place: SweepPlace) -> TrialStudy:
    """The first trial of a method at one place of a sweep."""
    return TrialStudy(trials=sweep.parts[method.label, place][0])
