"""SVG elements of a panel's marks, and the scale from data to pixels that places them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core.drawing import style
from validation_core.drawing.fixed_marks import band_edges, plain_numbers, shifted
from validation_core.drawing.marks import (
    SYMBOL_SHAPES,
    Axis,
    Band,
    Bars,
    HBand,
    Heat,
    HLine,
    Image,
    Line,
    Mark,
    Note,
    Points,
    Shades,
    VLine,
    is_stroke,
)
from validation_core.types import Array

_DASHES = {"dash": "6 4", "dot": "1.5 3.5", "dashdot": "6 3 1.5 3", "longdash": "10 4"}
_STROKED = ("cross", "ring")
_STEPS = 9  # of a scale of colours, on either side of its middle


class Scale(NamedTuple):
    """Map from data to pixels of the sheet."""

    left: float
    right: float
    top: float
    bottom: float
    x_axis: Axis
    y_axis: Axis

    def x(self, value: float) -> float:
        """Pixels from the left of a value on x."""
        return _place(value, self.x_axis, self.left, self.right)

    def y(self, value: float) -> float:
        """Pixels from the top of a value on y."""
        return _place(value, self.y_axis, self.bottom, self.top)


def _place(value: float, axis: Axis, start: float, end: float) -> float:
    low, high = axis.limits
    if axis.log:
        value, low, high = (math.log(max(number, 1e-300)) for number in (value, low, high))
    return start + (value - low) / (high - low) * (end - start)


def mark_elements(mark: Mark, scale: Scale, ink: str, *, bare: bool) -> Iterator[str]:
    """SVG elements of a mark, without its words.

    Args:
        mark: with its sliders fixed.
        ink: colour of a mark without one.
        bare: within a line of text, where bars touch.

    Raises:
        TypeError: for a mark that follows a slider, or that is only for the browser.
    """
    if isinstance(mark, Bars):
        yield from _bars(mark, scale, ink, 0.0 if bare else 0.5)
        return
    draw = _MARKS.get(type(mark))
    if draw is None:
        raise TypeError(f"{type(mark).__name__} is not drawn as it stands. Show it live.")
    yield from draw(mark, scale, ink)


def shade_steps(shades: Shades) -> Array:
    """The colour of each value as a step of its scale: -9 to 9 about the middle, NaN for none."""
    values = np.asarray(shades.values, dtype=np.float64)
    steps: Array = np.round(_STEPS * np.clip((values - shades.middle) / shades.limit, -1, 1))
    return steps


def step_color(shades: Shades, step: float) -> str:
    """CSS colour of a step of a scale of colours."""
    return style.diverging_color(shades.high if step > 0 else shades.low, abs(step) / _STEPS)


def scale_colors(shades: Shades) -> list[str]:
    """CSS colours of all steps of a scale, the lowest first."""
    return [step_color(shades, step) for step in range(-_STEPS, _STEPS + 1)]


def _path(scale: Scale, xs: Array, ys: Array) -> str:
    parts, pen = [], "M"
    for x, y in zip(xs, ys, strict=True):
        if math.isnan(x) or math.isnan(y):
            pen = "M"
            continue
        parts.append(f"{pen}{scale.x(x):.1f} {scale.y(y):.1f}")
        pen = "L"
    return "".join(parts)


def _filled(d: str, color: str, opacity: float = 1.0) -> str:
    return f'<path d="{d}" fill="{color}" fill-opacity="{opacity:g}"/>'


def _stroke(d: str, color: str, width: float, dash: str = "", opacity: float = 1) -> str:
    broken = _DASHES.get(dash, dash)
    dashes = f' stroke-dasharray="{broken}"' if broken and broken != "solid" else ""
    return (
        f'<path d="{d}" fill="none" stroke="{color}" stroke-width="{width:g}" '
        f'stroke-opacity="{opacity:g}" stroke-linejoin="round"{dashes}/>'
    )


def _colored(color: str | Shades, size: int, ink: str) -> Iterator[tuple[str, NDArray[np.intp]]]:
    """Each colour of a mark, with the places of its parts among all `size`."""
    if isinstance(color, str):
        yield color or ink, np.arange(size)
        return
    steps = np.broadcast_to(shade_steps(color), (size,))
    for step in np.unique(steps[np.isfinite(steps)]):
        yield step_color(color, float(step)), np.flatnonzero(steps == step)


def _bars(mark: Bars, scale: Scale, ink: str, gap: float) -> Iterator[str]:
    edges, heights = shifted(mark.edges, mark.shift), plain_numbers(mark.heights)
    for color, at in _colored(mark.color, len(heights), ink):
        d = []
        for low, high, value in zip(edges[at], edges[at + 1], heights[at], strict=True):
            if not value > 0:
                continue
            if mark.upright:
                left, right, floor = scale.x(low) + gap, scale.x(high) - gap, scale.y(0)
                d.append(f"M{left:.1f} {floor:.1f}V{scale.y(value):.1f}H{right:.1f}V{floor:.1f}Z")
            else:
                upper, lower, foot = scale.y(low) + gap, scale.y(high) - gap, scale.x(0)
                d.append(f"M{foot:.1f} {upper:.1f}H{scale.x(value):.1f}V{lower:.1f}H{foot:.1f}Z")
        yield _filled("".join(d), color, mark.opacity)


def _line(mark: Line, scale: Scale, ink: str) -> Iterator[str]:
    d = _path(scale, shifted(mark.x, mark.shift), plain_numbers(mark.y))
    color = mark.color or ink
    if mark.fill:
        yield f'<path d="{d}" fill="{color}" fill-opacity="{mark.fill:g}" fill-rule="evenodd"/>'
    yield _stroke(d, color, mark.width, mark.dash, mark.opacity)


def _band(mark: Band, scale: Scale, ink: str) -> Iterator[str]:
    x, low, high = band_edges(mark)
    known = np.isfinite(low) & np.isfinite(high)
    if known.any():
        there = _path(scale, x[known], high[known])
        back = _path(scale, x[known][::-1], low[known][::-1]).replace("M", "L", 1)
        yield _filled(f"{there}{back}Z", mark.color or ink, mark.opacity)


def _points(mark: Points, scale: Scale, ink: str) -> Iterator[str]:
    xs, ys = np.broadcast_arrays(plain_numbers(mark.x), plain_numbers(mark.y))
    symbols = np.broadcast_to(np.asarray(mark.symbol), xs.shape)
    there = np.isfinite(xs) & np.isfinite(ys)
    whiskers = _whiskers(mark, scale, xs, ys)
    for color, at in _colored(mark.color, len(xs), ink):
        own = [whiskers[i] for i in at if i in whiskers]
        if own:
            yield _stroke("".join(own), color, 1.4)
        at = at[there[at]]
        for symbol in dict.fromkeys(symbols[at].tolist()):
            same = at[symbols[at] == symbol]
            places = [(scale.x(x), scale.y(y)) for x, y in zip(xs[same], ys[same], strict=True)]
            yield _symbols(SYMBOL_SHAPES.get(symbol, symbol), places, mark, color)


def _whiskers(mark: Points, scale: Scale, xs: Array, ys: Array) -> dict[int, str]:
    """Intervals of points, as a path by the place of their point."""
    paths: dict[int, str] = {}
    for low, high, along_x in ((mark.left, mark.right, True), (mark.low, mark.high, False)):
        if low is None or high is None:
            continue
        ends = zip(xs, ys, plain_numbers(low), plain_numbers(high), strict=True)
        for i, (x, y, a, b) in enumerate(ends):
            if not math.isfinite(x + y + a + b):
                continue
            paths[i] = paths.get(i, "") + (
                f"M{scale.x(a):.1f} {scale.y(y):.1f}H{scale.x(b):.1f}"
                if along_x
                else f"M{scale.x(x):.1f} {scale.y(a):.1f}V{scale.y(b):.1f}"
            )
    return paths


def _symbols(shape: str, places: Sequence[tuple[float, float]], mark: Points, color: str) -> str:
    r = mark.size / 2
    if shape in _GLYPHS:
        d = "".join(f"M{x:.1f} {y:.1f}{_GLYPHS[shape](r)}" for x, y in places)
        if shape in _STROKED:
            return _stroke(d, color, 1.6, opacity=mark.opacity)
        return _filled(d, color, mark.opacity)
    # A stroke of almost no length with round ends is a dot: all of them are one element. (Of no
    # length at all, a single one would have no extent, and files would leave it out.)
    dots = "".join(f"M{x:.1f} {y:.1f}h.01" for x, y in places)
    cap = "square" if shape == "square" else "round"
    return (
        f'<path d="{dots}" stroke="{color}" stroke-width="{2 * r:g}" '
        f'stroke-opacity="{mark.opacity:g}" stroke-linecap="{cap}" fill="none"/>'
    )


def legend_key(symbol: str, left: float, up: float, color: str) -> str:
    """What stands before a legend's words: a stroke, an area, or the symbol as it is drawn."""
    if is_stroke(symbol):
        dash = {"line": "", "dash": "5 3"}.get(symbol, symbol)
        return _stroke(f"M{left:.1f} {up:g}h14", color, 2.5, dash)
    if symbol == "band":
        return _filled(f"M{left:.1f} {up - 4:g}h14v8h-14Z", color, 0.35)
    one = Points([0.0], [0.0], color=color, size=8)
    return _symbols(SYMBOL_SHAPES.get(symbol, symbol), [(left + 7, up)], one, color)


# Outlines from the middle of a symbol of this radius, as browser/live_marks.js draws them.
_GLYPHS: dict[str, Callable[[float], str]] = {
    "diamond": lambda r: (
        f"m0 {-1.3 * r:g}l{1.3 * r:g} {1.3 * r:g}l{-1.3 * r:g} {1.3 * r:g}"
        f"l{-1.3 * r:g} {-1.3 * r:g}Z"
    ),
    "triangle": lambda r: f"m0 {-1.3 * r:g}l{1.2 * r:g} {2.2 * r:g}h{-2.4 * r:g}Z",
    "cross": lambda r: f"m{-r:g} {-r:g}l{2 * r:g} {2 * r:g}m0 {-2 * r:g}l{-2 * r:g} {2 * r:g}",
    "ring": lambda r: f"m{-r:g} 0a{r:g} {r:g} 0 1 0 {2 * r:g} 0a{r:g} {r:g} 0 1 0 {-2 * r:g} 0Z",
}


def _vline(mark: VLine, scale: Scale, ink: str) -> Iterator[str]:
    for x in plain_numbers(mark.x):
        if math.isfinite(x):
            d = f"M{scale.x(x):.1f} {scale.top:.1f}V{scale.bottom:.1f}"
            yield _stroke(d, mark.color or ink, mark.width, mark.dash, 1 if mark.color else 0.6)


def _hline(mark: HLine, scale: Scale, ink: str) -> Iterator[str]:
    for y in plain_numbers(mark.y):
        if math.isfinite(y):
            d = f"M{scale.left:.1f} {scale.y(y):.1f}H{scale.right:.1f}"
            yield _stroke(d, mark.color or ink, mark.width, mark.dash, 1 if mark.color else 0.6)


def _hband(mark: HBand, scale: Scale, ink: str) -> Iterator[str]:
    del ink
    top, bottom = scale.y(mark.high), scale.y(mark.low)
    yield (
        f'<rect x="{scale.left:.1f}" y="{top:.1f}" width="{scale.right - scale.left:.1f}" '
        f'height="{bottom - top:.1f}" fill="{mark.color}" fill-opacity="{mark.opacity:g}"/>'
    )


def _heat(mark: Heat, scale: Scale, ink: str) -> Iterator[str]:
    """Cells of a heat map, one path for each step of its colours."""
    del ink
    steps = shade_steps(mark.shades)
    xs = [scale.x(x) for x in plain_numbers(mark.x_edges)]
    ys = [scale.y(y) for y in plain_numbers(mark.y_edges)]
    for step in np.unique(steps[np.isfinite(steps)]):
        yield _cells(xs, ys, np.argwhere(steps == step), step_color(mark.shades, float(step)))


def _cells(xs: Sequence[float], ys: Sequence[float], cells: NDArray[np.intp], color: str) -> str:
    """Cells (row, column) between edges in pixels, neighbours without a seam."""
    d = "".join(
        f"M{xs[j]:.1f} {ys[i]:.1f}H{xs[j + 1]:.1f}V{ys[i + 1]:.1f}H{xs[j]:.1f}Z" for i, j in cells
    )
    return f'<path d="{d}" fill="{color}" shape-rendering="crispEdges"/>'


def _image(mark: Image, scale: Scale, ink: str) -> Iterator[str]:
    """Pixels as squares, one path for each colour: sharp at any size."""
    del ink
    pixels = np.asarray(mark.pixels)[::-1]
    rows, columns = pixels.shape[:2]
    xs = [scale.x(x) for x in np.linspace(*mark.x, columns + 1)]
    ys = [scale.y(y) for y in np.linspace(*mark.y, rows + 1)]
    colors, kind = np.unique(pixels.reshape(-1, 3), axis=0, return_inverse=True)
    for i, (red, green, blue) in enumerate(colors.tolist()):
        cells = np.argwhere(kind.reshape(rows, columns) == i)
        yield _cells(xs, ys, cells, f"#{red:02x}{green:02x}{blue:02x}")


def _nothing(mark: Note, scale: Scale, ink: str) -> Iterator[str]:
    """Nothing here: notes are drawn above all marks."""
    del mark, scale, ink
    yield ""


_MARKS: dict[type, Callable[..., Iterator[str]]] = {
    Line: _line,
    Band: _band,
    Points: _points,
    VLine: _vline,
    HLine: _hline,
    HBand: _hband,
    Heat: _heat,
    Image: _image,
    Note: _nothing,
}
