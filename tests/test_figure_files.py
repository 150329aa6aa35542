"""Figures as files: vectors with their font, sizes in inches, numbers, axes of matplotlib."""

import io
import re

import numpy as np
import pandas as pd
import pytest
from PIL import Image as Pillow

import validation_core as npt
from validation_core.drawing import live, svg, svg_marks
from validation_core.drawing.drawn import Drawn
from validation_core.drawing.image import FigureLook, figure_file
from validation_core.drawing.letters import svg_words
from validation_core.drawing.live_panels import still_picture
from validation_core.drawing.marks import (
    Axis,
    Band,
    Bars,
    Grid,
    HBand,
    Heat,
    HLine,
    Image,
    Line,
    Note,
    Panel,
    Points,
    Shades,
    Slider,
    VLine,
    over,
    sentence,
)
from validation_core.drawing.series import picture_rows
from validation_core.row_files import latex_table

RNG = np.random.default_rng(0)
UNIT = Axis((0, 1), "x")
MARKS = [
    HBand(0.1, 0.3),
    Heat(np.linspace(0, 1, 5), np.linspace(0, 1, 4), Shades(RNG.uniform(-1, 1, (3, 4)), limit=1)),
    Bars(np.linspace(0, 1, 6), RNG.uniform(0, 1, 5), color="#0072B2", shift=0.1, label="bars"),
    Line([0, 0.5, np.nan, 1], [0, 1, np.nan, 0.5], color="#D55E00", dash="dash", label="a line"),
    Line([0, 1, 1, 0], [0, 0, 1, 0], color="", fill=0.2),
    Band([0, 0.5, 1], [0.1, 0.2], [0.4, 0.5], label="steps"),
    *(Points([0.2], [0.5], color="#0072B2", symbol=symbol) for symbol in
      ("circle", "square", "diamond", "cross", "ring", "triangle")),
    Points([0.2, 0.7], [0.5, np.nan], color="", low=[0.4, 0.1], high=[0.6, 0.2]),
    VLine(0.5, label="half"),
    HLine(0.5, label="middle"),
    Note(0.5, 0.5, "here"),
]  # fmt: skip
COLOURED = [
    Points([0.2, 0.7], [0.5, 0.1], color=Shades([-1.0, 1.0], limit=1), left=[0, 0], right=[1, 1]),
    Bars([0, 0.5, 1], [0.3, 0.4], color=Shades([0.0, 0.5], limit=1), upright=False),
]  # fmt: skip
PANEL = Panel(
    MARKS, x=UNIT, y=Axis((0, 1), "share", percent=True), title="All <b>marks</b>",
    legend=[("bars", "#0072B2", "square"), ("steps", "", "band"), ("other", "#D55E00", "dash")],
)  # fmt: skip
PICTURES = {
    "panel": PANEL,
    "colours": Panel(COLOURED, x=Axis((0.01, 10), "x", log=True), y=UNIT),
    "pixels": Panel([Image((0, 1), (0, 1), RNG.integers(0, 255, (4, 5, 3), dtype=np.uint8))],
                    x=UNIT, y=UNIT, equal=True),
    "square": Panel([Line([0, 1], [0, 1], color="")], x=UNIT, y=UNIT, square=True),
    "grid": Grid([PANEL, PANEL, PANEL], columns=2),
}  # fmt: skip


def drawn(picture) -> Drawn:
    return Drawn("A <i>title</i> & more", picture, "")


def page_size(pdf: bytes) -> list[float]:
    found = re.search(rb"MediaBox ?\[([^\]]*)\]", pdf)
    return [float(number) for number in found.group(1).split()]


@pytest.mark.parametrize("name", PICTURES)
@pytest.mark.parametrize("style", ["screen", "paper"])
def test_every_mark_is_a_vector_with_its_font_in_the_file(name, style):
    figure, look = drawn(PICTURES[name]), FigureLook(style)
    vectors = figure_file(figure, ".svg", look).decode()
    assert "nan" not in vectors.partition("</style>")[2]
    assert "<image" not in vectors
    assert "@font-face" in vectors
    assert ("A title &amp; more" in vectors) == (style == "screen")
    pdf = figure_file(figure, ".pdf", look)
    assert b"FontFile2" in pdf
    assert b"/Subtype /Image" not in pdf
    assert b"/Subtype/Image" not in pdf
    wide = {"grid": 6.9}.get(name, 3.3) if style == "paper" else {"grid": 10.083}.get(name, 5.125)
    assert page_size(pdf)[2] == pytest.approx(72 * wide, abs=0.2)
    dots = 300 if style == "paper" else 192
    assert Pillow.open(io.BytesIO(figure_file(figure, ".png", look))).width == pytest.approx(
        dots * wide, abs=1.5
    )


def test_a_figure_has_the_size_that_is_asked_for():
    pdf = figure_file(drawn(PANEL), ".pdf", FigureLook("paper", width=5, height=2))
    assert page_size(pdf)[2:] == pytest.approx([360, 146], abs=1.5)
    with pytest.raises(ValueError, match=r"width of a figure is 1 to 60 inches; got 0\.5"):
        FigureLook(width=0.5)
    with pytest.raises(ValueError, match="screen or paper; got 'print'"):
        FigureLook("print")
    with pytest.raises(ValueError, match=r"got \.gif"):
        figure_file(drawn(PANEL), ".gif")


def test_a_legend_has_the_symbols_that_are_drawn():
    """Curves of one colour are told apart by nothing else."""
    kinds = ("circle", "square", "diamond", "cross", "ring", "triangle", "band", "line", "dash")
    keys = [svg_marks.legend_key(kind, 0, 7, "#0072B2") for kind in kinds]
    assert len(set(keys)) == len(kinds)
    for kind, key in zip(kinds, keys, strict=True):
        assert key in svg.svg(Panel([], x=UNIT, y=UNIT, legend=[("q", "#0072B2", kind)]), 300)


def test_names_in_the_margin_stand_apart_each_led_to_by_its_line():
    marks = [Line([0, 1], [0, 0.6], color="#0072B2", label=name) for name in ("a", "b")]
    panel = Panel([*marks, HLine(0.1, label="level")], x=UNIT, y=UNIT, margin=60)
    drawn_words = svg.svg(panel, 300)
    a, b, level = (
        re.search(rf'<text x="([\d.]+)" y="([\d.]+)"[^>]*>{name}<', drawn_words).groups()
        for name in ("a", "b", "level")
    )
    assert a[0] == b[0] == level[0]
    assert abs(float(a[1]) - float(b[1])) > 12
    assert float(level[1]) > float(b[1]) + 50
    assert drawn_words.count('stroke-opacity="0.6" fill="none"/>') == 2


def test_one_point_is_drawn_where_it_stands():
    """A stroke without extent would be left out by what makes PNG and PDF."""
    alone = Panel([Points([0.5], [0.5], color="#FF0000", size=40)], x=UNIT, y=UNIT)
    pixels = np.asarray(Pillow.open(io.BytesIO(figure_file(drawn(alone), ".png"))).convert("RGB"))
    assert (pixels == [255, 0, 0]).all(axis=2).sum() > 3000


def test_subscripts_and_exponents_are_small_letters_of_the_font():
    assert svg_words("θ₁₂ & 10⁻⁴.", 10) == (
        'θ<tspan dy="2" font-size="7">12</tspan><tspan dy="-2"> &amp; 10</tspan>'
        '<tspan dy="-3.5" font-size="7">−4</tspan><tspan dy="3.5">.</tspan>'
    )


def test_numbers_of_a_figure_are_rows():
    frame = drawn(PANEL).to_frame()
    assert set(frame["mark"]) == {"bars", "line", "band", "points", "map"}
    bars = frame[frame["mark"] == "bars"]
    assert bars["left"].tolist() == pytest.approx([0.1, 0.3, 0.5, 0.7, 0.9])
    assert len(frame[frame["mark"] == "map"]) == 12
    read = pd.read_csv(io.BytesIO(figure_file(drawn(PANEL), ".csv")))
    assert len(read) == len(frame)


@pytest.mark.parametrize("place", [(0, 0), (2, 1)])
def test_a_live_picture_is_saved_as_it_stands(place):
    """The payload that a browser reads gives back the panels it was made of."""
    gammas = Slider("gamma", [0, 0.5, 1], label="gamma")
    betas = Slider("beta", [0, 1], label="beta")
    values = over(RNG.standard_normal((3, 2, 7)), "gamma", "beta", coarse=True)
    words = over(np.array(["no", "some", "much"]), "gamma")
    heat = Heat(
        np.linspace(0, 1, 4),
        np.linspace(0, 2, 3),
        Shades(over(RNG.uniform(-1, 1, (2, 2, 3)), "beta"), limit=1, label="log p/q"),
    )
    panels = [
        Panel(
            [*(mark for mark in MARKS if not isinstance(mark, Heat)), heat,
             Line(np.arange(7), values, color="#0072B2", label=sentence("{w} error", w=words))],
            x=UNIT, y=UNIT, title=words, legend=[(words, "#0072B2", "line")],
        ),
        PICTURES["pixels"],
    ]  # fmt: skip
    payload = live.payload(sliders=[gammas, betas], panels=panels)
    at = [grid[i] for grid, i in zip(payload.sliders, place, strict=True)]
    got = picture_rows(still_picture(payload, at))
    frozen = Grid(panels, 2)
    want = picture_rows(frozen, dict(zip(("gamma", "beta"), place, strict=True)))
    got, want = pd.DataFrame(got), pd.DataFrame(want)
    assert len(got) == len(want) + 1  # a band across the panel travels as a band of two points
    same = ["panel", "mark", "series", "x", "y", "low", "high", "value"]
    np.testing.assert_array_equal(got[1:][["panel"]].iloc[-1], want[["panel"]].iloc[-1])
    for name in same[3:]:
        np.testing.assert_allclose(got[name][2:], want[name][1:], atol=0.01)
    assert figure_file(drawn(still_picture(payload, at)), ".pdf").startswith(b"%PDF")


@pytest.mark.parametrize("name", PICTURES)
def test_matplotlib_draws_every_mark_on_axes_of_ones_own(name):
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    picture = PICTURES[name]
    count = len(getattr(picture, "panels", [picture]))
    axes = Figure().subplots(1, count)
    assert drawn(picture).draw(axes) is axes
    first = np.atleast_1d(axes)[0]
    assert first.get_xlabel() == "x"
    with pytest.raises(ValueError, match=f"has {count} panel"):
        drawn(picture).draw(Figure().subplots(1, count + 1))


def test_a_result_gives_its_figures_and_its_table_for_a_paper(tmp_path):
    theta = RNG.standard_normal((60, 1))
    draws = RNG.standard_normal((60, 10, 1))
    result = npt.run("sbc", npt.Table(theta, theta, draws))
    assert result.save_figure("ranks", tmp_path / "r.pdf", style="paper", width=3.3).exists()
    assert result.save(tmp_path / "t.tex").read_text().startswith("\\begin{tabular}")
    text = latex_table([{"a_b": 1.5e-9, "p": 0.03456, "why": "5% & more"}, {"p": None}])
    assert "a\\_b" in text
    assert "$1.5 \\times 10^{-9}$" in text
    assert "5\\% \\& more" in text
    assert "--" in text
    assert "$0.0346$" in text
