"""Example tables whose finished diagnosis ships: what a page shows before a table is brought."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from validation_core.diagnosis import comparison, plan, tasks
from validation_core.diagnosis.epidemic import NAMES, EpidemicStudy
from validation_core.diagnosis.questions import QUESTIONS, question_studies
from validation_core.scores.trained_scores import TrainTask
from validation_core.simulators.epidemic_curve import DAYS
from validation_core.store import Store
from validation_core.study import Study
from validation_core.tables import Upload, read, samples

SEED = 0
FEW, SOME, MANY = 200, 1_000, 20_000
"""Simulations that the three flows learnt from."""
ABOUT_EXACT = "The exact posterior of a straight line's intercept and slope."
ABOUT_WRONG = (
    f"A neural spline flow for the two rates of an epidemic, trained on {FEW} simulations: too "
    "few."
)
ABOUT_FLOWS = (
    "Three neural spline flows that learnt an epidemic's infection and recovery rate, from "
    f"{FEW}, {SOME:,} and {MANY:,} simulations."
)
"""What the tables are, in a sentence for the page that shows them."""
SECOND_WAVE = (0.0, 5.0, 251.0, 138.0, 23.0, 5.0, 60.0, 240.0, 180.0, 60.0)
"""Infected on the ten days of an epidemic that comes back, which the simulator's never does."""


def wrong() -> Upload:
    """Draws of a flow that was trained on too few simulations."""
    return _drawn(FEW)


@cache
def exact() -> Upload:
    """Draws of an exact posterior."""
    return read(samples.sample_path("sample_well_trained"))


def flows() -> list[tuple[str, Upload]]:
    """Tables of the same simulations to compare: flows trained on few, more and many."""
    return [(f"{count:,} simulations", _drawn(count)) for count in (FEW, SOME, MANY)]


def tables() -> tuple[Upload, ...]:
    """All of them."""
    return exact(), *(upload for _, upload in flows())


def draws() -> tuple[EpidemicStudy, ...]:
    """The studies that draw the flows' tables."""
    return tuple(EpidemicStudy(simulations=count) for count in (FEW, SOME, MANY))


def studies() -> tuple[Study[Any], ...]:
    """Every test and answer of the wrong and the exact table, and what compares the flows."""
    return tuple(dict.fromkeys(work for work in _work() if isinstance(work, Study)))


def trainings() -> tuple[TrainTask, ...]:
    """The networks that these read."""
    return tuple(dict.fromkeys(work for work in _work() if isinstance(work, TrainTask)))


@cache
def _drawn(simulations: int) -> Upload:
    """The table of a flow; where it is not shipped it is trained first, which takes minutes."""
    store, study = Store.usual(), EpidemicStudy(simulations=simulations)
    if not study.done(store):
        study.run(store, lambda fraction, live: None)
    result = study.load(store)
    assert result is not None, "it is done"
    arrays = {"theta": result.theta, "x": result.x, "theta_q": result.q}
    labels = {"theta_names": NAMES, "x_names": [f"infected on day {day}" for day in DAYS]}
    named = {name: np.array(texts) for name, texts in labels.items()}
    return Upload.of({**arrays, **named}, order="NKD")


def _work() -> Iterator[Study[Any] | TrainTask]:
    usual = plan.with_further(())
    for upload in (wrong(), exact()):
        yield from tasks.tasks(upload, usual, SEED)
        unasked = [question for question in QUESTIONS if not question.asked_for]
        yield from question_studies(unasked, upload, usual, SEED)
    for _, upload in flows():
        yield from tasks.tasks(upload, comparison.methods(), SEED)
        yield from comparison.studies(upload, SEED)
