"""What a score does: how it spreads under p and q, and how near it comes to the oracle."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from validation_core.figures import style
from validation_core.types import Array

_DRAWN = 800  # points of a scatter: SVG stays quick


def score_histograms(
    p: Array, q: Array, bins: int = 50, *, threshold: float | None = 0.0,
    height: int = style.HEIGHT,
) -> go.Figure:  # fmt: skip
    """Densities of the score under p and under q; C2ST's threshold dashed."""
    p, q = p[np.isfinite(p)], q[np.isfinite(q)]
    if p.size == 0 or q.size == 0:
        return style.empty("No scores yet", height=height)
    limits = _middle(np.concatenate([p.ravel(), q.ravel()]))
    edges = np.linspace(*limits, bins + 1)
    of_p, of_q = (_density(side, edges) for side in (p, q))
    centres = (edges[1:] + edges[:-1]) / 2
    top = 1.15 * max(of_p.max(), of_q.max())
    at_p, at_q = centres[of_p.argmax()], centres[of_q.argmax()]
    p_right = at_p >= at_q
    drawn = [] if threshold is None else [style.upright(threshold, style.NULL, dash="dash")]
    return style.figure(
        [style.bars(edges, of_p, style.P, opacity=0.5, hover="p near %{x:.2f}: %{y:.3f}"),
         style.bars(edges, of_q, style.Q, opacity=0.5, hover="q near %{x:.2f}: %{y:.3f}")],
        x=style.Axis("score (high looks like p)", limits), y=style.Axis("density", (0, top)),
        height=height, extra={"barmode": "overlay", "bargap": 0},
        shapes=drawn,
        notes=[style.note("p", 0.97 if p_right else 0.03, 0.93, style.P, paper=True),
               style.note("q", 0.03 if p_right else 0.97, 0.93, style.Q, paper=True)],
    )  # fmt: skip


def score_against_oracle(
    score: Array, oracle: Array, is_p: NDArray[np.bool_], *, height: int = style.HEIGHT
) -> go.Figure:
    """Learned score against the oracle log ratio: any rising curve ranks as well as the oracle."""
    kept = np.isfinite(score) & np.isfinite(oracle)
    if not kept.any():
        return style.empty("No scores yet", height=height)
    score, oracle, is_p = score[kept], oracle[kept], is_p[kept]
    limits_x, limits_y = _middle(oracle), _middle(score)
    step = max(1, len(score) // _DRAWN)
    clouds = [
        {"type": "scatter", "mode": "markers", "x": style.f4(oracle[side][::step]),
         "y": style.f4(score[side][::step]), "hoverinfo": "skip",
         "marker": {"color": color, "size": 4, "opacity": 0.45}}
        for side, color in ((is_p, style.P), (~is_p, style.Q))
    ]  # fmt: skip
    return style.figure(
        clouds, x=style.Axis("oracle log ratio", limits_x),
        y=style.Axis("learned score", limits_y), height=height,
        notes=[style.note("draws of p", 0.02, 0.97, style.P, paper=True),
               style.note("draws of q", 0.02, 0.88, style.Q, paper=True)],
    )  # fmt: skip


def _density(values: Array, edges: Array) -> Array:
    counts, _ = np.histogram(values, edges)
    return counts / (values.size * (edges[1] - edges[0]))


def _middle(values: Array) -> tuple[float, float]:
    """Limits that leave out the last half percent on either side."""
    low, high = np.quantile(values, (0.005, 0.995))
    room = 0.06 * (high - low) or 0.5
    return float(low - room), float(high + room)
