"""The plotly renderer of `drawing.marks`, for reports, notebooks and files.

Sliders are fixed here: values over them are drawn at one place of each.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import plotly.graph_objects as go

from validation_core.drawing import style
from validation_core.drawing.fixed_marks import band_edges, color_scales
from validation_core.drawing.line_names import spaced
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
    Picture,
    Points,
    Rain,
    Shades,
    VLine,
    is_stroke,
)
from validation_core.drawing.over_sliders import freeze_sliders
from validation_core.precision import narrow
from validation_core.text import signed_text
from validation_core.types import Array

_Json = dict[str, Any]

_SYMBOLS = {
    "ring": "circle-open",
    "cross": "x-thin-open",
    "triangle": "triangle-up",
    "band": "square",
}
_STROKED = ("ring", "cross")
_ANCHORS = {"start": "left", "middle": "center", "end": "right"}
# Pixels, here as in browser/live_marks.js: one picture looks alike by both.
_LEFT, _RIGHT, _BOTTOM = 48, 16, 38  # beside and below the axes of a panel
_TOP, _NAMED = 18, 26  # above them, where the axis that goes up has no label, and where it has
_SMALL, _LARGE = 12, 14  # letters: all, and titles
_LINE = 16  # between the labels of two lines that end together
_BESIDE, _LEAD = 5, 10  # how far from its end a label needs no line to it, and how long that is
_ROW = 22  # a line of a title, of a legend, a scale of colours
_PHONE, _PAGE = 340, 800  # pixels across that a legend is reckoned to have
_GRADIENT = 64  # how wide a scale of colours is
_UNTICKED = 12  # below a panel whose ticks stand farther below
_ABOVE = _NAMED + _BOTTOM  # part of a panel's height outside its axes
_BETWEEN = 0.06  # of the sheet's width, between panels
_STOPS = 9  # of a scale, on either side
_MANY = 1000  # points beyond which a canvas draws them
_FADED, _GRID = style.rgba(style.NULL, 0.8), style.rgba(style.NULL, 0.22)
_FILLED = ("circle", "square", "diamond", "triangle")
_DOT, _EDGE = "#3A414B", "rgba(255,255,255,0.9)"  # of a map's dots: a colour, and all their edges


def figure(picture: Picture, at: Mapping[str, int] | None = None, room: int = _PHONE) -> go.Figure:
    """Draw a picture; the title and caption of a single panel are left to the caller.

    Axes are fixed and the sheet is transparent. Text without a colour has the theme's.

    Args:
        picture: marks on fixed axes.
        at: the index of each slider among its values; 0 by default.
        room: pixels that a line of the legend has, of panels that do not stand side by side.
    """
    if isinstance(picture, Panel):
        return figure(Grid([replace(picture, title="")], columns=1), at, room)
    grid = replace(picture, panels=[freeze_sliders(panel, at) for panel in picture.panels])
    sheets = [_Sheet(panel, i) for i, panel in enumerate(grid.panels)]
    for i, sheet in enumerate(sheets):
        beside = grid.panels[i - 1].y if i % grid.columns else None
        sheet.draw(named=beside is None or beside.label != sheet.panel.y.label)
    keys = {str(words): look for panel in grid.panels for words, *look in panel.legend}
    height, margin, axes = _arranged(grid, keys, room)
    for sheet in sheets:
        sheet.explain(axes, height - margin["t"] - margin["b"])
    titles = [sheet.title() for sheet in sheets if sheet.panel.title]
    layout = {
        "height": height,
        "margin": {**margin, "pad": 0},
        "font": {"size": _SMALL},
        "showlegend": bool(keys),
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "barmode": "overlay",
        "hovermode": "closest",
        "dragmode": False,
        "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": _FADED, "activecolor": style.NULL},
        "annotations": [*titles, *(note for sheet in sheets for note in sheet.notes)],
        "shapes": [shape for sheet in sheets for shape in sheet.shapes],
        **axes,
    }
    if keys:
        above = {"xref": "container", "x": 0, "yref": "container", "y": 1, "yanchor": "top"}
        font = {"font": {"size": _SMALL}, "itemwidth": 30}
        layout["legend"] = {"orientation": "h", "tracegroupgap": 3, **above, **font}
    traces = [_known(trace, keys) for sheet in sheets for trace in sheet.traces]
    traces += [_key(words, *look) for words, look in keys.items()]
    # Plotly's validation costs three times the drawing; the tests validate every figure once.
    return go.Figure({"data": traces, "layout": layout}, _validate=False)


@dataclass
class _Sheet:
    """Plotly's form of a panel's marks: traces, shapes and annotations on its pair of axes."""

    panel: Panel
    place: int
    traces: list[_Json] = field(default_factory=list)
    shapes: list[_Json] = field(default_factory=list)
    notes: list[_Json] = field(default_factory=list)
    ends: list[tuple[float, float, str, str]] = field(default_factory=list)
    """Ends of lines and their labels: x, y, words, colour."""

    def draw(self, named: bool) -> None:
        """Draw all marks, then the labels of lines, of the y axis (if `named`) and of colours."""
        mapped = any(isinstance(mark, Heat | Image) for mark in self.panel.marks)
        for mark in self.panel.marks:
            if isinstance(mark, VLine | HLine):
                self._across(mark)
            elif isinstance(mark, HBand):
                self._strip(mark)
            elif isinstance(mark, Note):
                self._note(mark)
            elif isinstance(mark, Rain):
                raise ValueError("Rain falls in the browser alone; plotly draws it as Bars.")
            else:
                self.traces.append({**_trace(mark, mapped), **_axes(self.place)})
                self._label(mark)
        self._spaced()
        if named:
            self._named()
        for shades in color_scales(self.panel)[:1]:
            self._ends_of(shades)

    def explain(self, axes: _Json, inside: int) -> None:
        """Place the colour bar above the axes; `inside` is the height of all axes in pixels."""
        own = _axes(self.place)
        (left, _), (_, top) = (
            axes[own[side].replace(side[0], side)]["domain"] for side in ("xaxis", "yaxis")
        )
        colors = [
            trace if trace["type"] == "heatmap" else trace.get("marker", {})
            for trace in self.traces
        ]
        for i, color in enumerate(color for color in colors if "colorbar" in color):
            up = top + (_top(self.panel) + _ROW / 2) / inside
            color["colorbar"] |= {"x": left, "y": up}
            color["showscale"] = i == 0

    def title(self) -> _Json:
        """Title of the panel, above it."""
        above = _top(self.panel) + _ROW * len(color_scales(self.panel)[:1])
        note = self._words(str(self.panel.title), 0, 1, "", font=_LARGE)
        place = {"xshift": -_left(self.panel), "yanchor": "bottom", "yshift": above}
        return {**note, **self._refs("x domain", "y domain"), **place}

    def _named(self) -> None:
        """Name of the y axis, above its ticks: beside them it would be rotated."""
        if not self.panel.y.hidden and self.panel.y.label:
            note = self._words(self.panel.y.label, 0, 1, "", bold=False)
            place = {"xshift": -_left(self.panel), "yshift": _NAMED - _SMALL / 2}
            self.notes.append({**note, **self._refs("x domain", "y domain"), **place})

    def _ends_of(self, shades: Shades) -> None:
        """Numbers at both ends of a colour scale, and its label."""
        up = {**self._refs("x domain", "y domain"), "yshift": _top(self.panel) + _ROW / 2}
        low, high = (signed_text(shades.middle + side * shades.limit, ".2g") for side in (-1, 1))
        first = self._words(low, 0, 1, "", "end", bold=False)
        last = self._words(f"{high}  {shades.label}".strip(), 0, 1, "", bold=False)
        self.notes.append({**first, **up, "xshift": -4})
        self.notes.append({**last, **up, "xshift": _GRADIENT + 4})

    def _spaced(self) -> None:
        """Labels at the ends of lines, a thin line to each that is not beside its end."""
        low, high = _ends(self.panel.y)
        pixel = (high - low) / (self.panel.height - _ABOVE)
        places = spaced([y for _, y, *_ in self.ends], _LINE * abs(pixel), *sorted((low, high)))
        for (x, y, words, color), place in zip(self.ends, places, strict=True):
            note = {**self._words(words, x, y, color), "xshift": 4}
            moved = (y - place) / pixel
            if abs(moved) > _BESIDE:
                lead = {"arrowhead": 0, "arrowwidth": 1, "arrowcolor": _color(color)}
                note |= {"showarrow": True, "ax": _LEAD, "ay": moved, **lead}
            self.notes.append(note)

    def _across(self, mark: VLine | HLine) -> None:
        words = "" if self._in_legend(str(mark.label)) else str(mark.label)
        line = {"color": _color(mark.color), "dash": _dash(mark.dash), "width": mark.width}
        if isinstance(mark, VLine):
            x = _number(mark.x)
            along = {"x0": x, "x1": x, "y0": 0, "y1": 1, **self._refs("x", "y domain")}
            label = self._words(words, _on(self.panel.x, x), 1, mark.color, "middle")
            label = {**label, **self._refs("x", "y domain"), "yshift": 9}
        else:
            y = _number(mark.y)
            along = {"x0": 0, "x1": 1, "y0": y, "y1": y, **self._refs("x domain", "y")}
            label = self._words(words, 1, _on(self.panel.y, y), mark.color, "end")
            label = {**label, **self._refs("x domain", "y"), "yshift": 9}
        self.notes += [label] * bool(words)
        self.shapes.append({"type": "line", "line": line, **along})

    def _strip(self, mark: HBand) -> None:
        low, high = float(mark.low), float(mark.high)
        self.shapes.append(
            {
                "type": "rect",
                **{"x0": 0, "x1": 1, "y0": low, "y1": high},
                "fillcolor": _rgba(mark.color, mark.opacity),
                "line": {"width": 0},
                "layer": "below",
                **self._refs("x domain", "y"),
            }
        )

    def _note(self, mark: Note) -> None:
        x, y = _on(self.panel.x, _number(mark.x)), _on(self.panel.y, _number(mark.y))
        note = self._words(str(mark.words), x, y, mark.color, mark.anchor)
        self.notes.append({**note, "xshift": mark.shift, "yshift": mark.rise})

    def _label(self, mark: Bars | Line | Band | Points | Heat | Image) -> None:
        if isinstance(mark, Heat | Band | Image) or not mark.label:
            return
        words = str(mark.label)
        color = "" if isinstance(mark.color, Shades) else mark.color
        if self._in_legend(words):
            return
        if isinstance(mark, Bars | Points):
            if mark.label_at is not None:
                self.notes.append(self._words(words, *mark.label_at, color))
            return
        x, y = _on(self.panel.x, _array(mark.x)), _on(self.panel.y, _array(mark.y))
        there = np.flatnonzero(np.isfinite(x + y))
        if there.size:
            self.ends.append((float(x[there[-1]]), float(y[there[-1]]), words, color))

    def _in_legend(self, words: str) -> bool:
        return words in [str(key) for key, *_ in self.panel.legend]

    def _words(
        self,
        text: str,
        x: float,
        y: float,
        color: str,
        anchor: str = "start",
        *,
        font: int = _SMALL,
        bold: bool = True,
    ) -> _Json:
        return {
            "text": _inked(text, color),
            "x": x,
            "y": y,
            "xanchor": _ANCHORS[anchor],
            "yanchor": "middle",
            "align": "left",
            "borderpad": 0,
            "showarrow": False,
            "font": {"size": font, **({"weight": 600} if bold else {})},
            "opacity": 1 if bold else 0.8,
            **self._refs("x", "y"),
        }

    def _refs(self, x: str, y: str) -> _Json:
        own = _axes(self.place)
        across, up = x.replace("x", own["xaxis"], 1), y.replace("y", own["yaxis"], 1)
        return {"xref": across, "yref": up}


def _inked(text: str, color: str) -> str:
    """Text in a mark's colour, moved towards the theme's own until it is legible on both."""
    if color in ("", "currentColor"):
        return text
    return f'<span style="color:color-mix(in srgb, {color} 65%, currentColor)">{text}</span>'


def _axes(place: int) -> dict[str, str]:
    """Plotly's names of a panel's axes, from its index on the sheet."""
    number = str(place + 1) if place else ""
    return {"xaxis": f"x{number}", "yaxis": f"y{number}"}


def _trace(mark: Bars | Line | Band | Points | Heat | Image, mapped: bool) -> _Json:
    """Plotly trace of a mark; on a map dots have an edge."""
    if isinstance(mark, Band):
        return _band(mark)
    if isinstance(mark, Image):
        return _image(mark)
    hover = {"hovertemplate": mark.hover + "<extra></extra>"} if mark.hover else {}
    still = {"hoverinfo": "skip", **hover}
    if isinstance(mark, Heat):
        return {**_heat(mark), **still}
    parts = _bars(mark) if isinstance(mark, Bars) else _scatter(mark, mapped)
    return {**parts, "name": str(mark.label), **still}


def _bars(mark: Bars) -> _Json:
    edges = narrow(_array(mark.edges) + _number(mark.shift or 0))
    places, heights = (edges[1:] + edges[:-1]) / 2, narrow(_array(mark.heights))
    x, y = (places, heights) if mark.upright else (heights, places)
    return {
        "type": "bar",
        "orientation": "v" if mark.upright else "h",
        "x": x,
        "y": y,
        "width": 0.96 * np.diff(edges),  # a hair of paper between the bars
        "marker": {"line": _edge(mark.color), **_colored(mark.color)},
        "opacity": mark.opacity,
    }


def _band(mark: Band) -> _Json:
    """A band as one closed outline; between edges its values are steps."""
    x, low, high = map(narrow, band_edges(mark))
    return {
        "type": "scatter",
        "mode": "lines",
        "x": np.concatenate([x, x[::-1]]),
        "y": np.concatenate([high, low[::-1]]),
        "name": str(mark.label),
        "fill": "toself",
        "fillcolor": _rgba(mark.color, mark.opacity),
        "line": {"width": 0},
        "hoverinfo": "skip",
    }


def _edge(color: str | Shades) -> _Json:
    """Edge of a mark whose colour may be the paper's; none for the others."""
    return {"width": 0.8, "color": _FADED} if isinstance(color, Shades) else {"width": 0}


def _scatter(mark: Line | Points, mapped: bool) -> _Json:
    y = narrow(_array(mark.y))
    if isinstance(mark, Line):
        line = {"color": _color(mark.color), "dash": _dash(mark.dash), "width": mark.width}
        look = {"mode": "lines", "line": line, "opacity": mark.opacity}
        x = narrow(_array(mark.x) + _number(mark.shift or 0))
        area = {"fill": "toself", "fillcolor": _rgba(mark.color, mark.fill)} if mark.fill else {}
        return {"type": "scatter", **look, "x": x, "y": y, **area}
    x = narrow(_array(mark.x))
    dots = {"size": mark.size, "line": _edge(mark.color), **_colored(mark.color)}
    if mark.symbol in _STROKED:
        dots["line"] = {"width": 1.6, "color": dots["color"]}
    if mapped and mark.symbol in _FILLED and isinstance(mark.color, str):
        edge = {"width": 1, "color": _EDGE}
        dots = {"size": mark.size + 2, "line": edge, "color": mark.color or _DOT}
    intervals = {
        "error_x": _interval(mark, x, mark.left, mark.right),
        "error_y": _interval(mark, y, mark.low, mark.high),
    }
    intervals = {name: interval for name, interval in intervals.items() if interval}
    return {
        "type": "scattergl" if x.size > _MANY and not intervals else "scatter",
        "mode": "markers",
        "x": x,
        "y": y,
        "marker": {"opacity": mark.opacity, "symbol": _symbol(mark.symbol), **dots},
        **({"text": np.asarray(mark.texts).tolist()} if np.size(mark.texts) else {}),
        **intervals,
    }


def _interval(mark: Points, at: Array, low: Any, high: Any) -> _Json:
    if low is None or high is None:
        return {}
    ends = {"array": narrow(_array(high) - at), "arrayminus": narrow(at - _array(low))}
    line = {"color": _colored(mark.color)["color"], "thickness": 1.5, "width": 0}
    return {"type": "data", "symmetric": False, **ends, **line}


def _heat(mark: Heat) -> _Json:
    x, y = (
        narrow((side[1:] + side[:-1]) / 2) for side in (_array(mark.x_edges), _array(mark.y_edges))
    )
    scale = _scale(mark.shades)
    ends = {"zmin": scale.pop("cmin"), "zmax": scale.pop("cmax")}
    z = narrow(_array(mark.shades.values))
    return {"type": "heatmap", "x": x, "y": y, "z": z, **ends, **scale}


def _image(mark: Image) -> _Json:
    """Pixels from the top: their steps along y are negative."""
    pixels = np.asarray(mark.pixels)
    (left, right), (low, high) = mark.x, mark.y
    across, up = (right - left) / pixels.shape[1], (high - low) / pixels.shape[0]
    first = {"x0": left + across / 2, "y0": high - up / 2}
    return {"type": "image", "z": pixels, "dx": across, "dy": -up, **first, "hoverinfo": "skip"}


def _colored(color: str | Shades) -> _Json:
    if not isinstance(color, Shades):
        return {"color": _color(color)}
    return {"color": narrow(_array(color.values)), **_scale(color)}


def _scale(shades: Shades) -> _Json:
    """Colour scale of numbers; its bar is placed above the panel."""
    half = np.linspace(0, 1, _STOPS)
    low = [[(1 - t) / 2, style.diverging_color(shades.low, t)] for t in half[::-1]]
    high = [[(1 + t) / 2, style.diverging_color(shades.high, t)] for t in half]
    return {
        "colorscale": [*low, *high],
        "cmin": shades.middle - shades.limit,
        "cmax": shades.middle + shades.limit,
        "colorbar": {
            "orientation": "h",
            **{"lenmode": "pixels", "len": _GRADIENT, "thickness": 9, "outlinewidth": 0},
            **{"xref": "paper", "xanchor": "left", "xpad": 0, "yanchor": "middle", "ypad": 0},
            **{"showticklabels": False, "ticks": ""},
        },
    }


def _known(trace: _Json, keys: Mapping[str, Any]) -> _Json:
    """A trace linked to the legend key of its name, where there is one."""
    if trace["type"] == "image":  # knows no legend
        return trace
    group = {"legendgroup": trace["name"]} if trace.get("name") in keys else {}
    return {**trace, "showlegend": False, **group}


def _key(words: str, color: str, symbol: str) -> _Json:
    """Legend key: a trace without points."""
    nowhere = np.full(1, np.nan, np.float32)
    own = {"x": nowhere, "y": nowhere, "name": words, "legendgroup": words, "showlegend": True}
    if is_stroke(symbol):
        dash = "solid" if symbol == "line" else _dash(symbol)
        line = {"color": _color(color), "width": 2, "dash": dash}
        return {"type": "scatter", "mode": "lines", "line": line, **_axes(0), **own}
    stroke = {"color": _color(color), "width": 1.6 * (symbol in _STROKED)}
    marker = {"color": _color(color), "symbol": _symbol(symbol), "size": 8, "line": stroke}
    faint = {"opacity": 0.35, "size": 11} if symbol == "band" else {}
    return {"type": "scatter", "mode": "markers", "marker": {**marker, **faint}, **_axes(0), **own}


def _arranged(grid: Grid, keys: Mapping[str, Any], room: int) -> tuple[int, dict[str, int], _Json]:
    """Height, margins and axes of a sheet: each row as high as its panels need.

    Ticks of equal axes stand at the left and at the bottom, and so do equal labels.
    """
    rows = [grid.panels[i : i + grid.columns] for i in range(0, len(grid.panels), grid.columns)]
    heads = [max(map(_head, row)) for row in rows]
    heads[0] += _legend_rows(keys, room if grid.columns == 1 else _PAGE) * _ROW + 4 * bool(keys)
    feet = [_foot(*pair) for pair in itertools.pairwise([*rows, ()])]
    inner = [max(panel.height for panel in row) - _ABOVE for row in rows]
    steps = [sum(parts) for parts in zip(inner, feet, heads[1:], strict=False)]
    inside = sum(steps) + inner[-1]
    wide = (1 - _BETWEEN * (grid.columns - 1)) / grid.columns
    axes: _Json = {}
    for i, panel in enumerate(grid.panels):
        row, column = divmod(i, grid.columns)
        top, left = sum(steps[:row]), column * (wide + _BETWEEN)
        below = [under.x for under in grid.panels[i + grid.columns :][:1]]
        beside = [grid.panels[i - 1].y] if column else []
        names = _axes(i)
        axes[names["xaxis"].replace("x", "xaxis")] = {
            **_axis(panel.x, *below),
            "nticks": 7 - min(grid.columns, 3),
            "showgrid": False,
            **{"showline": True, "linewidth": 1, "linecolor": _FADED},
            "anchor": names["yaxis"],
            "domain": [left, min(left + wide, 1.0)],
        }
        axes[names["yaxis"].replace("y", "yaxis")] = {
            **_axis(panel.y, *beside),
            **{"title": {"text": ""}, "nticks": 5, "ticklabelstandoff": 3, "showline": False},
            "anchor": names["xaxis"],
            "domain": [max(1 - (top + inner[row]) / inside, 0.0), 1 - top / inside],
            **({"scaleanchor": names["xaxis"]} if panel.equal else {}),
        }
    return heads[0] + inside + feet[-1], _margin(grid, heads[0], feet[-1]), axes


def _top(panel: Panel) -> int:
    """Pixels between a panel's axes and the top of the labels above them."""
    return _NAMED if panel.y.label and not panel.y.hidden else _TOP


def _left(panel: Panel) -> int:
    return _SMALL if panel.y.hidden else _LEFT


def _head(panel: Panel) -> int:
    """Pixels above a panel's axes: labels, colour bar and title."""
    lines = len(str(panel.title).split("<br>")) if panel.title else 0
    return _top(panel) + _ROW * (len(color_scales(panel)[:1]) + lines)


def _legend_rows(keys: Mapping[str, Any], room: int) -> int:
    """Lines of a legend that has so many pixels across."""
    rows, used = 0, 0
    for words in keys:
        wide = 52 + 6 * len(words)
        if not rows or used + wide > room:
            rows, used = rows + 1, 0
        used += wide
    return rows


def _foot(row: Sequence[Panel], below: Sequence[Panel]) -> int:
    """Pixels below the axes of a row; few where the row below carries its ticks."""
    shared = [_equal(panel.x, under.x) for panel, under in zip(row, below, strict=False)]
    return _UNTICKED if shared and all(shared) else _BOTTOM


def _margin(grid: Grid, top: int, bottom: int) -> dict[str, int]:
    right = max(_RIGHT, *(panel.margin for panel in grid.panels))
    left = _LEFT
    if all(panel.y.hidden for panel in grid.panels) and right == _RIGHT:
        left = right = _SMALL
    return {"l": left, "r": right, "t": top, "b": bottom}


def _equal(a: Axis, b: Axis) -> bool:
    return (a.label, a.limits, a.log) == (b.label, b.limits, b.log)


def _axis(axis: Axis, other: Axis | None = None) -> _Json:
    """Plotly's settings of an axis, without those that an `other` axis has too."""
    label = "" if other and other.label == axis.label else axis.label
    layout: _Json = {
        "title": {"text": label, "standoff": 4, "font": {"size": _SMALL}},
        "range": list(_ends(axis)),
        "tickfont": {"size": _SMALL},
        "gridcolor": _GRID,
        "type": "log" if axis.log else "linear",
        "gridwidth": 1,
        "zeroline": False,
        "fixedrange": True,
        "ticks": "",
        "nticks": 6,
        "visible": not axis.hidden,
        "automargin": False,
        "showticklabels": other is None or not _equal(axis, other),
    }
    if axis.percent:
        layout["tickformat"] = ".0%"
    if axis.ticks is not None:
        ticks = [float(tick) for tick in np.asarray(axis.ticks)]
        layout |= {"tickvals": ticks, "tickmode": "array"}
        if axis.log:
            layout["ticktext"] = [f"{tick:g}" for tick in ticks]
    if axis.names is not None:
        layout |= {"ticktext": list(axis.names), "automargin": True}
    return layout


def _ends(axis: Axis) -> tuple[float, float]:
    low, high = axis.limits
    return float(_on(axis, low)), float(_on(axis, high))


def _on(axis: Axis, values: Any) -> Any:
    """Values in the units of an axis, as ranges and annotations use them."""
    return np.log10(values) if axis.log else values


def _array(values: Any) -> Array:
    return np.asarray(values, dtype=float)


def _number(value: Any) -> float:
    return float(np.asarray(value))


def _symbol(symbol: str | Sequence[str]) -> str | list[str]:
    if isinstance(symbol, str):
        return _SYMBOLS.get(symbol, symbol)
    return [_SYMBOLS.get(each, each) for each in symbol]


def _color(color: str | Shades) -> str:
    return style.NULL if color in ("", "currentColor") else str(color)


def _rgba(color: str, opacity: float) -> str:
    """A hexadecimal colour with an opacity, as CSS."""
    return style.rgba(_color(color), opacity)


def _dash(dash: str) -> str:
    """Plotly's dash: solid for "", pixels for SVG lengths, names unchanged."""
    if dash and dash[0].isdigit():
        return ",".join(f"{length}px" for length in dash.split())
    return dash or "solid"
