"""The Symmetric divergence page under AppTest: choose, run, read, look inside, take away."""

import numpy as np
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from pages.divergence import figures
from pages.divergence.controls import MOST, unfinished
from tests.conftest import ROOT
from validation_core import engine
from validation_core.bayes import MODELS, GLMBinomial, HeartTransplants, Hospitals
from validation_core.bayes.algorithms import ALGORITHMS, possible
from validation_core.bayes.laplace import Laplace
from validation_core.symmetric_divergence import MS, Plan, Terms, figure, views
from validation_core.symmetric_divergence import importance_sample_size as own_m
from validation_core.symmetric_divergence.curves import rows
from validation_core.symmetric_divergence.lines import SCALE

PAGE = str(ROOT / "pages" / "divergence/page.py")
LAPLACE = ALGORITHMS["laplace"]


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(autouse=True)
def _fresh():
    st.cache_resource.clear()  # the store, and what was read of it
    yield
    st.cache_resource.clear()


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("divergence")


@pytest.fixture
def ran(cache, monkeypatch):
    """What an earlier test has run need not be run again: what is tested is how it is shown."""
    monkeypatch.setenv("NPTLAB_CACHE", str(cache))


@pytest.fixture
def page(page):
    """Heart transplants by Laplace, few data sets: seconds."""
    page.query_params.update(
        {"models": ["Heart transplants"], "inference": ["Laplace"], "iterations": "300",
         "datasets": "25"}
    )  # fmt: skip
    return page


def _texts(page):
    return " ".join(
        element.value
        for kind in (page.markdown, page.caption, page.warning, page.error, page.info)
        for element in kind
    )


def _charts(page):
    return page.get("bidi_component")


def _buttons(page):
    return [button.key for button in page.button]


def _terms(rng, plan, *, d=None, lost=()):
    """Made up terms of a plan, one curve's failures at some iterations."""
    result = {}
    for i in range(len(plan.models)):
        for j in range(len(plan.inferences)):
            values = rng.normal(1, 1, (len(plan.iterations), len(MS), plan.datasets))
            values = values if d is None else np.full(values.shape, d)
            failures = np.zeros(len(plan.iterations), np.int64)
            for at in lost:
                values[at, :, -3:] = np.nan
                failures[at] = 3
            done = np.ones(len(plan.iterations), bool)
            result[i, j] = Terms(values, done, failures, np.ones(len(plan.iterations)))
    return result


def _plan(**changes):
    usual = {"models": (HeartTransplants(), Hospitals()), "inferences": (LAPLACE,)}
    return Plan(**{**usual, "datasets": 50, **changes})


def test_the_first_panel_runs_by_itself(page):
    page.run()
    page.run()
    assert not page.exception
    assert page.title[0].value.endswith("?")
    assert len(_charts(page)) >= 3
    assert "run-divergence" not in _buttons(page)
    assert "If q were correct" in _texts(page)


def test_what_is_missing_is_run_at_a_press(page):
    page.run()
    page.multiselect(key="models").set_value(["heart_transplants", "concrete"]).run()
    assert "missing" in _texts(page)
    page.button(key="run-divergence").click().run()
    page.run()
    assert not page.exception
    assert "run-divergence" not in _buttons(page)


@pytest.mark.usefixtures("ran")
@pytest.mark.parametrize("view", ["each-m", "over-m"])
def test_the_other_views_are_drawn(page, view):
    page.session_state["divergence-view"] = view
    page.session_state["iterations"] = 300
    page.run()
    page.run()
    assert not page.exception
    assert figures.READ[view] in _texts(page)


@pytest.mark.usefixtures("ran")
def test_the_numbers_can_be_taken_away(page):
    page.session_state["divergence-numbers"] = True
    page.run()
    page.run()
    assert not page.exception
    value = page.dataframe[0].value
    assert list(value["Iterations"]) == [10, 30, 100, 300]
    assert (value["95% from"] < value["SKL, nats"]).all()
    page.selectbox(key="table-m").set_value(100).run()
    assert not page.exception
    assert not page.dataframe[0].value["SKL, nats"].equals(value["SKL, nats"])


@pytest.mark.usefixtures("ran")
@pytest.mark.parametrize("key", ["models", "inference"])
def test_nothing_chosen_is_no_error(page, key):
    page.run()
    page.multiselect(key=key).set_value([]).run()
    assert not page.exception
    assert "at least one model" in _texts(page)


@pytest.mark.usefixtures("ran")
def test_unknown_names_in_the_address_are_left_out():
    page = AppTest.from_file(PAGE, default_timeout=120)
    page.query_params.update(
        {"models": ["Heart transplants", "Nonsense"], "inference": ["Laplace", "x"],
         "iterations": "300", "datasets": "25", "one-model": "Nonsense", "weigh": "many",
         "first-k": "nan", "divergence-view": "?", "design": "none"}
    )  # fmt: skip
    page.run()
    assert not page.exception


@pytest.mark.usefixtures("ran")
def test_more_data_sets_than_there_are_begins_anew(page):
    page.run()
    page.select_slider(key="datasets").set_value(50).run()
    page.run()
    assert not page.exception
    assert _charts(page)


@pytest.mark.usefixtures("ran")
def test_a_picked_run_that_is_no_longer_there_gives_way(page):
    page.run()
    page.multiselect(key="inference").set_value(["laplace", "exact"]).run()
    page.selectbox(key="one-inference").set_value("exact").run()
    assert not page.exception
    page.multiselect(key="inference").set_value(["laplace"]).run()
    page.multiselect(key="models").set_value(["concrete"]).run()
    assert not page.exception
    assert page.selectbox(key="one-inference").value == "laplace"
    assert page.selectbox(key="one-model").value == "concrete"


@pytest.mark.usefixtures("ran")
def test_an_exact_posterior_is_not_asked_of_every_model(page):
    page.run()
    page.multiselect(key="inference").set_value(["exact"]).run()
    page.multiselect(key="models").set_value(["heart_transplants", "hospitals"]).run()
    assert not page.exception
    assert "closed form on Hospitals" in _texts(page)
    assert "run-divergence" not in _buttons(page)


def test_a_run_that_fails_says_so_and_the_others_go_on(page, monkeypatch):
    both, requests = Laplace.both, []

    def refuse(self, model, y, iterations, *more):
        requests.append(iterations)
        if iterations == 30:
            raise ValueError("This model needs *something* else; got this. Do that.")
        return both(self, model, y, iterations, *more)

    monkeypatch.setattr(Laplace, "both", refuse)
    page.run()
    page.run()
    page.run()
    assert not page.exception
    text = _texts(page)
    assert "30 iterations failed" in text
    assert r"\*something\*" in text
    assert requests.count(30) == 1  # and is not begun anew by itself
    assert "run-divergence" in _buttons(page)
    assert _charts(page)


def test_the_picked_run_is_watched_once(page, monkeypatch):
    """It is one of the figure's: its progress stands at one place, or Streamlit would refuse."""
    page.query_params["models"] = ["Hospitals"]
    page.query_params["iterations"] = "300"
    monkeypatch.setattr(engine.Engine, "_dispatch", lambda self: None)  # all of them wait
    page.run()
    page.run()
    assert not page.exception
    assert len([key for key in _buttons(page) if key.startswith("leave-")]) == 1
    assert "run-divergence" in _buttons(page)
    page.button(key="run-divergence").click().run()
    assert not page.exception
    assert "run-divergence" not in _buttons(page)
    assert len([key for key in _buttons(page) if key.startswith("leave-")]) == 2


@pytest.mark.usefixtures("ran")
def test_real_covariates_unless_a_stand_in_is_asked_for(page):
    page.run()
    assert "design" not in [control.key for control in page.button_group], "hearts have none"
    page.multiselect(key="models").set_value(["heart_transplants", "concrete"]).run()
    page.button(key="run-divergence").click().run()
    page.run()
    assert not page.exception
    assert "stand-in" not in _texts(page)
    page.session_state["design"] = "stand-in"
    page.run()
    assert not page.exception
    assert "run-divergence" in _buttons(page), "they are other runs"
    page.button(key="run-divergence").click().run()
    page.run()
    assert not page.exception
    assert "run-divergence" not in _buttons(page)


def test_curves_are_means_over_the_first_data_sets(rng):
    plan = _plan()
    terms = _terms(rng, plan)
    ((line,), _) = views.panels_along_iterations(plan, terms)
    assert line.first == (10, 25, 50)
    d = terms[0, 0].d
    np.testing.assert_allclose(line.numbers.mean[2, 1], d[:, 2, :25].mean(-1))
    spread = 1.96 * d[:, 0].std(-1, ddof=1) / np.sqrt(50)
    np.testing.assert_allclose(
        line.numbers.high[0, 2] - line.numbers.mean[0, 2], spread, rtol=1e-4
    )
    ((along,), _) = views.panels_along_m(plan, terms)
    np.testing.assert_allclose(along.numbers.mean[3, 2], d[3].mean(-1))


def test_iwvi_is_never_tested_with_less_than_it_was_trained_with(rng):
    plan = _plan(inferences=(LAPLACE, ALGORITHMS["iwvi"]))
    terms = _terms(rng, plan)
    (_, iwvi), _ = views.panels_along_iterations(plan, terms)
    own = MS.index(own_m(ALGORITHMS["iwvi"]))
    d = terms[0, 1].d
    np.testing.assert_allclose(iwvi.numbers.mean[0, -1], d[:, own].mean(-1))
    np.testing.assert_allclose(iwvi.numbers.mean[-1, -1], d[:, -1].mean(-1))


def test_training_with_m_is_tested_with_the_same(rng):
    plan = figure(3, (HeartTransplants(),), datasets=50)
    terms = _terms(rng, plan)
    ((weighted, trained),) = views.panels_along_m(plan, terms)
    for x, inference in enumerate(plan.inferences):
        at = MS.index(own_m(inference))
        assert trained.numbers.mean[0, -1, at] == terms[0, x].d[0, at].mean()
        assert weighted.numbers.mean[0, -1, at] == terms[0, 0].d[0, at].mean()
    assert np.isnan(trained.numbers.mean[0, -1, MS.index(100)]), "no q is trained with 100"
    assert not trained.gap.any()
    caption = views.panel_caption([weighted, trained], MS, "M", 0, 2)
    assert "are missing" not in caption


def test_a_curve_for_each_m_over_the_ways_to_make_q(rng):
    plan = figure(3, (HeartTransplants(),), datasets=50)
    plan = Plan(models=plan.models, inferences=(LAPLACE, *plan.inferences), datasets=50)
    assert [family.label for family in views.families(plan)] == ["Laplace", "VI", "IWVI"]
    terms = _terms(rng, plan)
    (lines,) = views.panels_for_each_m(plan, terms)
    assert [line.label for line in lines] == [f"M = {m}" for m in MS]
    ten = lines[MS.index(10)]
    at = MS.index(10)
    np.testing.assert_allclose(ten.numbers.mean[0, -1], terms[0, 0].d[:, at].mean(-1))
    np.testing.assert_allclose(ten.numbers.mean[1, -1], terms[0, 1].d[:, at].mean(-1))
    own = [own_m(inference) for inference in plan.inferences].index(10)
    np.testing.assert_allclose(ten.numbers.mean[2, -1], terms[0, own].d[:, at].mean(-1))
    assert not lines[-1].wanted[2].any()
    for view in ("each-m", "over-m"):
        message = str(views.payload(view, plan, terms).message((0.0, 50.0)))
        assert "are missing" not in message


def test_a_failure_is_a_gap_that_is_said(rng):
    plan = _plan()
    ((line,), _) = views.panels_along_iterations(plan, _terms(rng, plan, lost=(1,)))
    assert np.isnan(line.numbers.mean[0, 2, 1])
    assert np.isfinite(line.numbers.mean[0, 1, 1])  # it lies beyond the first 25
    caption = views.panel_caption([line], plan.iterations, "iterations", 0, 2)
    assert "No q, hence a gap: Laplace at 30 iterations (on 3 data sets)" in caption
    assert "gap" not in views.panel_caption([line], plan.iterations, "iterations", 0, 1)


def test_what_lies_below_zero_is_drawn_and_kept_in_the_table(rng):
    plan = _plan(models=(HeartTransplants(),))
    terms = _terms(rng, plan, d=-0.5)
    panels = views.panels_along_iterations(plan, terms)
    values = np.frombuffer(views.draw_view("iterations", plan, panels).body, "<f4")
    assert np.isfinite(values).all()
    assert np.isclose(values, SCALE.at(np.array(-0.5))).any()
    assert views.nats_axis(panels[0]).axis().limits[0] < SCALE.at(np.array(-0.5))
    assert {row["skl"] for row in rows(plan, terms)} == {-0.5}
    assert "−0.5 nats" in views.answer(["Heart"], panels, (0, 2, 0))


def test_the_median_nearest_to_0_is_named_among_several(rng):
    plan = _plan(inferences=(LAPLACE, ALGORITHMS["vi"]))
    terms = _terms(rng, plan, d=0.1)
    terms[0, 1].d[:] = -0.01
    (two, _) = views.panels_along_iterations(plan, terms)
    caption = views.panel_caption(two, plan.iterations, "iterations", 0, 2)
    assert "Median nearest to 0 at 30,000 iterations, of VI: −0.01 nats" in caption
    assert "nearest" not in views.panel_caption(two[:1], plan.iterations, "iterations", 0, 2)


def test_the_answer_names_the_furthest_first_and_claims_none_about_0(rng):
    plan = _plan(models=(HeartTransplants(),), inferences=(LAPLACE, ALGORITHMS["vi"]))
    terms = _terms(rng, plan, d=0.1)
    terms[0, 1].d[:] = 0
    (lines,) = views.panels_along_iterations(plan, terms)
    said = views.answer(["Heart"], [lines], (0, 2, 0))
    assert said.startswith("Laplace on Heart has the largest median, 0.1 nats (")
    assert said.endswith("Median nearest to 0: VI on Heart, 0 nats to rounding.")
    assert "Largest mean" not in said, "it is that of the largest median"
    terms[0, 0].d[..., ::2] = -0.1
    (lines,) = views.panels_along_iterations(plan, terms)
    said = views.answer(["Heart"], [lines], (0, 2, 0))
    assert said.startswith("no median is told from 0; ")
    assert "has the largest median, " in said


def test_the_answer_names_the_largest_mean_where_it_is_not_that_of_the_largest_median(rng):
    plan = _plan(models=(HeartTransplants(),), inferences=(LAPLACE, ALGORITHMS["vi"]))
    terms = _terms(rng, plan, d=0.1)
    terms[0, 1].d[:] = 0.05
    terms[0, 1].d[..., 3] = 1e4
    (lines,) = views.panels_along_iterations(plan, terms)
    said = views.answer(["Heart"], [lines], (0, 2, 0))
    assert said.startswith("Laplace on Heart has the largest median, 0.1 nats (")
    assert " Largest mean: VI on Heart, 200 nats, most of it from one data set. " in said


def test_runs_that_nobody_makes_are_missing_not_to_come(rng):
    plan = _plan()
    terms = _terms(rng, plan)
    terms[0, 0].done[-2:] = False
    lines = views.panels_along_iterations(plan, terms)[0]
    caption = views.panel_caption(lines, plan.iterations, "iterations", 0, 2)
    assert caption.endswith("2 of its 8 runs are missing.")


def test_one_data_set_that_carries_a_mean_is_named(rng):
    plan = _plan(models=(HeartTransplants(),))
    terms = _terms(rng, plan, d=0.1)
    terms[0, 0].d[..., 3] = 1e6
    ((line,),) = views.panels_along_iterations(plan, terms)
    caption = views.panel_caption([line], plan.iterations, "iterations", 0, 2)
    assert (
        "0.1 nats (95% interval 0.1 to 0.1; mean 20,000, most of it from one data set)" in caption
    )
    assert "Means beyond the axis: up to 20,000 nats (Laplace, 10 iterations)." in caption
    assert "one data set" in views.answer(["Heart"], [[line]], (0, 2, 0))
    axis = views.nats_axis([line]).axis()
    assert SCALE.at(np.array(0.1)) < axis.limits[1] < SCALE.at(np.array(10)), "it is not eaten"


def test_vi_that_could_go_on_is_said_to():
    assert unfinished(_plan()) == "", "Laplace has settled"
    vi = {"inferences": (ALGORITHMS["vi"],)}
    assert "after 3,000 iterations" in unfinished(_plan(iterations=(100, 3000), **vi))
    longest = {"iterations": (100, MOST[-1])}
    assert unfinished(_plan(**longest, models=(Hospitals(),), **vi)) == ""
    slow = {"models": (GLMBinomial(), HeartTransplants())}
    said = unfinished(_plan(**longest, **slow, **vi))
    assert "30,000 iterations on Peregrine falcons and Heart transplants," in said
    assert unfinished(_plan(**longest, **slow)) == "", "Laplace has settled"


def test_no_run_yet_is_an_empty_panel():
    plan = _plan()
    none = Terms(
        np.full((8, len(MS), 50), np.nan), np.zeros(8, bool), np.zeros(8, np.int64), np.zeros(8)
    )
    panels = views.panels_along_iterations(plan, {(0, 0): none, (1, 0): none})
    message = str(views.draw_view("iterations", plan, panels).message((1.0, 50.0)))
    assert "no run is there yet" in message
    assert "None of its runs is there yet" in message
    assert not rows(plan, {(0, 0): none})


def test_which_posteriors_are_known():
    exact = ALGORITHMS["exact"]
    known = {name for name, kind in MODELS.items() if possible(kind(), exact)}
    assert known == {"heart_transplants", "concrete"}
    assert all(possible(kind(), LAPLACE) for kind in MODELS.values())
