"""Pictures in words: the numbers of every kind of mark, and never too many letters."""

import numpy as np
import pytest

from validation_core.drawing import style
from validation_core.drawing.alt import describe_picture
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
    VLine,
    over,
)

UNIT = Axis((0, 1))
EDGES = [0, 0.5, 1]


def words(mark, x=UNIT, y=UNIT, **panel):
    """What is said of one mark alone, without the axes."""
    hidden = [Axis(a.limits, ticks=a.ticks, names=a.names, percent=a.percent, hidden=True)
              for a in (x, y)]  # fmt: skip
    return describe_picture(Panel([mark], x=hidden[0], y=hidden[1], **panel))


ROWS = Axis.of_rows(["mass", "spin"])


@pytest.mark.parametrize(("mark", "said"), [
    (Bars(EDGES, [3, 7], color="red"), "bars: highest 7 at 0.75, lowest 3 at 0.25."),
    (Bars(EDGES, [3, 7], color="red", shift=1), "bars: highest 7 at 1.75, lowest 3 at 1.25."),
    (Bars(EDGES, [3, 7], color="red", upright=False),
     "bars: highest 7 at 0.75, lowest 3 at 0.25."),
    (Line([0, 0.5, 1, np.nan], [0.2, -0.4, 0.1234567, 1], color="red", label="rate"),
     "rate: from 0.2 at 0 to 0.123 at 1, lowest −0.4, highest 0.2."),
    (Line([0, 1, 1, 0], [0, 0, 2, 0], color="red", fill=0.2, label="region"),
     "region, across 0 to 1, up 0 to 2."),
    (Line([np.nan], [1], color="red"), ""),
    (Band([0, 1], [1, 2], [3, 4]), "band: 1 to 4."),
    (HBand(1, 4), "band: 1 to 4."),
    (Points([0.5], [1e-9], color="red", label="here"), "here: 0 at 0.5."),
    (Points([0, 1, np.nan], [2, 3, 4], color="red"),
     "points: 2 points, across 0 to 1, up 2 to 3."),
    (VLine(0.25, label="seen"), "seen at 0.25."),
    (VLine(0.25), ""),
    (VLine(0.25, label="0.25"), "line at 0.25."),
    (HLine(np.nan, label="gone"), ""),
    (Note(0, 0, "not <b>counted</b> yet"), "not  counted  yet."),
    (Heat(EDGES, EDGES, Shades([[0, 1], [np.nan, -2]], limit=2, label="p less q")),
     "p less q: highest 1 at (0.75, 0.25), lowest at most −2 at (0.75, 0.75)."),
    (Image((0, 1), (0, 1), np.zeros((1, 1, 3), np.uint8)), ""),
])  # fmt: skip
def test_every_mark_is_said_in_numbers(mark, said):
    assert words(mark) == said


def test_rows_and_per_cent_are_said_as_they_are_drawn():
    share = Axis((0, 1), percent=True)
    assert words(Points([0.3, 0.62], [0, 1], color=""), share, ROWS) == (
        "points: highest 62% at spin, lowest 30% at mass."
    )


NATS = Axis((-0.1, 3.1), ticks=[0, 1, 2, 3], names=["0", "1", "10", "100"])
RUNS = Axis((-0.5, 3.5), ticks=[0, 1, 2, 3], names=["10", "30", "", "300"])


@pytest.mark.parametrize(("mark", "said"), [
    (Line([0, 3], [3, 0.4], color="", label="VI"),
     "VI: from 100 at 10 to between 0 and 1 at 300, lowest between 0 and 1, highest 100."),
    (Points([0.2, 0.9], [-0.5, 3.4], color="", label="VI"),
     "VI: highest above 100 at 30, lowest below 0 at 10."),
    (Points([2], [1.005], color="", label="VI"), "VI: 1 at between 30 and 300."),
    (Band([0, 3], [0.5, 1], [2, 2.5]), "band: between 0 and 1 to between 10 and 100."),
])  # fmt: skip
def test_between_numbered_ticks_no_number_is_made_up(mark, said):
    assert words(mark, RUNS, NATS) == said


def test_ticks_without_a_name_are_left_out():
    panel = Panel([], x=RUNS, y=UNIT)
    assert describe_picture(panel) == "Across: 10, 30, 300. Up: 0 to 1."
    nameless = Axis((0, 2), "tests", ticks=[1], names=[""])
    assert describe_picture(Panel([], x=nameless, y=UNIT)) == "Across: tests. Up: 0 to 1."
    assert words(Points([1], [0.5], color="", label="SBC"), nameless) == "SBC: 0.5."


def test_lines_of_one_colour_are_told_by_their_dashes():
    marks = [Line([0, 1], [0, 1], color="red", dash="6 4"), Line([0, 1], [0, 2], color="red")]
    legend = [("median", "red", "line"), ("largest", "red", "dash")]
    said = describe_picture(Panel(marks, x=UNIT, y=UNIT, legend=legend))
    assert "largest: from 0 at 0 to 1 at 1" in said
    assert "median: from 0 at 0 to 2 at 1" in said


def test_axes_are_said_before_marks_and_a_series_once():
    rate = Axis((0, 1), "share", percent=True)
    many = Axis((0, 9), "row", ticks=range(9), names=[f"r{i}" for i in range(9)])
    marks = [Line([0, 1], [0, 1], color=style.Q), Points([0, 1], [0, 1], color=style.Q)]
    panel = Panel(marks, x=many, y=rate, title="Power", legend=[("q", style.Q, "line")])
    assert describe_picture(panel) == (
        "Power. Across: row, r0 to r8, 9 in all. Up: share, 0% to 100%. "
        "q: from 0% at r0 to 100% at r1, lowest 0%, highest 100%."
    )
    assert describe_picture(panel, "Another title").startswith("Another title. Across")


def test_words_stand_where_the_sliders_do():
    line = Line([0, 1], over([[0, 1], [5, 6]], "x"), color="red")
    panel = Panel([line], x=UNIT, y=UNIT, title=over(["first", "second"], "x"))
    assert "second." in describe_picture(panel, at={"x": 1})
    assert "highest 6" in describe_picture(panel, at={"x": 1})
    assert "highest 1." in describe_picture(panel)


def test_what_does_not_fit_is_counted():
    lines = [Line([0, 1], [i, i], color="red", label=f"line {i}") for i in range(40)]
    panel = Panel(lines, x=UNIT, y=UNIT, title="Many")
    for picture in (panel, Grid([panel] * 3, columns=2)):
        text = describe_picture(picture)
        assert 450 < len(text) <= 600
        assert text.endswith(" more.")
    said = describe_picture(panel).count("line ")
    assert f"And {40 - said} more." in describe_picture(panel)
