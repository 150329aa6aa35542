"""The papers, item by item: what they define, claim, tabulate or draw, and where it is here."""

from functools import partial

import streamlit as st

from pages.papers import numbers, rows
from pages.ui import address, jobs, live
from pages.ui.forms import segmented, several, text_field
from validation_core.explorers.papers import STATES
from validation_core.published import PAPERS

VIEWS = {"items": "Items", "numbers": "Printed numbers"}
_CHOICES: dict[str, str] = {"all": "All papers"} | dict(PAPERS)


@address.fragment
def _items() -> None:
    """The rows, by paper, by state and by words that they contain."""
    with st.container(horizontal=True, vertical_alignment="center"):
        paper = segmented("Paper", _CHOICES, "paper", label_visibility="collapsed")
        states = several(
            "State",
            list(STATES),
            "state",
            words=STATES.__getitem__,
            draw=partial(st.pills, selection_mode="multi"),
            label_visibility="collapsed",
        )
        words = text_field(
            "Search", "find", placeholder="Search", width=180, label_visibility="collapsed"
        )
    rows.show([name for name in PAPERS if paper in ("all", name)], states or list(STATES), words)


live.one_screen(1.9)
st.title("The papers, item by item", anchor=False)
jobs.notices()
sheets = numbers.sheets()
counted = numbers.counts(sheets)
st.markdown(f"{rows.counts()}, and {counted}; where something is missing, it says why.")
if segmented("Show", VIEWS, "show", label_visibility="collapsed") == "items":
    _items()
else:
    numbers.show(sheets)
