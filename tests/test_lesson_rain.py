"""Lesson 4: the level and power of its trials, its line-ups, and how rain travels."""

import json

import numpy as np
import pytest
from scipy.stats import binom, kstest, norm

from tests.test_lessons import drawn, opened, state
from validation_core import statistics
from validation_core.drawing import live, plotly
from validation_core.drawing.marks import Axis, Panel, Rain, Slider
from validation_core.lessons import LESSONS, rain
from validation_core.rng import stream
from validation_core.store import Store


@pytest.fixture(scope="module")
def seen():
    return LESSONS["rain"].load(Store.usual())


def test_the_level_is_kept_on_many_trials():
    u = rain.draw_conformal_ranks(0.0, 4000, stream(5, "level"), stream(5, "ties"))
    pvalues = statistics.ks(u).pvalue
    low, high = statistics.binomial_bounds(4000, 0.05)
    assert low <= (pvalues <= 0.05).sum() <= high
    assert kstest(pvalues, "uniform").pvalue > 1e-3


def test_the_mean_rank_is_the_closed_form():
    """E[U] falls from 1/2 to about 1 - AUC (methods 0.1), with the + 1 of M draws."""
    gamma = 0.5
    u = rain.draw_conformal_ranks(gamma, 2000, stream(6, "mean"), stream(6, "ties"))
    below = norm.cdf(-gamma / np.sqrt(2))  # a draw of p scores below a draw of q
    mean = (rain.M * below + 0.5) / (rain.M + 1)
    assert u.mean() == pytest.approx(mean, abs=4 * 0.3 / np.sqrt(u.size))


def test_power_grows_with_gamma(seen):
    power = (seen.pvalues <= 0.05).mean(-1)
    assert (np.diff(power) > -0.02).all()
    assert power[-1] > 0.95
    assert binom.cdf((seen.pvalues[0] <= 0.05).sum(), rain.TRIALS, 0.05) > 1e-3


def test_opened_ranks_are_those_of_the_pvalue(seen):
    assert (seen.ranks.sum(-1) == rain.N).all()
    small, large = seen.pvalues[8] < 1e-4, seen.pvalues[8] > 0.5
    assert seen.ranks[8][small, :2].mean() > seen.ranks[8][large, :2].mean() + 3


def test_one_rain_of_each_line_up_is_no_null(seen):
    pvalues = statistics.ks(seen.suspects).pvalue
    guilty = np.take_along_axis(pvalues, seen.guilty[:, None] - 1, axis=1)
    nulls = np.array([np.delete(row, g - 1) for row, g in zip(pvalues, seen.guilty, strict=True)])
    assert (guilty < 0.05).all()
    low, high = statistics.binomial_bounds(nulls.size, 0.05)
    assert low <= (nulls <= 0.05).sum() <= high


def test_the_right_answer_is_the_one_that_was_put_there(seen):
    pick = drawn("rain").prediction.asked
    np.testing.assert_array_equal(pick.right.values, seen.guilty)
    assert len(pick.panels) == rain.SUSPECTS


def test_rain_travels_as_the_bins_of_its_values():
    values = np.array([[0.0, 0.04, 0.06, 1.0], [0.5, 0.5, 0.5, 0.99]])
    sliders = [Slider("g", [0, 1], label="G"), Slider("t", range(5), label="T"),
               Slider("o", range(4), label="O", hidden=True),
               Slider("a", range(2), label="A", hidden=True)]  # fmt: skip
    mark = Rain(values, bins=20, follows="g", clock="t", opens=("o", "a"), color="#000000")
    panel = Panel([mark], x=Axis((0, 1)), y=Axis((0, 4)), click="o")
    payload = live.payload(sliders=sliders, panels=[panel])
    (described,) = json.loads(payload.head)["panels"][0]["marks"]
    cells = described["cells"]
    assert np.frombuffer(payload.body, np.int8, 8, cells["first"]).tolist() == [
        0, 0, 1, 19, 10, 10, 10, 19
    ]  # fmt: skip
    assert (described["follows"], described["clock"], described["opens"]) == (0, 1, 2)
    with pytest.raises(ValueError, match="browser alone"):
        plotly.figure(panel)


def test_a_link_opens_a_rain():
    query = {"lesson": "rain", "stage": "2", "gamma": "0.3", "trials": "77", "open": "5"}
    name, at = state(opened(query))
    assert name == "rain"
    assert (at["stage"], at["gamma"], at["trials"], at["open"]) == (2, 0.3, 77, 5)
