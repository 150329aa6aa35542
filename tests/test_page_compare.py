"""The Compare page under AppTest: choose, see the price, run, look, take away, be advised."""

import json
import re
from dataclasses import replace

import pytest
import streamlit as st

from pages.compare import numbers
from pages.compare.controls import CompareChoice
from pages.ui.services import services
from tests.conftest import ROOT
from tests.picture_reading import Picture
from validation_core.benchmarks import BayesModel, Digits, Gaussian
from validation_core.methods import C2ST, METHODS, SBC
from validation_core.panels import power as curves
from validation_core.scores import classifier
from validation_core.scores.classifier import Classifier, TableClassifier
from validation_core.sweep import presets as comparisons
from validation_core.sweep import progress
from validation_core.sweep.plan import Sweep
from validation_core.sweep.trials import TrialDesign
from validation_core.types import PowerCell

PAGE = str(ROOT / "pages" / "compare/page.py")
QUICK = classifier.Classifier(train=200, epochs=3, hidden=16)


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    """Small networks: what is tested here is the page."""
    monkeypatch.setitem(classifier.PRESETS, "interactive", QUICK)
    st.cache_resource.clear()  # the store, and what was read of it
    yield
    st.cache_resource.clear()


@pytest.fixture
def own(page):
    """A small comparison of one's own."""
    page.query_params["comparison"] = "A comparison of my own"
    page.run()
    page.multiselect(key="methods").set_value(["sbc", "c2st"]).run()
    page.select_slider(key="n").set_value(100)
    page.select_slider(key="k").set_value(10)
    page.selectbox(key="perturbation").set_value("mean_shift")
    page.select_slider(key="trials-own").set_value(20).run()
    return page


def _texts(page):
    return " ".join(
        element.value for kind in (page.markdown, page.caption, page.warning, page.error)
        for element in kind
    )  # fmt: skip


def _charts(page):
    return page.get("bidi_component")


def test_it_opens_on_a_figure_of_a_paper(page):
    page.run()
    assert not page.exception
    assert page.selectbox(key="comparison").value == comparisons.figures()[0].name
    budgets = page.dataframe[0].value
    assert list(budgets["Test"])[:2] == ["C2ST", "Multiple"]
    assert list(budgets["Draws from p"])[2] == 50_000
    # The gallery brings it: there is nothing to run, and everything to see.
    assert list(budgets["Trials run"]) == [1] * 11
    assert _charts(page)
    assert not [button for button in page.button if button.key == "run-compare"]


def test_what_opens_without_a_curve_is_marked(page):
    page.run()
    marked = [name.endswith(" (not yet run)") for name in page.selectbox(key="comparison").options]
    known = [*comparisons.figures(), *comparisons.demonstrations()]
    stored = {one.name for one in comparisons.everything()}
    assert marked == [one.name not in stored for one in known] + [False]


def test_reasons_and_prices_are_of_the_headlines_gamma(page):
    page.run()
    (why,) = re.findall(r"Why the tests disagree\.\*\* At (gamma = [\d.]+),", _texts(page))
    assert f"At {why}, q is rejected" in _texts(page)
    read = "C2ST, Multiple and Uniform read a classifier trained on 1,000 draws a side."
    assert read in _texts(page)
    chosen = comparisons.figures()[0].sweep
    found = progress.collect(chosen, services().store)
    assert f"gamma = {curves.cost(chosen, found, 'draws').start[0]:g}" == why


def test_without_a_strength_none_is_said(page):
    page.query_params["comparison"] = "blind"
    page.run()
    assert "gamma" not in _texts(page).split("Draws that one test uses up")[0]


def test_a_comparison_trains_on_as_many_draws_as_the_page_conformal_c2st(own):
    """Whatever the two pages say of one setting can be asked of either with the other's size."""
    own.segmented_control(key="preset").set_value("many").run()
    own.button(key="run-compare").click().run()
    own.run()
    assert not own.exception
    assert "a classifier trained on 48,000 draws a side." in _texts(own)


def test_the_price_comes_before_the_run(own):
    assert not own.exception
    assert not _charts(own)
    said = _texts(own)
    assert "Not computed yet: about " in said
    assert "first picture" in said
    assert "GB of memory" in said
    assert list(own.dataframe[0].value["Trials run"]) == [0, 0]


def test_run_look_and_take_away(own):
    own.button(key="run-compare").click().run()
    own.run()
    assert not own.exception
    assert _charts(own)
    assert "q is rejected in" in _texts(own)
    assert list(own.dataframe[0].value["Trials run"]) == [1, 1]
    assert not [b for b in own.button if b.key == "run-compare"]
    for view in ("draws", "seconds"):
        own.session_state["curves"] = view
        own.run()
        assert not own.exception
        assert _charts(own)
    own.button(key="run-look").click().run()
    own.run()
    assert not own.exception
    assert own.get("plotly_chart")


@pytest.mark.parametrize("one", comparisons.figures(), ids=lambda one: one.name)
def test_every_figure_can_be_chosen(page, one):
    page.query_params["comparison"] = one.title
    page.run()
    assert not page.exception
    assert len(page.dataframe[0].value) == len(one.sweep.methods)


def test_a_demonstration_runs_at_a_press(page, monkeypatch):
    small = [
        one._replace(sweep=replace(
            one.sweep, methods=(SBC(),), design=TrialDesign(trials=20, n=100, k=10)
        )) for one in comparisons.demonstrations()
    ]  # fmt: skip
    monkeypatch.setattr(comparisons, "demonstrations", lambda trials=100: small)
    page.session_state["compare-view"] = "why"
    page.run()
    assert not page.exception
    page.button(key="demo-blind").click().run()
    assert not page.exception
    assert page.selectbox(key="comparison").value == "blind"
    assert _charts(page)


def test_the_advisor_answers(page):
    page.session_state["compare-view"] = "advice"
    page.run()
    assert not page.exception
    assert "Within x" in _texts(page)
    page.number_input(key="more").set_value(50_000).run()
    assert "Uniform(50)" in _texts(page)
    page.session_state["want"] = "place"
    page.run()
    assert "CoLT" in _texts(page)


def test_no_method_is_no_error(own):
    own.multiselect(key="methods").set_value([]).run()
    assert not own.exception
    assert any("at least one method" in info.value for info in own.info)


@pytest.fixture
def bayes(page):
    """A small comparison on a Bayesian model."""
    page.query_params["comparison"] = "A comparison of my own"
    page.run()
    page.selectbox(key="benchmark").set_value("bayes_model").run()
    page.multiselect(key="methods").set_value(["sbc", "skl"]).run()
    page.select_slider(key="n").set_value(100)
    page.select_slider(key="k").set_value(10)
    page.select_slider(key="trials-own").set_value(20).run()
    return page


def test_a_bayesian_model_is_compared_along_iterations(bayes):
    assert not bayes.exception
    assert bayes.selectbox(key="bayes-model").value == "heart_transplants"
    grid = bayes.multiselect(key="gammas-bayes_model")
    assert grid.label == "Iterations"
    assert list(grid.value) == [10, 30, 100, 300, 1000, 3000]
    grid.set_value([30, 300]).run()
    bayes.button(key="run-compare").click().run()
    bayes.run()
    assert not bayes.exception
    assert _charts(bayes)
    assert "At 300 iterations, " in _texts(bayes)
    assert "gamma =" not in _texts(bayes)


def test_a_trained_estimator_is_compared_along_its_own_counts(own):
    own.selectbox(key="benchmark").set_value("trained").run()
    own.multiselect(key="methods").set_value(["sbc", "skl"]).run()
    assert not own.exception
    grid = own.multiselect(key="gammas-trained-simulations")
    assert (grid.label, list(grid.value)) == ("Simulations", [400, 1000, 2000, 10_000, 100_000])
    assert "KL(p‖q) in nats: after 400 simulations" in _texts(own)
    own.selectbox(key="benchmark-trained-estimator").set_value("maf")
    own.number_input(key="benchmark-trained-simulations").set_value(60)
    own.selectbox(key="benchmark-trained-along").set_value("epochs").run()
    grid = own.multiselect(key="gammas-trained-epochs")
    assert grid.label == "Epochs"
    grid.set_value([1, 2]).run()
    own.button(key="run-compare").click().run()
    own.run()
    assert not own.exception
    assert _charts(own)
    assert re.search("At [12] epochs", _texts(own))
    assert "gamma =" not in _texts(own)


def test_exact_is_offered_where_there_is_one(bayes):
    names = bayes.selectbox(key="bayes-inference-heart_transplants").options
    assert "Exact posterior" in names
    bayes.selectbox(key="bayes-model").set_value("hospitals").run()
    assert "Exact posterior" not in bayes.selectbox(key="bayes-inference-hospitals").options
    bayes.selectbox(key="bayes-inference-hospitals").set_value("iwvi").run()
    bayes.number_input(key="bayes-m").set_value(5).run()
    assert not bayes.exception
    for model in ("glm_binomial", "ionosphere", "concrete"):
        bayes.selectbox(key="bayes-model").set_value(model).run()
        assert not bayes.exception
    assert "stand-in" not in _texts(bayes)
    bayes.session_state["design"] = "stand-in"
    bayes.run()
    assert not bayes.exception
    assert "Concrete, stand-in covariates" in _texts(bayes)
    bayes.selectbox(key="bayes-inference-concrete").set_value("exact").run()
    assert not bayes.exception
    assert "gammas-bayes_model" not in [one.key for one in bayes.multiselect]


def test_iterations_are_drawn_by_their_logarithm():
    wanted = Sweep(
        benchmark=BayesModel(), methods=(SBC(),), gammas=(10.0, 100.0, 1000.0),
        design=TrialDesign(trials=100, n=100, k=10),
    )  # fmt: skip
    cells = [_cell("SBC", gamma, 50) for gamma in wanted.gammas]
    found = progress.Progress(cells, {"SBC": 300}, 300, {"SBC": 0.0}, {})
    (panel,) = json.loads(curves.compare(wanted, found).head)["panels"]
    assert panel["x"]["ticks"] == [1, 2, 3]
    assert panel["x"]["shown"] == ["10", "100", "1000"]
    assert panel["x"]["label"] == "iterations"


def test_a_method_that_fails_says_so_and_the_other_goes_on(own, monkeypatch):
    def refuse(self, scores, rng):
        raise ValueError("This test needs something else; got this. Do that.")

    monkeypatch.setattr(C2ST, "test", refuse)
    own.button(key="run-compare").click().run()
    own.run()
    assert not own.exception
    assert any("C2ST failed" in error.value for error in own.error)
    assert list(own.dataframe[0].value["Trials run"]) == [1, 0]


def _chosen(cells=(), **changes):
    wanted = Sweep(
        benchmark=Gaussian(), methods=(SBC(), C2ST()), gammas=Gaussian().gammas,
        design=TrialDesign(trials=100), **changes,
    )  # fmt: skip
    counts = {method.label: 0 for method in wanted.methods}
    return CompareChoice(wanted, None), progress.Progress(list(cells), counts, 1, counts, {})


def _cell(label, gamma, rejections, trials=100):
    return PowerCell(
        benchmark="b", method=label.lower(), options={"m": 3}, gamma=gamma, beta=0.0,
        trials=trials, rejections=rejections, alpha=0.05, protocol="pooled", draws_p=10_000,
        draws_q=10_000, seconds=2.0, label=label, statistic=0.1, statistic_low=0.0,
        statistic_high=0.2,
    )  # fmt: skip


def test_a_broken_level_is_marked():
    fine, bad = _cell("SBC", 0.0, 8), _cell("C2ST", 0.0, 30)
    assert comparisons.broken(Gaussian(), [fine, bad, _cell("SBC", 0.3, 90)]) == [bad]
    chosen, found = _chosen([fine, bad, _cell("SBC", 0.3, 90)])
    marked = curves.compare(chosen.sweep, found).message((0.0,))
    assert "level broken" in str(marked)
    _, honest = _chosen([fine])
    assert "level broken" not in str(curves.compare(chosen.sweep, honest).message((0.0,)))


def test_an_honest_test_is_seldom_marked():
    """The bound is a binomial one: 13 of 100 may happen, 14 in fewer than one of a thousand."""
    assert not comparisons.broken(Gaussian(), [_cell("SBC", 0.0, 12)])
    assert comparisons.broken(Gaussian(), [_cell("SBC", 0.0, 16)])


def test_the_answer_has_its_numbers():
    chosen, found = _chosen([_cell("SBC", 0.3, 20), _cell("C2ST", 0.3, 80)])
    said = curves.answer(chosen.sweep, found)
    assert "q is rejected in 80% [71, 87] of 100 trials by C2ST and in 20% by SBC." in said
    assert "a classifier trained on 1,000 draws a side." in said
    alone = replace(chosen.sweep, methods=(SBC(),))
    assert "trained on" not in curves.answer(alone, found)
    tables = replace(chosen.sweep, recipe=TableClassifier(n=100, k=500, recipe=Classifier()))
    cell = replace(_cell("C2ST", 0.3, 80), method="c2st")
    said = curves.answer(tables, replace(found, cells=[cell]))
    assert "a classifier trained on 100 draws of p and 500 of q at each." in said
    chosen, found = _chosen()
    assert curves.answer(chosen.sweep, found) == ""


def test_a_correct_q_is_called_so_along_beta_too():
    """However a network is degraded, what rejects a correct q is a false alarm."""
    wanted = Sweep(benchmark=Gaussian(), methods=(SBC(), C2ST()), gammas=(0.0,), betas=(0.0, 0.9))
    cells = [_cell("SBC", 0.0, 6), _cell("C2ST", 0.0, 2), replace(_cell("C2ST", 0.0, 9), beta=0.9)]
    counts = {"SBC": 100, "C2ST": 200}
    said = curves.answer(wanted, progress.Progress(cells, counts, counts, counts, {}))
    assert said.startswith("q is correct here: at beta = 0 tests reject it in 2.0% of 100 trials")


def test_each_networks_power_stands_beside_their_mean(page):
    """The mean over three may be far from each of them."""
    page.session_state["compare-numbers"] = True
    page.run()
    table = next(frame.value for frame in page.dataframe if "By network" in frame.value)
    rows = table[(table["Test"] == "DC authors' net") & (table["gamma"] == 0.05)]
    assert list(rows["By network"]) == ["0.745, 0.985, 0.955"]
    assert list(rows["Power"]) == [pytest.approx(0.895)]


def test_what_is_taken_away_can_be_read_back():
    _, found = _chosen([_cell("SBC", 0.3, 20)])
    frame = numbers.comparison_frame(found)
    assert json.loads(frame["options"][0]) == {"m": 3}
    assert frame["rate"][0] == 0.2
    assert frame.to_csv(index=False).count("\n") == 2
    assert len(frame.to_parquet(index=False)) > 100


@pytest.mark.slow
def test_a_test_of_every_kind_can_be_opened(page):
    """Cheap options for all of them: what their figures draw is what this test gave."""
    page.query_params["comparison"] = "A comparison of my own"
    page.run()
    page.multiselect(key="methods").set_value(list(METHODS)).run()
    page.selectbox(key="perturbation").set_value("blind_prior")
    page.select_slider(key="n").set_value(100)
    page.select_slider(key="k").set_value(20)
    page.selectbox(key="option-colt-embedding").set_value("identity")
    page.number_input(key="option-mmd_fuse-points").set_value(30)
    page.number_input(key="option-lc2st-nulls").set_value(19)
    page.number_input(key="option-uniform-m").set_value(2).run()
    assert not page.exception
    box = next(box for box in page.selectbox if (box.key or "").startswith("look-"))
    for label in list(box.options):
        page.selectbox(key=box.key).set_value(label).run()
        page.button(key="run-look").click().run()
        page.run()
        assert not page.exception, label
        assert page.get("plotly_chart"), label


def test_variants_of_one_method_stand_side_by_side(own):
    own.multiselect(key="methods").set_value(["tarp"]).run()
    own.number_input(key="variants-tarp").set_value(2).run()
    assert any("two variants have the same name" in error.value for error in own.error) is False
    own.selectbox(key="option-tarp-2-reference").set_value("x").run()
    assert not own.exception
    assert list(own.dataframe[0].value["Test"]) == ["TARP", "TARP x"]


def test_a_refused_option_is_said_and_left_out(own):
    own.multiselect(key="methods").set_value(["sbc", "lc2st"]).run()
    own.number_input(key="option-lc2st-nulls").set_value(19)
    own.number_input(key="option-lc2st-points").set_value(2).run()
    assert not own.exception
    assert any("L-C2ST" in error.value and "left out" in error.value for error in own.error)
    assert list(own.dataframe[0].value["Test"]) == ["SBC"]


def test_a_divergence_that_nobody_knows_is_left_out_before_it_runs(own):
    """The spiral has no densities: there is no log ratio to read."""
    own.multiselect(key="methods").set_value(["sbc", "skl"]).run()
    assert not own.error, "a shifted normal has one"
    own.selectbox(key="benchmark").set_value("spiral").run()
    assert not own.exception
    (said,) = [one.value for one in own.error]
    assert "log p(theta, x) - log q(theta | x)" in said
    assert "left out" in said
    assert "Symmetric divergence" not in list(own.dataframe[0].value["Test"])


def test_some_gammas_are_enough(own):
    own.multiselect(key="gammas-gaussian-mean_shift").set_value(["0", "0.3"]).run()
    assert not own.exception
    left = own.caption[-1].value
    assert "Not computed yet: about " in left


def test_a_stopped_run_does_not_block_another(own, monkeypatch):
    def refuse(self, scores, rng):
        raise ValueError("This test needs something else; got this. Do that.")

    monkeypatch.setattr(C2ST, "test", refuse)
    own.button(key="run-compare").click().run()
    own.run()
    assert own.button(key="run-compare")
    own.multiselect(key="methods").set_value(["sbc", "c2st", "multiple"]).run()
    own.button(key="run-compare").click().run()
    own.run()
    assert list(own.dataframe[0].value["Trials run"]) == [1, 0, 1]


def test_variants_look_different():
    cells = [_cell(label, 0.3, 5) for label in ("TARP", "TARP x", "SBC")]
    cells = [replace(cell, method="tarp" if "TARP" in cell.label else "sbc") for cell in cells]
    found = curves.curve_looks(cells)
    assert found["TARP"][0] == found["TARP x"][0] != found["SBC"][0]
    assert found["TARP"] != found["TARP x"]


def test_tests_that_tie_stand_side_by_side_where_they_differ_most():
    chosen, found = _chosen(
        [
            _cell("SBC", 0.3, 100),
            _cell("C2ST", 0.3, 100),
            _cell("SBC", 0.1, 10),
            _cell("C2ST", 0.1, 80),
        ]
    )
    assert "in 80% [71, 87] of 100 trials by C2ST and" in curves.answer(chosen.sweep, found)
    chosen, found = _chosen([_cell("SBC", 0.3, 100), _cell("C2ST", 0.3, 100)])
    said = curves.answer(chosen.sweep, found)
    assert "in 100% [96, 100] of 100 trials by 2 tests (C2ST, SBC)." in said


def test_tests_at_one_place_stand_side_by_side():
    chosen, found = _chosen([_cell("SBC", 0.0, 3), _cell("C2ST", 0.0, 7)])
    one = replace(chosen.sweep, gammas=(0.0,))
    points = Picture(curves.compare(one, found)).marks("points", 0)
    assert [float(mark["x"][0]) for mark in points] == [0, 1]
    assert [float(mark["y"][0]) for mark in points] == pytest.approx([0.03, 0.07])


def test_where_q_is_correct_the_answer_claims_no_difference():
    chosen, found = _chosen([_cell("SBC", 0.0, 3), _cell("C2ST", 0.0, 7)])
    assert curves.answer(chosen.sweep, found) == (
        "q is correct here: tests reject it in 3.0% of 100 trials (SBC) to 7.0% (C2ST); their "
        "level is 5%. C2ST reads a classifier trained on 1,000 draws a side."
    )


def test_a_generator_beside_handwritten_digits_is_never_called_correct():
    often = [_cell("C2ST", 0.0, 30)]
    assert not comparisons.broken(Digits(), often)
    assert comparisons.broken(Digits(truth_is="generated"), often) == often
