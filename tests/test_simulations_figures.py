"""Figures 1 to 3: intervals before the log, what lies below the axis, gaps, and a second cue."""

import numpy as np
import plotly.graph_objects as go
import pytest

from validation_core.bayes import HeartTransplants, Hospitals
from validation_core.bayes.inference import ALGORITHMS, Laplace
from validation_core.figures import divergence, style
from validation_core.figures.divergence import LOWEST, Subplot, against_iterations
from validation_core.simulations import MS, Plan, Summary, Terms
from validation_core.simulations.curves import DivergenceCurve

X = np.array([10.0, 100, 1000])
NAN = np.nan


def curve(mean, low=None, high=None, name="laplace", label="Laplace", failures=(0, 0, 0), x=X):
    mean = np.asarray(mean, float)
    low = mean * 0.8 if low is None else np.asarray(low, float)
    high = mean * 1.2 if high is None else np.asarray(high, float)
    summary = Summary(mean, low, high, mean / 2, mean * 9, mean)
    return DivergenceCurve(name, label, np.asarray(x, float), summary, np.ones(len(x), bool),
                 np.asarray(failures), 100)  # fmt: skip


def drawn(*curves, title="Heart"):
    return against_iterations([Subplot(title, curves)])


def lines(figure, label="Laplace"):
    """The points on its line in the first panel, each with a symbol of its own."""
    own = [trace for trace in figure.data if trace.name == label]
    result = next(trace for trace in own if isinstance(trace.marker.symbol, list | tuple))
    line = next(trace for trace in own if trace.line.width == 1.8)
    np.testing.assert_array_equal(line.y, result.y)
    return result


def marks(figure):
    return [trace for trace in figure.data if trace.marker.symbol == "x-thin-open"]


def limits(axis):
    return 10.0 ** np.array(axis.range)


def foot(figure):
    return figure.layout.yaxis.tickvals[0]


def bars(figure):
    return next(trace for trace in figure.data if trace.mode == "lines")


def test_axes_are_logarithmic_and_hold_every_number():
    figure = drawn(curve([300, 20, 0.4], high=[900, 30, 0.5])).figure
    go.Figure(figure.to_dict())  # figures skip validation for speed: once here
    assert figure.layout.xaxis.type == figure.layout.yaxis.type == "log"
    low, high = limits(figure.layout.yaxis)
    assert foot(figure) == pytest.approx(0.1)
    assert 0.01 < low < 0.1
    assert high > 900
    assert limits(figure.layout.xaxis)[0] < 10
    assert limits(figure.layout.xaxis)[1] > 1000
    assert "nats" in figure.layout.yaxis.title.text
    assert list(figure.layout.xaxis.tickvals) == [10, 100, 1000]
    np.testing.assert_allclose(lines(figure).y, [300, 20, 0.4], rtol=1e-6)
    assert all(np.asarray(trace.y).dtype == np.float32 for trace in figure.data)


def test_intervals_are_formed_before_the_log_and_clipped_at_the_foot():
    message = drawn(curve([300, 20, 4], low=[-100, 10, 2], high=[700, 30, 6]))
    figure = message.figure
    assert foot(figure) == pytest.approx(1)
    drawn_bars = np.asarray(bars(figure).y).reshape(3, 3)
    np.testing.assert_allclose(drawn_bars[:, 0], [1, 10, 2], rtol=1e-6)
    np.testing.assert_allclose(drawn_bars[:, 1], [700, 30, 6], rtol=1e-6)
    assert np.isnan(drawn_bars[:, 2]).all()
    assert "[-100, 700]" in lines(figure).text[0]  # the number itself, for the pointer
    assert "go on below" in message.caption
    assert "go on below" not in drawn(curve([300, 20, 4])).caption


def test_what_is_not_above_0_is_an_open_mark_at_the_foot():
    message = drawn(curve([300, 1e-13, -2e-13]), curve([5, 5, 5], name="vi", label="VI"))
    low = foot(message.figure)
    assert LOWEST <= low <= 0.01
    assert limits(message.figure.layout.yaxis)[0] < low
    trace = lines(message.figure)
    np.testing.assert_allclose(trace.y, [300, low, low], rtol=1e-6)
    assert list(trace.marker.symbol) == ["circle", "circle-open", "circle-open"]
    assert "-2e-13" in trace.text[2]
    assert "Open marks" in message.caption
    assert "Open marks" not in drawn(curve([300, 20, 4])).caption
    assert not any("open" in symbol for symbol in lines(message.figure, "VI").marker.symbol)


def test_where_inference_failed_there_is_a_gap_and_a_cross():
    message = drawn(curve([NAN, NAN, 4], failures=[37, 0, 0]))
    trace, (cross,) = lines(message.figure), marks(message.figure)
    assert np.isnan(trace.y).tolist() == [True, True, False]
    assert not any(other.connectgaps for other in message.figure.data)
    assert len(cross.x) == 2
    assert cross.text[0].endswith("no q on 37 of 100 data sets")
    assert cross.text[1].endswith("no finite estimate")
    _, high = limits(message.figure.layout.yaxis)
    assert (np.asarray(cross.y) > 4.8).all()
    assert (np.asarray(cross.y) < high).all()
    assert "Crosses" in message.caption
    assert "Crosses" not in drawn(curve([300, 20, 4])).caption


def test_a_place_that_has_not_run_is_no_failure():
    item = curve([NAN, 20, 4])
    item.done[0] = False
    message = drawn(item)
    assert not marks(message.figure)
    assert np.isnan(lines(message.figure).y[0])
    empty = curve([NAN] * 3)
    empty.done[:] = False
    assert drawn(empty).figure.layout.annotations[0].text == "No run has ended yet"


def test_enormous_numbers_stay_finite():
    figure = drawn(curve([1e60, 1e12, 3], high=[1e61, 1e13, 4])).figure
    assert np.isfinite(lines(figure).y).all()
    assert np.isfinite(figure.layout.yaxis.range).all()
    assert len(figure.layout.yaxis.tickvals) <= 7
    assert "1e+60" in lines(figure).text[0]


def test_ticks_are_written_short_and_few_decades_get_more():
    axis = drawn(curve([3e7, 2e5, 2e3])).figure.layout.yaxis
    assert list(axis.ticktext) == [
        "1000", "10<sup>4</sup>", "10<sup>5</sup>", "10<sup>6</sup>", "10<sup>7</sup>"
    ]  # fmt: skip
    axis = drawn(curve([30, 20, 13], low=[25, 15, 12], high=[35, 25, 14])).figure.layout.yaxis
    assert list(axis.ticktext) == ["10", "20", "50", "100"]
    axis = drawn(curve([3e4, 2e4, 2e4])).figure.layout.yaxis
    assert list(axis.ticktext)[:2] == ["10<sup>4</sup>", "2 × 10<sup>4</sup>"]


def test_lines_at_one_place_stand_beside_one_another():
    two = curve([300, 20, 4]), curve([300, 20, 4], name="vi", label="VI")
    figure = drawn(*two).figure
    left, right = (np.asarray(lines(figure, label).x) for label in ("Laplace", "VI"))
    assert (left < X).all()
    assert (right > X).all()
    assert (right / left < 1.3).all()
    places = [text.split("<br>")[0] for text in lines(figure).text]
    assert places == [f"Laplace, {at} iterations" for at in ("10", "100", "1,000")]


def test_five_panels_have_axes_of_their_own_and_one_legend():
    panels = [
        Subplot(f"Model {i}", [curve([10.0**i, 20, 4]), curve([5, 5, 5], name="vi", label="VI")])
        for i in range(5)
    ]
    figure = against_iterations(panels).figure
    go.Figure(figure.to_dict())
    axes = {trace.xaxis for trace in figure.data}
    assert axes == {"x", "x2", "x3", "x4", "x5"}
    names = [trace.name for trace in figure.data if trace.showlegend]
    assert names == ["Laplace", "VI"]
    assert [note.text for note in figure.layout.annotations] == [p.title for p in panels]
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
    looks = [style._algorithm_style(name) for name in ALGORITHMS]
    for cue in ("color", "dash", "symbol"):
        assert len({getattr(look, cue) for look in looks}) == len(ALGORITHMS)
    unknown = style._algorithm_style("another")
    assert unknown.color == style.NULL


def luminance(color):
    channels = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("background", ["#FFFFFF", "#14171C"])
def test_algorithms_stand_out_on_light_and_dark(name, background):
    color = style._algorithm_style(name).color
    low, high = sorted([luminance(color), luminance(background)])
    assert (high + 0.05) / (low + 0.05) >= 3.0


# All three, of a plan


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
    (first,) = divergence.drawn(1, plan, of)
    middle, last = divergence.drawn(2, plan, of)
    (three,) = divergence.drawn(3, plan, of)
    for message in (first, middle, last, three):
        go.Figure(message.figure.to_dict())
        assert "if q were right" in message.caption
        assert {"x", "x2"} == {trace.xaxis for trace in message.figure.data}
    assert "30 iterations" in middle.title
    assert "100 iterations" in last.title
    assert list(middle.figure.layout.xaxis.tickvals) == list(MS)
    vi = lines(last.figure, "VI")
    np.testing.assert_allclose(vi.y, of[0, 0].d[2].mean(-1), rtol=1e-5)
    iwvi = lines(first.figure, "IWVI, M = 10")
    np.testing.assert_allclose(iwvi.y, of[0, 1].d[:, MS.index(10)].mean(-1), rtol=1e-5)
    names = [trace.name for trace in three.figure.data if trace.showlegend]
    assert names == ["VI trained with M", "VI trained with M = 1, weighted with M"]


def test_figure_2_over_a_choice_of_m(found):
    plan, of = found
    *_, last = divergence.drawn(2, plan, of, (1, 10))
    assert list(last.figure.layout.xaxis.tickvals) == [1, 10]


def test_one_run_at_one_place_is_drawn():
    plan = Plan(models=(HeartTransplants(),), inferences=(Laplace(),), iterations=(10,),
                datasets=20)  # fmt: skip
    (example,) = divergence.drawn(1, plan, {(0, 0): terms(plan, 1.0)})
    low, high = limits(example.figure.layout.xaxis)
    assert low < 10 < high
