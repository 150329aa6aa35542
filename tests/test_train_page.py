"""The page Train an estimator under AppTest: choose, train, look, diagnose."""

import json
from dataclasses import replace
from itertools import product

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from pages.ui.services import services
from tests.conftest import ROOT, leave_waiting
from validation_core.benchmarks.trained import Trained
from validation_core.estimators import ESTIMATORS
from validation_core.explorers.training.film import FilmStudy, examples, shipped
from validation_core.explorers.training.found_verdict import FoundVerdictStudy
from validation_core.explorers.training.fresh_table import FreshTableStudy
from validation_core.explorers.training.learning_curve import (
    ErrorAt,
    learning_curves,
    payload,
    sentence,
)
from validation_core.explorers.training.mended import MendedNatsStudy, describe_mend
from validation_core.explorers.training.nats import Nats, describe_nats, nats_line
from validation_core.explorers.training.pictures import panels
from validation_core.explorers.training.scoreboard import Scoreboard
from validation_core.simulators import SIMULATORS, GaussianLinear
from validation_core.statistics.areas import Estimate
from validation_core.store import Store
from validation_core.text import interval_text

PAGE = str(ROOT / "pages" / "train/page.py")
QUERY = {
    "task": "gaussian_linear",
    "gaussian_linear-dimensions": "2",
    "estimator": "maf",
    "simulations": "100",
    "maf-100-epochs": "3",
    "maf-100-hidden": "8",
}
STUDY = FilmStudy(
    simulator=GaussianLinear(dimensions=2),
    recipe=replace(ESTIMATORS["maf"]().for_simulations(100), epochs=3, hidden=8),
)


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("train")


@pytest.fixture(autouse=True)
def _kept(cache, monkeypatch):
    """One store for all tests, and an engine that leaves work waiting."""
    monkeypatch.setenv("NPTLAB_CACHE", str(cache))
    leave_waiting(monkeypatch)
    st.cache_resource.clear()
    yield
    st.cache_resource.clear()


def opened(query=QUERY):
    page = AppTest.from_file(PAGE, default_timeout=120)
    page.query_params.update(query)
    return page.run()


def words(page):
    return " ".join(each.value for kind in (page.markdown, page.caption) for each in kind)


def ran(study):
    study.run(services().store, lambda fraction, live: None)
    return study.load(services().store)


def test_a_training_is_chosen_by_its_link_started_and_then_shown():
    page = opened()
    assert not page.exception
    assert len(page.get("bidi_component")) == 1  # the exact posterior that it is to learn
    press = next(button for button in page.button if button.label.startswith("Train"))
    assert "about" in press.label
    assert "a mean of 2 dimensions" in words(page)
    press.click().run()
    assert not page.exception
    (job,) = services().engine.jobs()
    assert job.tasks == (STUDY,)
    assert not page.get("bidi_component")

    ran(STUDY)
    page = opened()
    assert not page.exception
    assert len(page.get("bidi_component")) == 1
    assert not [button for button in page.button if button.label.startswith("Train")]

    (diagnose,) = (button for button in page.button if button.label.startswith("Diagnose"))
    diagnose.click().run()
    table = FreshTableStudy(training=STUDY.training)
    assert table in services().engine.jobs()[0].tasks
    nats = ran(table).nats
    page = opened()
    assert not page.exception
    assert all(sentence in words(page) for sentence in describe_nats(nats))
    assert len(page.get("bidi_component")) == 2  # the film and the card
    assert any("My posterior" in button.label for button in page.button)
    assert page.get("download_button")
    page.button(key="mend-trained").click().run()
    assert any("mend" in job.label for job in services().engine.jobs())


def test_an_example_sets_every_control_to_its_own_training():
    page = opened({"seed": "3"})
    for name, study in examples().items():
        page.button(key=f"example-{name}").click().run()
        assert not page.exception
        found = FoundVerdictStudy(training=study.training).load(services().store)
        mend = MendedNatsStudy(training=study.training)
        kept = mend.load(services().store)
        for said in (*describe_nats(found.nats), *describe_mend(kept, mend.pairs)):
            assert said in words(page), name
        assert (study.simulator.quasi in words(page)) or not study.simulator.quasi


def test_an_example_opens_where_it_shows_most_whatever_stood_there():
    """Options of its task are its own; it opens at the network that is kept."""
    page = opened({"task": "gaussian_linear", "gaussian_linear-dimensions": "2"})
    page.button(key="example-Overfitting").click().run()
    assert not page.exception
    assert not [button for button in page.button if button.key == "train"]
    assert "of epoch 60, the last" in words(page)
    assert words(page).count("not those of the network above") == 2
    assert "not those of the network above" not in words(opened({}))


def test_what_more_simulations_are_worth_is_drawn_for_every_task():
    for simulator in SIMULATORS.values():
        curves = learning_curves(simulator(), services().store)
        page = opened({"task": simulator.name, "estimator": "ensemble"})
        assert not page.exception
        headings = [part.value for part in page.subheader]
        assert ("Would more simulations help?" in headings) == bool(curves)
        if curves:
            assert {len(errors) for errors in curves.values()} == {5}
            for name, errors in curves.items():
                said = sentence(curves, name)
                assert ESTIMATORS[name].title in said
                for one in (errors[0], errors[-1]):
                    assert f"{interval_text(one.nats)} nats with {one.simulations:,}" in said


def test_beside_the_nearest_estimator_are_named_those_not_told_from_it():
    """The diffusion's interval overlaps the spline flow's; its difference is 2.8 errors."""
    near, far, between, alike = (
        [ErrorAt(400, (Estimate(value, 0.01),) * 3)] for value in (0.1, 0.2, 0.139, 0.11)
    )
    curves = {"nsf": near, "maf": far, "diffusion": between}
    nearest = "3 trainings each, the nearest to p is: Neural spline flow, 0.10 [0.08, 0.12]."
    assert sentence(curves, "maf").endswith(nearest)
    said = sentence({**curves, "flow_matching": alike}, "maf")
    assert said.endswith(f"{nearest} Not told from it: Flow matching, 0.11 [0.09, 0.13].")


def test_an_error_that_is_estimated_below_0_is_explained_wherever_it_stands(tmp_path):
    store, board = Store(tmp_path), Scoreboard(benchmark=Trained(estimator="diffusion"), sizes=())
    few, *_, most = board.gammas
    below, above = Estimate(-0.01, 0.01), Estimate(0.4, 0.01)
    for gamma, seed in product((few, most), board.seeds):
        nats = Nats(below if gamma == most else above, above, 0.0)
        board.nats(gamma, seed).keep(store, nats)
    said = "KL is never below 0; an estimate of it can be, by chance."
    assert said in describe_nats(Nats(below, above, 0.0))
    assert said in describe_nats(Nats(above, below, 0.1))
    assert said not in describe_nats(Nats(above, above, 0.1))
    assert said in nats_line(board.benchmark, (few, most), store)
    assert said not in nats_line(board.benchmark, (few,), store)
    for curves, shown in (
        (learning_curves(board.benchmark.simulator, store), True),
        ({"nsf": [ErrorAt(400, (above,) * 3)]}, False),
    ):
        drawn = json.loads(payload(curves, "nsf").head)
        assert (said in str(drawn["panels"])) == shown
    for study in shipped():
        film = study.load(services().store)
        kl = next(one for one in panels(film, study.simulator) if one.title == "KL(p‖q), nats")
        for frame, caption in enumerate(kl.caption.values):
            assert (said in caption) == (film.ratios[frame].astype(float).mean() < 0)


def test_the_error_of_several_trainings_reaches_over_all_of_them():
    each = tuple(Estimate(value, 0.01) for value in (0.4, 0.5, 0.9))
    assert interval_text(ErrorAt(400, each).nats) == "0.60 [0.38, 0.92]"


def test_the_table_of_a_verdict_that_ships_is_drawn_to_be_opened_or_saved():
    (study, *_) = examples().values()
    table = FreshTableStudy(training=study.training)
    for key in ("open-trained", "draw-trained-table"):
        page = opened({})
        page.button(key=key).click().run()
        assert not page.exception
        (job,) = services().engine.jobs()
        assert job.tasks == (table,)
        assert "draw-trained-table" not in [button.key for button in page.button]
        services().engine.cancel(job.key)
        st.cache_resource.clear()


def test_what_a_link_asks_and_no_estimator_has_is_said():
    page = opened({**QUERY, "estimator": "tarot", "simulations": "-4", "maf-100-epochs": "x"})
    assert not page.exception
    assert "tarot" in words(page)


def test_a_first_visit_shows_a_film_its_verdict_and_its_mend_without_a_button():
    page = opened({})
    assert not page.exception
    # the film, the card, the learning curve and the scoreboard
    assert len(page.get("bidi_component")) == 4
    labels = [button.label for button in page.button]
    assert not [label for label in labels if label.startswith(("Train", "Diagnose", "Mend"))]
    assert not services().engine.jobs()
    assert all(study.done(services().store) for study in examples().values())


@pytest.mark.parametrize(
    ("task", "estimator"), [("gaussian_linear_uniform", "maf"), ("two_moons", "ensemble")]
)
def test_what_has_no_scoreboard_is_said(task, estimator):
    page = opened({"task": task, "estimator": estimator})
    assert not page.exception
    assert "Which test finds it first?" in [part.value for part in page.subheader]
    (said,) = [part.value for part in page.caption if part.value.startswith("Not counted for")]
    counted = said.split("Counted were")[1]
    assert "Two moons" in counted
    assert (ESTIMATORS[estimator].title in counted) == (estimator == "maf")


def test_what_is_not_trained_here_yet_has_its_curve_and_scoreboard():
    page = opened({"estimator": "diffusion"})
    assert not page.exception
    assert [button for button in page.button if button.label.startswith("Train")]
    headings = ["Would more simulations help?", "Which test finds it first?"]
    assert [part.value for part in page.subheader] == headings
    assert len(page.get("bidi_component")) == 3  # with the exact posterior
