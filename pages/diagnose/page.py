"""My posterior: is it right, where and how is it wrong, and what could have been missed?"""

import streamlit as st

from pages.diagnose import (
    card,
    files,
    how_read,
    known,
    mistakes,
    pixels,
    reliability,
    rows,
    source,
    stream,
    takeaway,
    view,
)
from pages.ui import jobs
from pages.ui.services import services
from validation_core.diagnosis import examples, tasks
from validation_core.diagnosis.questions import Asked
from validation_core.tables import LabelledTable, ProbabilitiesUpload
from validation_core.text import uncapitalise


def _diagnose(table: LabelledTable, alpha: float, seed: int) -> None:
    """Submit missing tasks, and show the results so far: the card, then a row per question."""
    upload = table.upload
    tasks.register_upload(upload)
    tasks.save_upload(store, upload)
    # The order on the page; a lower part is drawn first where an upper one needs its result.
    top, below, last = st.container(), st.container(), st.container()
    with (
        last,
        rows.row("tests", "Each test", "What every single test says, and more tests") as row,
    ):
        methods = view.more_tests(upload)
        each_test = st.container()
        if row.open:
            view.what_will_run(upload, methods)
    # CoLT's picture is worked out for who looks at it.
    mapped = rows.is_open("in_theta") or bool(upload.image)
    maps = tasks.maps(upload, methods, seed) if mapped else ()
    wanted = jobs.lacking(
        "diagnosis",
        (upload.digest, methods, seed, mapped),
        lambda: tasks.schedule_work(
            [*tasks.tasks(upload, methods, seed), *rows.wanted(upload, methods, seed), *maps]
        ),
    )
    state = jobs.only("diagnosis", wanted, f"Diagnose {table.label}")
    answered = known.diagnose(upload, methods, alpha, seed)
    answers = answered.answers()
    with top:
        card.show(answered, answers, rows.asked(state))
        with st.container(key="under-card"):
            jobs.panel(state, follow=True)
            if not answered.pending and (state is None or not state.active):
                takeaway.section(answered, answers, table)
    with below:
        begun = rows.show(answered, answers, maps, state, table.files)
        stream.show(upload, table.files, alpha, seed)
        pixels.show(upload, alpha, maps)
        reliability.discrete(upload, table.files, alpha, seed)
    if row.open:
        with each_test:
            view.each_test(answered.diagnosis)
    for state in begun:
        jobs.panel(state, follow=True)


store = services().store  # before there is a file: its workers warm up meanwhile
st.html(card.style())
st.title("Is my posterior right?", anchor=False)
jobs.notices()
alpha, seed = view.level(), view.seed()
chosen = source.choose()
source.say_lost()
about = ""
if not chosen and source.waits():
    about = f"Example: {uncapitalise(examples.ABOUT_WRONG)}"
    chosen = [LabelledTable("an example", examples.wrong())]
# Nothing of the example stays in sight once a file is chosen: it would seem to be about that file.
with st.container(key=card.EXAMPLE if about else "own-table"):
    for table in chosen[:1]:
        upload = table.upload
        if isinstance(upload, ProbabilitiesUpload):
            reliability.show(upload, table.files, alpha, seed)
            continue
        view.what_was_read(upload, about)
        if (stamp := files.stamp_of_table()) is not None:
            how_read.form(stamp, upload)
        decided = mistakes.as_decided(upload)
        view.remarks(decided)
        mistakes.offer(upload)
        if decided.unusable:  # no verdict of draws that are not those of the true values
            tasks.save_upload(store, upload)
            card.show(known.unasked(upload, alpha, seed), {}, Asked(frozenset()))
        else:
            _diagnose(table._replace(upload=decided), alpha, seed)
