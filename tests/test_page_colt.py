"""The CoLT page under AppTest: train, look at every view, change the rail, stop, misuse."""

import itertools
import json
import shutil
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.colt import controls, power
from pages.colt.data import cells
from pages.ui.services import services
from tests.conftest import ROOT
from tests.picture_reading import Picture
from tests.test_page_models import Held
from validation_core.benchmarks import Gaussian, Spiral, Tree
from validation_core.drawing.marks import Over
from validation_core.drawing.over_sliders import join_over
from validation_core.localization import (
    BallTheoryStudy,
    GammaMapsStudy,
    Maps,
    MapTask,
    map_draws,
    over_gamma,
)
from validation_core.localization.map_draws import MEASURED
from validation_core.localization.over_gamma import GammaMaps
from validation_core.methods.colt import CoLT
from validation_core.panels.colt import power as power_figures
from validation_core.panels.colt import theta, training, where
from validation_core.panels.power import curves
from validation_core.scores import trained_scores
from validation_core.scores.classifier import Classifier
from validation_core.scores.localizer import Localizer
from validation_core.scores.trained_scores import Simulated, TrainTask
from validation_core.store import Store
from validation_core.sweep import colt_paper
from validation_core.sweep.progress import missing

PAGE, MAIN = str(ROOT / "pages" / "colt/page.py"), str(ROOT / "pages" / "main.py")
SMALL = {"n": 60, "k": 20, "places": 5}
VIEWS = ("Where", "Ranks", "Training")
CASES = {
    "line": Gaussian(dim_x=1, dim_theta=1), "plane over a line": Gaussian(dim_x=1, dim_theta=2),
    "plane": Gaussian(dim_x=2, dim_theta=2), "space": Gaussian(dim_x=3, dim_theta=3),
    "bent": Gaussian(dim_x=2, dim_theta=2, curved=True), "tree": Tree(), "spiral": Spiral(),
}  # fmt: skip


def _recipe(self, n, k, benchmark=None):
    """A few anchors and steps: what is tested here is the page."""
    return Localizer(
        embedding=self.embedding, anchors=24, draws=20, steps=6, blur_steps=6, hidden=8,
        fresh=self.fresh, divergence=self.divergence,
    )  # fmt: skip


def _few(**settings):
    return GammaMapsStudy(**{**settings, **SMALL, "points": 31})


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    monkeypatch.setattr(CoLT, "recipe", _recipe)
    monkeypatch.setattr(controls, "MapTask", partial(MapTask, **SMALL))
    monkeypatch.setattr(colt_paper, "MapTask", partial(MapTask, **SMALL))
    monkeypatch.setattr(colt_paper, "FINE", {})
    monkeypatch.setattr(
        colt_paper, "FEW_PAIRS", Classifier(epochs=3, batch=32, hidden=8, layers=2)
    )
    monkeypatch.setattr(map_draws, "SHOWN", 30)
    monkeypatch.setattr(map_draws, "TRUTHS", 25)
    monkeypatch.setattr(map_draws, "MEASURED", 60)
    monkeypatch.setattr(where, "PERMUTATIONS", 99)
    monkeypatch.setattr(over_gamma, "PERMUTATIONS", 99)
    monkeypatch.setattr(Localizer, "for_all_gammas", lambda recipe, gammas: recipe)
    monkeypatch.setattr(colt_paper, "GammaMapsStudy", _few)
    services.clear()
    yield
    engine = services().engine
    for job in engine.jobs():  # what learns by itself may go on where a test ends
        engine.wait(job.key, "test", timeout=60)
    services.clear()


def _task(benchmark=CASES["plane"], gamma=0.15, embedding="fourier"):
    n, k = colt_paper.SIZES[benchmark.name]
    source = Simulated(benchmark=benchmark, gamma=gamma)
    training = colt_paper.localizer(source, CoLT(embedding=embedding), n, k)
    return MapTask(training=training, **SMALL)


@pytest.fixture(autouse=True, scope="module")
def _results(tmp_path_factory):
    RESULTS.append(tmp_path_factory.mktemp("results"))
    yield
    RESULTS.clear()


RESULTS: list[Path] = []
"""A folder of stores, by key: what several tests ask for is worked out once."""


def _worked_out(study):
    """The result of a study, which stands in the test's own store afterwards."""
    folder, store = RESULTS[-1] / study.key, services().store
    if not folder.exists():
        study.run(Store(folder), lambda fraction, live: None)
    shutil.copytree(folder, store.root, dirs_exist_ok=True)
    return study.load(store)


def _mapped(benchmark=CASES["plane"], gamma=0.15) -> Maps:
    return _worked_out(_task(benchmark, gamma))


def _learned(benchmark=CASES["plane"]) -> GammaMaps:
    """What the page opens with."""
    n, k = colt_paper.SIZES[benchmark.name]
    return _worked_out(colt_paper.gamma_maps(benchmark, CoLT(), n, k))


def _address(page, benchmark):
    page.query_params["benchmark"] = controls.BENCHMARKS[benchmark.name]
    if isinstance(benchmark, Gaussian):
        page.query_params["dimensions"] = f"({benchmark.dim_x}, {benchmark.dim_theta})"
        page.query_params["curved"] = str(benchmark.curved).lower()
    return page


def _strength(benchmark):
    return {"tree": 1.5, "spiral": 4.0}.get(benchmark.name, 0.15)


def _charts(page):
    return page.get("bidi_component")


def _made():
    """Kinds of what was computed here."""
    return {entry.kind for entry in services().store.entries() if not entry.shipped}


def _said(page):
    return " ".join(text.value for text in (*page.markdown, *page.caption))


@pytest.mark.parametrize("name", CASES)
def test_a_setting_without_a_map_shows_its_draws_and_learns_by_itself(page, name):
    _address(page, CASES[name]).run()
    assert not page.exception
    assert "Draws of p and of q at the same x" in _said(page)
    assert len(_charts(page)) == 1
    assert "Strength, gamma" in _payloads(page)
    page.run()
    page.run()
    assert not page.exception
    assert "Draws of p and of q" not in _said(page)
    assert "Strength, gamma" in _payloads(page)
    assert _made() == {"models", "results"}


def test_the_papers_localizer_is_asked_for(page):
    page.query_params["training"] = "Paper"
    page.run()
    assert not page.exception
    assert not _made()
    assert len(_charts(page)) == 1
    assert page.button(key="train")


@pytest.mark.parametrize("name", CASES)
def test_every_view_of_every_shape(page, name):
    benchmark = CASES[name]
    _learned(benchmark)
    _mapped(benchmark, _strength(benchmark))
    _address(page, benchmark)
    page.run()
    for view in VIEWS:
        page.segmented_control(key="view").set_value(view).run()
        assert not page.exception, view
        assert benchmark.label in " ".join(text.value for text in page.caption)
        assert len(_charts(page)) == 1, view
        # A film is of one gamma's own localizer.
        assert ("Strength, gamma" in _payloads(page)) == (view != "Training"), view
        assert "If q were correct" in _said(page) or view == "Training", view


@pytest.mark.parametrize("name", ["plane", "bent"])
def test_theory_of_the_learnt_ball(page, name):
    """Beside the total variation where densities are known."""
    benchmark = CASES[name]
    _learned(benchmark)
    n, k = colt_paper.SIZES[benchmark.name]
    _worked_out(BallTheoryStudy(maps=colt_paper.gamma_maps(benchmark, CoLT(), n, k)))
    _address(page, benchmark)
    page.query_params["view"] = "Theory"
    page.run()
    assert not page.exception
    assert "fourier 0" in _payloads(page)
    assert ("exceed the total variation" in _payloads(page)) == (name == "plane")
    assert "Theorem 1" in _said(page)


@pytest.mark.parametrize("name", ["plane", "space"])
def test_looking_around_trains_nothing(page, name, monkeypatch):
    _learned(CASES[name])
    _mapped(CASES[name])
    monkeypatch.setattr(
        trained_scores, "train_and_store", lambda *a, **k: pytest.fail("a look trained a network")
    )
    _address(page, CASES[name]).run()
    page.select_slider(key="level").set_value(0.01).run()
    for view in (*VIEWS, "Power", "Papers", "Where"):
        page.segmented_control(key="view").set_value(view).run()
        assert not page.exception, view
    page.segmented_control(key=f"axes{2 if name == 'plane' else 3}").set_value("around").run()
    assert not page.exception


def test_the_film_of_another_gamma_learns_by_itself(page):
    _learned()
    page.query_params["view"] = "Training"
    page.query_params["gamma"] = "0.3"
    page.run()
    page.run()
    assert not page.exception
    assert page.select_slider(key="gamma-mean_shift").value == 0.3
    assert services().store.has("results", _task(gamma=0.3).key)
    page.run()
    assert "The region at this step" in _payloads(page)


def test_gamma_has_one_name_in_the_address():
    _learned()
    _mapped(gamma=0.2)
    page = AppTest.from_file(MAIN, default_timeout=120).run().switch_page("colt/page.py")
    page.query_params["gamma"] = "0.21"
    page.run()
    assert "The link says gamma = 0.21, which is not on the slider: this is 0.2." in _said(page)
    page.segmented_control(key="view").set_value("Training").run()
    assert page.select_slider(key="gamma-mean_shift").value == 0.2
    page.select_slider(key="gamma-mean_shift").set_value(0.3).run()
    assert page.query_params["gamma"] in ("0.3", ["0.3"])
    page.segmented_control(key="view").set_value("Where").run()
    assert page.query_params["gamma"] in ("0.3", ["0.3"])
    page.selectbox(key="perturbation").set_value("heavy_tail").run()
    assert "gamma" not in page.query_params, "another benchmark begins at its own"


def test_a_link_to_another_benchmark_keeps_its_gamma():
    page = AppTest.from_file(MAIN, default_timeout=120).run().switch_page("colt/page.py")
    page.session_state["gamma-of"] = "heavy_tail"
    page.query_params["gamma"] = "0.3"
    page.run()
    assert page.query_params["gamma"] in ("0.3", ["0.3"])


def test_the_pictures_are_those_of_each_gamma(monkeypatch):
    """One payload for all is what the payload of each would be."""
    seen = _learned(CASES["space"])
    maps = seen.each()
    sight = theta.ThetaAxes((0, 2))
    whole = theta.theta_panels(maps, sight)
    joined = join_over("gamma", whole)
    for index, panel in enumerate(whole):
        for mark, both in zip(panel.marks, joined.marks, strict=True):
            own = getattr(mark, "x", None)
            if own is None:
                continue
            x = own.values if isinstance(own, Over) else np.asarray(own)
            moved = both.x.values[index] if both.x.sliders[0] == "gamma" else both.x.values
            np.testing.assert_array_equal(moved[..., : x.shape[-1]], x)


def test_two_parameters_are_never_one_twice(page):
    _learned(CASES["space"])
    _address(page, CASES["space"]).query_params["onto"] = "Two parameters"
    page.query_params["across"] = "2"
    page.run()
    assert not page.exception  # across = up = 2
    page.number_input(key="across").set_value(3).run()
    page.number_input(key="up").set_value(3).run()
    assert not page.exception
    assert len(_charts(page)) == 1


def test_the_remedy_of_a_correct_q_leads_to_the_seed(page):
    page.run()
    (folded,) = [one for one in page.sidebar.expander if one.number_input]
    assert "Seed" in [number.label for number in folded.number_input]
    assert theta.ANOTHER_SEED.endswith(f"in the sidebar under {folded.label}")
    assert folded.label not in VIEWS


def test_phi_may_have_another_number_of_dimensions(page):
    """Where it learns; the untrained curve and the identity's keep those of theta."""
    page.run()
    page.number_input(key="outputs").set_value(5).run()
    assert not page.exception
    plane = CASES["plane"]
    wide = colt_paper.gamma_maps(plane, CoLT(outputs=5), *colt_paper.SIZES[plane.name])
    _worked_out(wide)
    page.run()
    assert not page.exception
    assert page.session_state["address"].shown["outputs"] == ("5",)
    assert len(_charts(page)) == 1
    page.segmented_control(key="view").set_value("Power").run()
    assert not page.exception
    assert page.get("button")
    page.selectbox(key="embedding").set_value("identity").run()
    assert not page.exception
    assert "outputs" not in [number.key for number in page.number_input]


def test_a_gain_that_hardly_bends_is_a_setting(page):
    """The caption of the papers' curved figures speaks of it."""
    _address(page, CASES["bent"]).query_params["gain"] = "0.1"
    page.run()
    assert not page.exception
    assert page.slider(key="gain").value == pytest.approx(0.1)


def test_fresh_anchors_show_their_budget(page, monkeypatch):
    monkeypatch.undo()  # the recipe's own numbers; nothing is trained
    services.clear()
    page.run()
    words = "The balls over gamma are of one localizer for all 7, which trains on"
    assert f"{words} 700 draws of p and 70,000 of q." in _said(page)
    page.toggle(key="fresh").set_value(True).run()
    p, q = CoLT(fresh=True).recipe(100, 500).for_all_gammas(7).spent()
    assert p > 10_000
    assert f"{words} {p:,} draws of p and {q:,} of q." in _said(page)
    services.clear()


def _payloads(page):
    """The words of the charts: they travel as JSON before the numbers."""
    return " ".join(str(chart.proto) for chart in _charts(page))


def test_power_of_all_who_compete(page, monkeypatch):
    monkeypatch.setattr(power, "TRIALS", 5)
    monkeypatch.setattr(controls, "N", (100,))
    monkeypatch.setattr(colt_paper, "SIZES", {"gaussian": (100, 50)})
    page.query_params["perturbation"] = "Blind prior"  # one gamma
    page.query_params["view"] = "Power"
    page.session_state["colt-numbers"] = True
    page.run()
    assert "No test has been run" in _said(page)
    page.button(key="run-power").click().run()
    page.run()
    assert not page.exception
    assert len(_charts(page)) == 1
    table = page.dataframe[0].value
    wanted = {
        power_figures.UNTRAINED,
        "SBC",
        "C2ST",
        *(f"CoLT {e}" for e in colt_paper.EMBEDDINGS),
    }
    assert wanted <= set(table["Test"])
    learnt = ~table["Test"].isin([power_figures.UNTRAINED, "SBC", "TARP"])
    assert set(table["Trials"][learnt]) == {15}, "three networks"
    assert set(table["Trials"][~learnt]) == {5}
    assert [text.count(",") for text in table["By network"]] == [2 * one for one in learnt]
    assert not [button for button in page.button if button.key == "run-power"]


def _printed(page):
    """The tables of printed numbers, as HTML."""
    bodies = [block.proto.body for block in page.get("html")]
    return [body for body in bodies if "<table" in body]


@pytest.mark.slow
def test_the_tables_stand_beside_what_was_published(page, monkeypatch):
    monkeypatch.setattr(colt_paper, "TRIALS", 3)
    monkeypatch.setattr(controls, "N", (10, 12))
    monkeypatch.setattr(controls, "K", (5,))
    monkeypatch.setattr(
        colt_paper, "SIZES", {"gaussian": (10, 5), "tree": (12, 5), "spiral": (12, 5)}
    )
    page.query_params["view"] = "Papers"
    page.run()
    assert not page.exception
    table_3, _ = _printed(page)
    assert "0.452 ± 0.260" in table_3
    page.segmented_control(key="paper").set_value("tree").run()
    (tree,) = _printed(page)
    assert "–" in tree
    page.button(key="run-Section 1").click().run()
    page.run()
    (tree,) = _printed(page)
    assert "0.065" in tree
    assert " ± " in tree
    assert "–" not in tree
    assert "alpha = 2.5" in _payloads(page)
    page.segmented_control(key="paper").set_value("spiral").run()
    page.run()
    assert "trained denoiser" in _payloads(page)
    page.segmented_control(key="paper").set_value("errors").run()
    assert not page.exception
    assert [button.label for button in page.button if button.key.startswith("run-")]


@pytest.fixture
def held(monkeypatch):
    """An engine that keeps each task under way until the test ends."""
    engine = services().engine
    engine.executor = Held()
    yield engine
    engine.executor.go.set()


def test_training_is_watched_cancelled_and_asked_for_again(page, held):
    page.run()
    page.run()
    assert not page.exception
    (cancel,) = [button for button in page.button if button.label == "Cancel"]
    cancel.click().run()
    page.run()
    assert not page.exception
    assert any("was stopped" in info.value for info in page.info)
    assert [button for button in page.button if button.label == "Start again"]
    assert not _made() & {"results"}


NONSENSE = {
    "benchmark": "Tea", "perturbation": "<script>", "dimensions": "(0, 9)", "curved": "maybe",
    "gain": "1e9", "gamma": "nan", "embedding": "../etc", "n_gaussian": "-5",
    "k_gaussian": "all", "level": "2", "training": "hard", "divergence": "", "fresh": "?",
    "outputs": "1e6", "seed": "-1", "view": "Nowhere", "axes2": "x", "x": "inf", "place": "1e99",
    "onto": "0", "across": "0", "up": "99",
}  # fmt: skip


@pytest.mark.parametrize("given", ["nonsense", "nothing"])
@pytest.mark.parametrize("name", ["plane", "space"])
def test_nonsense_in_the_address_is_ignored(page, name, given):
    _learned(CASES[name])
    for key, value in NONSENSE.items():
        page.query_params[key] = value if given == "nonsense" else ""
    page.query_params["dimensions"] = "(2, 2)" if name == "plane" else "(3, 3)"
    page.run()
    assert not page.exception
    assert page.selectbox(key="benchmark").value == "gaussian"
    assert len(_charts(page)) == 1


@pytest.mark.parametrize("dims", ["(50, 10)", "(100, 100)"])
def test_many_dimensions_open(page, dims):
    dim_x, dim_theta = (int(part) for part in dims.strip("()").split(","))
    _learned(Gaussian(dim_x=dim_x, dim_theta=dim_theta))
    _mapped(Gaussian(dim_x=dim_x, dim_theta=dim_theta))
    page.query_params["dimensions"] = dims
    page.run()
    for view in VIEWS:
        page.segmented_control(key="view").set_value(view).run()
        assert not page.exception
        assert _charts(page)


def test_a_first_visit_finds_what_is_shipped(page, monkeypatch):
    requests = []
    monkeypatch.setattr(
        services().store.__class__, "has", lambda self, kind, key: requests.append(key) and False
    )
    page.run()
    assert not page.exception
    assert colt_paper.shipped_maps()[0].key in requests


class Kept(dict):
    """Parts that are no text stay as they are."""

    def __missing__(self, name):
        return f"{{{name}}}"


def _headline(found, alpha=0.05, correct=False):
    text = where.headline(found, correct, alpha)
    spoken = {name: part for name, part in text.parts.items() if isinstance(part, str)}
    return text.template.format_map(Kept(spoken)), text.parts


def test_the_headline_says_what_the_numbers_say():
    result = _mapped()
    wrong = result._replace(
        u_star=np.array(0.31), inside=np.array(0.44), inside_low=np.array(0.40),
        inside_high=np.array(0.48), pvalue=np.array(1e-9),
        truth_inside=np.stack([
            np.ones(25), np.zeros(25), np.arange(25) < 13, *[np.arange(25) < 8] * 2
        ]),
    )  # fmt: skip
    template, parts = _headline(wrong)
    assert template.startswith(
        "CoLT's region holds 31% of q's draws and 44% [40, 48] of the true values "
        "(KS p-value < 0.0001)."
    )
    # 13 of 25 is [33%, 70%] by itself, and nothing among five places.
    assert parts["says"].values.tolist() == [
        ": q puts too little there.", ": q puts too much there.", ".", ".", "."
    ]  # fmt: skip
    assert parts["share"].values[2] == "52% [33, 70]"
    assert parts["share"].values[0].startswith("100% [")
    template, _ = _headline(wrong._replace(pvalue=np.array(0.2)))
    assert ": no evidence against q over all x (KS p-value = 0.2)." in template
    assert "correct" not in template
    text = wrong._replace(truth=result.truth[:, :1], truth_inside=wrong.truth_inside[:, :1])
    assert "{share}" not in _headline(text)[0]  # an upload has one truth at an x


def test_what_changes_with_x_is_claimed_at_the_pages_level():
    mapped = _mapped()
    rate = where.rates(mapped)._replace(pvalue=0.03, pvalues=np.full(3, 0.03))
    for alpha, said in ((0.05, "The error changes"), (0.01, "No sign that the error changes")):
        shown = where.payload([mapped], [rate], theta.ThetaAxes(), alpha, [0.15], 0.15)
        assert any(text.startswith(said) for text in Picture(shown).texts())


def test_single_places_of_a_correct_q_are_blamed_in_one_map_of_twenty():
    """The ball's radius is a quantile of finitely many draws of q: its mass is not exactly u."""
    rng, u, places, truths, maps = np.random.default_rng(0), 0.5, 25, 200, 400
    mapped = _mapped()
    mass = rng.beta(u * MEASURED, (1 - u) * MEASURED, (maps, places, 1))
    inside = rng.random((maps, places, truths)) < mass
    blamed = 0
    for each in inside:
        one = mapped._replace(
            u_star=np.array(u), truth_inside=each, x_at=np.arange(float(places))[:, None],
            truth=np.arange(places * truths * 2.0).reshape(places, truths, 2),
        )  # fmt: skip
        blamed += any(words != "." for words in _headline(one)[1]["says"].values)
    assert blamed <= 27, "5% of 400, and two standard errors"


def test_where_q_and_p_are_one_point_no_share_is_luck():
    """The ideal spiral at gamma 0: all true values lie where all of q's draws lie."""
    mapped = _mapped()
    point = mapped._replace(
        truth=np.zeros_like(mapped.truth), truth_inside=np.ones_like(mapped.truth_inside)
    )
    says = _headline(point, correct=True)[1]["says"].values
    assert set(says.tolist()) == {": q and p are one point there."}


def test_a_correct_q_is_never_said_to_be_wrong():
    """A p-value below the level is said to be one in so many; wrong places are by chance."""
    low = _mapped()._replace(
        pvalue=np.array(0.043), u_star=np.array(0.5), truth_inside=np.ones((5, 25))
    )
    template, parts = _headline(low, correct=True)
    assert "(KS p-value = 0.043). q is correct here, and one correct q in 20 looks this bad: " in (
        template
    )
    assert {*parts["says"].values} == {": by chance, since q is correct."}
    assert "q is correct" not in _headline(low, alpha=0.01, correct=True)[0]


def test_the_slider_begins_where_q_is_wrong_and_x_is_usual():
    x = np.array([[0.0], [1.0], [2.0], [3.0], [40.0]])
    inside = np.array([0.5, 0.9, 0.5, 0.5, 1.0])
    q = np.random.default_rng(0).standard_normal((5, 30, 2))
    text = _mapped()._replace(
        x_at=x, q=q, u_star=np.array(0.5), pvalue=np.array(1e-6),
        truth_inside=(np.arange(20) < 20 * inside[:, None]).astype(np.uint8),
    )  # fmt: skip
    wide = text._replace(q=q * np.array([1, 9, 1, 9, 9])[:, None, None])
    assert where.choose_initial_place(wide) == 1  # 40 is far out
    assert where.choose_initial_place(wide._replace(pvalue=np.array(0.3))) == 2  # the middle of x
    narrow = text._replace(q=q * np.array([1, 0.01, 9, 9, 9])[:, None, None])
    assert where.choose_initial_place(narrow) != 1


def test_points_go_in_or_out_and_never_both():
    points = np.random.default_rng(0).standard_normal((3, 7, 2))
    inside = np.random.default_rng(1).integers(0, 2, (3, 7))
    within, without = theta.split_by_ball(points, inside, "x")
    for i in (0, 1):
        both = np.isfinite(within[i].values) + np.isfinite(without[i].values)
        assert (both == 1).all()
        np.testing.assert_array_equal(np.isfinite(within[i].values), inside == 1)


def test_around_q_has_its_mean_at_0_and_its_sd_at_1():
    result = _mapped(CASES["space"])
    plane = theta.project_theta(result, theta.ThetaAxes((0, 2), around=True))
    np.testing.assert_allclose(plane.q.mean(1), 0, atol=1e-5)
    np.testing.assert_allclose(plane.q.std(1), 1, atol=1e-5)
    fixed = theta.project_theta(result, theta.ThetaAxes((0, 2)))
    np.testing.assert_allclose(fixed.q, result.q[..., [0, 2]], rtol=1e-6)
    (low, high), _ = plane.limits
    assert ((plane.centre > low) & (plane.centre < high)).all()


def test_outlines_that_the_grid_cannot_resolve_are_left_out():
    line = np.array([[0.0, 0.0], [1.0, 1.0]])
    q = np.random.default_rng(0).standard_normal((2, 400, 2)) * np.array([1, 1e-3])[:, None, None]
    coarse, fine = (
        theta.standardise_outlines([line, line], q, 0.1),
        theta.standardise_outlines([line, line], q, 1e-5),
    )
    assert [len(item) for item in coarse] == [2, 0]
    assert [len(item) for item in fine] == [2, 2]


def test_the_film_says_which_step_was_kept():
    result = _mapped()
    tried = result._replace(starts=np.array([0.2, 0.1, 0.3]))
    assert training.describe_kept_step(tried, 0) == (
        "The start was kept, a centre at the origin of the whitened θ: no step was clearly "
        "better on held-out anchors."
    )
    later = tried._replace(film_step=np.array([0.0, 40.0, 40.0, 80.0]))
    assert "an embedding that tells" in training.describe_kept_step(
        later, 2
    )  # the second stage's start
    assert training.describe_kept_step(later, 3) == "Step 80 was kept."


def test_the_film_says_where_its_second_stage_starts():
    result, sight = _mapped(), theta.ThetaAxes()
    single = result._replace(film_step=np.arange(len(result.film_step), dtype=float))
    double = single._replace(film_step=np.maximum(single.film_step - 1, 0) * 20)
    assert "second stage" not in json.dumps(training.training_film(single, sight, 9).head)
    head = json.dumps(training.training_film(double, sight, 9).head)
    assert "A second stage starts at step 0." in head


def test_untrained_cells_have_a_curve_of_their_own():
    design = controls.TrialDesign(trials=2, n=20, k=5)
    floor, *rest = colt_paper.contest(Gaussian(), [0.1], CoLT(), design, embeddings=("identity",))
    for sweep in (floor, *rest):
        for task in missing(sweep, services().store):
            task.run(services().store, lambda fraction, live: None)
    results = [cells(sweep) for sweep in (floor, *rest)]
    labels = [cell.label for cell in itertools.chain(*results)]
    assert labels[0] == power_figures.UNTRAINED
    assert labels.count("CoLT identity") == 1
    looks = {
        power_figures.curve_style(curve)
        for curve in curves(list(itertools.chain(*results)), "gamma")
    }
    assert len(looks) == len(labels)


def test_power_is_that_of_the_networks_that_the_other_views_show():
    """One for all gammas, or one for each where the paper's training is chosen."""
    for colt in (CoLT(), CoLT(preset="paper")):
        chosen = controls.ColtChoice(CASES["plane"], colt, 100, 500, 0.05, 0)
        sweeps = chosen.contest(20)
        own = chosen.study.training if colt.preset == "interactive" else chosen.training(0.15)
        assert own in {sweep.network(sweep.methods[0], 0.15) for sweep in sweeps}
        assert len(set(sweeps)) == len(sweeps) == 6


def test_estimators_that_do_not_ship_are_trained_at_a_press(page, monkeypatch):
    """Nothing that takes minutes starts by itself."""
    monkeypatch.setattr(TrainTask, "done", lambda task, store: False)
    page.query_params["benchmark"] = controls.BENCHMARKS["trained"]
    page.run()
    assert not page.exception
    assert "Train the estimators and their localizer" in page.button(key="train").label
    assert not services().engine.jobs()
