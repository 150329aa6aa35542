"""The verdict at a glance, and the look of the page around it."""

from collections.abc import Callable
from functools import cache
from typing import Any

import streamlit as st

from pages.diagnose.known import Known
from pages.ui.once import once
from validation_core.diagnosis.card import Card, diagnosis_card
from validation_core.diagnosis.questions import QUESTIONS, Answers, Asked
from validation_core.report import card

EXAMPLE = "example"
"""Key of the container of an example's diagnosis, hidden as soon as a file is chosen."""
_LOOK = """
.stMainBlockContainer { padding: 2rem 2.5rem 3rem; max-width: 76rem; }
.stMainBlockContainer h1 { padding-bottom: 0.7rem; }
.st-key-under-card { min-height: 5.4rem; }
[class*="st-key-line-"] summary p { display: -webkit-box; -webkit-box-orient: vertical;
  -webkit-line-clamp: 2; overflow: hidden; min-height: 2.7em; line-height: 1.35; }
[class*="st-key-line-"] details[open] summary p { -webkit-line-clamp: none; }
.stMainBlockContainer:has([data-testid="stFileChip"]) .st-key-example > * { display: none; }
.stMainBlockContainer:has([data-testid="stFileChip"]) .st-key-example::before {
  content: "Reading your file"; }
.npt-spark { display: block; width: 108px; height: 38px; margin-top: 0.5rem; }
@media (max-width: 640px) {
  .stMainBlockContainer { padding: 3.6rem 1rem 2rem; }
  [class*="st-key-line-"] summary p { -webkit-line-clamp: 3; min-height: 4.05em; }
  [class*="st-key-line-"] > div:has(.npt-spark) { display: none; }
}
"""
_FILL = """
export default function ({ data, parentElement }) {
  const place = parentElement.querySelector(".npt-place")
  if (place.dataset.shown !== data.html) {
    place.dataset.shown = data.html
    place.innerHTML = data.html
  }
}
"""


def style() -> str:
    """The style sheet of the page, once."""
    return f"<style>{_LOOK}</style>"


def show(known: Known, answers: Answers, asked: Asked) -> None:
    """The card with what has answered so far, of all that was asked."""
    name = f"card-{'-'.join(sorted(asked.running))}"
    html = known.once(
        name, lambda: card.html(diagnosis_card(known.diagnosis, answers, asked)), QUESTIONS
    )
    _draw(html)


def show_kept(name: str, kept: Card) -> None:
    """The card of a diagnosis that has ended, under a name of its own; no text is to come."""
    _draw(once(("kept card", name), lambda: f'<div class="npt-kept">{card.html(kept)}</div>'))


def _draw(html: str) -> None:
    """`report.card` escapes names chosen by a user; `st.markdown` would drop the drawing."""
    _component()(key="card", data={"html": html})


@cache
def _component() -> Callable[..., Any]:
    paper = ".npt-card { --paper: var(--st-background-color); color: var(--st-text-color); }"
    kept = ".npt-kept .npt-card :is(dd, .picture) { min-height: 0; }"
    return st.components.v2.component(
        "nptlab_card",
        html='<div class="npt-place"></div>\n',
        css=f"{card.css()}{paper} {kept} .npt-place:not(:has(.npt-kept)) {{ min-height: 30rem; }}",
        js=_FILL,
        isolate_styles=False,
    )
