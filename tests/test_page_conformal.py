"""The workbench under AppTest: it learns unasked, once; first comes what needs no network."""

from functools import partial
from types import SimpleNamespace

import pytest
from streamlit.testing.v1 import AppTest

from pages.conformal import controls
from pages.ui.services import services
from tests.conftest import ROOT
from validation_core.benchmarks.gaussian import Gaussian
from validation_core.engine import Engine, JobState, job_key
from validation_core.explorers.conformal import study as workbench
from validation_core.explorers.conformal.power_study import ConformalPower
from validation_core.explorers.conformal.study import ConformalStudy, Learned
from validation_core.scores import classifier, trained_scores

PAGE = str(ROOT / "pages" / "conformal/page.py")
QUICK = classifier.Classifier(train=200, epochs=2, hidden=8)


@pytest.fixture(autouse=True)
def _small(monkeypatch, _new_server):
    """Small networks, few trials: what is tested here is the page."""
    monkeypatch.setitem(controls.RECIPES, "interactive", QUICK)
    monkeypatch.setitem(controls.RECIPES, "paper", QUICK)
    monkeypatch.setattr(controls, "ConformalPower", partial(ConformalPower, trials=10))
    for name, small in {"GAMMAS": 8, "POWER_GAMMAS": 8, "P_ROWS": 10_240, "Q_ROWS": 2048}.items():
        monkeypatch.setattr(workbench, name, small)


@pytest.fixture
def page(page):
    """n and m of the least work."""
    page.session_state["n"] = 100
    page.session_state["m"] = 5
    return page


@pytest.fixture
def unbothered(monkeypatch):
    """Jobs are asked for and noted, and stay undone."""
    asked = []

    def submit(engine, tasks, who, label=""):
        asked.append(tasks)
        return _Waiting()

    class _Waiting:
        def snapshot(self):
            return None

    monkeypatch.setattr(Engine, "submit", submit)
    return asked


def _study(perturbation="mean_shift", **options):
    learned = Learned(benchmark=Gaussian(perturbation=perturbation), recipe=QUICK)
    return ConformalStudy(learned=learned, **{"n": 100, "m": 5, **options})


def _made(study):
    study.run(services().store, lambda fraction, live: None)


def _charts(page):
    return page.get("bidi_component")


def _said(page):
    """The head of the chart's payload: its words."""
    (chart,) = _charts(page)
    return str(chart.proto)


def test_it_learns_unasked_and_shows_the_oracle_meanwhile(page, unbothered):
    page.run()
    assert not page.exception
    assert "Until the classifier has learnt" in _said(page)
    assert not page.button
    (tasks,) = unbothered
    kinds = [type(task).__name__ for task in tasks]
    other = ["TrainTask", "ConformalPower"]
    assert kinds == ["TrainTask", *["ConformalStudy"] * 2, *["ConformalPower"] * 2, *other * 2]
    seeds = [task.trainings[0].seed for task in tasks if type(task).__name__ == "TrainTask"]
    assert seeds == [0, 1, 2], "networks of their own behind the curves of power"
    assert tasks[1].betas == workbench.COARSE_BETAS


def test_what_was_learnt_takes_the_place_of_the_oracle(page):
    page.query_params["perturbation"] = "Blind prior"
    page.run()  # the engine of tests has done the job by its end
    page.run()
    assert not page.exception
    assert "Until the classifier has learnt" not in _said(page)
    assert "10 trials a point with each of 3 networks" in _said(page)
    assert services().store.entries()


def test_a_slider_never_trains(page, monkeypatch):
    _made(_study())
    _made(_study(n=200, m=200))
    monkeypatch.setattr(
        trained_scores,
        "train_and_store",
        lambda *a, **k: pytest.fail("a slider trained a network"),
    )
    page.session_state["networks"] = 1
    page.run()
    assert len(_charts(page)) == 1
    page.select_slider(key="level").set_value(0.1).run()
    assert not page.exception
    text = " ".join(caption.value for caption in page.caption)
    assert "the test is exact" in text
    page.session_state["n"], page.session_state["m"] = 200, 200
    page.run()
    assert not page.exception
    assert "pooled" in " ".join(caption.value for caption in page.caption)


def test_another_n_keeps_the_old_picture_until_the_new_one_is_there(page, unbothered):
    _made(_study())
    power = ConformalPower(learned=_study().learned, n=100, ms=(5,), trials=10)
    _made(power)
    page.run()
    page.select_slider(key="n").set_value(200).run()
    assert not page.exception
    assert any("Still the ranks for n = 100" in caption.value for caption in page.caption)
    assert "Grey: as it was before, 10 trials a point, n = 100, m = 5" in _said(page)
    wanted = unbothered[-1]
    assert [task for task in wanted if getattr(task, "n", 200) != 200] == []


def test_one_job_a_session(page, unbothered, monkeypatch):
    left = []
    monkeypatch.setattr(Engine, "leave", lambda engine, key, who: left.append(key))
    monkeypatch.setattr(
        Engine, "submit", lambda engine, tasks, who, label="": _Active(unbothered, tasks)
    )

    class _Active:
        def __init__(self, asked, tasks):
            asked.append(tasks)

        def snapshot(self):
            return _State()

    class _State:
        active, done, key, label, state = True, 0, "job", "Learn", "running"
        seconds, fraction, subscribers, message = 0.0, 0.0, 1, "Learn"
        started, waited, found, total = 0.0, 0.0, 0, 1

    page.run()
    page.select_slider(key="m").set_value(20).run()
    page.number_input(key="seed").set_value(3).run()
    assert not page.exception
    assert len(left) == len(set(left)) == 2
    assert len(unbothered) == 3


def test_what_another_session_gave_up_starts_again(page, monkeypatch):
    """Unless it was stopped in this session, while it looked on."""
    told = []

    def submit(engine, tasks, who, label=""):
        told.append(tasks)
        return _job(job_key(tasks))

    def _job(key):
        state = JobState(key, "Learn", "cancelled", 0.0, 0, 5, "", {}, 0.0, 0.0, 0, {})
        return SimpleNamespace(snapshot=lambda: state, tasks=())

    monkeypatch.setattr(Engine, "find", lambda engine, key: _job(key))
    monkeypatch.setattr(Engine, "submit", submit)
    page.run()
    assert not page.exception
    assert len(told) == 1
    page.run()
    assert len(told) == 1
    assert page.button[0].label == "Start again"


@pytest.mark.parametrize("view", ["Ranks", "Scores", "Other tests"])
@pytest.mark.parametrize("over", ["gamma", "m"])
def test_views(page, unbothered, view, over):
    _made(_study("blind_prior"))
    page.query_params["perturbation"] = "Blind prior"
    page.session_state["view"] = view
    page.session_state["along"] = over
    page.run()
    assert not page.exception
    assert ("Power over m" in _said(page)) == (over == "m")


def test_theory_is_computed_where_it_is_looked_at(page, unbothered):
    """Draws come first; power is not beside it."""
    page.session_state["view"] = "Theory"
    page.run()
    assert not page.exception
    assert [type(task).__name__ for task in unbothered[-1]][1] == "ConformalTheoryStudy"
    assert "Draws at one x" in _said(page)
    assert not [control for control in page.segmented_control if control.key == "along"]
    assert any("when the classifier has learnt" in caption.value for caption in page.caption)


def test_power_of_one_network_is_there_before_that_of_others(page, unbothered):
    """Trials of as many networks are drawn as have theirs; more networks ask for those alone."""
    _made(_study())
    first, second, third = ConformalPower(
        learned=_study().learned, n=100, ms=(5,), trials=10
    ).by_network(3)
    _made(first)
    _made(third)
    page.run()
    assert not page.exception
    assert "10 trials a point, n = 100, m = 5" in _said(page)
    wanted = unbothered[-1]
    assert [type(task).__name__ for task in wanted] == ["TrainTask", "ConformalPower"]
    assert wanted[1] == second
    _made(second)
    page.run()
    assert "10 trials a point with each of 3 networks" in _said(page)
    asked = len(unbothered)
    page.select_slider(key="networks").set_value(1).run()
    assert "10 trials a point, n = 100, m = 5" in _said(page)
    assert len(unbothered) == asked, "nothing is missing"


def test_training_and_the_numbers_are_shown_when_asked_for(page):
    page.query_params["perturbation"] = "Blind prior"
    page.session_state["trained"] = page.session_state["numbers"] = True
    page.run()
    page.run()
    assert not page.exception
    assert any("held-out AUC" in caption.value for caption in page.caption)
    table = page.dataframe[0].value
    assert list(table["Trials"]) == [30] * len(table)
    assert {"Network 1", "Network 2", "Network 3"} < set(table)
    assert list(dict.fromkeys(table["Test"])) == ["C2ST", "Multiple", "Uniform(5)"]


def test_the_papers_preset_waits_for_its_button(page, unbothered):
    page.query_params["preset"] = "paper"
    page.run()
    assert not page.exception
    assert not unbothered
    assert page.button(key="train").label.startswith("Train 21 networks as in the paper (about")
    page.select_slider(key="networks").set_value(1).run()
    assert page.button(key="train").label.startswith("Train 7 networks as in the paper (about")
    page.button(key="train").click().run()
    (tasks,) = unbothered
    assert sum(type(task).__name__ == "TrainTask" for task in tasks) == 7


def test_networks_of_few_draws_wait_for_their_button(page, unbothered):
    """What is drawn until then is said to be of another training."""
    usual = Learned(benchmark=Gaussian(), recipe=QUICK)
    for power in ConformalPower(learned=usual, n=100, ms=(5,), trials=10).by_network(3):
        _made(power)
    page.run()
    assert "by a classifier" not in _said(page)
    page.segmented_control(key="preset").set_value("few").run()
    assert not page.exception
    assert page.button(key="train").label.startswith("Train 21 networks on 1,000 draws a side (ab")
    assert "by a classifier trained on 200 draws a side" in _said(page)
    (how,) = [caption.value for caption in page.caption if "one for each gamma" in caption.value]
    assert "learn from 1,000 draws of p and 1,000 of q each." in how
    assert "Power is a mean" not in how


def test_a_link_between_the_sliders_places_opens_at_the_nearest(page, unbothered):
    page.query_params["gamma"] = "0.16"
    page.query_params["beta"] = "0.4"
    page.run()
    assert not page.exception
    captions = [caption.value for caption in page.caption]
    assert any("gamma = 0.16" in text and "0.15" in text for text in captions)
    assert not any("beta = 0.4" in text for text in captions)


@pytest.mark.parametrize("dims", ["(10, 10)", "(50, 10)", "(100, 100)"])
@pytest.mark.parametrize("perturbation", ["Heavy tail", "Blind prior"])
def test_every_setting_opens(page, unbothered, dims, perturbation):
    page.query_params["dims"] = dims
    page.query_params["perturbation"] = perturbation
    page.run()
    assert not page.exception
    assert f"Gaussian, {perturbation.lower()}, {dims}" in page.markdown[0].value


def test_nonsense_in_the_address_is_ignored(page, unbothered):
    page = AppTest.from_file(PAGE, default_timeout=120)
    wrong = {"m": "7", "n": "abc", "perturbation": "<script>", "level": "-1", "gamma": "nan",
             "beta": "inf"}  # fmt: skip
    for name, value in wrong.items():
        page.query_params[name] = value
    page.run()
    assert not page.exception
    assert page.select_slider(key="m").value == 50


@pytest.mark.parametrize("name", ["conformal/page.py", "diagnose/page.py", "models/page.py"])
def test_a_folder_that_cannot_be_written_is_said_on_every_page(
    name, tmp_path, monkeypatch, unbothered
):
    (tmp_path / "file").write_text("a file where the folder should be")
    monkeypatch.setenv("NPTLAB_CACHE", str(tmp_path / "file" / "cache"))
    services.clear()
    page = AppTest.from_file(str(ROOT / "pages" / name), default_timeout=120).run()
    assert not page.exception
    assert any("file" in warning.value for warning in page.warning)
