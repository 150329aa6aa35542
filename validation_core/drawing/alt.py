"""Text alternatives of pictures: axes, and the numbers of their marks.

The browser describes what follows a slider in the same way (`described` in browser/live_alt.js).
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from validation_core.drawing import style
from validation_core.drawing.marks import (
    Axis,
    Band,
    Bars,
    Grid,
    HBand,
    Heat,
    HLine,
    Line,
    Mark,
    Note,
    Panel,
    Picture,
    Points,
    Shades,
    VLine,
)
from validation_core.drawing.over_sliders import freeze_sliders
from validation_core.types import Array

_MOST = 600  # letters
_TITLE = 200  # of them
_NAMES = 6  # ticks that are all named
_NOUGHT = 1e-6  # values nearer to 0 are written as 0
_ON_TICK = 0.02  # of the least distance of two ticks: a value as near is the tick's
_BESIDE = 0.3  # of the same: marks drawn side by side are at the same tick
_NUMBERED = re.compile(r"[−-]?\d")


def describe_picture(
    picture: Picture, title: str = "", at: Mapping[str, int] | None = None
) -> str:
    """Describe a picture in words: title, axes and, for every series, its ends and extremes.

    Args:
        picture: the panels of a sheet are described in turn.
        title: title of the picture, instead of a single panel's own.
        at: the index of each slider among its values; 0 by default.

    Returns:
        At most 600 letters; sentences that do not fit are counted.
    """
    if isinstance(picture, Grid):
        parts = [part for panel in picture.panels for part in _panel(freeze_sliders(panel, at))]
        return _joined([title, *parts])
    own, *parts = _panel(freeze_sliders(picture, at))
    return _joined([title or own, *parts])


def _joined(parts: Sequence[str]) -> str:
    sentences = [f"{plain_words(part).rstrip('. ')}." for part in parts if part]
    text = ""
    for i, sentence in enumerate(sentences):
        left = len(sentences) - i - 1
        longer = f"{text} {sentence}".strip()
        if len(longer) + len(f" And {left} more.") * bool(left) > _MOST:
            return f"{text} And {left + 1} more."
        text = longer
    return text


def _panel(panel: Panel) -> list[str]:
    """Title, axes and marks of a panel; a series that two marks draw is described once."""
    parts = [style.short(plain_words(str(panel.title)), _TITLE)]
    parts += [
        _axis(side, axis)
        for side, axis in (("Across", panel.x), ("Up", panel.y))
        if not axis.hidden
    ]
    known: set[str] = set()
    for mark in panel.marks:
        name = series_name(mark, panel)
        if name in known:
            continue
        parts.append(_mark(mark, panel, name or _KINDS.get(type(mark), "")))
        known |= {name} if name else set()
    return parts


def _axis(side: str, axis: Axis) -> str:
    label = f"{axis.label}, " * bool(axis.label)
    if axis.names is None:
        low, high = (_written(end, axis) for end in axis.limits)
        return f"{side}: {label}{low} to {high}"
    names = [name for name in axis.names if name]
    if not names:
        return f"{side}: {axis.label}" if axis.label else ""
    if len(names) > _NAMES:
        return f"{side}: {label}{names[0]} to {names[-1]}, {len(names)} in all"
    return f"{side}: {label}{', '.join(names)}"


_KINDS: Mapping[type[Mark], str] = {
    Line: "line",
    Band: "band",
    HBand: "band",
    Bars: "bars",
    Points: "points",
    Heat: "map",
}


def series_name(mark: Mark, panel: Panel) -> str:
    """A mark's name, from its label or the legend; empty without either."""
    label = mark.shades.label if isinstance(mark, Heat) else getattr(mark, "label", "")
    if label or isinstance(mark, Band | HBand | Heat | VLine | HLine):
        return str(label)
    color, symbols = getattr(mark, "color", None), [getattr(mark, "symbol", "")]
    if isinstance(mark, Line):
        symbols = [mark.dash, "dash"] if mark.dash else ["line"]
    same = [key for key in panel.legend if isinstance(color, str) and key[1] == color]
    alike = [key for symbol in symbols for key in same if key[2] == symbol]
    return str((alike or same)[0][0]) if same else ""


def _mark(mark: Mark, panel: Panel, name: str) -> str:
    x, y = panel.x, panel.y
    if isinstance(mark, Note):
        return str(mark.words)
    if isinstance(mark, VLine | HLine):
        value = _array(mark.x if isinstance(mark, VLine) else mark.y)
        axis = x if isinstance(mark, VLine) else y
        if not (mark.label and np.isfinite(value)):
            return ""
        place = _written(float(value), axis)
        return f"{name if name != place else 'line'} at {place}"
    if isinstance(mark, Band | HBand):
        lows, highs = (side[np.isfinite(side)] for side in map(_array, (mark.low, mark.high)))
        if not (lows.size and highs.size):
            return f"{name}: not known"
        return f"{name}: {_written(float(lows.min()), y)} to {_written(float(highs.max()), y)}"
    if isinstance(mark, Heat):
        return _heat(mark, panel, name)
    if isinstance(mark, Bars):
        edges = _array(mark.edges) + float(_array(mark.shift or 0))
        sides = (y, x) if not mark.upright else (x, y)
        return _extremes((edges[1:] + edges[:-1]) / 2, _array(mark.heights), *sides, name)
    if isinstance(mark, Line | Points):
        across, up = np.broadcast_arrays(_array(mark.x), _array(mark.y))
        if isinstance(mark, Line):
            across = across + float(_array(mark.shift or 0))
        there = np.isfinite(across + up)
        across, up = across[there], up[there]
        if isinstance(mark, Line):
            return (_area if mark.fill else _curve)(across, up, x, y, name)
        return _cloud(across, up, x, y, name)
    return ""


def _cloud(across: Array, up: Array, x: Axis, y: Axis, name: str) -> str:
    """Description of unordered points."""
    if len(up) < 2:
        here = f"{name}: {_written(up[0], y)} at {_place(across[0], x)}" if len(up) else ""
        return here.removesuffix(" at ")
    if y.names is not None and not _numbered(y.names):
        return _extremes(up, across, y, x, name)
    if x.names is not None:
        return _extremes(across, up, x, y, name, _place)
    return _area(across, up, x, y, f"{name}: {len(up)} points")


def _area(across: Array, up: Array, x: Axis, y: Axis, name: str) -> str:
    """Extent of an area on both axes."""
    if not len(up):
        return ""
    ends = [
        f"{_written(side.min(), axis)} to {_written(side.max(), axis)}"
        for side, axis in ((across, x), (up, y))
    ]
    return f"{name}, across {ends[0]}, up {ends[1]}"


def _curve(across: Array, up: Array, x: Axis, y: Axis, name: str) -> str:
    if not len(up):
        return ""
    first, last = (f"{_written(up[i], y)} at {_place(across[i], x)}" for i in (0, -1))
    low, high = (_written(end, y) for end in (up.min(), up.max()))
    return f"{name}: from {first} to {last}, lowest {low}, highest {high}"


def _extremes(
    at: Array,
    values: Array,
    x: Axis,
    y: Axis,
    name: str,
    place: Callable[[float, Axis], str] | None = None,
) -> str:
    """Highest and lowest of values, and their positions on the axis `x`."""
    there = np.isfinite(values)
    at, values = at[there], values[there]
    if not values.size:
        return ""
    high, low = (
        f"{_written(values[i], y)} at {(place or _written)(at[i], x)}"
        for i in (values.argmax(), values.argmin())
    )
    return f"{name}: highest {high}, lowest {low}"


def _heat(mark: Heat, panel: Panel, name: str) -> str:
    values = _array(mark.shades.values)
    if not np.isfinite(values).any():
        return ""
    sides = [
        (edges[1:] + edges[:-1]) / 2 for edges in (_array(mark.x_edges), _array(mark.y_edges))
    ]
    ends = []
    for place in (np.nanargmax(values), np.nanargmin(values)):
        row, column = np.unravel_index(place, values.shape)
        x, y = _written(sides[0][column], panel.x), _written(sides[1][row], panel.y)
        ends.append(f"{_bounded(values[row, column], mark.shades)} at ({x}, {y})")
    return f"{name}: highest {ends[0]}, lowest {ends[1]}"


def _bounded(value: float, shades: Shades) -> str:
    """A number as precisely as colours show it: at either end of the scale it may lie beyond."""
    off = value - shades.middle
    if abs(off) < shades.limit:
        return _number(value, 2)
    end = _number(shades.middle + np.copysign(shades.limit, off), 2)
    return f"at {'least' if off > 0 else 'most'} {end}"


def _place(value: float, axis: Axis) -> str:
    """Where a point is on its axis, or the tick beside which it is drawn."""
    return _written(value, axis, _BESIDE)


def _written(value: float, axis: Axis, near: float = _ON_TICK) -> str:
    """A value as its axis writes it: by its ticks, if they have names, or in percent."""
    if axis.names is not None and axis.ticks is not None:
        return _by_ticks(value, _array(axis.ticks), axis.names, near)
    return f"{_number(100 * value)}%" if axis.percent else _number(value)


def _by_ticks(value: float, ticks: Array, names: Sequence[str], near: float) -> str:
    """The nearest tick's name; off numbered ticks, whose scale is not known, those around it."""
    if not _numbered(names):
        return names[int(np.abs(ticks - value).argmin())]
    named = sorted((at, name) for at, name in zip(ticks.tolist(), names, strict=True) if name)
    places = np.array([at for at, _ in named])
    closest = int(np.abs(places - value).argmin())
    gap = float(np.diff(places).min(initial=np.inf))
    if len(named) == 1 or abs(places[closest] - value) <= near * gap:
        return named[closest][1]
    above = int(np.searchsorted(places, value))
    if above == 0:
        return f"below {named[0][1]}"
    if above == len(named):
        return f"above {named[-1][1]}"
    return f"between {named[above - 1][1]} and {named[above][1]}"


def _numbered(names: Sequence[str]) -> bool:
    """Whether ticks are named by numbers, so that values lie between them too."""
    return any(names) and all(_NUMBERED.match(name) for name in names if name)


def _number(value: float, digits: int = 3) -> str:
    """Format with so many significant digits, without an exponent."""
    if abs(value) < _NOUGHT:
        return "0"
    rounded = float(f"{value:.{digits}g}")
    return np.format_float_positional(rounded, trim="-").replace("-", "−")


def plain_words(words: str) -> str:
    """Text without plotly's markup, unescaped."""
    return html.unescape(re.sub("<[^>]*>", " ", words)).strip()


def _array(values: object) -> Array:
    return np.asarray(values, dtype=float)
