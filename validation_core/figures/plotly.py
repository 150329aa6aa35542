"""A picture as plotly draws it: the renderer of `figures.marks` for reports, notebooks and files.

Sliders stand still here: what runs over them is drawn at one place of each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import plotly.graph_objects as go

from validation_core.figures import style
from validation_core.figures.marks import (
    Axis,
    Band,
    Bars,
    Line,
    Mark,
    Note,
    Panel,
    Points,
    VLine,
    Words,
    _HBand,
    _Heat,
    _HLine,
    _Over,
    _Text,
)
from validation_core.types import Array

_SYMBOLS = {"cross": "x", "ring": "circle-open", "triangle": "triangle-up"}
_GLYPHS = {
    "circle": "●",
    "square": "■",
    "diamond": "◆",
    "cross": "✕",
    "ring": "○",
    "triangle": "▲",
    "line": "━",
    "dash": "╍",
    "band": "▒",
}
_ANCHORS = {"start": "left", "middle": "center", "end": "right"}
_APART = 16  # pixels between the labels of two lines that end together
_ABOVE = 62  # pixels of a sheet that are not between its axes


def figure(panel: Panel, at: Mapping[str, int] | None = None) -> go.Figure:
    """A panel as it stands; its title and caption are its reader's to place.

    Args:
        panel: marks on fixed axes.
        at: the place (0, 1, ...) of each slider among its values; the first where none is given.
    """
    sheet = _Sheet(panel, at or {})
    for mark in panel.marks:
        sheet.add(mark)
    if panel.legend:
        keys = [(sheet.words(words), color, symbol) for words, color, symbol in panel.legend]
        sheet.notes.append(_legend(keys))
    return style.figure(
        sheet.traces,
        x=_axis(panel.x),
        y=_axis(panel.y),
        height=panel.height,
        right=max(16, panel.margin),
        notes=[*sheet.notes, *sheet.spaced()],
        shapes=sheet.shapes,
        extra=_extra(panel),
    )


@dataclass
class _Sheet:
    """What plotly calls the marks that were added: traces, shapes, annotations."""

    panel: Panel
    at: Mapping[str, int]
    traces: list[style.Trace] = field(default_factory=list)
    shapes: list[style.Trace] = field(default_factory=list)
    notes: list[style.Trace] = field(default_factory=list)
    ends: list[tuple[float, float, str, str]] = field(default_factory=list)
    """Where lines end, and their labels: x, y, words, colour."""

    def add(self, mark: Mark) -> None:
        """Draw a mark where the sliders stand."""
        still = self._still(mark)
        if isinstance(still, VLine | _HLine):
            self._across(still)
        elif isinstance(still, _HBand):
            color = _color(still.color)
            self.shapes.append(style.hband(still.low, still.high, still.opacity, color))
        elif isinstance(still, Note):
            self._note(still)
        else:
            self.traces.append(_trace(still))
            self._label(still)

    def words(self, words: Words) -> str:
        """Words where the sliders stand."""
        if isinstance(words, _Text):
            return words.template.format_map({k: self.words(v) for k, v in words.parts.items()})
        return str(self._value(words))

    def spaced(self) -> list[style.Trace]:
        """Labels beside the ends of their lines, moved up where two end together."""
        low, high = self.panel.y.limits
        apart = _APART * (high - low) / (self.panel.height - _ABOVE)
        notes, above = [], -np.inf
        for x, y, words, color in sorted(self.ends, key=lambda end: end[1]):
            above = max(y, above + apart)
            notes.append(style.note(words, x, above, color or None, shift=4))
        return notes

    def _value(self, value: Any) -> Any:
        if not isinstance(value, _Over):
            return value
        return value.values[tuple(self.at.get(name, 0) for name in value.sliders)]

    def _still(self, mark: Mark) -> Mark:
        values = {each.name: getattr(mark, each.name) for each in fields(mark)}
        still: dict[str, Any] = {
            name: self.words(value) if isinstance(value, _Text) else self._value(value)
            for name, value in values.items()
            if isinstance(value, _Over | _Text)
        }
        return replace(mark, **still)

    def _across(self, mark: VLine | _HLine) -> None:
        color, dash = _color(mark.color), _dash(mark.dash)
        words = str(mark.label)
        if isinstance(mark, VLine):
            x = _number(mark.x)
            self.shapes.append(style.vline(x, color, dash=dash, width=mark.width))
            top = {**style.note(words, x, 1.04, color, anchor="center"), "yref": "paper"}
            self.notes += [top] if words else []
        else:
            y = _number(mark.y)
            line = style.hline(y, dash=dash, color=color)
            self.shapes.append({**line, "line": {**line["line"], "width": mark.width}})
            self.ends += [(self.panel.x.limits[1], y, words, color)] if words else []

    def _note(self, mark: Note) -> None:
        note = style.note(
            str(mark.words),
            _number(mark.x),
            _number(mark.y),
            mark.color or None,
            anchor=_ANCHORS[mark.anchor],
            shift=mark.shift,
        )
        self.notes.append({**note, "yshift": mark.rise} if mark.rise else note)

    def _label(self, mark: Bars | Line | Band | Points | _Heat) -> None:
        words = str(mark.label)
        if not words or isinstance(mark, _Heat | Band):
            return
        if isinstance(mark, Bars | Points):
            if mark.label_at is not None:
                self.notes.append(style.note(words, *mark.label_at, _color(mark.color)))
            return
        x, y = np.asarray(mark.x, dtype=float), np.asarray(mark.y, dtype=float)
        there = np.flatnonzero(np.isfinite(x + y))
        if there.size:
            self.ends.append((float(x[there[-1]]), float(y[there[-1]]), words, mark.color))


def _trace(mark: Bars | Line | Band | Points | _Heat) -> style.Trace:
    if isinstance(mark, _Heat):
        return _heat(mark)
    color = _color(mark.color)
    if isinstance(mark, Bars):
        edges = np.asarray(mark.edges, dtype=float) + _number(mark.shift or 0)
        heights, hover, name = _array(mark.heights), mark.hover or None, str(mark.label)
        return style.bars(edges, heights, color, hover=hover, opacity=mark.opacity, name=name)
    if isinstance(mark, Band):
        return style.band(*_stepped(mark), color, mark.opacity)
    if isinstance(mark, Line):
        x = np.asarray(mark.x, dtype=float) + _number(mark.shift or 0)
        return style.line(
            x,
            _array(mark.y),
            color,
            dash=_dash(mark.dash),
            width=mark.width,
            name=str(mark.label),
            hover=mark.hover or None,
            opacity=mark.opacity,
        )
    return _points(mark, color)


def _points(mark: Points, color: str) -> style.Trace:
    y = style.f4(_array(mark.y))
    trace: style.Trace = {
        "type": "scatter",
        "mode": "markers",
        "x": style.f4(_array(mark.x)),
        "y": y,
        "name": str(mark.label),
        "opacity": mark.opacity,
        "marker": {
            "color": color,
            "size": mark.size,
            "symbol": _SYMBOLS.get(mark.symbol, mark.symbol),
        },
        **style._hover_of(mark.hover or None),
    }
    if mark.low is not None and mark.high is not None:
        up, down = style.f4(_array(mark.high)) - y, y - style.f4(_array(mark.low))
        bars = {"type": "data", "symmetric": False, "array": up, "arrayminus": down, "width": 0}
        trace["error_y"] = {**bars, "thickness": 1.5, "color": color}
    return trace


def _heat(mark: _Heat) -> style.Trace:
    edges = (np.asarray(side, dtype=float) for side in (mark.x_edges, mark.y_edges))
    x, y = ((side[1:] + side[:-1]) / 2 for side in edges)
    clear = style.rgba(style.NULL, 0)
    return {
        "type": "heatmap",
        "x": style.f4(x),
        "y": style.f4(y),
        "z": style.f4(_array(mark.values)),
        "zmin": -mark.limit,
        "zmax": mark.limit,
        "colorscale": [[0, mark.low], [0.5, clear], [1, mark.high]],
        "showscale": False,
        "hoverinfo": "skip",
    }


def _stepped(mark: Band) -> tuple[Array, Array, Array]:
    """x, low and high of a band; between edges its values are steps."""
    x, low, high = _array(mark.x), _array(mark.low), _array(mark.high)
    if len(low) == len(x) - 1:
        return np.repeat(x, 2)[1:-1], np.repeat(low, 2), np.repeat(high, 2)
    return x, low, high


def _legend(keys: Sequence[tuple[str, str, str]]) -> style.Trace:
    entries = [
        f'<span style="color:{_color(color)}">{_GLYPHS[symbol]}</span> {words}'
        for words, color, symbol in keys
    ]
    return {**style.note("   ".join(entries), 0, 1.03, None, paper=True), "yanchor": "bottom"}


def _axis(axis: Axis) -> style.PlotAxis:
    ticks = None if axis.ticks is None else [float(tick) for tick in np.asarray(axis.ticks)]
    low, high = (float(end) for end in axis.limits)
    return style.PlotAxis(axis.label, (low, high), percent=axis.percent, ticks=ticks)


def _extra(panel: Panel) -> dict[str, Any]:
    """Axes that are hidden, or whose ticks have names of their own."""
    layouts: dict[str, Any] = {}
    if panel.y.hidden and not panel.margin:
        layouts["margin"] = {"l": 12, "r": 12, "t": 12, "b": 44}
    if sum(isinstance(mark, Bars) for mark in panel.marks) > 1:
        layouts["barmode"] = "overlay"
    for name, axis, grid in (("xaxis", panel.x, False), ("yaxis", panel.y, True)):
        more: dict[str, Any] = {}
        if axis.names is not None:
            more = {"ticktext": list(axis.names)}
        if axis.hidden:
            more = {"visible": False}
        if name == "yaxis" and panel.equal:
            more = {**more, "scaleanchor": "x"}
        if more:
            layouts[name] = {**_axis(axis).layout(), "showgrid": grid, **more}
    return layouts


def _array(values: Any) -> Array:
    return np.asarray(values, dtype=float)


def _number(value: Any) -> float:
    return float(np.asarray(value))


def _color(color: str) -> str:
    return style.NULL if color in ("", "currentColor") else color


def _dash(dash: str) -> str:
    """A whole line for "", lengths in pixels for those of SVG; plotly's own names as they are."""
    if dash and dash[0].isdigit():
        return ",".join(f"{length}px" for length in dash.split())
    return dash or "solid"
