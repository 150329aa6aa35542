"""Colours, marks and the empty sheet that every figure is drawn on.

Colours keep 3 : 1 contrast on the light and on the dark background, so that one figure serves
both; methods start from Paul Tol's muted set, moved in lightness where it missed that, and have
a dash and a symbol as second cue, as have algorithms of inference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike

from validation_core.keys import named
from validation_core.narrow import narrow
from validation_core.types import Array, MethodStyle

P = "#0072B2"
Q = "#D55E00"
NULL = "#8A8F98"
OBSERVED = "#C0392B"

HEIGHT = 260
"""Pixels; figures that stand beside one another share it."""

Trace = dict[str, Any]


def method_style(name: str) -> MethodStyle:
    """The look of a method, as it declares it; grey for one that is not there."""
    try:
        return getattr(named(f"method:{name}"), "style", MethodStyle())
    except ValueError:
        return MethodStyle()


ALGORITHM_STYLES: Mapping[str, MethodStyle] = {
    "laplace": MethodStyle("#B07D00", "solid", "circle"),
    "adjusted_laplace": MethodStyle("#AE3F8B", "dash", "square"),
    "vi": MethodStyle("#5A6FD6", "dashdot", "diamond"),
    "iwvi": MethodStyle("#1FA37F", "longdash", "triangle-up"),
    "exact": MethodStyle(NULL, "dot", "cross"),
}
"""Ways to infer a posterior: colours stay apart in every common colour blindness."""


def _algorithm_style(name: str) -> MethodStyle:
    """The look of an inference; grey for one that has none yet."""
    return ALGORITHM_STYLES.get(name, MethodStyle(NULL, "solid", "star"))


class PlotAxis(NamedTuple):
    """An axis whose limits are fixed beforehand."""

    label: str
    limits: tuple[float, float]
    percent: bool = False
    log: bool = False
    ticks: Sequence[float] | None = None

    def layout(self) -> dict[str, Any]:
        """Plotly's words for it."""
        low, high = np.log10(self.limits) if self.log else self.limits
        return {
            "title": {"text": self.label, "standoff": 8},
            "range": [float(low), float(high)],
            "type": "log" if self.log else "linear",
            "gridwidth": 1,
            "zeroline": False,
            "fixedrange": True,
            "ticks": "",
            "nticks": 6,
            **({"tickformat": ".0%"} if self.percent else {}),
            **({"tickvals": list(self.ticks), "tickmode": "array"} if self.ticks else {}),
            **(
                {"tickvals": list(self.ticks), "ticktext": [f"{t:g}" for t in self.ticks]}
                if self.ticks and self.log
                else {}
            ),
        }


def figure(
    traces: Sequence[Trace],
    *,
    x: PlotAxis,
    y: PlotAxis,
    height: int = HEIGHT,
    right: int = 16,
    notes: Sequence[Trace] = (),
    shapes: Sequence[Trace] = (),
    extra: Mapping[str, Any] | None = None,
) -> go.Figure:
    """Traces on a quiet sheet: fixed axes, no legend, transparent.

    Args:
        right: pixels kept for the labels of lines.
        extra: more of plotly's layout (a second pair of axes).
    """
    layout = {
        "height": height,
        "margin": {"l": 56, "r": right, "t": 18, "b": 44},
        "showlegend": False,
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "bargap": 0.04,
        "hovermode": "closest",
        "dragmode": False,
        "xaxis": {**x.layout(), "showgrid": False},
        "yaxis": y.layout(),
        "annotations": list(notes),
        "shapes": list(shapes),
        **(extra or {}),
    }
    # Plotly's validation costs three times the drawing; the tests validate every figure once.
    return go.Figure({"data": list(traces), "layout": layout}, _validate=False)


def empty(title: str, *, height: int = HEIGHT) -> go.Figure:
    """What stands where there is nothing to draw yet: its title, no axes."""
    hidden = {"visible": False, "range": [0, 1]}
    return figure(
        [],
        x=PlotAxis("", (0, 1)),
        y=PlotAxis("", (0, 1)),
        height=height,
        notes=[note(title, 0.5, 0.5, NULL, anchor="center")],
        extra={"xaxis": hidden, "yaxis": hidden, "title": {"text": ""}},
    )


def f4(values: ArrayLike) -> Array:
    """Numbers as they travel: half the bytes of float64, where that tells them apart."""
    return narrow(values)


def line(
    x: ArrayLike,
    y: ArrayLike,
    color: str,
    *,
    dash: str = "solid",
    width: float = 2,
    name: str = "",
    hover: str | None = None,
    opacity: float = 1.0,
) -> Trace:
    """A line; without `hover` it does not answer the pointer."""
    return {
        "type": "scatter",
        "mode": "lines",
        "x": f4(x),
        "y": f4(y),
        "name": name,
        "line": {"color": color, "dash": dash, "width": width},
        "opacity": opacity,
        **_hover_of(hover),
    }


def band(x: ArrayLike, low: ArrayLike, high: ArrayLike, color: str, opacity: float) -> Trace:
    """The room between two lines, as one closed outline."""
    xs, lower, upper = f4(x), f4(low), f4(high)
    return {
        "type": "scatter",
        "mode": "lines",
        "x": np.concatenate([xs, xs[::-1]]),
        "y": np.concatenate([upper, lower[::-1]]),
        "fill": "toself",
        "fillcolor": rgba(color, opacity),
        "line": {"width": 0},
        **_hover_of(None),
    }


def bars(
    edges: ArrayLike,
    heights: ArrayLike,
    color: str,
    *,
    hover: str | None = None,
    opacity: float = 0.6,
    name: str = "",
) -> Trace:
    """A histogram from its edges (B + 1,) and heights (B,)."""
    places = f4(edges)
    return {
        "type": "bar",
        "x": (places[1:] + places[:-1]) / 2,
        "y": f4(heights),
        "name": name,
        "width": np.diff(places),
        "marker": {"color": color, "line": {"width": 0}},
        "opacity": opacity,
        **_hover_of(hover),
    }


def note(
    text: str,
    x: float,
    y: float,
    color: str | None,
    *,
    anchor: str = "left",
    shift: int = 0,
    paper: bool = False,
) -> Trace:
    """A direct label in data coordinates (or in those of the sheet)."""
    refs = {"xref": "paper", "yref": "paper"} if paper else {}
    font = {"size": 12, **({"color": color} if color else {})}
    return {
        "text": text,
        "x": float(x),
        "y": float(y),
        "xanchor": anchor,
        "yanchor": "middle",
        "showarrow": False,
        "font": font,
        "xshift": shift,
        **refs,
    }


def vline(x: float, color: str, *, dash: str = "solid", width: float = 1.5) -> Trace:
    """A vertical line through the sheet."""
    return {
        "type": "line",
        "x0": float(x),
        "x1": float(x),
        "y0": 0,
        "y1": 1,
        "yref": "paper",
        "line": {"color": color, "dash": dash, "width": width},
    }


def hline(y: float, *, dash: str = "dash", color: str = NULL) -> Trace:
    """A horizontal line through the sheet."""
    return {
        "type": "line",
        "x0": 0,
        "x1": 1,
        "xref": "paper",
        "y0": float(y),
        "y1": float(y),
        "line": {"color": color, "dash": dash, "width": 1},
    }


def hband(low: float, high: float, opacity: float = 0.25, color: str = NULL) -> Trace:
    """A horizontal strip behind everything."""
    return {
        "type": "rect",
        "x0": 0,
        "x1": 1,
        "xref": "paper",
        "y0": float(low),
        "y1": float(high),
        "fillcolor": rgba(color, opacity),
        "line": {"width": 0},
        "layer": "below",
    }


def error_bars(
    value: Array, low: Array, high: Array, color: str, *, thickness: float = 1.5, **cap: float
) -> Trace:
    """Intervals from low to high (n,) about values (n,); `width` is that of their caps."""
    return {
        "type": "data",
        "symmetric": False,
        "array": f4(high - value),
        "arrayminus": f4(value - low),
        "color": color,
        "thickness": thickness,
        **cap,
    }


def padded(values: Array, share: float = 0.06) -> tuple[float, float]:
    """Limits that hold all values with some room, wide enough to draw where all are equal."""
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    room = share * (high - low) or share * max(abs(high), 1.0)
    return low - room, high + room


def short(name: str, most: int, *, ends: bool = False) -> str:
    """A name cut to so many letters: its beginning, or both ends where names differ at theirs."""
    if len(name) <= most:
        return name
    return f"{name[: most // 2 - 1]}…{name[-(most // 2) :]}" if ends else name[: most - 1] + "…"


def rgba(color: str, opacity: float) -> str:
    """A hexadecimal colour, seen through."""
    red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity:g})"


def _hover_of(template: str | None) -> dict[str, str]:
    """What the pointer is told; nothing without a template."""
    if template is None:
        return {"hoverinfo": "skip"}
    return {"hovertemplate": template + "<extra></extra>"}
