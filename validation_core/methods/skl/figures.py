"""The symmetric divergence: its terms, the null of its test, and what weighing draws leaves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from validation_core.figures import style
from validation_core.figures.outcome import Drawn
from validation_core.types import Array

_BINS = 40
_LEFT = 128  # pixels for the names of estimates

Numbers = Mapping[str, Any]


def terms(
    edges: Array,
    counts: Array,
    estimate: float,
    low: float,
    high: float,
    *,
    height: int = style.HEIGHT,
) -> go.Figure:
    """Histogram of d, row by row; red: their mean with its interval."""
    limits = (min(float(edges[0]), 0.0), max(float(edges[-1]), 0.0))
    pad = 0.03 * (limits[1] - limits[0])
    strip = {
        "type": "rect",
        "x0": low,
        "x1": high,
        "y0": 0,
        "y1": 1,
        "yref": "paper",
        "fillcolor": style.rgba(style.OBSERVED, 0.25),
        "line": {"width": 0},
        "layer": "below",
    }
    return style.figure(
        [style.bars(edges, counts, style.Q, hover="%{x:.2f} nats: %{y} rows")],
        x=style.Axis("log-ratio difference, nats", (limits[0] - pad, limits[1] + pad)),
        y=style.Axis("simulations", (0, 1.1 * float(counts.max()))),
        height=height,
        shapes=[
            strip,
            style.vline(estimate, style.OBSERVED),
            style.vline(0, style.NULL, dash="dash", width=1),
        ],
    )


def null(edges: Array, counts: Array, observed: float, *, height: int = style.HEIGHT) -> go.Figure:
    """Means of d with other truths in grey, what was seen in red."""
    top = 1.25 * max(1.0, float(counts.max()))
    right = observed > (edges[0] + edges[-1]) / 2
    return style.figure(
        [style.bars(edges, counts, style.NULL, hover="%{x:.3g} nats: %{y}")],
        x=style.Axis(
            "mean difference, any draw as the truth, nats", (float(edges[0]), float(edges[-1]))
        ),
        y=style.Axis("relabelings", (0, top)),
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


def weighted(found: Sequence[Numbers], *, height: int = style.HEIGHT) -> go.Figure:
    """What is left of the divergence with M draws of q weighed: m, estimate, low, high of each."""
    m, mean, low, high = (
        np.array([float(row[name]) for row in found]) for name in ("m", "estimate", "low", "high")
    )
    ends = min(0.0, float(low.min())), max(0.0, float(high.max()))
    pad = 0.06 * (ends[1] - ends[0]) or 0.1
    trace = {
        "type": "scatter",
        "mode": "lines+markers",
        "x": style.f4(m),
        "y": style.f4(mean),
        "line": {"color": style.Q, "width": 1.5},
        "marker": {"color": style.Q, "size": 7},
        "error_y": {
            "type": "data",
            "symmetric": False,
            "array": style.f4(high - mean),
            "arrayminus": style.f4(mean - low),
            "color": style.Q,
            "thickness": 1.5,
            "width": 4,
        },
        "hovertemplate": "M = %{x:.0f}: %{y:.3g} nats<extra></extra>",
    }
    return style.figure(
        [trace],
        height=height,
        shapes=[style.hline(0)],
        x=style.Axis(
            "draws of q that are weighed, M",
            (0.8, 1.25 * float(m.max())),
            log=True,
            ticks=[int(tick) for tick in m],
        ),
        y=style.Axis("divergence left, nats", (ends[0] - pad, ends[1] + pad)),
    )


def compared(exact: Numbers, estimate: Numbers, *, height: int = 150) -> go.Figure:
    """The divergence by log densities, and a classifier's estimate of it, with intervals."""
    both = [
        ("log densities", exact, "low", "high"),
        ("classifier (estimate)", estimate, "boot_low", "boot_high"),
    ]
    middle = np.array([numbers["estimate"] for _, numbers, _, _ in both])
    low = np.array([numbers[name] for _, numbers, name, _ in both])
    high = np.array([numbers[name] for _, numbers, _, name in both])
    ends = min(0.0, float(low.min())), max(0.0, float(high.max()))
    pad = 0.06 * (ends[1] - ends[0]) or 0.1
    trace = {
        "type": "scatter",
        "mode": "markers",
        "x": style.f4(middle),
        "y": style.f4([2, 1]),
        "marker": {"color": style.Q, "size": 8, "symbol": ["circle", "circle-open"]},
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": style.f4(high - middle),
            "arrayminus": style.f4(middle - low),
            "color": style.Q,
            "thickness": 1.5,
            "width": 4,
        },
        "hovertemplate": "%{x:.3g} nats<extra></extra>",
    }
    across = style.Axis("symmetric divergence, nats", (ends[0] - pad, ends[1] + pad))
    rows = {
        "tickvals": [2, 1],
        "ticktext": [name for name, *_ in both],
        "range": [0.4, 2.6],
        "tickmode": "array",
        "showgrid": False,
        "zeroline": False,
        "fixedrange": True,
        "ticks": "",
    }
    return style.figure(
        [trace],
        x=across,
        y=style.Axis("", (0.4, 2.6)),
        height=height,
        shapes=[style.vline(0, style.NULL, dash="dash", width=1)],
        extra={"yaxis": rows, "margin": {"l": _LEFT, "r": 16, "t": 18, "b": 44}},
    )


TERMS = (
    "Each simulation's log p / q at the truth less its mean over q's draws there; red: their "
    "mean, the divergence, with its 95% interval. If q were right, all of them would lie on the "
    "dashed 0, as far as the log densities are exact."
)
LEARNT = (
    "Each simulation's log ratio by the classifier, calibrated, at the truth less its mean over "
    "q's draws there; red: their mean with its 95% interval. If q were right, the terms would lie "
    "about the dashed 0, and the red strip on it."
)
NULLS = (
    "Grey: the mean difference when any of the K + 1 values at an x, by chance, is taken for the "
    "truth's. If q were right, the red line would fall anywhere among them, all of them near 0."
)
WEIGHTED = (
    "An upper bound on the divergence left when M draws of q are weighed by p / q and one is "
    "picked, with 95% intervals. If q were right, all of them would reach the dashed 0."
)
COMPARED = (
    "The divergence by log densities, and what a classifier that knows none makes of held-out "
    "rows: an estimate, which misses what it overlooks; whiskers are 95% intervals. If q were "
    "right, both would reach the dashed 0."
)


def outcome(arrays: Mapping[str, Array], names: Sequence[str] = ()) -> list[Drawn]:
    """The figures of one test, from its `arrays`."""
    del names  # the divergence is that of all parameters together
    none = np.empty(0)
    d, means = (np.asarray(arrays.get(name, none), np.float64) for name in ("d", "null"))
    estimate, low, high = (
        float(arrays.get(name, np.nan)) for name in ("skl", "ci_low", "ci_high")
    )
    if not (d.size and means.size and np.isfinite([estimate, low, high]).all()):
        return [
            Drawn("Differences within x", style.empty("No simulations yet"), TERMS),
            Drawn("The divergence against its null", style.empty("No relabelings yet"), NULLS),
        ]
    counts, edges = np.histogram(d, _BINS, _room(d))
    spread, places = np.histogram(means, _BINS, _room(np.append(means, estimate)))
    return [
        Drawn("Differences within x", terms(edges, counts, estimate, low, high), TERMS),
        Drawn("The divergence against its null", null(places, spread, estimate), NULLS),
    ]


def _room(values: Array) -> tuple[float, float]:
    """Limits with some air, also where all values are one."""
    low, high = float(values.min()), float(values.max())
    pad = 0.03 * (high - low) or 0.5
    return low - pad, high + pad
