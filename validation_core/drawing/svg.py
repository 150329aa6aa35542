"""SVG of a panel without sliders: for files, the card and its PNG, and word-sized pictures.

It matches the drawing of `drawing.live` in the browser, in type and position of words,
and needs no script. A panel with values over sliders is refused.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from html import escape, unescape
from typing import TypeGuard

import numpy as np

from validation_core.drawing.fixed_marks import color_scales, plain_numbers
from validation_core.drawing.letters import svg_words
from validation_core.drawing.line_names import spaced
from validation_core.drawing.marks import (
    Axis,
    Bars,
    HLine,
    Key,
    Line,
    Mark,
    Note,
    Panel,
    Points,
    Shades,
    VLine,
)
from validation_core.drawing.svg_marks import Scale, legend_key, mark_elements, scale_colors
from validation_core.text import signed_text

LETTERS = 11.5
"""Size of all letters, in pixels."""
_FOOT, _HEAD, _LEFT, _RIGHT = 38, 26, 44, 10
_KEYS, _ROW = 7, 17  # where a legend stands, above the name of y, and each of its rows
_GRADIENT = 64  # how wide a scale of colours is
_BESIDE, _FAR = 5, 30  # up and across: a name at most so far from its line's end needs no lead
_LEAD = 8  # room for leads
_SPACE = ' xmlns="http://www.w3.org/2000/svg"'


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
        height: in pixels; the panel's own by default, see `panel_height`.
        title: text alternative, for screen readers.
        bare: without axes and words, as a picture within a line.
        alone: as a file of its own, not within HTML.
        ink: colour of words and axes.
        paper: colour behind them, around words.

    Raises:
        TypeError: for a mark that follows a slider, or that is only for the browser.
    """
    tall = panel_height(panel, width) if height is None else height
    scale = _bare(panel, width, tall) if bare else _framed(panel, width, tall)
    body = "".join(
        part for mark in panel.marks for part in mark_elements(mark, scale, ink, bare=bare)
    )
    frame = "" if bare else _frame(scale, width, ink)
    words = "" if bare else _all_words(panel, scale, width, ink, paper)
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
        f'font-family="inherit" font-size="{LETTERS}">{frame}{inner}{words}</svg>'
    )


def panel_height(panel: Panel, width: int) -> int:
    """Height of a panel in pixels: its own, or, of a square one, what makes its axes equal."""
    if not panel.square:
        return panel.height
    left, right = _sides(panel, width)
    return round(_head(panel, width) + right - left + _foot(panel))


def _framed(panel: Panel, width: int, height: int) -> Scale:
    left, right = _sides(panel, width)
    scale = Scale(left, right, _head(panel, width), height - _foot(panel), panel.x, panel.y)
    return _equal_units(scale) if panel.equal else scale


def _sides(panel: Panel, width: int) -> tuple[float, float]:
    """Pixels from the left at which the axes begin and end."""
    left = 10 if panel.y.hidden else max(_LEFT, min(16 + 6 * _longest(panel.y), 0.45 * width))
    room = max(_RIGHT, 2 + 3.3 * _end(panel.x, width))
    return left, width - room - panel.margin


def _head(panel: Panel, width: int) -> int:
    """Pixels above the axes: the name of y, below a scale of colours and the legend."""
    rows = len(_legend_rows(panel.legend, width)) + bool(color_scales(panel))
    return _HEAD + _ROW * rows


def _foot(panel: Panel) -> int:
    return 6 if panel.x.hidden and not panel.x.label else _FOOT


def _equal_units(scale: Scale) -> Scale:
    """The scale with one unit as long on x as on y: more is shown of the roomier axis."""
    sides = (scale.right - scale.left, scale.bottom - scale.top)
    axes = (scale.x_axis, scale.y_axis)
    unit = min(
        side / abs(axis.limits[1] - axis.limits[0]) for side, axis in zip(sides, axes, strict=True)
    )
    x, y = (_longer(axis, side / unit) for axis, side in zip(axes, sides, strict=True))
    return scale._replace(x_axis=x, y_axis=y)


def _longer(axis: Axis, length: float) -> Axis:
    """The axis with this length about the same middle."""
    low, high = axis.limits
    half = math.copysign(length / 2, high - low)
    return replace(axis, limits=((low + high) / 2 - half, (low + high) / 2 + half))


def _end(axis: Axis, width: int) -> int:
    """Letters of the last tick on x, half of which reach beyond the axis."""
    at, text = max(axis_ticks(axis, width / 80), default=(-math.inf, ""))
    return len(text) if at > axis.limits[1] - 0.02 * (axis.limits[1] - axis.limits[0]) else 0


def _longest(axis: Axis) -> int:
    return max((len(text) for _, text in axis_ticks(axis, 5)), default=0)


def _bare(panel: Panel, width: int, height: int) -> Scale:
    return Scale(1, width - 1, 1, height - 1, panel.x, panel.y)


def axis_ticks(axis: Axis, count: float) -> list[tuple[float, str]]:
    """Positions and labels of at most about `count` ticks."""
    if axis.hidden:
        return []
    if axis.ticks is not None:
        places = [float(place) for place in np.asarray(axis.ticks, dtype=float)]
        if axis.names is not None:
            return list(zip(places, axis.names, strict=True))
        return [(place, _written(place, axis)) for place in places]
    if axis.log:
        return [(value, _written(value, axis)) for value in _decades(*axis.limits)]
    low, high = axis.limits
    raw = (high - low) / max(1.0, count)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * nice for nice in (1, 2, 2.5, 5, 10) if power * nice >= 0.999 * raw)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    # As many digits as tell one tick from the next, of numbers of any size.
    digits = max(6, 2 + math.ceil(math.log10(max(abs(low), abs(high), step) / step)))
    return [(i * step, _written(i * step, axis, digits)) for i in range(first, last + 1)]


def _decades(low: float, high: float) -> list[float]:
    """Powers of ten within limits; where they are few, also twice and five times each."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    lead = (1,) if len(powers) > 4 else (1, 2, 5)
    values = [number * 10.0**power for power in powers for number in lead]
    return [value for value in values if low * 0.999 <= value <= high * 1.001]


def _written(value: float, axis: Axis, digits: int = 6) -> str:
    number = 100 * value if axis.percent else value
    return f"{signed_text(number, f'.{digits}g')}{'%' * axis.percent}"


def _frame(scale: Scale, width: int, ink: str) -> str:
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
    half = min(2.9 * len(x.label), width / 2)
    middle = min(max((scale.left + scale.right) / 2, half), width - half)
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
        f"{svg_words(unescape(words), LETTERS)}</text>"
    )


def _all_words(panel: Panel, scale: Scale, width: int, ink: str, paper: str) -> str:
    """Legend, scale of colours and the marks' own words, above all marks."""
    named = {str(key[0]) for key in panel.legend}
    own = [
        part
        for mark in panel.marks
        if not _named_at_its_end(mark, panel, named)
        for part in _words(mark, scale, ink, paper, named)
    ]
    ends = _line_ends(panel, scale, ink, paper, named)
    rows = _legend_rows(panel.legend, width)
    colors = [
        _color_scale(shades, _KEYS + _ROW * len(rows), ink) for shades in color_scales(panel)[:1]
    ]
    return "".join([*own, *ends, *_legend(rows, ink), *colors])


def _legend_rows(legend: Sequence[Key], width: int) -> list[list[tuple[float, Key]]]:
    """Entries of a legend with their places, in as many rows as the width asks for."""
    rows: list[list[tuple[float, Key]]] = []
    at = math.inf
    for key in legend:
        wide = 19 + 5.9 * len(str(key[0]))
        if at + wide > width:
            rows.append([])
            at = 0.0
        rows[-1].append((at, key))
        at += wide + 16
    return rows


def _legend(rows: Sequence[Sequence[tuple[float, Key]]], ink: str) -> Iterator[str]:
    for i, row in enumerate(rows):
        up = _KEYS + _ROW * i
        for at, (words, color, symbol) in row:
            yield legend_key(symbol, at, up, color or ink)
            yield _text(at + 19, up + 4, str(words), "start", ink)


def _color_scale(shades: Shades, up: int, ink: str) -> str:
    """A scale of colours between the numbers at its ends, and its meaning."""
    low, high = (signed_text(shades.middle + side * shades.limit, ".2g") for side in (-1, 1))
    left = 8 + 6 * len(low)
    colors = scale_colors(shades)
    wide = _GRADIENT / len(colors)
    cells = "".join(
        f'<rect x="{left + i * wide:.2f}" y="{up - 5}" width="{wide:.2f}" height="9" '
        f'fill="{color}"/>'
        for i, color in enumerate(colors)
    )
    words = f"{high}  {shades.label}".strip()
    return (
        _text(left - 5, up + 4, low, "end", ink)
        + cells
        + _text(left + _GRADIENT + 5, up + 4, words, "start", ink)
    )


def _line_ends(panel: Panel, scale: Scale, ink: str, paper: str, named: set[str]) -> Iterator[str]:
    """Labels at the ends of lines, a thin line to each that is not beside its end.

    Where the panel keeps a margin for them, they begin below one another.
    """
    marks = [mark for mark in panel.marks if _named_at_its_end(mark, panel, named)]
    ends = [(*end, mark) for mark in marks if (end := _end_of(mark, scale))]
    places = spaced([y for _, y, _ in ends], LETTERS + 2, scale.top, scale.bottom)
    beside = [abs(place - y) <= _BESIDE for (_, y, _), place in zip(ends, places, strict=True)]
    gap = 6 if all(beside) else 6 + _LEAD
    column = max((x for x, *_ in ends), default=0.0)
    for (x, y, mark), place in zip(ends, places, strict=True):
        at = (column if panel.margin else x) + gap
        color = mark.color or ink
        if abs(place - y) > _BESIDE or at - x > _FAR:
            yield (
                f'<path d="M{x + 3:.1f} {y:.1f}L{at - 3:.1f} {place:.1f}" stroke="{color}" '
                'stroke-opacity="0.6" fill="none"/>'
            )
        yield _text(at, place + 4, str(mark.label), "start", color, paper)


def _named_at_its_end(mark: Mark, panel: Panel, named: set[str]) -> TypeGuard[Line | HLine]:
    """Whether a mark's name stands at its right end: that of a line across, in the margin only."""
    kinds = (Line, HLine) if panel.margin else (Line,)
    return isinstance(mark, kinds) and bool(mark.label) and str(mark.label) not in named


def _end_of(mark: Line | HLine, scale: Scale) -> tuple[float, float] | None:
    """Pixels of a line's last point; none where it has no point."""
    if isinstance(mark, HLine):
        return scale.right, scale.y(float(plain_numbers(mark.y)[0]))
    xs, ys = plain_numbers(mark.x), plain_numbers(mark.y)
    there = np.flatnonzero(np.isfinite(xs + ys))
    return (scale.x(xs[there[-1]]), scale.y(ys[there[-1]])) if there.size else None


def _words(mark: Mark, scale: Scale, ink: str, paper: str, named: set[str]) -> Iterator[str]:
    """A mark's own text, but for lines; a label that the legend has is not repeated."""
    if isinstance(mark, Note):
        x, y = scale.x(float(plain_numbers(mark.x)[0])), scale.y(float(plain_numbers(mark.y)[0]))
        color = mark.color or ink
        yield _text(x + mark.shift, y - mark.rise, str(mark.words), mark.anchor, color, paper)
        return
    words = str(getattr(mark, "label", ""))
    if not words or words in named:
        return
    if isinstance(mark, VLine):
        x = scale.x(float(plain_numbers(mark.x)[0]))
        middle = min(max(x, scale.left + 20), scale.right - 20)
        yield _text(middle, scale.top - 5, words, "middle", mark.color or ink, paper)
    elif isinstance(mark, HLine):
        y = scale.y(float(plain_numbers(mark.y)[0]))
        yield _text(scale.right, y - 5, words, "end", mark.color or ink, paper)
    elif isinstance(mark, Bars | Points) and mark.label_at is not None:
        color = ink if isinstance(mark.color, Shades) else mark.color or ink
        x, y = mark.label_at
        yield _text(scale.x(x), scale.y(y) + 4, words, "start", color, paper)
