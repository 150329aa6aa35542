"""Figures: they draw, keep still, stay small, and read on light and dark."""

import re

import numpy as np
import plotly.graph_objects as go
import pytest

from validation_core.drawing import plotly, style
from validation_core.drawing.ecdf_difference import ecdf_difference
from validation_core.drawing.line_names import spaced
from validation_core.drawing.loss_curve import loss_curve
from validation_core.drawing.marks import (
    Axis,
    Band,
    Bars,
    Grid,
    Heat,
    HLine,
    Image,
    Line,
    Note,
    Panel,
    Points,
    Shades,
    VLine,
    over,
    sentence,
)
from validation_core.drawing.null_histogram import statistic_on_null
from validation_core.drawing.rank_histogram import rank_histogram
from validation_core.methods import METHODS
from validation_core.panels import power
from validation_core.rng import stream
from validation_core.statistics import histogram_band
from validation_core.types import PowerCell

RNG = stream(0, "figures")
U = RNG.random(1000)
EPOCHS = np.arange(1, 41)
HISTORY = {"epoch": EPOCHS, "loss": 0.69 - 0.002 * EPOCHS, "auc": 0.5 + 0.004 * EPOCHS,
           "held_loss": 0.69 - 0.001 * EPOCHS}  # fmt: skip
NONE = np.empty(0)

_STYLES = [kind.style for kind in METHODS.values()]


def cell(method="uniform", gamma=0.1, beta=0.0, rejections=20, m=50, trials=100, label="U"):
    return PowerCell(
        benchmark="gaussian", method=method, options={"m": m} if method == "uniform" else {},
        gamma=gamma, beta=beta, trials=trials, rejections=rejections, alpha=0.05,
        protocol="pooled", draws_p=1, draws_q=1, seconds=0.1, label=label,
    )  # fmt: skip


FULL = {
    "rank_histogram": lambda: rank_histogram(U),
    "ecdf_difference": lambda: ecdf_difference(U),
    "on_null": lambda: statistic_on_null(3.1, mean=0, sd=1, critical=1.64, label="T"),
    "loss_curve": lambda: loss_curve(HISTORY),
}
EMPTY = {
    "rank_histogram": lambda: rank_histogram(NONE),
    "ecdf_difference": lambda: ecdf_difference(NONE),
    "on_null": lambda: statistic_on_null(np.nan, mean=0, sd=1, critical=1.64, label="T"),
    "loss_curve": lambda: loss_curve({}),
}


@pytest.mark.parametrize("draw", [*FULL.values(), *EMPTY.values()])
def test_plotly_accepts_it(draw):
    figure = plotly.figure(draw())
    go.Figure(figure.to_dict())  # figures skip validation for speed: once here
    assert figure.layout.height >= 150
    assert figure.layout.paper_bgcolor == "rgba(0,0,0,0)"


@pytest.mark.parametrize("name", FULL)
def test_axes_are_fixed_and_numbers_small(name):
    figure = plotly.figure(FULL[name]())
    assert figure.layout.xaxis.range is not None
    assert figure.layout.yaxis.range is not None
    assert all(np.asarray(trace.y).dtype == np.float32 for trace in figure.data)
    assert len(figure.to_json()) < 60_000


@pytest.mark.parametrize("name", EMPTY)
def test_nothing_to_draw_is_said(name):
    figure = plotly.figure(EMPTY[name]())
    assert not figure.data
    assert figure.layout.annotations[0].text.startswith("No")


def luminance(color):
    channels = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


@pytest.mark.parametrize(
    "color", [style.P, style.Q, style.NULL, style.OBSERVED, *(s.color for s in _STYLES)]
)
@pytest.mark.parametrize("background", ["#FFFFFF", "#14171C"])
def test_colours_stand_out_on_light_and_dark(color, background):
    low, high = sorted([luminance(color), luminance(background)])
    assert (high + 0.05) / (low + 0.05) >= 3.0


def test_methods_differ_in_more_than_colour():
    looks = list(_STYLES)
    assert len({look.color for look in looks}) == len(looks)
    assert len({look.symbol for look in looks}) == len(looks)


def test_power_cells_at_one_place_are_added_up():
    seeds = [cell(rejections=10), cell(rejections=20), cell(gamma=0.3, rejections=50)]
    (curve,) = power.curves(seeds, "gamma")
    rate, low, high = curve.rates
    np.testing.assert_allclose(rate, [0.15, 0.5])
    assert ((low < rate) & (rate < high)).all()


def test_power_over_m_leaves_out_methods_without_m():
    (curve,) = power.curves([cell(m=5), cell("c2st", label="C2ST")], "m")
    assert curve.method == "uniform"


def test_histogram_band_holds_all_bins_together():
    low, high = histogram_band(1000, 20)
    counts = stream(1, "band").multinomial(1000, [0.05] * 20, size=4000)
    inside = ((counts >= low) & (counts <= high)).all(1).mean()
    assert inside >= 0.95


def standing(*marks, **panel):
    unit = Axis((0, 1))
    return plotly.figure(Panel(marks, x=unit, y=unit, **panel), {"a": 1})


def test_every_mark_is_drawn_by_plotly_too():
    edges, x = np.linspace(0, 1, 4), np.linspace(0, 1, 3)
    heat = Heat(edges, edges, Shades(over(np.eye(3)[None].repeat(2, 0), "a"), limit=1))
    figure = standing(
        heat,
        Band(edges, np.zeros(3), over(np.ones((2, 3)), "a")),
        Bars(edges, over([[1, 2, 3], [4, 5, 6]], "a"), color=style.P, shift=over([0, 0.5], "a"),
             label="bars", label_at=(0.1, 0.9)),
        Line(x, over([x, 1 - x], "a"), color=style.Q, dash="6 3", label="falls"),
        Points(x, x, low=x - 0.1, high=x + 0.1, color="", symbol="ring"),
        VLine(over([0.2, 0.8], "a"), label="here"),
        HLine(0.5, label="level"),
        Note(0.5, 0.5, sentence("at {a}", a=over(["one", "two"], "a")), anchor="middle"),
        legend=[("p", style.P, "circle")],
    )  # fmt: skip
    go.Figure(figure.to_dict())  # validated
    heat, band, bars, line, points, key = figure.data
    np.testing.assert_array_equal(heat.z, np.eye(3))
    assert len(band.x) == 12
    np.testing.assert_allclose(bars.y, [4, 5, 6])
    np.testing.assert_allclose(bars.x, [4 / 6, 1, 8 / 6], rtol=1e-6)
    np.testing.assert_allclose(line.y, 1 - x)
    assert (line.line.dash, points.marker.symbol) == ("6px,3px", "circle-open")
    np.testing.assert_allclose(points.error_y.array, 0.1, rtol=1e-5)
    assert [shape.x0 for shape in figure.layout.shapes] == [0.8, 0]
    words = {re.sub("<[^>]*>", "", note.text) for note in figure.layout.annotations}
    assert {"bars", "falls", "here", "level", "at two", "−1", "1"} == words
    assert (key.name, key.marker.color, key.showlegend) == ("p", style.P, True)


def test_pixels_are_drawn_by_plotly_from_above():
    pixels = np.zeros((2, 4, 3), np.uint8)
    pixels[0, 0] = 255
    figure = standing(Image((0, 1), (0, 1), over([0 * pixels, pixels], "a")))
    go.Figure(figure.to_dict())  # validated
    (image,) = figure.data
    np.testing.assert_array_equal(image.z, pixels)
    assert (image.x0, image.y0, image.dx, image.dy) == (0.125, 0.75, 0.25, -0.5)


def test_equal_axes_of_a_grid_are_labelled_once():
    unit, other = Axis((0, 1), "u"), Axis((0, 2), "u")
    axes = [(unit, unit), (unit, unit), (unit, unit), (unit, other)]
    panels = [Panel([], x=x, y=y, title=f"{i}") for i, (x, y) in enumerate(axes)]
    layout = plotly.figure(Grid(panels, columns=2)).layout
    assert [note.text for note in layout.annotations] == ["0", "1", "2", "3", "u", "u"]
    places = [f"{side}axis{i}" for side in "xy" for i in ("", 2, 3, 4)]
    ticked = [layout[place].showticklabels for place in places]
    assert ticked == [False, False, True, True, True, False, True, True]
    assert [layout[place].title.text for place in places[:4]] == ["", "", "u", "u"]
    assert [note.yref for note in layout.annotations[4:]] == ["y domain", "y3 domain"]
    boxes = [(layout[f"xaxis{i}"].domain, layout[f"yaxis{i}"].domain) for i in ("", 2, 3, 4)]
    (left, top), (right, _), (_, bottom), _ = boxes
    assert left[1] < right[0]
    assert bottom[1] < top[0]
    alone = plotly.figure(panels[0]).layout
    assert [note.text for note in alone.annotations] == ["u"]  # its title is its reader's to place
    assert (alone.height, alone.xaxis.showticklabels) == (230, True)


def test_labels_of_lines_that_end_together_stand_apart():
    lines = [Line([0, 1], [0, y], color=style.P, label=f"{y}") for y in (0.5, 0.5, 0.9)]
    one, other, far = standing(*lines).layout.annotations
    assert (one.y, other.y, far.y) == (0.5, 0.5, 0.9)  # a lead begins where its line ends
    assert one.ay - other.ay >= 15  # pixels
    assert far.ay is None


@pytest.mark.parametrize(
    ("ends", "places"),
    [
        ([10, 40, 70], [10, 40, 70]),
        ([50, 50], [45, 55]),
        ([52, 48], [55, 45]),  # in the order of their ends
        ([20, 50, 50, 50, 90], [20, 40, 50, 60, 90]),
        ([1, 2], [0, 10]),
        ([99, 98, 10], [100, 90, 10]),
        ([5] * 12, [10 * i for i in range(12)]),  # more than there is room for
        ([], []),
    ],
)
def test_names_stand_as_near_to_their_lines_as_they_can(ends, places):
    np.testing.assert_allclose(spaced(ends, 10, 0, 100), places)


def test_power_stands_still_as_it_is_sent_to_the_browser():
    cells = [cell(gamma=gamma, rejections=count) for gamma, count in ((0, 5), (0.2, 60))]
    power_figure = power.power_figure(cells, "gamma", "m = 50", 0.05)
    go.Figure(power_figure.figure.to_dict())
    (line,) = (
        trace
        for trace in power_figure.figure.data
        if trace.mode == "lines" and not (trace.fill or trace.showlegend)
    )
    np.testing.assert_allclose(line.y, [0.05, 0.6], rtol=1e-6)
    assert "gamma" in power_figure.title


THEMES = {"#FFFFFF": "#22272E", "#14171C": "#E3E6EA"}
"""Papers and their inks, as .streamlit/config.toml has them."""


def blended(color, share, under):
    """A hexadecimal colour in such a part over another."""
    parts = [round(share * int(color[i : i + 2], 16) + (1 - share) * int(under[i : i + 2], 16))
             for i in (1, 3, 5)]  # fmt: skip
    return "#{:02x}{:02x}{:02x}".format(*parts)


def contrast(one, other):
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize(
    "color",
    sorted({style.P, style.Q, style.NULL, style.OBSERVED, *(s.color for s in _STYLES),
            *(s.color for s in style.ALGORITHM_STYLES.values())}),
)  # fmt: skip
@pytest.mark.parametrize(("paper", "ink"), THEMES.items())
def test_words_in_a_marks_colour_read_on_light_and_dark(color, paper, ink):
    note = standing(Note(0.5, 0.5, "said", color=color)).layout.annotations[0].text
    share = int(re.search(r"(\d+)%", note)[1]) / 100
    assert color in note
    assert "currentColor" in note
    assert contrast(blended(color, share, ink), paper) >= 4.5


def seen(tint, paper):
    """A colour with its opacity, as it looks on paper: red, green and blue."""
    *channels, opacity = map(float, re.findall(r"[\d.]+", tint))
    under = [int(paper[i : i + 2], 16) for i in (1, 3, 5)]
    return np.array(
        [opacity * c + (1 - opacity) * u for c, u in zip(channels, under, strict=True)]
    )


@pytest.mark.parametrize("paper", THEMES)
@pytest.mark.parametrize("color", [style.P, style.Q])
def test_maps_go_from_paper_to_colour_and_never_through_grey(paper, color):
    steps = np.array(
        [seen(style.diverging_color(color, part), paper) for part in np.linspace(0, 1, 9)]
    )
    ground = seen("rgba(0,0,0,0)", paper)
    assert np.abs(steps[0] - ground).max() < 12
    chroma = np.ptp(steps, axis=1)
    assert (np.diff(chroma) > 0).all()
    assert chroma[-1] > 120
    away = np.abs(steps - ground).sum(1)
    assert (np.diff(away) > 0).all()


def test_a_map_has_one_scale_above_it_and_its_dots_have_an_edge():
    edges = np.linspace(0, 1, 4)
    heat = Heat(edges, edges, Shades(np.eye(3), limit=2, label="log p/q"))
    dots = [Points([0.1], [0.2], color=color) for color in ("", style.P)]
    ring = Points([0.1], [0.2], color=style.P, symbol="ring")
    alone = standing(*dots).data
    shades = Points([0.1], [0.2], color=Shades([1.0], limit=2, middle=0.5))
    figure = standing(heat, *dots, ring, shades)
    go.Figure(figure.to_dict())  # validated
    drawn, *points, hollow, colored = figure.data
    assert drawn.colorbar.y > 1
    assert (drawn.showscale, colored.marker.showscale) == (True, False)
    assert all(dot.marker.line.width == 1 for dot in points)
    assert not any(dot.marker.line.width for dot in alone)
    assert hollow.marker.line.width > 1
    assert colored.marker.line.width > 0  # a dot of the paper's colour is there all the same
    words = [note.text for note in figure.layout.annotations]
    assert words == ["−2", "2  log p/q"]


def test_an_area_has_holes():
    square = np.array([[0, 0], [0, 1], [1, 1], [1, 0], [0, 0]])
    hole = 0.25 + 0.5 * square[::-1]
    x, y = np.concatenate([square, [[np.nan] * 2], hole]).T
    (area,) = standing(Line(x, y, color=style.P, fill=0.2)).data
    assert (area.fill, area.fillcolor) == ("toself", style.rgba(style.P, 0.2))


def test_a_legend_keeps_its_room():
    long = [(f"a long name of a line, {i}", style.P, "line") for i in range(6)]
    tall, flat = standing(legend=long).layout, standing(legend=long[:1]).layout
    assert tall.height - flat.height == tall.margin.t - flat.margin.t
    assert tall.margin.t - flat.margin.t >= 4 * 20
