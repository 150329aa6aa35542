"""The picture library: rates with their intervals, ranks and nulls, over sliders or not."""

import numpy as np
import pytest

from tests.conftest import ROOT
from validation_core import statistics
from validation_core.drawing import power_curves as curves
from validation_core.drawing.marks import Axis, Note, Over, VLine, over
from validation_core.drawing.null_histogram import null_histogram, statistic_on_null
from validation_core.drawing.rank_histogram import growing_band, rank_counts

LOOK = curves.method_look("c2st")


def test_rates_are_shares_with_wilson_intervals():
    rates = curves.Rates.of([5, 50], 100)
    np.testing.assert_allclose(rates.rate, [0.05, 0.5])
    np.testing.assert_allclose(rates[1:], statistics.wilson([5, 50], 100))


def test_before_the_first_trial_no_rate_is_known():
    rates = curves.Rates.of([[0, 3]], [[0, 4]])
    assert np.isnan(rates).tolist() == [[[True, False]]] * 3


@pytest.mark.parametrize("sliders", [(), ("beta",)])
def test_marks_follow_the_sliders_they_are_given(sliders):
    rates = curves.Rates.of(np.ones((2, 3)) if sliders else np.ones(3), 10)
    line = curves.rate_line([0, 1, 2], rates.rate, LOOK, *sliders)
    points = curves.rate_points([0, 1, 2], rates, LOOK, *sliders)
    for values in (line.y, points.y, points.low, points.high):
        assert (isinstance(values, Over) and values.sliders == sliders) == bool(sliders)


def test_places_are_named_where_they_are_drawn():
    axis = curves.places_axis([1, 10, 100], "m", at=[0, 1, 2])
    assert list(axis.names) == ["1", "10", "100"]
    assert axis.limits[0] < 0 < 2 < axis.limits[1]
    lone = curves.places_axis([0.3], "gamma")
    assert lone.limits[0] < 0.3 < lone.limits[1]


def test_every_axis_of_rates_has_one_label():
    """Written once; whoever draws rates takes the axis from there."""
    files = (ROOT / "validation_core").rglob("*.py")
    assert [path.name for path in files if f'"{curves.REJECTED}"' in path.read_text()] == [
        "power_curves.py"
    ]


def test_a_growing_band_holds_as_many_ranks_as_were_counted():
    band, even = growing_band(20, 4, "trials")
    assert band.low.values.shape == (21, 2)
    assert even.y.values.tolist() == (np.arange(21) / 4).tolist()
    assert (band.high.values[-1] == statistics.histogram_band(20, 4)[1]).all()


def test_tall_histograms_may_be_cut():
    counts = np.zeros((100, 10))
    counts[:, 0], counts[0, 0] = 30, 500
    tops = [
        rank_counts(over(counts, "gamma"), 30, Axis((0, 1)), "", shown=shown).y.limits[1]
        for shown in (1, 0.9)
    ]
    assert tops[0] > 500
    assert 30 < tops[1] < 50


@pytest.mark.parametrize("observed", [3.0, over([1.0, 3.0], "m")])
def test_what_was_seen_is_said_on_every_null(observed):
    x = Axis((-5, 5), "T")
    drawn = [
        null_histogram(np.linspace(-5, 5, 11), np.ones(10), observed, x, "count"),
        statistic_on_null(observed, mean=0, sd=1, critical=1.6, label="T"),
    ]
    for panel in drawn:
        lines = [mark.label for mark in panel.marks if isinstance(mark, VLine)]
        notes = [mark.words for mark in panel.marks if isinstance(mark, Note)]
        assert [word for word in (*lines, *notes) if word.startswith("seen")]
