"""Numbers of a picture: a row for each bar, point and cell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from validation_core.drawing.alt import plain_words, series_name
from validation_core.drawing.fixed_marks import plain_numbers, shifted
from validation_core.drawing.marks import (
    Band,
    Bars,
    Grid,
    HBand,
    Heat,
    HLine,
    Line,
    Mark,
    Panel,
    Picture,
    Points,
    Shades,
    VLine,
)
from validation_core.drawing.over_sliders import freeze_sliders
from validation_core.types import Array

_Row = Mapping[str, object]


def picture_rows(picture: Picture, at: Mapping[str, int] | None = None) -> list[_Row]:
    """Numbers of a picture, a row for each bar, point of a line or cloud, and cell of a map.

    Args:
        picture: whose photographs and notes are left out.
        at: the index of each slider among its values; 0 by default.

    Returns:
        Rows with `panel` (its title), `mark` (bars, line, band, points, map), `series` (as the
        legend or its label names it), and what the mark has of `x`, `y`, `left`, `right`, `low`,
        `high`, `value` and `name`.
    """
    panels = picture.panels if isinstance(picture, Grid) else [picture]
    frozen = [freeze_sliders(panel, at) for panel in panels]
    return [row for panel in frozen for mark in panel.marks for row in _rows(mark, panel)]


def _rows(mark: Mark, panel: Panel) -> Iterator[_Row]:
    kind, columns = _columns(mark)
    if not kind:
        return
    head = {
        "panel": plain_words(str(panel.title)),
        "mark": kind,
        "series": plain_words(series_name(mark, panel)),
    }
    arrays = np.broadcast_arrays(*columns.values())
    for values in zip(*(array.ravel().tolist() for array in arrays), strict=True):
        yield {**head, **dict(zip(columns, values, strict=True))}


def _columns(mark: Mark) -> tuple[str, dict[str, Array]]:
    """Kind and columns of a mark that has numbers; an empty kind for one without."""
    if isinstance(mark, Bars):
        edges = shifted(mark.edges, mark.shift)
        along = ("left", "right", "y") if mark.upright else ("low", "high", "x")
        columns = dict(
            zip(along, (edges[:-1], edges[1:], plain_numbers(mark.heights)), strict=True)
        )
        return "bars", columns | _values(mark.color)
    if isinstance(mark, Line):
        return "line", {"x": shifted(mark.x, mark.shift), "y": plain_numbers(mark.y)}
    if isinstance(mark, Points):
        sides = {name: getattr(mark, name) for name in ("left", "right", "low", "high")}
        given = {name: plain_numbers(side) for name, side in sides.items() if side is not None}
        own = {"x": plain_numbers(mark.x), "y": plain_numbers(mark.y)}
        return "points", own | given | _values(mark.color)
    if isinstance(mark, Band):
        return "band", _band(mark)
    if isinstance(mark, HBand):
        return "band", {"low": plain_numbers(mark.low), "high": plain_numbers(mark.high)}
    if isinstance(mark, VLine):
        return "line", {"x": plain_numbers(mark.x)}
    if isinstance(mark, HLine):
        return "line", {"y": plain_numbers(mark.y)}
    if isinstance(mark, Heat):
        x, y = (
            (edges[1:] + edges[:-1]) / 2
            for edges in map(plain_numbers, (mark.x_edges, mark.y_edges))
        )
        return "map", {"x": x[None], "y": y[:, None]} | _values(mark.shades)
    return "", {}


def _band(mark: Band) -> dict[str, Array]:
    x, sides = (
        plain_numbers(mark.x),
        {"low": plain_numbers(mark.low), "high": plain_numbers(mark.high)},
    )
    if len(sides["low"]) == len(x) - 1:  # steps between edges
        return {"left": x[:-1], "right": x[1:], **sides}
    return {"x": x, **sides}


def _values(color: str | Shades) -> dict[str, Array]:
    """Numbers that are drawn as colours."""
    return {"value": np.asarray(color.values, float)} if isinstance(color, Shades) else {}
