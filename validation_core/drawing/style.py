"""Colours, and the styles of methods and of inference algorithms.

Colours keep 3 : 1 contrast on the light and on the dark background, so that one figure serves
both; methods start from Paul Tol's muted set, adjusted in lightness where it missed that. Methods
and inference algorithms have a dash and a symbol as second cue.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from validation_core.keys import specification_named
from validation_core.types import Array, MethodStyle

P = "#0072B2"
Q = "#D55E00"
NULL = "#8A8F98"
OBSERVED = "#C0392B"

HEIGHT = 260
"""Height in pixels, shared by figures side by side."""

_WASH, _FULL = 0.06, 0.85  # how opaque the middle and the ends of a scale of colours are


def rgba(color: str, opacity: float) -> str:
    """A hexadecimal colour with an opacity, as CSS."""
    red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity:.3g})"


def diverging_color(color: str, part: float) -> str:
    """Colour of a diverging scale at a distance `part` (0 to 1) from its middle.

    The middle is nearly transparent: light on white, dark on black. browser/live_marks.js
    does the same.
    """
    full, wash = _FULL * part, _WASH * (1 - _FULL * part)
    over, under = (
        np.array([int(each[i : i + 2], 16) for i in (1, 3, 5)]) for each in (color, NULL)
    )
    red, green, blue = np.round((full * over + wash * under) / (full + wash)).astype(int)
    return f"rgba({red},{green},{blue},{full + wash:.3g})"


def method_style(name: str) -> MethodStyle:
    """Style of a method, as it declares it; grey for an unknown one."""
    try:
        return getattr(specification_named(f"method:{name}"), "style", MethodStyle())
    except ValueError:
        return MethodStyle()


ALGORITHM_STYLES: Mapping[str, MethodStyle] = {
    "laplace": MethodStyle("#B07D00", "solid", "circle"),
    "adjusted_laplace": MethodStyle("#AE3F8B", "dash", "square"),
    "vi": MethodStyle("#5A6FD6", "dashdot", "diamond"),
    "iwvi": MethodStyle("#1FA37F", "longdash", "triangle-up"),
    "renyi": MethodStyle("#6B8E23", "longdashdot", "square"),
    "chi": MethodStyle("#C25B74", "dot", "diamond"),
    "exact": MethodStyle(NULL, "dot", "cross"),
}
"""Ways to infer a posterior: colours stay apart in every common colour blindness."""


def algorithm_style(name: str) -> MethodStyle:
    """Style of an inference algorithm; grey for an unknown one."""
    return ALGORITHM_STYLES.get(name, MethodStyle(NULL, "solid", "star"))


def padded(values: Array, share: float = 0.06) -> tuple[float, float]:
    """Axis limits of values with a margin, nonzero in width even where all are equal."""
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    room = share * (high - low) or share * max(abs(high), 1.0)
    return low - room, high + room


def short(name: str, most: int, *, ends: bool = False) -> str:
    """A name cut to `most` letters: its beginning, or both its ends."""
    if len(name) <= most:
        return name
    return f"{name[: most // 2 - 1]}…{name[-(most // 2) :]}" if ends else name[: most - 1] + "…"
