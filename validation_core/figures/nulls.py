"""A statistic against what it would be if q were right."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import plotly.graph_objects as go

from validation_core.figures import style
from validation_core.types import Array

_BINS = 40


def on_relabellings(
    values: Array,
    observed: float,
    limits: Callable[[Array], tuple[float, float]],
    label: str,
    *,
    hover: str,
    height: int = style.HEIGHT,
) -> go.Figure:
    """Statistics (B,) of relabelled tables in grey, what was seen in red.

    Args:
        limits: of an axis that holds all of them.
        label: the statistic's name, for the axis.
        hover: what a bar says.
    """
    if values.size == 0 or not np.isfinite(observed):
        return style.empty("No permutations yet", height=height)
    low, high = limits(np.append(values, observed))
    counts, edges = np.histogram(values, _BINS, (low, high))
    top = 1.25 * max(1.0, float(counts.max()))
    right = observed > (low + high) / 2
    return style.figure(
        [style.bars(edges, counts, style.NULL, hover=hover)],
        x=style.Axis(label, (low, high)),
        y=style.Axis("count", (0, top)),
        height=height,
        shapes=[style.vline(observed, style.OBSERVED, width=2.5)],
        notes=[
            style.note(
                f"seen {observed:.3g}",
                observed,
                0.95 * top,
                style.OBSERVED,
                anchor="right" if right else "left",
                shift=-6 if right else 6,
            )
        ],
    )


def on_null(
    observed: float, *, mean: float, sd: float, critical: float, label: str, height: int = 190
) -> go.Figure:
    """The normal null in grey, the critical value dashed, what was seen in red.

    Args:
        label: the statistic's name, for the axis.
    """
    if not np.isfinite(observed) or not sd > 0:
        return style.empty(f"No {label} yet", height=height)
    reach = max(4.2 * sd, 1.12 * abs(observed - mean))
    limits = (mean - max(4.2 * sd, 1.12 * (mean - observed)), mean + reach)
    x = np.linspace(mean - 4.2 * sd, mean + 4.2 * sd, 121)
    density = np.exp(-(((x - mean) / sd) ** 2) / 2)
    centre = (limits[0] + limits[1]) / 2
    side = "right" if observed > centre else "left"
    beyond = "right" if critical > centre else "left"  # towards the roomier side
    return style.figure(
        [style.band(x, 0 * x, density, style.NULL, 0.35)],
        x=style.Axis(label, limits),
        y=style.Axis("", (0, 1.3)),
        height=height,
        extra={
            "yaxis": {"visible": False, "range": [0, 1.3], "fixedrange": True},
            "margin": {"l": 12, "r": 12, "t": 12, "b": 44},
        },
        shapes=[
            style.vline(critical, style.NULL, dash="dash"),
            style.vline(observed, style.OBSERVED, width=2.5),
        ],
        notes=[
            style.note("if q = p", mean, 0.42, None, anchor="center"),
            style.note(
                f"seen {observed:.3g}",
                observed,
                1.02,
                style.OBSERVED,
                anchor=side,
                shift=-6 if side == "right" else 6,
            ),
            style.note(
                f"rejects beyond {critical:.3g}",
                critical,
                1.22,
                style.NULL,
                anchor=beyond,
                shift=-6 if beyond == "right" else 6,
            ),
        ],
    )
