"""Tables whose finished diagnosis is shipped: what a page shows before one is brought."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

from validation_core.diagnosis import choice, tasks
from validation_core.diagnosis.questions import QUESTIONS, posteriors
from validation_core.diagnosis.questions import studies as of_questions
from validation_core.models import TrainTask
from validation_core.study import Study
from validation_core.tables import Upload, local, read

SEED = 0


@cache
def wrong() -> Upload:
    """Draws of a posterior that is too narrow, and shifted."""
    return read(local.sample_path("sample_undertrained"))


@cache
def exact() -> Upload:
    """Draws of an exact posterior."""
    return read(local.sample_path("sample_well_trained"))


@cache
def narrowed() -> Upload:
    """The exact ones, drawn together to seven tenths of their spread about their mean."""
    arrays = exact().arrays()
    middle = arrays["theta_q"].mean(1, keepdims=True)
    narrow = middle + 0.7 * (arrays["theta_q"] - middle)
    return replace(Upload.of({**arrays, "theta_q": narrow}, order="NKD"), names=exact().names)


def pair() -> list[tuple[str, Upload]]:
    """Two tables of the same simulations, to be compared."""
    return [("exact", exact()), ("too narrow", narrowed())]


def tables() -> tuple[Upload, ...]:
    """All of them."""
    return wrong(), exact(), narrowed()


def studies() -> tuple[Study[Any], ...]:
    """Every test and every answer of the first two, and what the pair is compared by."""
    return tuple(dict.fromkeys(work for work in _work() if isinstance(work, Study)))


def trainings() -> tuple[TrainTask, ...]:
    """The networks that these read."""
    return tuple(dict.fromkeys(work for work in _work() if isinstance(work, TrainTask)))


def _work() -> Iterator[Study[Any] | TrainTask]:
    usual = choice.with_further(())
    for upload in (wrong(), exact()):
        yield from tasks.tasks(upload, usual, SEED)
        yield from of_questions(QUESTIONS, upload, usual, SEED)
    for _, upload in pair():
        yield from tasks.tasks(upload, posteriors.methods(), SEED)
        yield from posteriors.studies(upload, SEED)
