"""Lessons: nine questions, each to be predicted, revealed, broken and taken to one's own table."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import streamlit as st

from pages.ui import address, jobs, live, share, showing
from pages.ui.forms import choice
from pages.ui.services import services, stored
from validation_core import lessons
from validation_core.lessons import LESSONS, lecture
from validation_core.lessons.lesson import Lesson, Scored
from validation_core.lessons.study import LessonStudy


@address.fragment
def _show(study: LessonStudy[Any]) -> None:
    lesson = _lesson(study.key, study)
    payload = live.once(("lesson", study.key), lambda: lesson.payload)
    values = live.chart(payload, key=_slot(study.name), default=lesson.entered, url=lesson.url)
    _keep(lesson, values)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if not showing.presenting():
            _next(study)
        _predictions()
        onwards = lesson.onwards
        st.page_link(
            onwards.page,
            label=onwards.label,
            icon=":material/arrow_forward:",
            query_params=dict(onwards.query),
        )
        st.download_button(
            "Save as a file",
            data=lambda: lessons.lesson_html(lesson),
            file_name=f"{study.name}.html",
            mime="text/html",
            on_click="ignore",
            icon=":material/download:",
            help="One HTML file that runs without a server or a network.",
        )
        share.copy_link()


@st.cache_resource(show_spinner=False, max_entries=16)
def _lesson(key: str, _study: LessonStudy[Any]) -> Lesson:
    return lecture.with_notes(_study.lesson(stored(_study)), services().store)


def _slot(name: str) -> str:
    """The chart's key: a lesson that is chosen anew has a new chart, whatever it showed before."""
    return f"lesson-{name}-{st.session_state.get('lesson-turns', 0)}"


def _open(name: str | None = None) -> None:
    """Open a lesson at its question, its bars where this session's prediction left them.

    Args:
        name: of the lesson; by default the one that was just chosen.
    """
    if name is not None:
        st.session_state["lesson"] = name
    st.session_state["lesson-turns"] = st.session_state.get("lesson-turns", 0) + 1
    for each in st.session_state.get("lesson-sliders", ()):
        address.ask(each)
    _, said = _kept().get(st.session_state["lesson"], ((), {}))
    for each, value in said.items():
        address.ask(each, f"{value:.6g}")


def _next(study: LessonStudy[Any]) -> None:
    """The button to the next lesson; after the last, the link to the game."""
    following = [other for other in LESSONS.values() if other.number == study.number + 1]
    if not following:
        st.page_link("game/page.py", label="Next: name that defect", icon=":material/quiz:")
        return
    (other,) = following
    if st.button(
        f"Next lesson: {other.number} {other.short}",
        key="next-lesson",
        type="primary",
        help=other.title,
        on_click=_open,
        args=(other.name,),
    ):
        st.rerun(scope="app")


def _kept() -> dict[str, tuple[Sequence[Scored], dict[str, float]]]:
    """This session's predictions by lesson: as scored, and the sliders that hold them."""
    kept: dict[str, Any] = st.session_state.setdefault("lesson-predictions", {})
    return kept


def _keep(lesson: Lesson, values: Sequence[float]) -> None:
    st.session_state["lesson-sliders"] = lesson.url
    if scored := lesson.scored(values):
        at = dict(zip(lesson.url, values, strict=True))
        _kept()[lesson.name] = scored, dict(lesson.prediction.made(at))


def _predictions() -> None:
    """This session's predictions beside what was computed."""
    rows = [
        (study.number, row)
        for name, study in LESSONS.items()
        for row in _kept().get(name, ((), {}))[0]
    ]
    if not rows:
        return
    close = sum(row.close for _, row in rows)
    with st.popover(f"Predictions: {close} of {len(rows)} close", icon=":material/done_all:"):
        st.table(
            {
                "Lesson": [str(number) for number, _ in rows],
                "Asked": [row.asked for _, row in rows],
                "You said": [row.said for _, row in rows],
                "It is": [row.found for _, row in rows],
                "": ["close" if row.close else "" for _, row in rows],
            }
        )
        st.caption("Close: the right picture, or within 3% of the bar.")


live.one_screen(1.2)
with st.container(horizontal=True, vertical_alignment="center", gap="medium", key="named"):
    st.title("Lessons", anchor=False, width="content")
    name = choice(
        "Lesson",
        list(LESSONS),
        "lesson",
        words=lambda name: f"{LESSONS[name].number} {LESSONS[name].short}",
        draw=partial(st.pills, required=True),
        label_visibility="collapsed",
        on_change=_open,
    )
jobs.notices()
study = LESSONS[name]
if study.done(services().store):
    _show(study)
else:
    jobs.panel(jobs.ensure([study], study.label, start=True))
