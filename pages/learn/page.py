"""Lessons: nine questions, each to be predicted, revealed, broken and taken to one's own table."""

from typing import Any

import streamlit as st

from pages.ui import address, jobs, live, share
from pages.ui.forms import choice
from pages.ui.services import services, stored
from validation_core import lessons
from validation_core.lessons import LESSONS
from validation_core.lessons.lesson import Lesson
from validation_core.lessons.study import LessonStudy


@address.fragment
def _show(study: LessonStudy[Any]) -> None:
    lesson = _lesson(study.key, study)
    payload = live.once(("lesson", study.key), lambda: lesson.payload)
    live.chart(payload, key=f"lesson-{study.name}", default=lesson.entered, url=lesson.url)
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
            file_name=f"{study.name}.html",
            mime="text/html",
            on_click="ignore",
            icon=":material/download:",
            help="One HTML file that runs without a server or a network.",
        )
        share.copy_link()


@st.cache_resource(show_spinner=False, max_entries=16)
def _lesson(key: str, _study: LessonStudy[Any]) -> Lesson:
    return _study.lesson(stored(key, _study))


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
study = LESSONS[name]
if study.done(services().store):
    _show(study)
else:
    jobs.panel(jobs.ensure([study], study.label, start=True))
