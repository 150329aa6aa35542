"""My posterior: is it right, where and how is it wrong, and what could have been missed?"""

import streamlit as st

from pages.diagnose import figures, first, pixels, source, takeaway, view
from pages.diagnose import panels as diagnose_panels
from pages.ui import jobs
from pages.ui.services import services
from validation_core import diagnosis
from validation_core.diagnosis import questions, tasks
from validation_core.tables import Upload


def _diagnose(upload: Upload, label: str, alpha: float, seed: int) -> None:
    """Submit what is missing, and show what has answered, in the order a reader asks."""
    tasks.hold(upload)
    tasks.keep(store, upload)
    top = st.container()  # over the control that says what else to run
    methods = view.more_tests()
    view.what_will_run(upload, methods)
    maps = tasks.maps(upload, methods, seed)
    wanted = jobs.lacking(
        "diagnosis",
        (upload.digest, methods, seed),
        lambda: [
            *tasks.tasks(upload, methods, seed),
            *maps,
            *diagnose_panels.wanted(upload, methods, seed, long=False),
        ],
    )
    state = jobs.ensure(wanted, f"Diagnose {upload.n:,} rows", start=True)
    records, pending = tasks.records(store, upload, methods, seed)
    verdict = diagnosis.verdict(records, upload, alpha=alpha, seed=seed, pending=pending)
    answers = questions.answered(store, upload, methods, seed)
    with top:
        view.verdict(verdict, answers, working=state is not None and state.active)
        jobs.panel(state, follow=True)
        view.table(verdict)
    pixels.show(upload, alpha, maps)
    diagnose_panels.show(verdict, methods, answers, maps, state, label)
    figures.one_by_one(verdict)
    if not pending:
        takeaway.section(verdict, answers, label)


store = services().store  # before there is a file: its workers warm up meanwhile
st.title("Is my posterior right?", anchor=False)
jobs.notices()
alpha, seed = view.level((0.01, 0.05, 0.1)), view.seed()
chosen = source.choose()
for label, upload in chosen[:1]:
    view.what_was_read(upload)
    _diagnose(upload, label, alpha, seed)
if not chosen and not st.session_state.get("file"):
    first.show(alpha)
