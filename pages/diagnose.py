"""My posterior: is it right, where and how is it wrong, and what could have been missed?"""

import streamlit as st

from pages.components import diagnose_figures, diagnose_panels, jobs, takeaway
from pages.components import diagnose_source as source
from pages.components import diagnose_view as view
from pages.components.services import services
from validation_core import diagnosis, panels
from validation_core.diagnosis import tasks
from validation_core.uploads import Upload


def diagnose(upload: Upload, label: str, alpha: float, seed: int) -> None:
    """Submit what is missing, and show what has answered, in the order a reader asks."""
    tasks.hold(upload)
    tasks.keep(store, upload)
    top = st.container()  # over the control that says what else to run
    methods = view.more_tests()
    view.what_will_run(upload, methods)
    maps = tasks.maps(upload, methods, seed)
    asked = diagnose_panels.wanted(upload, methods, seed, long=False)
    wanted = [*tasks.tasks(upload, methods, seed), *maps, *asked]
    state = jobs.ensure(wanted, f"Diagnose {upload.n:,} rows", start=True)
    records, pending = tasks.records(store, upload, methods, seed)
    found = diagnosis.verdict(records, upload, alpha=alpha, seed=seed, pending=pending)
    answers = panels.answered(store, upload, methods, seed)
    with top:
        view.verdict(found, answers, working=state is not None and state.active)
        jobs.panel(state, follow=True)
        view.table(found)
    diagnose_panels.show(found, methods, answers, maps, state, label)
    diagnose_figures.one_by_one(found)
    if not pending:
        takeaway.section(found, answers, label)


store = services().store  # before there is a file: its workers warm up meanwhile
st.title("Is my posterior right?", anchor=False)
jobs.notices()
alpha, seed = view.level((0.01, 0.05, 0.1)), view.seed()
for label, upload in source.choose()[:1]:
    view.what_was_read(upload)
    diagnose(upload, label, alpha, seed)
