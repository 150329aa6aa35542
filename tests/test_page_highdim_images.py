"""The images' view under AppTest: shipped or stored results at once, pictures while it learns."""

import re
import sys
from dataclasses import replace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.highdim import images
from pages.ui.services import services
from tests.picture_reading import Picture
from validation_core.benchmarks.images import Images
from validation_core.engine import Engine
from validation_core.explorers.highdim.images import pictures
from validation_core.explorers.highdim.images import study as highdim
from validation_core.explorers.highdim.images.study import ImagesStudy, draw_examples
from validation_core.store import Store

pytestmark = pytest.mark.usefixtures("_new_server")


def _page():
    from pages.highdim import images

    images.show()


class _Quick(ImagesStudy, spec="images_study_of_a_test"):
    """Little training, few trials, two gammas."""

    def recipe(self, *, conditional):
        return replace(super().recipe(conditional=conditional), train=64, epochs=2)


class _Two(Images, spec="images_of_a_test"):
    """Two gammas."""

    name = "images"

    @property
    def gammas(self):
        return (0.0, 0.45)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A study of little work, and its result."""
    study = _Quick(benchmark=_Two(), n=128, trials=2, seeds=1)
    return study, study.compute(Store(tmp_path_factory.mktemp("store")), lambda f, live: None)


def test_a_result_is_kept_and_read_back(small, tmp_path):
    study, scored = small
    study.keep(Store(tmp_path), scored)
    read = study.load(Store(tmp_path))
    np.testing.assert_array_equal(read.rejections, scored.rejections)
    np.testing.assert_array_equal(read.pictures.corrupted, scored.pictures.corrupted)
    assert read.pictures.labels == scored.pictures.labels


def test_examples_are_the_same_crops_at_every_gamma(small):
    study, scored = small
    shown = scored.pictures
    np.testing.assert_array_equal(shown.corrupted[0], shown.clean)
    assert (shown.difference[0] == 128).all()
    assert (shown.difference[1] != 128).any()
    away = shown.corrupted[1].astype(float) - shown.clean
    inside = (shown.difference[1] > 5) & (shown.difference[1] < 250)
    np.testing.assert_allclose(
        (shown.difference[1] - 127.5)[inside], shown.factor * away[inside], atol=shown.factor + 1
    )
    again = draw_examples(study)
    np.testing.assert_array_equal(again.corrupted, shown.corrupted)


def test_maps_and_ends_of_the_score(small):
    _, scored = small
    places = (32 - highdim.PATCH) // highdim.STRIDE + 1
    assert scored.hidden.shape == scored.repaired.shape == (2, places, places)
    assert not scored.repaired[0].any(), "at gamma 0 there is nothing to repair"
    assert scored.hidden[1].any()
    low, high = (scored.surest_rank[:, end].astype(float) for end in (0, 1))
    assert (low <= 0.1).all()
    assert (high >= 0.9).all()
    rejected, trials = highdim.pool_rejections(scored)
    assert rejected.shape == (2, 5, 2, 2)
    assert trials == 2
    assert (rejected <= trials).all()


@pytest.mark.parametrize("conditional", [True, False])
def test_pictures_travel_in_one_piece(small, conditional):
    study, scored = small
    payload = pictures.payload(study, scored, conditional=conditional)
    assert payload.sliders == ((0.0, 0.45),)
    assert len(payload.head) + len(payload.body) < 300_000
    assert "draw of q" in payload.head
    first = pictures.examples_payload(study, draw_examples(study))
    assert len(first.body) < len(payload.body)


def test_where_nothing_was_done_the_pictures_say_so(small):
    study, scored = small
    drawn = Picture(pictures.payload(study, scored, conditional=True))
    nothing = "At gamma = 0 nothing was done to q's images: there is nothing to show."
    none, done = drawn.texts(gamma=0), drawn.texts(gamma=1)
    assert nothing in none
    assert nothing not in done
    assert {"not corrupted: a draw of q", "what was done: nothing", "nothing was done"} <= none
    assert "corrupted: a draw of q" in done
    assert not any("the bluer" in text for text in none)


def test_what_stands_under_an_image_is_narrower_than_it(small):
    study, scored = small
    texts = Picture(pictures.payload(study, scored, conditional=True)).texts(gamma=0)
    assert any(re.fullmatch(r"<1%|\d+%", text) for text in texts)
    assert not any("·" in text for text in texts)


def test_the_numbers_are_those_of_the_curves(small):
    _, scored = small
    table = pictures.numbers(scored)
    assert len(table) == 2 * 5 * 2 * 2
    assert {row["Label"] for row in table} == {"seen", "not seen"}
    assert all(0 <= row["Power"] <= 1 for row in table)


def test_what_is_shipped_is_each_corruption_of_the_photographs():
    studies = highdim.shipped()
    assert [study.benchmark.corruption for study in studies] == ["blur", "swirl", "noise"]
    assert all(study.benchmark.source == "photographs" for study in studies)
    assert len({study.key for study in studies}) == 3


def test_the_page_draws_what_the_store_holds(small, monkeypatch):
    study, scored = small
    study.keep(services().store, scored)
    monkeypatch.setattr(ImagesStudy, "of", classmethod(lambda cls, benchmark, kind: study))
    page = AppTest.from_function(_page, default_timeout=60).run()
    assert not page.exception
    captions = " ".join(each.value for each in page.caption)
    assert "ten photographs" in captions
    assert "CIFAR-10" in captions
    assert "Inception V3" in captions


def test_while_it_learns_the_images_are_there(monkeypatch):
    asked = []

    def submit(engine, tasks, who, label=""):
        asked.append(tasks)

        class Waiting:
            def snapshot(self):
                return None

        return Waiting()

    monkeypatch.setattr(Engine, "submit", submit)
    drawn = []
    monkeypatch.setattr(images.live, "chart", lambda payload, **more: drawn.append(payload))
    page = AppTest.from_function(_page, default_timeout=60)
    page.session_state["corruption"] = "swirl"
    monkeypatch.setattr(
        ImagesStudy,
        "of",
        classmethod(lambda cls, benchmark, kind: cls(benchmark=benchmark, seed=7)),
    )
    page.run()
    assert not page.exception
    (tasks,) = asked
    assert tasks[0].benchmark.corruption == "swirl"
    (payload,) = drawn
    assert "appear once it has learnt" in payload.head


@pytest.mark.parametrize(
    ("setting", "words"),
    [({"images": "cifar10"}, "NPTLAB_CIFAR10"), ({"features": "inception"}, "torchvision")],
)
def test_what_is_not_here_says_how_to_get_it(monkeypatch, setting, words):
    monkeypatch.delenv("NPTLAB_CIFAR10", raising=False)
    monkeypatch.setitem(sys.modules, "torchvision", None)
    page = AppTest.from_function(_page, default_timeout=60)
    for name, value in setting.items():
        page.session_state[name] = value
    page.run()
    assert not page.exception
    assert words in page.info[0].value
    marks = [option for group in page.button_group for option in group.options if "(" in option]
    assert any("needs " in mark for mark in marks)
