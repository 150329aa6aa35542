"""How the noise of a conformal rank falls as its test point gets more calibration draws."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from validation_core.figures import style
from validation_core.types import Array


def variance_against_m(m: Array, var: Array, *, height: int = style.HEIGHT) -> go.Figure:
    """Var(U | test point) at each m on doubly logarithmic axes, over a guide of slope -1."""
    m, var = np.asarray(m, dtype=float), np.asarray(var, dtype=float)
    if m.size == 0:
        return style.empty("No variances yet", height=height)
    ends = np.array([m.min(), m.max()])
    guide = var[-1] * m[-1] / ends
    look = style.method_style("uniform")
    points = style.line(m, var, look.color, hover="m = %{x:.0f}: Var(U) = %{y:.5f}")
    marker = {"color": look.color, "symbol": look.symbol, "size": 8}
    low, high = min(var.min(), guide.min()) / 1.6, max(var.max(), guide.max()) * 1.6
    return style.figure(
        [
            style.line(ends, guide, style.NULL, dash="dot"),
            {**points, "mode": "markers", "marker": marker},
        ],
        x=style.Axis("calibration draws m", (ends[0] / 1.4, ends[1] * 1.4), log=True,
                     ticks=[float(value) for value in m if value not in (2, 20)]),
        y=style.Axis("variance of U", (low, high), log=True, ticks=_decades(low, high)),
        height=height,
        notes=[style.note("falls as 1/m", np.log10(ends[0]), np.log10(guide[0]), style.NULL,
                          shift=14)],
    )  # fmt: skip


def _decades(low: float, high: float) -> list[float]:
    exponents = np.arange(np.ceil(np.log10(low)), np.floor(np.log10(high)) + 1)
    return [float(10.0**exponent) for exponent in exponents]
