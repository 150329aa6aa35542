"""The lecture: five scenes in 45 minutes, its documents, its one link, and its files."""

import re
from urllib.parse import parse_qs

import numpy as np
import pytest
import segno
from scipy.stats import norm

from pages.ui import story
from tests import page_links
from tests.conftest import ROOT
from tests.test_lessons import head
from validation_core.cli import main
from validation_core.lessons import LESSONS, lecture
from validation_core.lessons.could_you_have_seen_it import simulations_needed
from validation_core.store import Store


@pytest.fixture(scope="module")
def store():
    return Store.usual()


def test_five_scenes_take_45_minutes():
    assert len(lecture.SCENES) == 5
    assert sum(scene.minutes for scene in lecture.SCENES) + lecture.WRAP_UP == 45
    assert {scene.lesson for scene in lecture.SCENES} <= LESSONS.keys()


@pytest.mark.parametrize("name", ["notes.md", "exercises.md", "solutions.md"])
def test_the_documents_are_what_the_command_writes(name, tmp_path):
    """Make them anew by `python -m validation_core lecture --html docs/lecture`."""
    assert main(["lecture", "--html", str(tmp_path)]) == 0
    written = (tmp_path / name).read_text(encoding="utf-8")
    assert (ROOT / "docs" / "lecture" / name).read_text(encoding="utf-8") == written
    assert not re.search(r"\{\w+\}|nan", written)


def test_solutions_are_what_the_lessons_measured(store):
    first, second, third, fourth, fifth = (one.solution for one in lecture.exercises(store))
    same = LESSONS["same-or-different"].load(store)
    z = (same.observed[2, 10] - 0.5) / np.sqrt(1 / 800)
    assert f"= {z:.2f}, p = {norm.sf(z):.3f}" in first
    bags = LESSONS["bag-lottery"].load(store)
    ends = np.isin(bags.ranks[:, 2, 0], [0, 9]).sum()
    assert f"in the lesson's 200 bags {ends} of them, {ends / 200:.1%}" in second
    hits = (LESSONS["rain"].load(store).pvalues[6] <= 0.05).sum()
    assert f"{hits / 400:.1%}, " in third
    blind = LESSONS["blind-prior"].load(store).ranked.hits[0, 0, -1, 2]
    assert f"and {blind:.0f} is inside" in fourth
    rate = LESSONS["could-you-have-seen-it"].load(store).rejected.mean(-1)
    assert f"measured: {simulations_needed(rate)[0, 1]:,.0f}" in fifth


def test_a_lesson_of_the_lecture_carries_its_notes_and_others_none(store):
    for name, study in LESSONS.items():
        lesson = lecture.with_notes(study.lesson(study.load(store)), store)
        scenes = [scene for scene in lecture.SCENES if scene.lesson == name]
        notes = head(lesson.payload)["lesson"]["notes"]
        assert bool(notes) == bool(scenes)
        for scene in scenes:
            assert notes[0] == f"{scene.minutes} minutes. {scene.point}"
            assert notes[1:] == lecture.scene_notes(scene, store)


def test_the_page_has_one_link_through_the_scenes_and_a_code(monkeypatch):
    drawn = []
    make = segno.make
    monkeypatch.setattr(
        segno, "make", lambda link, **looks: drawn.append(link) or make(link, **looks)
    )
    page = page_links.opened("learn/lecture.py", {})
    assert not page.exception
    (start,) = page.get("link_button")
    path, _, query = start.proto.url.partition("?")
    settings = parse_qs(query, keep_blank_values=True)
    scenes = story.unpacked(settings["story"][0], ["lessons"])
    assert path == "lessons"
    assert "present" in settings
    assert [scene.query for scene in scenes] == [f"lesson={s.lesson}" for s in lecture.SCENES]
    assert len(drawn) == 1
    assert "?" not in drawn[0]
    shown = "\n".join(one.value for one in page.markdown)
    for exercise in lecture.exercises(Store.usual()):
        assert exercise.question in shown
        assert exercise.solution in shown


def test_the_scenes_are_one_file_that_asks_for_nothing(store):
    text = lecture.lecture_html(store)
    assert "default-src 'none'" in text
    assert not re.search(r"""(src|href)=["']?https?:|@import|fetch\(|import\(""", text)
    assert len(text) < 2_000_000
