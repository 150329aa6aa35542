"""What My posterior shows before there is a table: the finished diagnosis of a shipped one."""

import streamlit as st

from pages.diagnose import view
from pages.ui import charts
from pages.ui.jobs import plain
from pages.ui.services import services
from validation_core import diagnosis
from validation_core.diagnosis import questions, tasks
from validation_core.diagnosis.questions import example

_PICTURES = (("size", 0), ("in_theta", 1))
"""Of which questions, and which of their figures."""


def show(alpha: float) -> None:
    """Its verdict and two of its pictures, and the way to the whole."""
    store, upload = services().store, example.wrong()
    methods = diagnosis.with_further(())
    records, pending = tasks.records(store, upload, methods, example.SEED)
    answers = questions.answered(store, upload, methods, example.SEED)
    if pending or not all(name in answers for name, _ in _PICTURES):
        return
    verdict = diagnosis.verdict(records, upload, alpha=alpha, seed=example.SEED, pending=pending)
    st.divider()
    st.subheader(f"An example: {verdict.verdict}", anchor=False)
    st.caption("Until you bring a table: a regression's posterior, which is too narrow.")
    st.markdown(plain(view.answer(verdict, answers)))
    charts.side_by_side(
        "example", [answers[name].figures(verdict)[which] for name, which in _PICTURES]
    )
    st.button(
        "Open the whole diagnosis",
        key="open-example",
        icon=":material/open_in_full:",
        on_click=_open,
    )


def _open() -> None:
    st.session_state["source"] = "narrow"
