"""Numbers that renderers read of marks whose sliders are fixed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from validation_core.drawing.marks import Band, Heat, Panel, Shades


def plain_numbers(values: object) -> NDArray[np.float64]:
    """Values as a plain array (G,).

    Raises:
        TypeError: where they follow a slider.
    """
    return np.atleast_1d(np.asarray(values, dtype=np.float64))


def shifted(values: object, shift: object) -> NDArray[np.float64]:
    """Values (G,) moved by a mark's shift, where it has one."""
    return plain_numbers(values) + (0.0 if shift is None else plain_numbers(shift))


def band_edges(mark: Band) -> tuple[NDArray[np.float64], ...]:
    """x, low and high of a band as lines (G,): steps between edges have two points each.

    Args:
        mark: with its sliders fixed.
    """
    x, low, high = map(plain_numbers, (mark.x, mark.low, mark.high))
    if len(low) == len(x) - 1:
        x, low, high = np.repeat(x, 2)[1:-1], np.repeat(low, 2), np.repeat(high, 2)
    return x, low, high


def color_scales(panel: Panel) -> list[Shades]:
    """Colour scales of a panel's marks, in their order."""
    colors = [
        mark.shades if isinstance(mark, Heat) else getattr(mark, "color", "")
        for mark in panel.marks
    ]
    return [color for color in colors if isinstance(color, Shades)]
