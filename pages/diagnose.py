"""My posterior: upload draws of an estimator and get a verdict, with how sure it is."""

import streamlit as st

from pages.components import diagnose_figures, jobs
from pages.components import diagnose_view as view
from pages.components.services import services
from validation_core import diagnosis
from validation_core.diagnosis import tasks
from validation_core.uploads import Upload


def diagnose(upload: Upload, alpha: float, seed: int) -> None:
    """Submit what is missing, and show what has answered."""
    tasks.hold(upload)
    tasks.keep(store, upload)
    answer = st.container()  # over the control that says what else to run
    methods = view.more_tests()
    maps = tasks.maps(upload, methods, seed)
    wanted = [*tasks.tasks(upload, methods, seed), *maps]
    state = jobs.ensure(wanted, f"Diagnose {upload.n:,} rows", start=True)
    records, pending = tasks.records(store, upload, methods, seed)
    found = diagnosis.verdict(records, upload, alpha=alpha, seed=seed, pending=pending)
    with answer:
        view.verdict(found)
        jobs.panel(state, follow=True)
        view.table(found)
    diagnose_figures.drawings(found, maps)
    if not pending:
        view.download(found)


store = services().store  # before there is a file: its workers warm up meanwhile
st.title("Is my posterior right?", anchor=False)
jobs.notices()
alpha, seed = view.levels((0.01, 0.05, 0.1))
upload = view.choose()
if upload is not None:
    view.what_was_read(upload)
    diagnose(upload, alpha, seed)
