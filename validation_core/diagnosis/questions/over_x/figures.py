"""The map over x: the smoothed size of q's errors along a coordinate, or over a plane."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from validation_core.diagnosis.claims import Claims, column
from validation_core.diagnosis.questions.over_x.features import Kind
from validation_core.diagnosis.questions.over_x.study import Curve, ErrorsOverX, Heat, Place
from validation_core.diagnosis.questions.over_x.text import coordinate, feature
from validation_core.diagnosis.records import equals
from validation_core.figures import style
from validation_core.figures.outcome import Drawn

_MOST = 6
_LONG = 48  # letters of a name on an axis
_SCALE = [[0.0, style.Q], [0.5, style.NULL], [1.0, style.P]]
_AXES = {
    "shift": "shift of the truth, posterior sd",
    "width": "spread of the truth / that of q",
    "learned": "truth's score less q's draws', sd",
}
_MEANING = {
    "shift": "Above 0: the truth lies above q's draws, so that q sits too low there; below 0: too "
    "high.",
    "width": "Above 1: the truth spreads wider than q's draws, so that q is too narrow there; "
    "below 1: too wide.",
    "learned": "Away from 0: there a classifier tells the truth from q's draws.",
}


def figures(
    result: ErrorsOverX,
    names: Sequence[str] = (),
    x_names: Sequence[str] = (),
    claims: Claims | None = None,
) -> tuple[Drawn, ...]:
    """The worst places, at most six: a curve along a coordinate, a heat map over two."""
    places = [place for place in result.judged(claims).worst if place.picture is not None]
    return tuple(_figure(place, names, x_names) for place in places[:_MOST])


def _figure(place: Place, names: Sequence[str], x_names: Sequence[str]) -> Drawn:
    what, along = feature(place, names), coordinate(place, names, x_names)
    title = f"{what[:1].upper()}{what[1:]} over {along}"
    p = f"p {equals(place.p_varies)} that it changes over x, adjusted for all looked at."
    if isinstance(place.picture, Curve):
        figure = _curve(place.kind, place.picture, _short(along))
        null = "1" if place.kind == "width" else "0"
        caption = (
            "Line: the local size, its band a 95% interval at each place. "
            f"{_MEANING[place.kind]} If q were right, the line would stay near {null}, at 95 "
            f"of 100 places inside the grey room. {p}"
        )
        return Drawn(title, figure, caption)
    assert place.picture is not None
    figure = _heat(place.kind, place.picture, _columns(x_names))
    caption = (
        f"Colour: the local size; dots: rows; blank where they are few. {_MEANING[place.kind]} "
        f"If q were right, all would be grey but for noise. {p}"
    )
    return Drawn(title, figure, caption)


def _columns(x_names: Sequence[str]) -> tuple[str, str]:
    first, second = (_short(column(i, x_names)) for i in range(2))
    return first, second


def _short(name: str) -> str:
    return escape(style.short(name, _LONG), quote=False)


def _curve(kind: Kind, curve: Curve, along: str) -> Any:
    at, value, low, high, room = np.asarray(curve.sizes, np.float64)
    middle = 1.0 if kind == "width" else 0.0
    grey = (np.exp(-room), np.exp(room)) if kind == "width" else (-room, room)
    top = max(float(np.nanmax(high)), float(grey[1].max()))
    bottom = min(float(np.nanmin(low)), float(grey[0].min()))
    spare = 0.08 * (top - bottom) or 0.1
    color = style.P
    marks = {
        "type": "scatter",
        "mode": "markers",
        "x": style.f4(curve.rows),
        "hoverinfo": "skip",
        "y": style.f4(np.full(len(curve.rows), bottom - 0.6 * spare)),
        "marker": {"size": 5, "symbol": "line-ns-open", "color": style.NULL, "opacity": 0.5},
    }
    width = float(at[-1] - at[0]) or 1.0
    return style.figure(
        [
            style.band(at, *grey, style.NULL, 0.25),
            style.band(at, low, high, color, 0.2),
            style.line(at, value, color, hover="%{x:.3g}: %{y:.2f}"),
            marks,
        ],
        x=style.Axis(along, (float(at[0]) - 0.02 * width, float(at[-1]) + 0.02 * width)),
        y=style.Axis(_AXES[kind], (bottom - spare, top + spare)),
        shapes=[style.hline(middle)],
    )


def _heat(kind: Kind, picture: Heat, columns: tuple[str, str]) -> Any:
    across, up = np.asarray(picture.axes, np.float64)
    value = np.asarray(picture.sizes, np.float64)[0]
    middle = 1.0 if kind == "width" else 0.0
    reach = max(0.2, float(np.nanmax(np.abs(value - middle), initial=0)))
    heat = {
        "type": "heatmap",
        "x": style.f4(across),
        "y": style.f4(up),
        "z": style.f4(value),
        "colorscale": _SCALE,
        "zmin": middle - reach,
        "zmax": middle + reach,
        "zsmooth": False,
        "colorbar": {"title": {"text": ""}, "thickness": 10, "outlinewidth": 0, "nticks": 5},
        "hovertemplate": "(%{x:.3g}, %{y:.3g}): %{z:.2f}<extra></extra>",
    }
    marks = {
        "type": "scatter",
        "mode": "markers",
        "x": style.f4(picture.rows[:, 0]),
        "y": style.f4(picture.rows[:, 1]),
        "hoverinfo": "skip",
        "marker": {"size": 3, "color": style.NULL, "opacity": 0.6},
    }
    axes = [
        style.Axis(name, (float(ends[0]), float(ends[-1])))
        for name, ends in zip(columns, (across, up), strict=True)
    ]
    return style.figure([heat, marks], x=axes[0], y=axes[1], height=320, right=84)
