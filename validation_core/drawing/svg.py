"""SVG of a panel without sliders: for the card, its PNG, and word-sized pictures.

It matches the drawing of `drawing.live` in the browser, in type and position of words,
and needs no script. A panel with values over sliders is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from html import escape, unescape
from typing import NamedTuple

import numpy as np

from validation_core.drawing.marks import (
    Axis,
    Band,
    Bars,
    HBand,
    Heat,
    HLine,
    Line,
    Mark,
    Note,
    Panel,
    Points,
    VLine,
)
from validation_core.text import signed_text
from validation_core.types import Array

_TICK, _FOOT, _HEAD, _LEFT, _RIGHT = 11.5, 38, 26, 44, 10
_KEYS = 7  # where a legend stands, above the name of y
_DASHES = {"dash": "6 4", "dot": "1.5 3.5", "dashdot": "6 3 1.5 3", "longdash": "10 4"}
_SPACE = ' xmlns="http://www.w3.org/2000/svg"'


class _Scale(NamedTuple):
    """Map from data to pixels of the sheet."""

    left: float
    right: float
    top: float
    bottom: float
    x_axis: Axis
    y_axis: Axis

    def x(self, value: float) -> float:
        return _place(value, self.x_axis, self.left, self.right)

    def y(self, value: float) -> float:
        return _place(value, self.y_axis, self.bottom, self.top)


def _place(value: float, axis: Axis, start: float, end: float) -> float:
    low, high = axis.limits
    if axis.log:
        value, low, high = (math.log(max(number, 1e-300)) for number in (value, low, high))
    return start + (value - low) / (high - low) * (end - start)


def svg(
    panel: Panel,
    width: int,
    *,
    height: int | None = None,
    title: str = "",
    bare: bool = False,
    alone: bool = False,
    ink: str = "currentColor",
    paper: str = "var(--paper, #fff)",
) -> str:
    """An `<svg>` element of this width in pixels that shrinks with its container.

    Args:
        panel: without sliders.
        width: in pixels.
        height: in pixels; the panel's own by default.
        title: text alternative, for screen readers.
        bare: without axes and words, as a picture within a line.
        alone: as a file of its own, not within HTML.
        ink: colour of words and axes.
        paper: colour behind them, around words.

    Raises:
        TypeError: for a mark that follows a slider, or that is only for the browser.
    """
    tall = panel.height if height is None else height
    scale = _bare(panel, width, tall) if bare else _framed(panel, width, tall)
    body = "".join(part for mark in panel.marks for part in _drawn(mark, scale, ink, bare))
    frame = "" if bare else _frame(scale, width, ink)
    words = (
        ""
        if bare
        else "".join(part for mark in panel.marks for part in _words(mark, scale, ink, paper))
        + _legend(panel, scale, ink)
    )
    label = f' role="img" aria-label="{escape(title)}"' if title else ' aria-hidden="true"'
    # Marks beyond the axes are cut by a nested sheet, which needs no identifier.
    inner = (
        f'<svg x="{scale.left:g}" y="{scale.top:g}" width="{scale.right - scale.left:g}" '
        f'height="{scale.bottom - scale.top:g}" '
        f'viewBox="{scale.left:g} {scale.top:g} {scale.right - scale.left:g} '
        f'{scale.bottom - scale.top:g}">{body}</svg>'
    )
    return (
        f'<svg{_SPACE * alone} viewBox="0 0 {width} {tall}" width="{width}" '
        f'height="{tall}" style="max-width:100%;height:auto"{label} '
        f'font-family="inherit" font-size="{_TICK}">{frame}{inner}{words}</svg>'
    )


def _framed(panel: Panel, width: int, height: int) -> _Scale:
    top = _HEAD + 17 * bool(panel.legend)
    left = 10 if panel.y.hidden else max(_LEFT, 16 + 6 * _longest(panel.y))
    room = max(_RIGHT, 2 + 3.3 * _end(panel.x, width))
    right = width - room - panel.margin
    foot = 6 if panel.x.hidden and not panel.x.label else _FOOT
    return _Scale(left, right, top, height - foot, panel.x, panel.y)


def _end(axis: Axis, width: int) -> int:
    """Letters of the last tick on x, half of which reach beyond the axis."""
    at, text = max(axis_ticks(axis, width / 80), default=(-math.inf, ""))
    return len(text) if at > axis.limits[1] - 0.02 * (axis.limits[1] - axis.limits[0]) else 0


def _longest(axis: Axis) -> int:
    return min(18, max((len(text) for _, text in axis_ticks(axis, 5)), default=0))


def _bare(panel: Panel, width: int, height: int) -> _Scale:
    return _Scale(1, width - 1, 1, height - 1, panel.x, panel.y)


def axis_ticks(axis: Axis, count: float) -> list[tuple[float, str]]:
    """Positions and labels of at most about `count` ticks."""
    if axis.hidden:
        return []
    if axis.ticks is not None:
        places = [float(place) for place in np.asarray(axis.ticks, dtype=float)]
        if axis.names is not None:
            return list(zip(places, axis.names, strict=True))
        return [(place, _written(place, axis)) for place in places]
    low, high = axis.limits
    raw = (high - low) / max(1.0, count)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * nice for nice in (1, 2, 2.5, 5, 10) if power * nice >= 0.999 * raw)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    # As many digits as tell one tick from the next, of numbers of any size.
    digits = max(6, 2 + math.ceil(math.log10(max(abs(low), abs(high), step) / step)))
    return [(i * step, _written(i * step, axis, digits)) for i in range(first, last + 1)]


def _written(value: float, axis: Axis, digits: int = 6) -> str:
    number = 100 * value if axis.percent else value
    return f"{signed_text(number, f'.{digits}g')}{'%' * axis.percent}"


def _frame(scale: _Scale, width: int, ink: str) -> str:
    """Axes with their ticks and names, the name of y above its axis."""
    x, y = scale.x_axis, scale.y_axis
    parts = []
    for place, text in axis_ticks(y, (scale.bottom - scale.top) / 45):
        at = scale.y(place)
        parts.append(_rule(scale.left, at, scale.right, at, ink, 0.09))
        parts.append(_text(scale.left - 6, at + 4, text, "end", ink))
    if not y.hidden:
        parts.append(_text(0, scale.top - 15, y.label, "start", ink))
    for place, text in axis_ticks(x, width / 80):
        parts.append(_text(scale.x(place), scale.bottom + 15, text, "middle", ink))
    middle = (scale.left + scale.right) / 2
    parts.append(_text(middle, scale.bottom + 32, x.label, "middle", ink))
    if not x.hidden:
        parts.append(_rule(scale.left, scale.bottom, scale.right, scale.bottom, ink, 0.35))
    return "".join(parts)


def _rule(x1: float, y1: float, x2: float, y2: float, ink: str, opacity: float) -> str:
    return (
        f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" stroke="{ink}" '
        f'stroke-opacity="{opacity}" fill="none"/>'
    )


def _text(x: float, y: float, words: str, anchor: str, ink: str, halo: str = "") -> str:
    """Text, escaped exactly once, whether or not the panel already escaped it for plotly."""
    if not words:
        return ""
    around = (
        f' font-weight="600" stroke="{halo}" stroke-width="3" paint-order="stroke" '
        'stroke-linejoin="round"'
        if halo
        else ""
    )
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{ink}"{around}>'
        f"{escape(unescape(words))}</text>"
    )


def _legend(panel: Panel, scale: _Scale, ink: str) -> str:
    parts, at = [], 0.0
    for words, color, symbol in panel.legend:
        text = str(words)
        fill = color or ink
        if symbol in ("line", "dash"):
            dash = ' stroke-dasharray="5 3"' if symbol == "dash" else ""
            parts.append(
                f'<path d="M{at:.1f} {_KEYS}h14" stroke="{fill}" stroke-width="2.5"{dash}/>'
            )
        else:
            size = 4 if symbol != "band" else 5
            parts.append(f'<circle cx="{at + 7:.1f}" cy="{_KEYS}" r="{size}" fill="{fill}"/>')
        parts.append(_text(at + 19, _KEYS + 4, text, "start", ink))
        at += 19 + 5.9 * len(text) + 16
    return "".join(parts)


def _drawn(mark: Mark, scale: _Scale, ink: str, bare: bool) -> Iterator[str]:
    draw = _MARKS.get(type(mark))
    if draw is None:
        raise TypeError(f"{type(mark).__name__} is not drawn as it stands. Show it live.")
    yield from draw(mark, scale, ink, bare)


def _numbers(values: object) -> Array:
    """Values as a plain array.

    Raises:
        TypeError: where they follow a slider.
    """
    return np.atleast_1d(np.asarray(values, dtype=np.float64))


def _path(scale: _Scale, xs: Array, ys: Array) -> str:
    parts, pen = [], "M"
    for x, y in zip(xs, ys, strict=True):
        if math.isnan(x) or math.isnan(y):
            pen = "M"
            continue
        parts.append(f"{pen}{scale.x(x):.1f} {scale.y(y):.1f}")
        pen = "L"
    return "".join(parts)


def _bars(mark: Bars, scale: _Scale, ink: str, bare: bool) -> Iterator[str]:
    edges, heights = _numbers(mark.edges), _numbers(mark.heights)
    if not isinstance(mark.color, str):
        raise TypeError("Bars coloured by numbers are plotly's alone. Give one colour.")
    gap = 0.0 if bare else 0.5
    d = []
    for low, high, value in zip(edges, edges[1:], heights, strict=False):
        if not value > 0:
            continue
        if mark.upright:
            left, right, floor = scale.x(low) + gap, scale.x(high) - gap, scale.y(0)
            d.append(f"M{left:.1f} {floor:.1f}V{scale.y(value):.1f}H{right:.1f}V{floor:.1f}Z")
        else:
            upper, lower, foot = scale.y(low) + gap, scale.y(high) - gap, scale.x(0)
            d.append(f"M{foot:.1f} {upper:.1f}H{scale.x(value):.1f}V{lower:.1f}H{foot:.1f}Z")
    yield f'<path d="{"".join(d)}" fill="{mark.color or ink}" fill-opacity="{mark.opacity:g}"/>'


def _line(mark: Line, scale: _Scale, ink: str, bare: bool) -> Iterator[str]:
    del bare
    d = _path(scale, _numbers(mark.x), _numbers(mark.y))
    yield _stroke(d, mark.color or ink, mark.width, mark.dash, mark.opacity)


def _stroke(d: str, color: str, width: float, dash: str, opacity: float = 1) -> str:
    broken = _DASHES.get(dash, dash)
    dashes = f' stroke-dasharray="{broken}"' if broken and broken != "solid" else ""
    return (
        f'<path d="{d}" fill="none" stroke="{color}" stroke-width="{width:g}" '
        f'stroke-opacity="{opacity:g}" stroke-linejoin="round"{dashes}/>'
    )


def _band(mark: Band, scale: _Scale, ink: str, bare: bool) -> Iterator[str]:
    del bare
    x, low, high = _numbers(mark.x), _numbers(mark.low), _numbers(mark.high)
    if len(low) == len(x) - 1:  # steps between edges
        x, low, high = np.repeat(x, 2)[1:-1], np.repeat(low, 2), np.repeat(high, 2)
    known = np.isfinite(low) & np.isfinite(high)
    if known.any():
        there = _path(scale, x[known], high[known])
        back = _path(scale, x[known][::-1], low[known][::-1]).replace("M", "L", 1)
        color = mark.color or ink
        yield f'<path d="{there}{back}Z" fill="{color}" fill-opacity="{mark.opacity:g}"/>'


def _points(mark: Points, scale: _Scale, ink: str, bare: bool) -> Iterator[str]:
    del bare
    if not isinstance(mark.color, str):
        raise TypeError("Points coloured by numbers are plotly's alone. Give one colour.")
    color, r = mark.color or ink, mark.size / 2
    xs, ys = np.broadcast_arrays(_numbers(mark.x), _numbers(mark.y))
    there = np.isfinite(xs) & np.isfinite(ys)
    whiskers = []
    for ends, along_x in ((("left", "right"), True), (("low", "high"), False)):
        low, high = (getattr(mark, name) for name in ends)
        if low is None or high is None:
            continue
        for x, y, a, b in zip(xs, ys, _numbers(low), _numbers(high), strict=True):
            whiskers.append(
                f"M{scale.x(a):.1f} {scale.y(y):.1f}H{scale.x(b):.1f}"
                if along_x
                else f"M{scale.x(x):.1f} {scale.y(a):.1f}V{scale.y(b):.1f}"
            )
    if whiskers:
        yield _stroke("".join(whiskers), color, 1.4, "")
    places = list(zip(xs[there], ys[there], strict=True))
    if mark.symbol == "diamond":
        r *= 1.3  # as large to the eye as a circle
        side = f"l{r:g} {r:g}l{-r:g} {r:g}l{-r:g} {-r:g}Z"
        path = "".join(f"M{scale.x(x):.1f} {scale.y(y) - r:.1f}{side}" for x, y in places)
        yield f'<path d="{path}" fill="{color}" fill-opacity="{mark.opacity:g}"/>'
        return
    # A stroke of no length with round ends is a dot: all of them are one element.
    dots = "".join(f"M{scale.x(x):.1f} {scale.y(y):.1f}h0" for x, y in places)
    square = mark.symbol == "square"
    yield (
        f'<path d="{dots}" stroke="{color}" stroke-width="{2 * r:g}" '
        f'stroke-opacity="{mark.opacity:g}" stroke-linecap="{"square" if square else "round"}" '
        'fill="none"/>'
    )


def _vline(mark: VLine, scale: _Scale, ink: str, bare: bool) -> Iterator[str]:
    del bare
    for x in _numbers(mark.x):
        d = f"M{scale.x(x):.1f} {scale.top:.1f}V{scale.bottom:.1f}"
        yield _stroke(d, mark.color or ink, mark.width, mark.dash, 1 if mark.color else 0.6)


def _hline(mark: HLine, scale: _Scale, ink: str, bare: bool) -> Iterator[str]:
    del bare
    for y in _numbers(mark.y):
        d = f"M{scale.left:.1f} {scale.y(y):.1f}H{scale.right:.1f}"
        yield _stroke(d, mark.color or ink, mark.width, mark.dash, 1 if mark.color else 0.6)


def _hband(mark: HBand, scale: _Scale, ink: str, bare: bool) -> Iterator[str]:
    del ink, bare
    top, bottom = scale.y(mark.high), scale.y(mark.low)
    yield (
        f'<rect x="{scale.left:.1f}" y="{top:.1f}" width="{scale.right - scale.left:.1f}" '
        f'height="{bottom - top:.1f}" fill="{mark.color}" fill-opacity="{mark.opacity:g}"/>'
    )


def _heat(mark: Heat, scale: _Scale, ink: str, bare: bool) -> Iterator[str]:
    """Cells of a heat map, one path for each of nine depths of either colour."""
    del ink, bare
    shades = mark.shades
    values = (_grid(shades.values) - shades.middle) / shades.limit
    depth = np.round(np.clip(values, -1, 1) * 9)
    x, y = _numbers(mark.x_edges), _numbers(mark.y_edges)
    for level in np.unique(depth[np.isfinite(depth) & (depth != 0)]):
        d = "".join(
            f"M{scale.x(x[j]):.1f} {scale.y(y[i]):.1f}H{scale.x(x[j + 1]):.1f}"
            f"V{scale.y(y[i + 1]):.1f}H{scale.x(x[j]):.1f}Z"
            for i, j in np.argwhere(depth == level)
        )
        color = shades.high if level > 0 else shades.low
        yield f'<path d="{d}" fill="{color}" fill-opacity="{0.85 * abs(level) / 9:.2f}"/>'


def _grid(values: object) -> Array:
    return np.asarray(values, dtype=np.float64)


def _nothing(mark: Note, scale: _Scale, ink: str, bare: bool) -> Iterator[str]:
    """Nothing here: notes are drawn above all marks."""
    del mark, scale, ink, bare
    yield ""


_MARKS: dict[type, Callable[..., Iterator[str]]] = {
    Bars: _bars,
    Line: _line,
    Band: _band,
    Points: _points,
    VLine: _vline,
    HLine: _hline,
    HBand: _hband,
    Heat: _heat,
    Note: _nothing,
}


def _words(mark: Mark, scale: _Scale, ink: str, paper: str) -> Iterator[str]:
    """A mark's own text, drawn above all marks."""
    if isinstance(mark, Note):
        x, y = scale.x(float(_numbers(mark.x)[0])), scale.y(float(_numbers(mark.y)[0]))
        color = mark.color or ink
        yield _text(x + mark.shift, y - mark.rise, str(mark.words), mark.anchor, color, paper)
    elif isinstance(mark, VLine) and mark.label:
        x = scale.x(float(_numbers(mark.x)[0]))
        middle = min(max(x, scale.left + 20), scale.right - 20)
        color = mark.color or ink
        yield _text(middle, scale.top - 5, str(mark.label), "middle", color, paper)
    elif isinstance(mark, HLine) and mark.label:
        y = scale.y(float(_numbers(mark.y)[0]))
        yield _text(scale.right, y - 5, str(mark.label), "end", mark.color or ink, paper)
    elif isinstance(mark, Line) and mark.label:
        x, y = _numbers(mark.x)[-1], _numbers(mark.y)[-1]
        yield _text(
            scale.x(x) + 6, scale.y(y) + 4, str(mark.label), "start", mark.color or ink, paper
        )
