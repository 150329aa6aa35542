"""A square panel framed anew for each value of a slider: its points fill it, its ticks follow.

Points are drawn in half widths of the frame, from -1 to 1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from validation_core.drawing.marks import Anchor, Axis, Mark, Note, over
from validation_core.drawing.style import NULL
from validation_core.text import signed_text
from validation_core.types import Array

_TICKS = 4
_EDGE = 1.06  # half the picture, in half widths of the frame


def axis(label: str) -> Axis:
    """An axis of the frame; `ticks` writes its numbers."""
    return Axis((-_EDGE, _EDGE), label, ticks=())


def bounding_boxes(parts: Sequence[Array]) -> tuple[Array, Array]:
    """Bounding boxes of all points (V, L, 2) of all parts: centres and half widths (V, 2)."""
    points = np.concatenate(parts, axis=1)
    with np.errstate(invalid="ignore"):
        low, high = np.nanmin(points, axis=1), np.nanmax(points, axis=1)
    half = (high - low) / 2
    least = 1e-9 * np.maximum(np.abs(low) + np.abs(high), 1.0)
    return (low + high) / 2, 1.05 * np.maximum(half, least)


def round_ticks(low: float, high: float, most: int = 4) -> Array:
    """Round numbers within [low, high]: at least two, at most `most`."""
    raw = (high - low) / most
    power = 10.0 ** np.floor(np.log10(raw))
    for step in (power * k for k in (1, 2, 2.5, 5, 10)):
        first, last = np.ceil(low / step), np.floor(high / step)
        if last - first < most:
            return np.asarray(step * np.arange(first, last + 1))
    raise AssertionError("ten times the power of ten below a fourth has at most four")


_ANCHORS: tuple[Anchor, Anchor] = ("middle", "end")


def ticks(centre: Array, half: Array, slider: str) -> list[Mark]:
    """Tick labels along both axes, which change with the slider."""
    marks: list[Mark] = []
    for i, anchor in enumerate(_ANCHORS):
        at, labels = _labels(centre[:, i], half[:, i])
        for j in range(_TICKS):
            place, words = over(at[:, j], slider), over([row[j] for row in labels], slider)
            x, y = (place, -1.17) if i == 0 else (-1.09, place)
            marks.append(Note(x, y, words, color=NULL, anchor=anchor))
    return marks


def _labels(centre: Array, half: Array) -> tuple[Array, list[list[str]]]:
    """Positions of round numbers within frames (V,), and their text: (V, 4), NaN for fewer."""
    at = np.full((len(centre), _TICKS), np.nan)
    labels: list[list[str]] = []
    for row, middle, reach in zip(at, centre, half, strict=True):
        values = round_ticks(middle - reach, middle + reach, _TICKS)[:_TICKS]
        row[: len(values)] = (values - middle) / reach
        labels.append(_words(values) + [""] * (_TICKS - len(values)))
    return at, labels


def _words(values: Array) -> list[str]:
    steps = np.diff(values)
    step = float(steps[0]) if len(steps) else 1.0
    if max(abs(values[0]), abs(values[-1])) >= 1e5 or step < 1e-3:
        return [signed_text(value, ".3g") for value in values]
    digits = max(0, int(np.ceil(-np.log10(step) - 1e-9)))
    digits += step * 10**digits % 1 > 1e-6  # a step of 2.5
    return [signed_text(value, f".{digits}f") for value in np.round(values, 9)]
