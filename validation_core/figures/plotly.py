"""A picture as plotly draws it: the renderer of `figures.marks` for reports, notebooks and files.

Sliders stand still here: what runs over them is drawn at one place of each.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar

import numpy as np
import plotly.graph_objects as go

from validation_core.figures import style
from validation_core.figures.marks import (
    Axis,
    Band,
    Bars,
    Grid,
    HBand,
    Heat,
    HLine,
    Image,
    Line,
    Mark,
    Note,
    Panel,
    Picture,
    Points,
    Shades,
    VLine,
    Words,
    _Over,
    _Text,
)
from validation_core.narrow import narrow
from validation_core.types import Array

_Json = dict[str, Any]
_M = TypeVar("_M", bound=Mark | Shades)

_SYMBOLS = {
    "ring": "circle-open",
    "triangle": "triangle-up",
    "line": "line-ew-open",
    "dash": "line-ew-open",
    "band": "square",
}
_ANCHORS = {"start": "left", "middle": "center", "end": "right"}
_TOP, _BOTTOM = 18, 44  # pixels above and below the axes of a panel
_ABOVE = _TOP + _BOTTOM
_LINE = 16  # pixels between the labels of two lines that end together, of a line of a title
_UNTICKED = 12  # pixels below a panel whose ticks stand farther below
_BETWEEN = 0.06  # of the sheet's width, between panels
_SCALE = 84  # pixels that the scale of colours takes
_MANY = 1000  # points beyond which a canvas draws them


def figure(picture: Picture, at: Mapping[str, int] | None = None) -> go.Figure:
    """A picture as it stands; the title and caption of a panel alone are its reader's to place.

    The sheet is quiet: axes fixed, transparent.

    Args:
        picture: marks on fixed axes.
        at: the place (0, 1, ...) of each slider among its values; the first where none is given.
    """
    if isinstance(picture, Panel):
        return figure(Grid([replace(picture, title="")], columns=1), at)
    sheets = [_Sheet(panel, at or {}, i) for i, panel in enumerate(picture.panels)]
    for sheet in sheets:
        sheet.draw()
    height, margin, axes = _arranged(picture)
    keys = {sheet.words(words): look for sheet in sheets for words, *look in sheet.panel.legend}
    titles = [sheet.title() for sheet in sheets if sheet.panel.title]
    layout = {
        "height": height,
        "margin": margin,
        "showlegend": bool(keys),
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "barmode": "overlay",
        "hovermode": "closest",
        "dragmode": False,
        "annotations": [*titles, *(note for sheet in sheets for note in sheet.notes)],
        "shapes": [shape for sheet in sheets for shape in sheet.shapes],
        **axes,
    }
    if keys:
        below = {"orientation": "h", "x": 0, "yref": "container", "y": 0, "yanchor": "bottom"}
        layout["legend"] = {**below, "font": {"size": 12}}
    traces = [_known(trace, keys) for sheet in sheets for trace in sheet.traces]
    traces += [_key(words, *look) for words, look in keys.items()]
    # Plotly's validation costs three times the drawing; the tests validate every figure once.
    return go.Figure({"data": traces, "layout": layout}, _validate=False)


@dataclass
class _Sheet:
    """What plotly calls the marks of a panel: traces, shapes, annotations on its pair of axes."""

    panel: Panel
    at: Mapping[str, int]
    place: int
    traces: list[_Json] = field(default_factory=list)
    shapes: list[_Json] = field(default_factory=list)
    notes: list[_Json] = field(default_factory=list)
    ends: list[tuple[float, float, str, str]] = field(default_factory=list)
    """Where lines end on the axes, and their labels: x, y, words, colour."""

    def draw(self) -> None:
        """All marks where the sliders stand, then the labels of their lines."""
        for mark in self.panel.marks:
            still = self._still(mark)
            if isinstance(still, VLine | HLine):
                self._across(still)
            elif isinstance(still, HBand):
                self._strip(still)
            elif isinstance(still, Note):
                self._note(still)
            else:
                self.traces.append({**_trace(still), **_axes(self.place)})
                self._label(still)
        self._spaced()

    def words(self, words: Words) -> str:
        """Words where the sliders stand."""
        if isinstance(words, _Text):
            return words.template.format_map({k: self.words(v) for k, v in words.parts.items()})
        return str(self._value(words))

    def title(self) -> _Json:
        """The panel's own, above it."""
        note = self._words(self.words(self.panel.title), 0.5, 1, "", "middle")
        return {**note, **self._refs("x domain", "y domain"), "yanchor": "bottom", "yshift": 3}

    def _spaced(self) -> None:
        """Labels beside the ends of their lines, moved up where two end together."""
        low, high = _ends(self.panel.y)
        apart = _LINE * (high - low) / (self.panel.height - _ABOVE)
        above = -np.inf
        for x, y, words, color in sorted(self.ends, key=lambda end: end[1]):
            above = max(y, above + apart)
            self.notes.append({**self._words(words, x, above, color), "xshift": 4})

    def _value(self, value: Any) -> Any:
        if isinstance(value, Shades):
            return self._still(value)
        if isinstance(value, _Text):
            return self.words(value)
        if not isinstance(value, _Over):
            return value
        return value.values[tuple(self.at.get(name, 0) for name in value.sliders)]

    def _still(self, mark: _M) -> _M:
        values = {each.name: getattr(mark, each.name) for each in fields(mark)}
        still: _Json = {
            name: self._value(value)
            for name, value in values.items()
            if isinstance(value, _Over | _Text | Shades)
        }
        return replace(mark, **still)

    def _across(self, mark: VLine | HLine) -> None:
        color, words = _color(mark.color), str(mark.label)
        line = {"color": color, "dash": _dash(mark.dash), "width": mark.width}
        if isinstance(mark, VLine):
            x = _number(mark.x)
            along = {"x0": x, "x1": x, "y0": 0, "y1": 1, **self._refs("x", "y domain")}
            if words:
                top = self._words(words, _on(self.panel.x, x), 1.04, color, "middle")
                self.notes.append({**top, **self._refs("x", "y domain")})
        else:
            y = _number(mark.y)
            along = {"x0": 0, "x1": 1, "y0": y, "y1": y, **self._refs("x domain", "y")}
            if words:
                end = _ends(self.panel.x)[1], _on(self.panel.y, y), words, color
                self.ends.append(end)
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
        words, color = str(mark.label), _color(mark.color)
        if words in [self.words(key) for key, *_ in self.panel.legend]:
            return
        if isinstance(mark, Bars | Points):
            if mark.label_at is not None:
                self.notes.append(self._words(words, *mark.label_at, color))
            return
        x, y = _on(self.panel.x, _array(mark.x)), _on(self.panel.y, _array(mark.y))
        there = np.flatnonzero(np.isfinite(x + y))
        if there.size:
            self.ends.append((float(x[there[-1]]), float(y[there[-1]]), words, color))

    def _words(self, text: str, x: float, y: float, color: str, anchor: str = "start") -> _Json:
        return {
            "text": text,
            "x": x,
            "y": y,
            "xanchor": _ANCHORS[anchor],
            "yanchor": "middle",
            "showarrow": False,
            "font": {"size": 12, **({"color": _color(color)} if color else {})},
            **self._refs("x", "y"),
        }

    def _refs(self, x: str, y: str) -> _Json:
        own = _axes(self.place)
        across, up = x.replace("x", own["xaxis"], 1), y.replace("y", own["yaxis"], 1)
        return {"xref": across, "yref": up}


def _axes(place: int) -> dict[str, str]:
    """What plotly calls the axes of a panel, from its place on the sheet."""
    number = str(place + 1) if place else ""
    return {"xaxis": f"x{number}", "yaxis": f"y{number}"}


def _trace(mark: Bars | Line | Band | Points | Heat | Image) -> _Json:
    if isinstance(mark, Band):
        return _band(mark)
    if isinstance(mark, Image):
        return _image(mark)
    hover = {"hovertemplate": mark.hover + "<extra></extra>"} if mark.hover else {}
    still = {"hoverinfo": "skip", **hover}
    if isinstance(mark, Heat):
        return {**_heat(mark), **still}
    parts = _bars(mark) if isinstance(mark, Bars) else _scatter(mark)
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
        "width": np.diff(edges),
        "marker": {"line": {"width": 0}, **_colored(mark.color)},
        "opacity": mark.opacity,
    }


def _band(mark: Band) -> _Json:
    """One closed outline; between edges its values are steps."""
    x, low, high = (narrow(_array(part)) for part in (mark.x, mark.low, mark.high))
    if len(low) == len(x) - 1:
        x, low, high = np.repeat(x, 2)[1:-1], np.repeat(low, 2), np.repeat(high, 2)
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


def _scatter(mark: Line | Points) -> _Json:
    y = narrow(_array(mark.y))
    if isinstance(mark, Line):
        line = {"color": _color(mark.color), "dash": _dash(mark.dash), "width": mark.width}
        look = {"mode": "lines", "line": line, "opacity": mark.opacity}
        x = narrow(_array(mark.x) + _number(mark.shift or 0))
        return {"type": "scatter", **look, "x": x, "y": y}
    x = narrow(_array(mark.x))
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
        "marker": {
            "size": mark.size,
            "opacity": mark.opacity,
            "symbol": _symbol(mark.symbol),
            **_colored(mark.color),
        },
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
    """Pixels from above: their steps along y are negative."""
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
    """Colours of numbers, with their bar."""
    neutral = shades.neutral or _rgba(style.NULL, 0)
    bar = {"title": {"text": str(shades.label)}, "thickness": 10, "outlinewidth": 0, "nticks": 5}
    return {
        "colorscale": [[0, shades.low], [0.5, neutral], [1, shades.high]],
        "cmin": shades.middle - shades.limit,
        "cmax": shades.middle + shades.limit,
        "colorbar": bar,
    }


def _known(trace: _Json, keys: Mapping[str, Any]) -> _Json:
    """A trace that goes with the key of its name, where there is one."""
    if trace["type"] == "image":  # knows no legend
        return trace
    group = {"legendgroup": trace["name"]} if trace.get("name") in keys else {}
    return {**trace, "showlegend": False, **group}


def _key(words: str, color: str, symbol: str) -> _Json:
    """What a legend shows: a trace without points."""
    nowhere = np.full(1, np.nan, np.float32)
    stroke = {"color": _color(color), "width": 2}
    marker = {"color": _color(color), "symbol": _symbol(symbol), "size": 9, "line": stroke}
    shape = {"type": "scatter", "mode": "markers", "x": nowhere, "y": nowhere, "marker": marker}
    return {**shape, **_axes(0), "name": words, "legendgroup": words, "showlegend": True}


def _arranged(grid: Grid) -> tuple[int, dict[str, int], _Json]:
    """Height, margins and axes of a sheet: each row as high as its panels, and no gap wasted.

    Ticks of equal axes stand at the left and at the bottom, and so do equal labels.
    """
    rows = [grid.panels[i : i + grid.columns] for i in range(0, len(grid.panels), grid.columns)]
    heads = [_TOP + _LINE * max(map(_lines, row)) for row in rows]
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
            "anchor": names["yaxis"],
            "domain": [left, min(left + wide, 1.0)],
        }
        axes[names["yaxis"].replace("y", "yaxis")] = {
            **_axis(panel.y, *beside),
            "showgrid": panel.y.names is None,
            "anchor": names["xaxis"],
            "domain": [max(1 - (top + inner[row]) / inside, 0.0), 1 - top / inside],
            **({"scaleanchor": names["xaxis"]} if panel.equal else {}),
        }
    height = heads[0] + inside + feet[-1]
    return height, _margin(grid, heads[0], feet[-1]), axes


def _lines(panel: Panel) -> int:
    """Lines of its title."""
    return len(str(panel.title).split("<br>")) if panel.title else 0


def _foot(row: Sequence[Panel], below: Sequence[Panel]) -> int:
    """Pixels below the axes of a row; few where those below have its ticks."""
    shared = [_equal(panel.x, under.x) for panel, under in zip(row, below, strict=False)]
    return _UNTICKED if shared and all(shared) else _BOTTOM


def _margin(grid: Grid, top: int, bottom: int) -> dict[str, int]:
    scaled = any(_shaded(mark) for panel in grid.panels for mark in panel.marks)
    right = max(16, _SCALE * scaled, *(panel.margin for panel in grid.panels))
    if all(panel.y.hidden for panel in grid.panels) and right == 16:
        return {"l": 12, "r": 12, "t": top, "b": bottom}
    return {"l": 56, "r": right, "t": top, "b": bottom}


def _shaded(mark: Mark) -> bool:
    return isinstance(mark, Heat) or isinstance(getattr(mark, "color", ""), Shades)


def _equal(a: Axis, b: Axis) -> bool:
    return (a.label, a.limits, a.log) == (b.label, b.limits, b.log)


def _axis(axis: Axis, other: Axis | None = None) -> _Json:
    """Plotly's words for it; what an `other` axis says as well is left to that one."""
    label = "" if other and other.label == axis.label else axis.label
    layout: _Json = {
        "title": {"text": label, "standoff": 8},
        "range": list(_ends(axis)),
        "type": "log" if axis.log else "linear",
        "gridwidth": 1,
        "zeroline": False,
        "fixedrange": True,
        "ticks": "",
        "nticks": 6,
        "visible": not axis.hidden,
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
    """Values in the units of an axis' length, as ranges and annotations count them."""
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
    """A hexadecimal colour, seen through."""
    red, green, blue = (int(_color(color)[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity:g})"


def _dash(dash: str) -> str:
    """A whole line for "", lengths in pixels for those of SVG; plotly's own names as they are."""
    if dash and dash[0].isdigit():
        return ",".join(f"{length}px" for length in dash.split())
    return dash or "solid"
