"""The workbench under AppTest: train, look, move sliders; nothing is trained twice."""

import pytest
from streamlit.testing.v1 import AppTest

from pages.ui.services import services
from tests.conftest import ROOT
from validation_core import models
from validation_core.benchmarks.gaussian import Gaussian
from validation_core.models import Simulated, Training
from validation_core.scores import classifier
from validation_core.sweep.conformal_explorer import GridTask

PAGE = str(ROOT / "pages" / "conformal/page.py")
QUICK = classifier.Classifier(train=200, epochs=3, hidden=16)


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    """A small network: what is tested here is the page."""
    monkeypatch.setitem(classifier.PRESETS, "interactive", QUICK)
    services.clear()
    yield
    services.clear()


@pytest.fixture
def page():
    return AppTest.from_file(PAGE, default_timeout=120)


def _trained(perturbation="mean_shift", gamma=0.15):
    benchmark = Gaussian(perturbation=perturbation)
    source = Simulated(benchmark=benchmark, gamma=gamma)
    task = GridTask(training=Training(source=source, recipe=QUICK))
    task.run(services().store, lambda fraction, live: None)
    return task


def _charts(page):
    return page.get("bidi_component")


def test_an_untrained_benchmark_says_so_and_trains(page):
    page.query_params["perturbation"] = "Blind prior"
    page.run()
    assert not page.exception
    assert any("No classifier has been trained" in text.value for text in page.markdown)
    assert not _charts(page)
    page.button(key="train").click().run()
    assert not page.exception
    page.run()
    assert len(_charts(page)) == 1
    assert services().store.entries()


def test_a_slider_never_trains(page, monkeypatch):
    _trained()
    monkeypatch.setattr(models, "train", lambda *a, **k: pytest.fail("a slider trained a network"))
    page.run()
    assert len(_charts(page)) == 1
    for m in (1, 200):
        page.select_slider(key="m").set_value(m).run()
        assert not page.exception
    page.select_slider(key="n").set_value(100).run()
    page.select_slider(key="level").set_value(0.1).run()
    assert not page.exception
    text = " ".join(caption.value for caption in page.caption)
    assert "100 × 200 calibration draws" not in text  # 20 000 fit into the 51 200 scored
    page.select_slider(key="n").set_value(1000).run()
    assert "pooled" in " ".join(caption.value for caption in page.caption)


@pytest.mark.parametrize("view", ["Ranks", "Scores", "Other tests"])
def test_views(page, view):
    _trained()
    page.session_state["view"] = view
    page.run()
    assert not page.exception
    assert len(_charts(page)) == 1


def test_a_view_without_an_oracle(page, monkeypatch):
    """Not every benchmark knows its log ratio."""
    monkeypatch.setattr(Gaussian, "log_ratio", lambda *args: None)
    _trained()
    page.session_state["view"] = "Scores"
    page.run()
    assert not page.exception


def test_training_is_shown_when_asked_for(page):
    _trained()
    page.session_state["trained"] = True
    page.run()
    assert not page.exception
    assert any("held-out AUC" in caption.value for caption in page.caption)


def test_power_refines_from_twenty_to_two_hundred(page, monkeypatch):
    _trained()
    page.session_state["n"] = 100
    page.session_state["along"] = "m"
    page.session_state["numbers"] = True
    page.run()
    page.button(key="run-power").click().run()
    page.run()
    assert not page.exception
    assert len(_charts(page)) == 3  # ranks; power and the noise of a rank, both over m
    table = page.dataframe[0].value
    assert list(table["Trials"]) == [200] * len(table)
    assert list(table["Test"])[:3] == ["C2ST", "Multiple", "Uniform(1)"]


def test_another_gamma_offers_training(page):
    _trained(gamma=0.15)
    page.run()
    page.select_slider(key="gamma_mean_shift").set_value(0.3).run()
    assert not page.exception
    assert any("gamma = 0.3" in text.value for text in page.markdown)
    assert page.button(key="train")


@pytest.mark.parametrize("dims", ["(10, 10)", "(50, 10)", "(100, 100)"])
@pytest.mark.parametrize("perturbation", ["Heavy tail", "Blind prior"])
def test_every_setting_opens(page, dims, perturbation):
    page.query_params["dims"] = dims
    page.query_params["perturbation"] = perturbation
    page.run()
    assert not page.exception
    assert f"Gaussian, {perturbation.lower()}, {dims}" in page.markdown[0].value


def test_nonsense_in_the_address_is_ignored(page):
    for name, value in {"m": "7", "n": "abc", "perturbation": "<script>", "level": "-1"}.items():
        page.query_params[name] = value
    page.run()
    assert not page.exception
    assert page.select_slider(key="m").value == 50


@pytest.mark.parametrize("name", ["conformal/page.py", "diagnose/page.py", "models/page.py"])
def test_a_folder_that_cannot_be_written_is_said_on_every_page(name, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("a file where the folder should be")
    monkeypatch.setenv("NPTLAB_CACHE", str(tmp_path / "file" / "cache"))
    services.clear()
    page = AppTest.from_file(str(ROOT / "pages" / name), default_timeout=120).run()
    assert not page.exception
    assert any("file" in warning.value for warning in page.warning)
