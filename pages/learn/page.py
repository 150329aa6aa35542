"""Lessons: nine questions, each to be predicted, revealed, broken and taken to one's own table."""

import streamlit as st

from pages.ui import address, jobs, live, share
from pages.ui.forms import choice
from pages.ui.services import services, stored
from validation_core import lessons
from validation_core.lessons import LESSONS, Kind
from validation_core.lessons.lesson import Lesson


@address.fragment
def _show(kind: Kind) -> None:
    lesson = _lesson(kind)
    payload = live.once(("lesson", kind.study.key), lambda: lesson.payload)
    live.chart(payload, key=f"lesson-{kind.name}", default=lesson.entered, url=lesson.url)
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
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
            file_name=f"{kind.name}.html",
            mime="text/html",
            on_click="ignore",
            icon=":material/download:",
            help="One HTML file that runs without a server or a network.",
        )
        share.copy_link()


@st.cache_resource(show_spinner=False, max_entries=16)
def _cached(key: str, _kind: Kind) -> Lesson:
    return _kind.lesson(stored(key, _kind.study))


def _lesson(kind: Kind) -> Lesson:
    return _cached(kind.study.key, kind)


live.one_screen(1.2)
with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
    st.title("Lessons", anchor=False, width="content")
    name = choice(
        "Lesson",
        list(LESSONS),
        "lesson",
        words=lambda name: LESSONS[name].title,
        draw=st.pills,
        label_visibility="collapsed",
    )
jobs.notices()
kind = LESSONS[name]
if kind.study.done(services().store):
    _show(kind)
else:
    jobs.panel(jobs.ensure([kind.study], kind.study.label, start=True))
