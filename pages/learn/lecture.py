"""A lecture of 45 minutes: five scenes by one link, notes, exercises and solutions."""

from collections.abc import Callable
from functools import partial

import streamlit as st

from pages.ui import jobs, live, share, story
from pages.ui.services import services
from validation_core import Store
from validation_core.lessons import LESSONS, lecture


@st.cache_data(show_spinner=False, max_entries=8)
def _text(name: str, _write: Callable[[Store], str]) -> str:
    return _write(services().store)


def _link() -> str:
    """The lecture in present mode, relative to this page."""
    scenes = [
        story.StoryScene("lessons", f"lesson={scene.lesson}", LESSONS[scene.lesson].title)
        for scene in lecture.SCENES
    ]
    return f"lessons?{story.story_query(scenes)}"


def _save(label: str, name: str, data: Callable[[], str], mime: str) -> None:
    st.download_button(
        label,
        data=data,
        file_name=name,
        mime=mime,
        on_click="ignore",
        icon=":material/download:",
        key=f"save-{name}",
    )


def _timetable() -> None:
    at, rows = 0, []
    for scene in lecture.SCENES:
        study = LESSONS[scene.lesson]
        rows.append((f"{at}–{at + scene.minutes}", study.title, scene.point))
        at += scene.minutes
    rows.append((f"{at}–{at + lecture.WRAP_UP}", "Exercises", "The sheet, and this page's code."))
    minutes, titles, points = zip(*rows, strict=True)
    st.table({"Minute": minutes, "Scene": titles, "To take home": points})


def _documents() -> None:
    documents = (
        ("Exercises", "exercises.md", lecture.exercises_markdown),
        ("Solutions", "solutions.md", lecture.solutions_markdown),
        ("Notes for the lecturer", "notes.md", lecture.notes_markdown),
    )
    for label, name, write in documents:
        text = _text(name, write)
        with st.expander(label):
            st.markdown(text.partition("\n")[2].replace("\n## ", "\n#### "))
            _save("Save as Markdown", name, partial(str, text), "text/markdown")


live.one_screen(1.4)
st.title("A lecture in 45 minutes", anchor=False)
jobs.notices()
missing = [
    LESSONS[scene.lesson]
    for scene in lecture.SCENES
    if not LESSONS[scene.lesson].done(services().store)
]
if missing:
    jobs.panel(jobs.ensure(missing, "Lecture", start=True))
    st.stop()
left, right = st.columns([3, 1], gap="large")
with left:
    st.markdown(
        f"**{lecture.TITLE}** Five lessons that the audience predicts before you show them. Arrow "
        "keys turn the scenes, **N** shows your notes."
    )
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.link_button("Start", _link(), type="primary", icon=":material/co_present:")
        _save(
            "Save as a file",
            "lecture.html",
            partial(lecture.lecture_html, services().store),
            "text/html",
        )
        share.copy_link()
    _timetable()
with right:
    code, words = share.code(share.absolute("")), "This page: scenes, exercises, solutions."
    st.image(code, width=220, caption=words, alt="QR code of this page")
_documents()
