"""The panels of a diagnosis on its page: what each needs worked out, and how it is shown."""

from collections.abc import Mapping, Sequence

import streamlit as st

from pages.components import diagnose_ball, diagnose_observation, jobs, panel
from pages.components.jobs import plain
from pages.components.services import services
from validation_core.answers import Answer, Found
from validation_core.diagnosis import Diagnosis, Record
from validation_core.engine import JobState
from validation_core.maps import MapTask
from validation_core.panels import PANELS, Panel, answered, drawings, rows, tasks, told
from validation_core.report.reproduce import code
from validation_core.types import Method
from validation_core.uploads import Upload


def wanted(upload: Upload, methods: Sequence[Method], seed: int, *, long: bool) -> list[Answer]:
    """What the panels that take long, or all others, need worked out."""
    return tasks([one for one in PANELS if one.long == long], upload, methods, seed)


def show(
    found: Diagnosis, methods: Sequence[Method], answers: Mapping[str, Found],
    maps: Sequence[MapTask], waiting: JobState | None, label: str,
) -> None:  # fmt: skip
    """Every panel in its order: its answer, or that it is being worked out, or why it cannot be.

    Args:
        waiting: the job that works out all but the long ones; these begin when it has ended.
        label: what the table is called.
    """
    if not found.upload.k:
        st.caption(
            "How wrong, where and why is told of tables alone: two samples p and q have no x, so "
            "that no draw of q has a truth beside it. Upload theta, x and theta_q for that."
        )
        return
    for one in PANELS:
        state, own = waiting, None
        if one.long and (waiting is None or waiting.state == "done"):
            long = wanted(found.upload, methods, found.seed, long=True)
            state = own = jobs.ensure(long, one.title, start=True)
        store = services().store
        known = answers
        if one.long:  # what it has begun meanwhile may be there already
            known = answered(store, found.upload, methods, found.seed, [one])
        answer = known.get(one.name)
        if one.name == "observation" and one.module.obstacle(found.upload) is None:
            diagnose_observation.show(one.title, one.name, found, methods, answer, label)
        else:
            _one(one, found, answer, state, label)
            jobs.panel(own, follow=True)
        if one.name == "in_theta":
            _ball(found, maps)


def _one(
    one: Panel, found: Diagnosis, answer: Found | None, state: JobState | None, label: str
) -> None:
    reason = one.module.obstacle(found.upload)
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
        one.title, said=told(one, answer, found), how=one.module.HOW,
        table=rows(one, answer, found), drawn=drawings(one, answer, found),
        code=code(one, path=label, seed=found.seed), key=one.name,
    )  # fmt: skip


def _ball(found: Diagnosis, maps: Sequence[MapTask]) -> None:
    """CoLT's own answer to where: its ball, at an observation that a user picks."""
    for record in _localized(found.records):
        st.subheader("The ball that CoLT found", anchor=False)
        ready = next((one for one in maps if one.done(services().store)), None)
        diagnose_ball.where(record, found, ready)


def _localized(records: Sequence[Record]) -> list[Record]:
    return [one for one in records if one.name == "colt" and one.status == "ran"]
