"""How the spread of conformal ranks settles as each test point gets more calibration draws."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from validation_core.figures import style
from validation_core.types import Array


def settling(m: Array, var: Array) -> tuple[float, float]:
    """Least-squares a, b of Var(U) = a + b / m; a is the variance with the law of p known."""
    design = np.stack([np.ones(len(m)), 1 / m], axis=1)
    (a, b), *_ = np.linalg.lstsq(design, var, rcond=None)
    return float(a), float(b)


def variance_against_m(m: Array, var: Array, *, height: int = style.HEIGHT) -> go.Figure:
    """Var(U) at each m, over a guide that falls as 1 / m to its limit."""
    m, var = np.asarray(m, dtype=float), np.asarray(var, dtype=float)
    if m.size == 0:
        return style.empty("No variances yet", height=height)
    a, b = settling(m, var) if m.size > 1 else (float(var[0]), 0.0)
    grid = np.geomspace(m.min(), m.max(), 60)
    top = 1.15 * float(max(var.max(), (a + b / grid).max()))
    look = style.method_style("uniform")
    return style.figure(
        [
            style.line(grid, a + b / grid, style.NULL, dash="dot"),
            {**style.line(m, var, look.color, hover="m = %{x:.0f}: Var(U) = %{y:.4f}"),
             "mode": "markers",
             "marker": {"color": look.color, "symbol": look.symbol, "size": 8}},
        ],
        x=style.Axis("calibration draws per test point m", (m.min() / 1.3, m.max() * 1.3),
                     log=True, ticks=[float(value) for value in m]),
        y=style.Axis("variance of the rank U", (0, top)), height=height, right=96,
        shapes=[style.level(a, color=style.NULL)],
        notes=[style.note(f"limit {a:.4f}", 1.0, a / top, style.NULL, paper=True, shift=6)],
    )  # fmt: skip
