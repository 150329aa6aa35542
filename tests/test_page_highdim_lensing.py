"""The lensing view under AppTest: stored results at once, a job where there are none."""

import dataclasses
from dataclasses import replace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.highdim import lensing
from pages.ui.services import services
from tests.test_lensing import SMALL, LensingAtThreeGammas
from validation_core.engine import Engine
from validation_core.explorers.highdim.lensing import pictures as lensing_pictures
from validation_core.explorers.highdim.lensing import table as lensing_table
from validation_core.methods import SBC, TARP
from validation_core.store import Store
from validation_core.sweep.plan import Sweep
from validation_core.sweep.progress import collect
from validation_core.sweep.trials import TrialDesign

pytestmark = pytest.mark.usefixtures("_new_server")


def _page():
    from pages.highdim import lensing

    lensing.show()


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A study of little work, and its result."""
    study = replace(SMALL, benchmark=LensingAtThreeGammas())
    return study, study.compute(Store(tmp_path_factory.mktemp("store")), lambda f, live: None)


def tiny(**grid):
    """Two cheap tests on few simulations."""
    design = TrialDesign(trials=3, n=20, k=4)
    return Sweep(benchmark=LensingAtThreeGammas(), methods=(SBC(), TARP()), design=design, **grid)


def test_pictures_travel_in_one_piece(small):
    study, seen = small
    payload = lensing_pictures.payload(seen)
    assert payload.sliders == (study.gammas, (1.0, 2.0, 3.0, 4.0))
    assert len(payload.head) + len(payload.body) < 700_000
    for name in ("image x", "p's mean", "a draw of q", "residual", "CoLT's map"):
        assert name in payload.head
    assert "nothing is wrong" in payload.head
    assert "no better than guessing, 0.5, but for chance" in payload.head


def test_light_is_brighter_where_there_is_more():
    shades = lensing_pictures.brightness_to_rgb(np.array([[-1.0, 0.0, 0.5, 1.0, 9.0]]))
    assert shades.shape == (1, 5, 3)
    assert (np.diff(shades.astype(int).sum(-1)) > 0).all()


def test_where_half_is_reached():
    places, rates = np.array([0.0, 0.5, 1.0]), np.array([0.0, 0.25, 0.75])
    assert lensing_table.half_power_crossing(places, rates) == pytest.approx(0.75)
    assert lensing_table.half_power_crossing(places, rates / 2) is None
    assert lensing_table.half_power_crossing(places, rates + 0.5) == 0
    assert lensing_table.tick_names(np.array([0.0, 0.6, 0.9, 0.95])) == ["0", "0.6", "", "0.95"]


def test_the_page_draws_what_the_store_holds(small, monkeypatch):
    study, seen = small
    study.keep(services().store, seen)
    both = tiny(gammas=(0.0, 1.0)), tiny(gammas=(0.5,), betas=(0.0, 0.9))
    for sweep in both:
        for task in sweep.tasks:
            task.run(services().store, lambda fraction, live: None)
    monkeypatch.setattr(lensing, "LensingStudy", lambda benchmark: study)
    monkeypatch.setattr(lensing, "sweeps", lambda benchmark, networks: both)
    page = AppTest.from_function(_page, default_timeout=60).run()
    assert not page.exception
    assert "wrong angle" in page.caption[0].value
    assert {"Conformal C2ST, Table 2 (a)", "Conformal C2ST, Table 2 (b)"} <= {
        each.value for each in page.subheader
    }
    said = " ".join(each.value for each in page.caption)
    assert "DC is its authors' network" in said
    assert "three networks at each gamma" in said
    assert not page.button
    assert "one half" in page.markdown[0].value or "Half of" in page.markdown[0].value
    progress = [collect(sweep, services().store) for sweep in both]
    assert "gamma = 0.5" in lensing_table.rates(both, progress, at=0.5).head


def test_what_is_missing_is_worked_out(monkeypatch):
    asked = []

    def submit(engine, tasks, who, label=""):
        del engine, who, label
        asked.append(tasks)
        raise RuntimeError("asked")

    monkeypatch.setattr(Engine, "submit", submit)
    unshipped = dataclasses.replace(lensing_table.shipped()[0], seed=77)
    monkeypatch.setattr(lensing, "LensingStudy", lambda benchmark: unshipped)
    page = AppTest.from_function(_page, default_timeout=60).run()
    assert page.exception
    (tasks,) = asked
    assert tasks[-1] == unshipped
