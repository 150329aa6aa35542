"""Evidence against q after each row, as a curve that rejects where it reaches a line."""

from __future__ import annotations

import numpy as np

from validation_core.drawing import style
from validation_core.drawing.marks import Axis, HLine, Line, Panel
from validation_core.text import raised_text
from validation_core.types import Float

_LOG_REACH = 4.0  # most decades of evidence drawn below 1
_POINTS = 1000  # of a long curve


def evidence_curve(wealth: Float, alpha: float, rows: str, hover: str) -> Panel:
    """Log evidence (n,) against q after each row, with the line that rejects.

    Args:
        wealth: natural logarithms.
        alpha: level.
        rows: what the rows are, as the name of the axis.
        hover: of a point, as `%{x} nearest`.
    """
    decades = np.concatenate([[0.0], wealth / np.log(10)])
    line = -np.log10(alpha)
    low = max(float(decades.min()), -_LOG_REACH) - 0.3
    high = max(float(decades.max()), line) + 0.5
    whole = np.arange(np.ceil(low), np.floor(high) + 1)
    step = max(1, int(np.ceil(len(whole) / 6)))
    ticks = whole[whole % step == 0]
    names = [f"1/{10 ** int(-t):,}" if t < 0 else _power(int(t)) for t in ticks]
    color = style.OBSERVED if float(decades.max()) >= line else style.P
    at = _shown(decades)
    return Panel(
        [
            Line(
                np.array([0.0, len(decades) - 1.0]),
                np.array([line, line]),
                color=style.NULL,
                dash="4 3",
                label=f"{1 / alpha:.3g} to 1 rejects",
            ),
            HLine(0.0, dash="dot"),
            Line(at.astype(float), np.maximum(decades[at], low), color=color, hover=hover),
        ],
        x=Axis((0.0, float(max(len(decades) - 1, 1))), rows),
        y=Axis((low, high), "evidence against q, to 1", ticks=ticks, names=names),
        height=style.HEIGHT,
        margin=96,
    )


def _shown(values: Float) -> np.ndarray:
    """Places of the points that are drawn: of a long curve the largest of each stretch, and the
    ends."""
    if len(values) <= _POINTS:
        return np.arange(len(values))
    starts = np.linspace(0, len(values), _POINTS, endpoint=False, dtype=np.int64)
    ends = [*starts[1:], len(values)]
    tops = [a + int(values[a:b].argmax()) for a, b in zip(starts, ends, strict=True)]
    return np.unique([0, *tops, len(values) - 1])


def _power(t: int) -> str:
    return f"{10**t:,}" if t < 6 else f"10{raised_text(t)}"
