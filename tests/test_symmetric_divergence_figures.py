"""Figures 1 to 3: medians and means, what lies beyond an axis, gaps, and a second cue."""

from itertools import pairwise

import numpy as np
import plotly.graph_objects as go
import pytest

from validation_core.bayes import HeartTransplants, Hospitals
from validation_core.bayes.algorithms import ALGORITHMS
from validation_core.bayes.laplace import Laplace
from validation_core.drawing import style
from validation_core.symmetric_divergence import MS, Plan, Terms, figures
from validation_core.symmetric_divergence.curves import DivergenceCurve
from validation_core.symmetric_divergence.figures import Subplot, against_iterations_figure
from validation_core.symmetric_divergence.lines import SCALE, NatsAxis, m_style, rate_guide
from validation_core.symmetric_divergence.runs import TermSummary

X = np.array([10.0, 100, 1000])
NAN = np.nan


def curve(median, low=None, high=None, mean=None, name="laplace", label="Laplace",
          failures=(0, 0, 0), x=X):  # fmt: skip
    median = np.asarray(median, float)
    low = median * 0.8 if low is None else np.asarray(low, float)
    high = median * 1.2 if high is None else np.asarray(high, float)
    mean = median * 1.1 if mean is None else np.asarray(mean, float)
    summary = TermSummary(
        mean, mean - 7, mean + 7, median, low, high, mean * 9, mean, 0.09 + 0 * mean
    )
    return DivergenceCurve(label, style.algorithm_style(name), np.asarray(x, float), summary,
                 np.ones(len(x), bool), np.asarray(failures), 100)  # fmt: skip


def drawn(*curves, title="Heart"):
    return against_iterations_figure([Subplot(title, curves)])


def nats(places):
    """Back from places on the axis."""
    return SCALE.unit * np.sinh(np.asarray(places, float) * np.log(10))


def points(figure, label="Laplace", symbol="circle"):
    """Of a line in the first panel: its points, or its rings or crosses."""
    own = [trace for trace in figure.data if trace.name == label and trace.mode == "markers"]
    return next(trace for trace in own if trace.marker.symbol == symbol and len(trace.x) > 1)


def line(figure, label="Laplace", width=1.8):
    own = [trace for trace in figure.data if trace.name == label and trace.mode == "lines"]
    return [trace for trace in own if trace.line.width == width]


def ring(figure, label="Laplace"):
    return points(figure, label, "circle-open")


def arrows(figure, label="Laplace"):
    """x and y of the tips."""
    return [
        (trace.x[i], trace.y[i])
        for trace in line(figure, label, 1.2)
        for i in range(1, len(trace.x), 4)
        if np.isfinite(trace.y[i])
    ]


def limits(figure):
    return np.array(figure.layout.yaxis.range)


def test_points_are_medians_with_their_intervals_and_rings_are_means():
    figure = drawn(curve([300, 20, 0.4], high=[900, 30, 0.5], mean=[400, 19, 0.45])).figure
    go.Figure(figure.to_dict())  # figures skip validation for speed: once here
    found = points(figure)
    np.testing.assert_allclose(nats(found.y), [300, 20, 0.4], rtol=1e-5)
    np.testing.assert_array_equal(line(figure)[0].y, found.y)
    top = np.asarray(found.y) + np.asarray(found.error_y.array)
    foot = np.asarray(found.y) - np.asarray(found.error_y.arrayminus)
    np.testing.assert_allclose(nats(top), [900, 30, 0.5], rtol=1e-5)
    np.testing.assert_allclose(nats(foot), [240, 16, 0.32], rtol=1e-5)
    np.testing.assert_allclose(nats(ring(figure).y), [400, 19, 0.45], rtol=1e-5)
    assert not arrows(figure)
    assert list(figure.layout.xaxis.ticktext) == ["10", "100", "1k"]
    assert list(figure.layout.xaxis.tickvals) == [1, 2, 3]
    assert "nats" in [note.text for note in figure.layout.annotations]
    assert all(np.asarray(trace.y).dtype == np.float32 for trace in figure.data)


def test_an_interval_that_goes_below_0_is_drawn_to_its_end():
    figure = drawn(curve([300, 0.02, -0.01], low=[200, -0.05, -0.3])).figure
    found = points(figure)
    np.testing.assert_allclose(nats(found.y), [300, 0.02, -0.01], rtol=1e-4)
    foot = np.asarray(found.y) - np.asarray(found.error_y.arrayminus)
    np.testing.assert_allclose(nats(foot), [200, -0.05, -0.3], rtol=1e-4)
    assert limits(figure)[0] < SCALE.at(np.array(-0.3))
    assert 0 in figure.layout.yaxis.tickvals
    assert not arrows(figure)


def test_a_mean_that_one_data_set_carries_away_does_not_eat_the_axis():
    """1e8 nats beside a median of 2: at the edge, with an arrow, and its number to be read."""
    message = drawn(curve([2, 1, 0.4], mean=[1e8, 1.1, 0.4]))
    _, high = limits(message.figure)
    assert high < SCALE.at(np.array(20))
    rings = ring(message.figure)
    assert rings.y[0] == pytest.approx(SCALE.at(np.array(2.4)), rel=1e-5), "at the edge"
    np.testing.assert_allclose(nats(rings.y[1:]), [1.1, 0.4], rtol=1e-5)
    ((x, y),) = arrows(message.figure)
    assert x == rings.x[0]
    assert rings.y[0] < y < high
    assert "1e+08" in rings.text[0]
    assert "1e+08" in points(message.figure).text[0]
    assert "are drawn at its edge, with an arrow" in message.caption


def test_a_mean_below_every_median_has_an_arrow_down():
    figure = drawn(curve([3, 2, 1], mean=[-50, 2, 1])).figure
    ((_, y),) = arrows(figure)
    low, _ = limits(figure)
    assert low < y < 0
    assert nats(ring(figure).y[0]) == pytest.approx(-0.01, rel=1e-4)


def test_where_inference_failed_there_is_a_gap_and_a_cross():
    message = drawn(curve([NAN, NAN, 4], failures=[37, 0, 0]))
    trace, cross = points(message.figure), points(message.figure, symbol="x-thin-open")
    assert np.isnan(trace.y).tolist() == [True, True, False]
    assert not any(other.connectgaps for other in message.figure.data)
    assert np.isfinite(cross.y).tolist() == [True, True, False]
    assert cross.text[0].endswith("no q on 37 of 100 data sets")
    assert cross.text[1].endswith("no finite estimate")
    _, high = limits(message.figure)
    assert (nats(cross.y[:2]) > 4.8).all()
    assert (cross.y[:2] < high).all()
    assert "Crosses" in message.caption
    assert "Crosses" not in drawn(curve([300, 20, 4])).caption


def test_a_place_that_has_not_run_is_no_failure():
    item = curve([NAN, 20, 4])
    item.done[0] = False
    message = drawn(item)
    assert not [trace for trace in message.figure.data if trace.marker.symbol == "x-thin-open"]
    assert np.isnan(points(message.figure).y[0])
    empty = curve([NAN] * 3)
    empty.done[:] = False
    assert drawn(empty).figure.layout.annotations[0].text == "No run has ended yet"


def test_too_few_data_sets_have_points_without_intervals():
    message = drawn(curve([3, 2, 1], low=[NAN] * 3, high=[NAN] * 3))
    assert np.isfinite(points(message.figure).y).all()
    assert np.isfinite(limits(message.figure)).all()


def test_enormous_numbers_stay_finite():
    figure = drawn(curve([1e60, 1e12, 3], high=[1e61, 1e13, 4], mean=[1e62, 1e13, 4])).figure
    assert np.isfinite(points(figure).y).all()
    assert np.isfinite(ring(figure).y).all()
    assert np.isfinite(limits(figure)).all()
    assert len(figure.layout.yaxis.tickvals) <= 8
    assert "1e+60" in points(figure).text[0]


def test_ticks_are_few_and_written_short():
    axis = drawn(curve([3e7, 2e5, 2e3])).figure.layout.yaxis
    assert axis.ticktext[0] == "0"
    assert axis.ticktext[-1] in ("10⁶", "10⁷")
    assert len(axis.ticktext) <= 8
    axis = drawn(curve([0.01, 0.02, 0.01])).figure.layout.yaxis
    assert list(axis.ticktext) == ["0", "0.1", "1"]


def test_lines_at_one_place_stand_beside_one_another():
    two = curve([300, 20, 4]), curve([300, 20, 4], name="vi", label="VI")
    figure = drawn(*two).figure
    left, right = (
        np.asarray(points(figure, label, symbol).x)
        for label, symbol in (("Laplace", "circle"), ("VI", "diamond"))
    )
    assert (left < np.log10(X)).all()
    assert (right > np.log10(X)).all()
    assert (right - left < 0.1).all()
    places = [text.split("<br>")[0] for text in points(figure).text]
    assert places == [f"Laplace, {at} iterations" for at in ("10", "100", "1,000")]


def test_five_panels_have_axes_of_their_own_and_one_legend():
    panels = [
        Subplot(f"Model {i}", [curve([10.0**i, 20, 4]), curve([5, 5, 5], name="vi", label="VI")])
        for i in range(5)
    ]
    figure = against_iterations_figure(panels).figure
    go.Figure(figure.to_dict())
    axes = {trace.xaxis for trace in figure.data}
    assert axes == {"x", "x2", "x3", "x4", "x5"}
    names = [trace.name for trace in figure.data if trace.showlegend]
    assert names == ["Laplace", "VI"]
    assert [note.text for note in figure.layout.annotations][:5] == [p.title for p in panels]
    boxes = []
    for i in range(5):
        x, y = (figure.layout[f"{side}axis{i + 1 if i else ''}"] for side in "xy")
        assert x.anchor == f"y{i + 1 if i else ''}"
        boxes.append((*x.domain, *y.domain))
    for i, (a, b, c, d) in enumerate(boxes):
        assert 0 <= a < b <= 1
        assert 0 <= c < d <= 1
        for e, f, g, h in boxes[:i]:
            assert b <= e or f <= a or d <= g or h <= c


def test_algorithms_differ_in_more_than_colour():
    looks = [style.algorithm_style(name) for name in ALGORITHMS]
    assert len({look.color for look in looks}) == len(ALGORITHMS)
    assert len({(look.dash, look.symbol) for look in looks}) == len(ALGORITHMS)
    unknown = style.algorithm_style("another")
    assert unknown.color == style.NULL


def luminance(color):
    channels = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("background", ["#FFFFFF", "#14171C"])
def test_algorithms_stand_out_on_light_and_dark(name, background):
    color = style.algorithm_style(name).color
    low, high = sorted([luminance(color), luminance(background)])
    assert (high + 0.05) / (low + 0.05) >= 3.0


def terms(plan, scale):
    rng = np.random.default_rng(0)
    shape = (len(plan.iterations), len(MS), plan.datasets)
    d = scale * rng.exponential(size=shape) / np.array(MS)[:, None]
    done = np.ones(shape[0], bool)
    return Terms(d, done, np.zeros(shape[0], np.int64), np.ones(shape[0]))


@pytest.fixture
def found():
    inferences = (ALGORITHMS["vi"], ALGORITHMS["iwvi"])
    plan = Plan(models=(HeartTransplants(), Hospitals()), inferences=inferences,
                iterations=(10, 30, 100), datasets=20)  # fmt: skip
    return plan, {(i, j): terms(plan, 10.0 * (i + j + 1)) for i in (0, 1) for j in (0, 1)}


def test_the_three_figures(found):
    plan, of = found
    (first,) = figures.drawn(1, plan, of)
    laplace, iwvi, last = figures.drawn(2, plan, of)
    three, along = figures.drawn(3, plan, of)
    for message in (first, laplace, iwvi, last, three, along):
        go.Figure(message.figure.to_dict())
        assert "if q were correct" in message.caption
        assert {"x", "x2"} == {trace.xaxis for trace in message.figure.data}
    assert "100 iterations" in last.title
    assert list(last.figure.layout.xaxis.ticktext) == [str(m) for m in MS]
    vi = of[0, 0].d[2]
    np.testing.assert_allclose(
        nats(points(last.figure, "VI", "diamond").y), np.median(vi, -1), rtol=1e-4
    )
    axis = limits(last.figure)
    means = vi.mean(-1)
    inside = SCALE.at(means) < axis[1]
    np.testing.assert_allclose(nats(ring(last.figure, "VI").y)[inside], means[inside], rtol=1e-4)
    expected = np.median(of[0, 1].d[:, MS.index(10)], -1)
    for drawing, label in ((first, "IWVI, M = 10"), (three, "M = 10")):
        trace = points(drawing.figure, label, "triangle-up")
        np.testing.assert_allclose(nats(trace.y), expected, rtol=1e-4)
    names = [trace.name for trace in along.figure.data if trace.showlegend]
    assert names == ["IWVI", "VI", "1/M"]


def test_figures_2_and_3_are_along_iterations_with_a_curve_for_each_m(found):
    plan, of = found
    vi, *_ = figures.drawn(2, plan, of)
    assert list(vi.figure.layout.xaxis.ticktext) == ["10", "30", "100"]
    names = [trace.name for trace in vi.figure.data if trace.showlegend]
    assert names == [f"M = {m}" for m in MS]
    trace = points(vi.figure, "M = 1", "circle")
    np.testing.assert_allclose(nats(trace.y), np.median(of[0, 0].d[:, 0], -1), rtol=1e-4)
    three, _ = figures.drawn(3, plan, of)
    assert [t.name for t in three.figure.data if t.showlegend] == ["M = 1", "M = 10"]


def test_figure_2_over_a_choice_of_m(found):
    plan, of = found
    *_, last = figures.drawn(2, plan, of, (1, 10))
    assert list(last.figure.layout.xaxis.ticktext) == ["1", "10"]


def test_the_guide_falls_as_one_over_m():
    """From the highest median at M = 1, and only within the panel's axis."""
    axis = NatsAxis(0.001, 50.0)
    medians = [np.array([20.0, 1, 1, 1]), np.array([np.nan, 3, 3, 3])]
    guide = rate_guide((1, 2, 10, 100), medians, axis)
    np.testing.assert_allclose(guide.x, np.log10([1, 2, 10, 100]))
    np.testing.assert_allclose(nats(guide.y), [20, 10, 2, 0.2])
    assert guide.dash
    none = rate_guide((1, 2), [np.array([-0.1, 0.2])], axis)
    assert np.isnan(none.y).all(), "a median below 0 sets no rate"


def test_the_m_differ_in_more_than_colour_and_stand_out():
    looks = [m_style(m) for m in MS]
    assert len({look.color for look in looks}) == len(MS)
    assert all(a.dash != b.dash for a, b in pairwise(looks))
    assert all(a.symbol != b.symbol for a, b in pairwise(looks))
    for look in looks:
        for background in ("#FFFFFF", "#14171C"):
            low, high = sorted([luminance(look.color), luminance(background)])
            assert (high + 0.05) / (low + 0.05) >= 3.0, look


def test_one_run_at_one_place_is_drawn():
    plan = Plan(models=(HeartTransplants(),), inferences=(Laplace(),), iterations=(10,),
                datasets=20)  # fmt: skip
    (example,) = figures.drawn(1, plan, {(0, 0): terms(plan, 1.0)})
    low, high = example.figure.layout.xaxis.range
    assert low < 1 < high
