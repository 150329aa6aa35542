"""A statistic against what it would be if q were right."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from validation_core.figures import style


def on_null(
    observed: float, *, mean: float, sd: float, critical: float, label: str,
    height: int = 190,
) -> go.Figure:  # fmt: skip
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
        [style.area(x, 0 * x, density, style.NULL, 0.35)],
        x=style.Axis(label, limits), y=style.Axis("", (0, 1.3)), height=height,
        extra={"yaxis": {"visible": False, "range": [0, 1.3], "fixedrange": True},
               "margin": {"l": 12, "r": 12, "t": 12, "b": 44}},
        shapes=[style.upright(critical, style.NULL, dash="dash"),
                style.upright(observed, style.OBSERVED, width=2.5)],
        notes=[style.note("if q = p", mean, 0.42, None, anchor="center"),
               style.note(f"seen {observed:.3g}", observed, 1.02, style.OBSERVED, anchor=side,
                          shift=-6 if side == "right" else 6),
               style.note(f"rejects beyond {critical:.3g}", critical, 1.22, style.NULL,
                          anchor=beyond, shift=-6 if beyond == "right" else 6)],
    )  # fmt: skip
