"""ECDF of ranks less the diagonal, over its simultaneous band under uniformity."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from validation_core import statistics
from validation_core.drawing import style
from validation_core.drawing.marks import (
    Axis,
    Band,
    HLine,
    Line,
    Note,
    Number,
    Panel,
    Words,
    empty,
    values_and_sliders,
)
from validation_core.text import signed_text
from validation_core.types import Array

_POINTS = 101  # of the grid


def ecdf_difference(u: Array, level: float = 0.95, *, height: int = style.HEIGHT) -> Panel:
    """Plot F_n(u) - u of ranks, with its largest distance from 0 written beside it.

    Args:
        u: ranks (n,) in [0, 1].
        level: chance that the whole line stays within the band when q = p.
        height: of the panel, in pixels.
    """
    if u.size == 0:
        return empty("No ranks yet", height=height)
    grid = np.linspace(0, 1, _POINTS)
    difference = statistics.ecdf_difference(u, grid)
    panel = counted_difference(
        grid,
        difference,
        u.size,
        "F(u) − u",
        level=level,
        hover="u = %{x:.2f}: %{y:+.3f}",
        height=height,
    )
    where = int(np.abs(difference).argmax())
    largest = Note(
        grid[where],
        difference[where],
        signed_text(difference[where], "+.3f"),
        color=style.Q,
        anchor="middle",
        rise=10 * int(np.sign(difference[where])),
    )
    return replace(panel, marks=[*panel.marks, largest])


def counted_difference(
    grid: Array,
    difference: Number,
    n: int,
    up: str,
    *,
    color: str = style.Q,
    level: float = 0.95,
    hover: str = "",
    title: Words = "",
    caption: Words = "",
    height: int = style.HEIGHT,
) -> Panel:
    """Plot differences F_n(u) - u known on a grid, possibly over sliders.

    Args:
        grid: places u (G,) from 0 to 1.
        difference: F_n(u) - u there (..., G).
        n: ranks behind each line.
        up: the name of the difference.
        color: of the line.
        level: chance that the whole line stays within the band when q = p.
        hover: hover text of the line.
    """
    low, high = statistics.ecdf_band(n, level, grid)
    line = np.asarray(values_and_sliders(difference)[0], float)
    reach = 1.15 * max(float(np.abs(line).max()), float(high.max()), float(-low.min()))
    return Panel(
        [Band(grid, low, high), HLine(0), Line(grid, difference, color=color, hover=hover)],
        x=Axis((0, 1), "u"),
        y=Axis((-reach, reach), up),
        title=title,
        caption=caption,
        height=height,
    )
