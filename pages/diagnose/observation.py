"""The question at one observation, picked among the rows or typed."""

from collections.abc import Sequence

import streamlit as st

from pages.diagnose import place
from pages.ui import jobs, panel
from pages.ui.jobs import plain
from pages.ui.services import services
from validation_core.diagnosis import Diagnosis
from validation_core.diagnosis.questions import Answer
from validation_core.diagnosis.questions.observation import ObservationQuestion
from validation_core.diagnosis.questions.observation.place import Where
from validation_core.diagnosis.questions.observation.study import AtObservation
from validation_core.diagnosis.verdict import NoClaims
from validation_core.methods.base import Method
from validation_core.report import question_code
from validation_core.tables import TableUpload

_QUESTION = ObservationQuestion()


def show(
    name: str,
    upload: TableUpload,
    diagnosis: Diagnosis,
    methods: Sequence[Method],
    usual: AtObservation | None,
    files: Sequence[str],
    waiting: str,
) -> None:
    """The panel at the usual place, or at one that the user asks for.

    Args:
        name: the panel's name, its anchor.
        upload: the table.
        diagnosis: of it.
        methods: that run: CoLT's ball is shown where it is one of them.
        usual: the answer at the upload's own observation, or at the middle of x, once it is there.
        files: names of the table's files, for the code.
        waiting: why there is no answer at the usual place, where there is none.
    """
    try:
        where = place.asked(upload)
    except place.NothingTyped:  # what is known of another place would look like the answer
        return
    result = usual if where is None else _elsewhere(upload, diagnosis.seed, methods, where)
    if result is None or isinstance(diagnosis.claims, NoClaims):
        if where is None:
            st.caption(plain(waiting))
        return
    answer = Answer(_QUESTION, result)
    panel.panel(
        _QUESTION.title,
        answer.describe(diagnosis),
        notes=answer.notes(diagnosis),
        how=_QUESTION.reading_guide,
        table=answer.rows(diagnosis),
        drawn=answer.figures(diagnosis),
        code=question_code(_QUESTION, diagnosis, files, where=where),
        key=name,
    )


def _elsewhere(
    upload: TableUpload, seed: int, methods: Sequence[Method], where: Where
) -> AtObservation | None:
    """The answer at a place that was asked for; shows its progress meanwhile."""
    wanted = _QUESTION.studies(upload, methods, seed, where=where)
    state = jobs.only("elsewhere", wanted, "At one observation")
    jobs.panel(state, follow=True)
    done = [part for task in wanted if (part := task.load(services().store)) is not None]
    return Answer.of(_QUESTION, done, upload).result if done else None
