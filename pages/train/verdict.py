"""The whole diagnosis of the trained estimator, beside its true distance from the posterior."""

from dataclasses import replace

import streamlit as st

from pages.diagnose import card, known, rows
from pages.ui import address, jobs, recent
from pages.ui.services import services, stored
from validation_core import diagnosis
from validation_core.diagnosis import tasks
from validation_core.explorers.training.film import FilmStudy
from validation_core.explorers.training.fresh_table import FreshTableStudy
from validation_core.explorers.training.nats import Nats, describe_nats
from validation_core.tables import Upload

_LEVEL, _SEED = 0.05, 0


@address.fragment
def show(study: FilmStudy, *, begin: bool) -> None:
    """The verdict on fresh simulations where it was asked for; a button elsewhere.

    Args:
        study: of the estimator.
        begin: diagnose it unasked: it has just been trained here.
    """
    st.subheader("Do the tests see what is wrong?", anchor=False)
    table = FreshTableStudy(training=study.training, seed=study.seed)
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


def _verdict(study: FilmStudy, table: FreshTableStudy) -> None:
    """The card as on My posterior, and the truth beside it."""
    drawn, upload = stored(table), _upload(table.key, table, study)
    methods = diagnosis.default_methods()
    tasks.register_upload(upload)
    tasks.save_upload(services().store, upload)
    wanted = jobs.lacking(
        "trained",
        (upload.digest, methods),
        lambda: tasks.schedule_work(
            [*tasks.tasks(upload, methods, _SEED), *rows.wanted(upload, methods, _SEED)]
        ),
    )
    state = jobs.only("trained", wanted, f"Diagnose {upload.n:,} rows")
    answered = known.diagnose(upload, methods, _LEVEL, _SEED)
    left, right = st.columns([3, 1], gap="large")
    with left:
        card.show(answered, answered.answers(), rows.asked(state))
        jobs.panel(state, follow=True)
    with right:
        _truth(drawn.nats)
        if st.button("Open in My posterior", key="open-trained", icon=":material/open_in_new:"):
            recent.remember(f"{study.recipe.label} on {study.simulator.title}", upload)
            st.switch_page("diagnose/page.py")


def _truth(nats: Nats) -> None:
    """Both divergences, which no test knows."""
    st.markdown("**The truth, which no test knows**")
    for sentence in describe_nats(nats):
        st.markdown(sentence)


@st.cache_resource(max_entries=4, show_spinner=False)
def _upload(key: str, _table: FreshTableStudy, _study: FilmStudy) -> Upload:
    drawn = stored(_table)
    arrays = {"theta": drawn.theta, "x": drawn.x, "theta_q": drawn.q}
    return replace(Upload.of(arrays, order="NKD"), names=_study.simulator.names)
