"""Pictures of a table itself: recovery of the true values, and the ranks of all parameters."""

import re

import numpy as np
import pytest

from validation_core.diagnosis.questions.calibration.table_pictures import (
    ranks_of_all_picture,
    recovery_picture,
)
from validation_core.drawing.image import figure_file
from validation_core.drawing.marks import Band, Line, Points
from validation_core.types import PosteriorTable


def table(widths, n=400, k=40):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, len(widths)))
    q = x[:, None] + np.array(widths) * rng.standard_normal((n, k, len(widths)))
    return PosteriorTable(x + rng.standard_normal(x.shape), x, q)


@pytest.mark.parametrize("k", [2, 10, 40])
def test_the_intervals_that_miss_are_counted_beside_what_a_correct_q_would_miss(k):
    drawn = recovery_picture(table([1.0] * 6, k=k), range(6), [f"a{i}" for i in range(6)])
    missed, of, expected = map(
        int, re.findall(r"(\d+) of (\d+), .* about (\d+)", drawn.caption)[0]
    )
    counted = [
        len(mark.x) for panel in drawn.picture.panels for mark in panel.marks[1:]
        if isinstance(mark, Points) and mark.color == "#0072B2"
    ]  # fmt: skip
    assert (sum(counted), of) == (missed, 360)
    assert abs(missed - expected) < 4 * np.sqrt(of) / 2


def test_lines_within_the_band_are_grey_and_those_that_leave_it_are_named():
    names = ["right", "narrow", "also right"]
    drawn = ranks_of_all_picture(table([1.0, 0.5, 1.0]), [1, 0, 2], names, seed=0)
    lines = [mark for mark in drawn.picture.marks if isinstance(mark, Line)]
    assert [line.hover.partition(":")[0] for line in lines] == ["also right", "right", "narrow"]
    assert len({line.color for line in lines}) == 2
    assert drawn.picture.legend == [("narrow", lines[-1].color, "line")]


def test_each_of_the_worst_lines_has_a_colour_of_its_own():
    drawn = ranks_of_all_picture(table([0.5] * 6), range(6), list("abcdef"), seed=0)
    named = {name: color for name, color, _ in drawn.picture.legend}
    assert list(named) == list("abcd")
    assert len({*named.values()}) == 4


def test_all_lines_together_stay_in_the_band_of_a_correct_q():
    outside = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        theta, q = rng.standard_normal((60, 5)), rng.standard_normal((60, 20, 5))
        drawn = ranks_of_all_picture(
            PosteriorTable(theta, theta, q), range(5), list("abcde"), seed=0
        )
        (band,) = [mark for mark in drawn.picture.marks if isinstance(mark, Band)]
        lines = np.array([mark.y for mark in drawn.picture.marks if isinstance(mark, Line)])
        outside += ((lines < band.low) | (lines > band.high)).any()
    assert outside <= 9  # 3 are expected; more in 0.1%


def test_figures_are_files(tmp_path):
    drawn = recovery_picture(table([1.0, 1.0, 1.0]), range(3), ["a", "<b>", "c"])
    written = figure_file(drawn, ".svg").decode()
    assert written.count("<svg") == 1 + 2 * 3
    assert "<b>" not in written
    assert figure_file(drawn, ".png").startswith(b"\x89PNG")
    assert drawn.save(tmp_path / "a.svg").read_bytes().startswith(b"<svg")
    assert drawn._repr_svg_().count("<svg") == written.count("<svg")
    assert repr(drawn) == f"{drawn.title}. {drawn.caption}"
