"""The panels of a diagnosis on its page: what each needs worked out, and how it is shown."""

from collections.abc import Sequence

import streamlit as st

from pages.diagnose import ball, observation
from pages.ui import jobs, panel
from pages.ui.jobs import plain
from pages.ui.services import services
from validation_core import Record
from validation_core.diagnosis import Diagnosis
from validation_core.diagnosis.questions import (
    QUESTIONS,
    Answers,
    AnyAnswer,
    AnyQuestion,
    AnyStudy,
    answered,
    studies,
)
from validation_core.engine import JobState
from validation_core.localization import MapTask
from validation_core.methods.base import Method
from validation_core.report.sections import code
from validation_core.tables import Upload


def wanted(upload: Upload, methods: Sequence[Method], seed: int, *, long: bool) -> list[AnyStudy]:
    """What the panels that take long, or all others, need worked out."""
    chosen = [question for question in QUESTIONS if question.long == long]
    return studies(chosen, upload, methods, seed)


def show(
    diagnosis: Diagnosis,
    methods: Sequence[Method],
    answers: Answers,
    maps: Sequence[MapTask],
    waiting: JobState | None,
    label: str,
) -> None:
    """Every panel in its order: its answer, or that it is being worked out, or why it cannot be.

    Args:
        waiting: the job that works out all but the long ones; these begin when it has ended.
        label: what the table is called.
    """
    if not diagnosis.upload.k:
        st.caption(
            "How wrong, where and why is told of tables alone: two samples p and q have no x, so "
            "that no draw of q has a truth beside it. Upload theta, x and theta_q for that."
        )
        return
    for question in QUESTIONS:
        state, own = waiting, None
        if question.long and (waiting is None or waiting.state == "done"):
            long = wanted(diagnosis.upload, methods, diagnosis.seed, long=True)
            state = own = jobs.ensure(long, question.title, start=True)
        store = services().store
        known = answers
        if question.long:  # what it has begun meanwhile may be there already
            known = answered(store, diagnosis.upload, methods, diagnosis.seed, [question])
        answer = known.get(question.name)
        if question.name == "observation" and question.obstacle(diagnosis.upload) is None:
            usual = None if answer is None else answer.result
            observation.show(question.title, question.name, diagnosis, methods, usual, label)
        else:
            _one(question, diagnosis, answer, state, label)
            jobs.panel(own, follow=True)
        if question.name == "in_theta":
            _ball(diagnosis, maps)


def _one(
    one: AnyQuestion,
    diagnosis: Diagnosis,
    answer: AnyAnswer | None,
    state: JobState | None,
    label: str,
) -> None:
    reason = one.obstacle(diagnosis.upload)
    if reason is not None:
        st.header(one.title, anchor=one.name)
        st.caption(plain(f"Not worked out. {reason}"))
        return
    if answer is None:
        st.header(one.title, anchor=one.name)
        if state is None:
            st.caption("Not worked out: none of these tests can be run on such tables.")
            return
        working = state is not None and state.active
        st.caption("Being worked out." if working else "Not worked out: its job did not end.")
        return
    panel.panel(
        one.title,
        said=answer.describe(diagnosis),
        how=one.reading_guide,
        table=answer.rows(diagnosis),
        drawn=answer.figures(diagnosis),
        code=code(one.code, path=label, seed=diagnosis.seed),
        key=one.name,
    )


def _ball(diagnosis: Diagnosis, maps: Sequence[MapTask]) -> None:
    """CoLT's own answer to where: its ball, at an observation that a user picks."""
    for record in _localized(diagnosis.records):
        st.subheader("The ball that CoLT found", anchor=False)
        ready = next((task for task in maps if task.done(services().store)), None)
        ball.where(record, diagnosis, ready)


def _localized(records: Sequence[Record]) -> list[Record]:
    return [record for record in records if record.kind.localizes and record.status == "ran"]
