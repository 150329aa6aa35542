"""The AutoML test: its difference on the permutation null, the witness's values, its members."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from validation_core.figures import style
from validation_core.figures.outcome import Drawn, on_relabellings
from validation_core.types import Array

_BINS = 40


def null(relabelled: Array, observed: float, *, height: int = style.HEIGHT) -> go.Figure:
    """tau of every relabelling (B,) in grey, what was seen in red."""
    return on_relabellings(
        relabelled,
        observed,
        _room,
        "tau of relabelled rows",
        hover="tau = %{x:.3g}: %{y}",
        height=height,
    )


def values(p: Array, q: Array, *, height: int = style.HEIGHT) -> go.Figure:
    """Shares of the witness's values under p (n_p,) and q (n_q,), and the two means."""
    if p.size == 0 or q.size == 0:
        return style.empty("No witness yet", height=height)
    low, high = _room(np.concatenate([p, q]))
    shares = [np.histogram(side, _BINS, (low, high))[0] / side.size for side in (p, q)]
    edges = np.linspace(low, high, _BINS + 1)
    top = 1.25 * max(float(share.max()) for share in shares)
    means = float(p.mean()), float(q.mean())
    return style.figure(
        [
            style.bars(
                edges,
                share,
                color,
                opacity=0.5,
                name=name,
                hover=f"{name}: %{{y:.1%}} near %{{x:.3g}}",
            )
            for share, color, name in zip(shares, (style.P, style.Q), "pq", strict=True)
        ],
        x=style.Axis("witness", (low, high)),
        y=style.Axis("share", (0, top), percent=True),
        height=height,
        extra={"barmode": "overlay"},
        shapes=[
            style.vline(mean, color) for mean, color in zip(means, (style.P, style.Q), strict=True)
        ],
        notes=[
            style.note(f"mean of {name}", mean, 0.95 * top, color, anchor=anchor, shift=shift)
            for name, mean, color, (anchor, shift) in zip(
                "pq", means, (style.P, style.Q), _sides(*means), strict=True
            )
        ],
    )


def members(summary: Mapping[str, float], *, height: int = style.HEIGHT) -> go.Figure:
    """The weight of every member as a bar, with what it explains of held-out labels.

    Args:
        summary: `weight NAME` and `r2 NAME` of each, as a trained witness tells them.
    """
    weights = {name[7:]: value for name, value in summary.items() if name.startswith("weight ")}
    if not weights:
        return style.empty("No members yet", height=height)
    names = list(weights)
    labels = [f"{name} · R² {summary[f'r2 {name}']:.3f}" for name in names]
    sheet = style.figure(
        [
            {
                "type": "bar",
                "orientation": "h",
                "x": style.f4(list(weights.values())),
                "y": style.f4(range(len(names))),
                "width": 0.6,
                "marker": {"color": style.method_style("automl").color, "line": {"width": 0}},
                "hovertemplate": "%{x:.0%}<extra></extra>",
            }
        ],
        x=style.Axis("weight in the witness", (0, 1), percent=True),
        y=style.Axis("", (len(names) - 0.5, -0.5)),
        height=height,
    )
    sheet.layout.yaxis.update(tickmode="array", tickvals=list(range(len(names))), ticktext=labels)
    sheet.layout.margin.l = 150
    return sheet


def outcome(arrays: Mapping[str, Array], names: Sequence[str] = ()) -> list[Drawn]:
    """The figures of one test, from its `arrays`."""
    del names  # a witness is one number, whatever the parameters
    none = np.empty(0)
    p, q = (np.asarray(arrays.get(side, none)) for side in "pq")
    difference = float(p.mean(dtype=float) - q.mean(dtype=float)) if p.size and q.size else np.nan
    return [
        Drawn(
            "The difference against its null",
            null(np.asarray(arrays.get("null", none)), difference),
            "Grey: the difference of the witness's means after rows of p and q were relabelled at "
            "random. If q were right, the red line would be one of them, anywhere in the grey; "
            "far to its right, q is wrong in a way that the witness has found.",
        ),
        Drawn(
            "What the witness says",
            values(p, q),
            "The witness is high where a row looks like p's. If q were right, both histograms "
            "would have one shape and one mean, but for chance.",
        ),
    ]


def _sides(p: float, q: float) -> tuple[tuple[str, int], tuple[str, int]]:
    """Where the labels of two means go: away from one another."""
    right, left = ("left", 6), ("right", -6)
    return (right, left) if p >= q else (left, right)


def _room(numbers: Array) -> tuple[float, float]:
    """Limits that hold these numbers, wide enough to draw where all are equal."""
    low, high = float(numbers.min()), float(numbers.max())
    spare = 0.06 * (high - low) or 0.06 * max(abs(high), 1.0)
    return low - spare, high + spare
