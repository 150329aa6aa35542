"""The whole diagnosis of the trained estimator, beside its true distance from the posterior."""

import streamlit as st

from pages.diagnose import card, known, rows
from pages.train import takeaway
from pages.ui import address, jobs, recent
from pages.ui.services import services, stored
from validation_core import diagnosis
from validation_core.diagnosis import tasks
from validation_core.explorers.training.film import FilmStudy
from validation_core.explorers.training.found_verdict import (
    LEVEL,
    SEED,
    FoundVerdictStudy,
    as_upload,
)
from validation_core.explorers.training.fresh_table import FreshTableStudy
from validation_core.explorers.training.nats import Nats, describe_nats
from validation_core.tables import LabelledTable, Upload

_OPENING = "opening-trained"


@address.fragment
def show(study: FilmStudy, *, begin: bool) -> None:
    """The verdict on fresh simulations where it ships or was asked for; a button elsewhere.

    Args:
        study: of the estimator.
        begin: diagnose it unasked: it has just been trained here.
    """
    st.subheader("Do the tests see what is wrong?", anchor=False)
    found = FoundVerdictStudy(training=study.training, seed=study.seed)
    table = found.table
    if found.done(services().store):
        _found(study, found)
        return
    if table.done(services().store):
        _verdict(study, table)
        return
    state = jobs.ensure([table], table.label, start=begin)
    if state is None:
        st.button(
            f"Diagnose it on {table.n:,} fresh simulations",
            key="diagnose-trained",
            icon=":material/troubleshoot:",
            on_click=jobs.starting([table], table.label),
        )
    jobs.panel(state)


def _found(study: FilmStudy, found: FoundVerdictStudy) -> None:
    """The card that is kept, and the truth beside it."""
    kept = stored(found)
    left, right = st.columns([3, 1], gap="large")
    with left:
        card.show_kept(found.key, kept.card)
    with right:
        _truth(study, found.table, kept.nats)


def _verdict(study: FilmStudy, table: FreshTableStudy) -> None:
    """The card as on My posterior, and the truth beside it."""
    upload, methods = _saved(study, table), diagnosis.default_methods()
    wanted = jobs.lacking(
        "trained",
        (upload.digest, methods),
        lambda: tasks.schedule_work(
            [*tasks.tasks(upload, methods, SEED), *rows.wanted(upload, methods, SEED)]
        ),
    )
    state = jobs.only("trained", wanted, f"Diagnose {upload.n:,} rows")
    answered = known.diagnose(upload, methods, LEVEL, SEED)
    left, right = st.columns([3, 1], gap="large")
    with left:
        card.show(answered, answered.answers(), rows.asked(state))
        jobs.panel(state, follow=True)
    with right:
        _truth(study, table, stored(table).nats)


def _truth(study: FilmStudy, table: FreshTableStudy, nats: Nats) -> None:
    """Both divergences, which no test knows, and the table that they were measured on."""
    st.markdown("**The truth, which no test knows**")
    for sentence in describe_nats(nats):
        st.markdown(sentence)
    st.caption(f"On the table's {table.n:,} simulations. {study.simulator.quasi}".strip())
    _open(study, table)


def _open(study: FilmStudy, table: FreshTableStudy) -> None:
    """A button that opens the table on My posterior; a table that is not there is drawn first."""
    pressed = st.button("Open in My posterior", key="open-trained", icon=":material/open_in_new:")
    asked = st.session_state.pop(_OPENING, "") == table.key or pressed
    if table.done(services().store):
        if asked:
            label = f"{study.recipe.label} on {study.simulator.title}"
            upload = _saved(study, table)
            recent.remember(LabelledTable(label, upload, (takeaway.table_name(study),)))
            st.switch_page("diagnose/page.py")
        return
    if asked:
        st.session_state[_OPENING] = table.key
    if pressed:
        jobs.ensure([table], table.label, start=True, again=True)
    jobs.panel(jobs.latest([table]))


def _saved(study: FilmStudy, table: FreshTableStudy) -> Upload:
    """The table, where workers and My posterior find it."""
    upload = _upload(table.key, table, study)
    tasks.register_upload(upload)
    tasks.save_upload(services().store, upload)
    return upload


@st.cache_resource(max_entries=4, show_spinner=False)
def _upload(key: str, _table: FreshTableStudy, _study: FilmStudy) -> Upload:
    return as_upload(stored(_table), _study.simulator)
