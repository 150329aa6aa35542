"""MMD-FUSE: what was seen against its relabelings, and which kernels see it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from validation_core.figures import style
from validation_core.figures.outcome import Drawn
from validation_core.types import Array

LEVEL = 0.05

_FAMILIES = (("Laplace, L1", "solid", "circle"), ("Gaussian, L2", "dash", "square"))
_NULL = (
    "Grey is the statistic after rows were exchanged at random between p and q, dashed what 1 in "
    "20 of those exceed, red what was seen; if q were right, red would be anywhere in the grey."
)
_KERNELS = (
    "How far apart each kernel finds the two samples, from the finest to the coarsest scale, and "
    "in grey what it alone exceeds by chance 1 time in 20; filled marks are beyond that, and if q "
    "were right few or none would be."
)


def outcome(arrays: Mapping[str, Array], names: Sequence[str] = ()) -> list[Drawn]:
    """The figures of one test."""
    del names
    return [
        Drawn("Seen, and with rows exchanged", null(arrays["null"], arrays["observed"]), _NULL),
        Drawn(
            "Which scales see a difference",
            by_bandwidth(
                arrays["kernels"],
                arrays["bandwidths"],
                arrays["kernel_high"],
                arrays["kernel_pvalues"],
            ),
            _KERNELS,
        ),
    ]


def null(
    values: Array, observed: float | Array, bins: int = 40, *, height: int = style.HEIGHT
) -> go.Figure:
    """Statistics (B,) of relabelings in grey, the observed one as a line."""
    if np.size(values) == 0 or not np.isfinite(observed):
        return style.empty("No relabelings yet", height=height)
    statistic = float(observed)
    reach = _limits(np.append(values, statistic))
    counts, edges = np.histogram(values, bins, (float(values.min()), _above(values)))
    top = 1.25 * float(counts.max())
    side = "right" if statistic > sum(reach) / 2 else "left"
    return style.figure(
        [style.bars(edges, counts, style.NULL, hover="%{x:.3g}: %{y}")],
        x=style.Axis("fused statistic", reach),
        y=style.Axis("relabelings", (0, top)),
        height=height,
        shapes=[
            style.vline(float(np.quantile(values, 1 - LEVEL)), style.NULL, dash="dash"),
            style.vline(statistic, style.OBSERVED, width=2.5),
        ],
        notes=[
            style.note(
                f"seen {statistic:.3g}",
                statistic,
                0.94 * top,
                style.OBSERVED,
                anchor=side,
                shift=-6 if side == "right" else 6,
            )
        ],
    )


def by_bandwidth(
    kernels: Array, bandwidths: Array, high: Array, pvalues: Array, *, height: int = style.HEIGHT
) -> go.Figure:
    """Normalised MMD^2 (2 F,) of F Laplace and F Gaussian kernels by their bandwidths.

    Args:
        kernels: what the sample has.
        bandwidths: of L1 distances, then of L2 distances; drawn as shares of the largest.
        high: what each kernel alone exceeds 1 time in 20 if q = p.
        pvalues: of each kernel alone.
    """
    if np.size(kernels) == 0:
        return style.empty("No kernels yet", height=height)
    color = style.method_style("mmd_fuse").color
    traces: list[style.Trace] = []
    families = (np.reshape(each, (2, -1)) for each in (kernels, bandwidths, high, pvalues))
    for (name, dash, symbol), estimates, widths, bound, alone in zip(
        _FAMILIES, *families, strict=True
    ):
        places = widths / widths[-1] if widths[-1] > 0 else np.linspace(0, 1, len(widths))
        traces.append(style.line(places, bound, style.NULL, dash=dash, width=1.5))
        trace = style.line(
            places,
            estimates,
            color,
            dash=dash,
            name=name,
            hover="%{y:.3g}, p = %{customdata:.3g} by itself",
        )
        marker = {
            "symbol": [symbol if p <= LEVEL else f"{symbol}-open" for p in alone],
            "size": 8,
            "color": color,
        }
        traces.append(
            trace | {"mode": "lines+markers", "marker": marker, "customdata": style.f4(alone)}
        )
    return style.figure(
        traces,
        x=style.Axis("bandwidth, of the largest", (0, 1.03), percent=True),
        y=style.Axis("normalised MMD²", _limits(np.append(kernels, high), headroom=0.3)),
        height=height,
        shapes=[style.hline(0)],
        notes=[
            style.note("● ── Laplace, L1", 1, 0.97, color, anchor="right", paper=True),
            style.note("■ ╌╌ Gaussian, L2", 1, 0.88, color, anchor="right", paper=True),
        ],
    )


def _limits(values: Array, headroom: float = 0.06) -> tuple[float, float]:
    """Room around all values, more of it above for labels."""
    low, high = float(np.min(values)), _above(values)
    return low - 0.06 * (high - low), high + headroom * (high - low)


def _above(values: Array) -> float:
    """The largest value; where all are one, a little more."""
    low, high = float(np.min(values)), float(np.max(values))
    return high if high - low > 1e-9 else low + 1e-6
