"""Pictures of a place: the size of its error along a coordinate, or over two columns of x."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from validation_core.diagnosis.questions.base import heat_map, short_name
from validation_core.diagnosis.questions.over_x.features import OverXKind
from validation_core.diagnosis.questions.over_x.region_words import coordinate_text
from validation_core.diagnosis.questions.over_x.result import OverXCurve, OverXHeat, OverXPlace
from validation_core.diagnosis.questions.over_x.words import feature_text
from validation_core.drawing import style
from validation_core.drawing.drawn import Drawn
from validation_core.drawing.marks import Axis, Band, HLine, Line, Panel, Points
from validation_core.relabelling.claims import x_column_name
from validation_core.text import capitalise, equals
from validation_core.types import Array

_LONG = 48  # letters of a name on an axis
_TITLED = 24  # in a title, which holds two of them
_AXES = {
    "shift": "bias of q, posterior sd",
    "width": "q's width / width needed",
    "learned": "score: true values less q's draws, sd",
}
_MEANING = {
    "shift": "Above 0, q sits too high there; below 0, too low.",
    "width": "Above 1, q is too wide there; below 1, too narrow.",
    "learned": "Away from 0, a classifier tells true values from q's draws there.",
}


def has_size(place: OverXPlace) -> bool:
    """Whether a place has a size to draw: beyond the reach of the draws no width has."""
    if place.picture is None:
        return False
    values = place.picture.sizes[1 if isinstance(place.picture, OverXCurve) else 0]
    return bool(np.isfinite(values).any())


def place_picture(place: OverXPlace, names: Sequence[str], x_names: Sequence[str]) -> Drawn:
    """Draw the size of a place's error: along its coordinate, or over two columns of x."""
    short = (
        [style.short(name, _TITLED) for name in names],
        [style.short(name, _TITLED) for name in x_names],
    )
    what, along = feature_text(place, short[0]), coordinate_text(place, *short)
    title = f"{capitalise(what)} over {along}"
    p = f"Test for change over x: adjusted p {equals(place.p_varies)}."
    if isinstance(place.picture, OverXCurve):
        figure = _curve(place.kind, place.picture, short_name(along, _LONG))
        null = "1" if place.kind == "width" else "0"
        caption = (
            "Line: estimated error at each x. Band: 95% interval. "
            f"{_MEANING[place.kind]} If q were correct, the line would stay near {null}, at 95 "
            f"of 100 places inside the grey band. {p}"
        )
        return Drawn(title, figure, caption)
    assert place.picture is not None
    figure = _heat(place.kind, place.picture, _columns(x_names))
    caption = (
        f"Colour: estimated error; dots: rows; blank where they are few. {_MEANING[place.kind]} "
        f"If q were correct, all would be pale but for noise. {p}"
    )
    return Drawn(title, figure, caption)


def _columns(x_names: Sequence[str]) -> tuple[str, str]:
    first, second = (short_name(x_column_name(i, x_names), _LONG) for i in range(2))
    return first, second


def _curve(kind: OverXKind, curve: OverXCurve, along: str) -> Panel:
    at, value, low, high, room = np.asarray(curve.sizes, np.float64)
    middle = 1.0 if kind == "width" else 0.0
    grey = (np.exp(-room), np.exp(room)) if kind == "width" else (-room, room)
    ends = np.concatenate([low, high, value, *grey])
    ends = ends[np.isfinite(ends)]
    top, bottom = float(ends.max()), float(ends.min())
    spare = 0.08 * (top - bottom) or 0.1
    low, high = np.maximum(low, bottom - spare), np.minimum(high, top + spare)  # open: the axis
    width = float(at[-1] - at[0]) or 1.0
    feet = np.full(len(curve.rows), bottom - 0.6 * spare)
    return Panel(
        [
            HLine(middle, dash="dash"),
            Band(at, *grey, opacity=0.25),
            Band(at, low, high, color=style.P, opacity=0.2),
            Line(at, value, color=style.P, hover="%{x}: %{y:.2f}"),
            Points(curve.rows, feet, color=style.NULL, symbol="line-ns-open", opacity=0.5),
        ],
        x=Axis((float(at[0]) - 0.02 * width, float(at[-1]) + 0.02 * width), along),
        y=Axis((bottom - spare, top + spare), _AXES[kind]),
        height=style.HEIGHT,
    )


def _heat(kind: OverXKind, picture: OverXHeat, columns: tuple[str, str]) -> Panel:
    sides = [_cells(places) for places in np.asarray(picture.axes, np.float64)]
    value = np.asarray(picture.sizes, np.float64)[0]
    middle = 1.0 if kind == "width" else 0.0
    reach = max(0.2, float(np.nanmax(np.abs(value - middle), initial=0)))
    return heat_map(value, sides, columns, picture.rows, reach=reach, middle=middle)


def _cells(places: Array) -> tuple[float, float]:
    """Where cells begin and end that have evenly spaced places (A,) in their middles."""
    half = float(places[1] - places[0]) / 2 or 0.5
    return float(places[0]) - half, float(places[-1]) + half
