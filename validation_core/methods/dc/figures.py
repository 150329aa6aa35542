"""Discriminative calibration: the divergence on its null, beside its maximum, and row by row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from validation_core.figures import style
from validation_core.figures.outcome import Drawn, on_relabellings
from validation_core.types import Array

_BINS = 40


def null(permuted: Array, observed: float, *, height: int = style.HEIGHT) -> go.Figure:
    """Divergences (B,) of truths put in random slots in grey, what was seen in red."""
    return on_relabellings(
        permuted,
        observed,
        _room,
        "divergence, truths in random slots",
        hover="%{x:.3g} nats: %{y}",
        height=height,
    )


def divergence(
    estimate: float, low: float, high: float, most: float, *, height: int = 150
) -> go.Figure:
    """The divergence with its interval, from guessing at 0 to `most`: the truth always told.

    Negative where the score does worse than guessing: not cut off.
    """
    if not np.isfinite([estimate, low, high, most]).all():
        return style.empty("No divergence yet", height=height)
    left, right = min(0.0, low), max(most, high)
    pad = 0.06 * (right - left)
    color = style.method_style("dc").color
    return style.figure(
        [
            style.line([low, high], [0, 0], color, width=6, opacity=0.5),
            {
                "type": "scatter",
                "mode": "markers",
                "x": style.f4([estimate]),
                "y": style.f4([0]),
                "marker": {"color": color, "size": 12, "symbol": "diamond"},
                "hovertemplate": f"{estimate:.3g} nats, {low:.3g} to {high:.3g}<extra></extra>",
            },
        ],
        x=style.Axis("divergence, in nats", (left - pad, right + pad)),
        y=style.Axis("", (-1, 1)),
        height=height,
        extra={"yaxis": {"visible": False, "range": [-1, 1], "fixedrange": True}},
        shapes=[style.vline(0, style.NULL, dash="dash"), style.vline(most, style.NULL)],
        notes=[
            style.note(f"{estimate:.3g}", estimate, -0.5, color, anchor="center"),
            style.note("guessing", 0, 0.75, style.NULL, shift=4),
            style.note(f"at most {most:.3g}", most, 0.75, style.NULL, anchor="right", shift=-4),
        ],
    )


def rows(values: Array, most: float, *, height: int = style.HEIGHT) -> go.Figure:
    """What each simulation (n,) adds to the divergence, and their mean in red."""
    if values.size == 0:
        return style.empty("No simulations yet", height=height)
    low, high = _room(np.append(values, [0.0, most]))
    counts, edges = np.histogram(values, _BINS, (low, high))
    top = 1.25 * float(counts.max())
    mean = float(values.mean(dtype=float))
    return style.figure(
        [style.bars(edges, counts, style.Q, hover="%{x:.3g} nats: %{y}")],
        x=style.Axis("log predictive density beyond guessing, in nats", (low, high)),
        y=style.Axis("simulations", (0, top)),
        height=height,
        shapes=[
            style.vline(0, style.NULL, dash="dash"),
            style.vline(mean, style.OBSERVED, width=2.5),
        ],
        notes=[
            style.note(
                f"mean {mean:.3g}",
                mean,
                0.95 * top,
                style.OBSERVED,
                anchor="left" if mean < (low + high) / 2 else "right",
                shift=6 if mean < (low + high) / 2 else -6,
            )
        ],
    )


def outcome(arrays: Mapping[str, Array], names: Sequence[str] = ()) -> list[Drawn]:
    """The figures of one test, from its `arrays`."""
    del names  # a slot has one score, whatever the parameters
    none = np.empty(0)
    each, permuted = (np.asarray(arrays.get(name, none)) for name in ("rows", "null"))
    estimate = float(each.mean(dtype=float)) if each.size else np.nan
    low, high, most = (float(arrays.get(name, np.nan)) for name in ("low", "high", "most"))
    return [
        Drawn(
            "The divergence against its null",
            null(permuted, estimate),
            "Grey: the same scores, with the truth of every simulation put in a random slot among "
            "q's draws at its x. If q were right, the red line would fall anywhere among them.",
        ),
        Drawn(
            "How far q is told from the truth",
            divergence(estimate, low, high, most),
            "The bar is a 95% interval over the simulations of the test, for this score. If q "
            "were right, it would reach 0 or end below it: a score that learnt noise does worse "
            "than guessing.",
        ),
        Drawn(
            "Simulation by simulation",
            rows(each, most),
            "Right of the dashed line the score leans to the truth, left of it to a draw. If q "
            "were right, the mean over all simulations would not lie right of it.",
        ),
    ]


def _room(values: Array) -> tuple[float, float]:
    """Limits with some air, also where all values are one."""
    low, high = float(values.min()), float(values.max())
    pad = 0.06 * (high - low) or 0.5 * max(abs(high), 1e-3)
    return low - pad, high + pad
