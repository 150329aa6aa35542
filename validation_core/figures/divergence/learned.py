"""The divergence as a classifier sees it, beside the exact divergence."""

from __future__ import annotations

import numpy as np

from validation_core.figures import live
from validation_core.figures.divergence.nats import size, tick
from validation_core.figures.marks import Axis, Line, Mark, Note, Panel, Points, VLine
from validation_core.figures.style import NULL, method_style
from validation_core.simulations.learned import DivergenceComparison
from validation_core.simulations.terms import SymlogScale, scale
from validation_core.statistics.divergence import Divergence
from validation_core.types import Array

SKL, LEARNED = method_style("skl").color, method_style("c2st").color


def in_words(divergence: Divergence) -> str:
    """A divergence with its interval."""
    count, low, high = divergence.infinite, size(divergence.low), size(divergence.high)
    lost = f", {count} terms that are not finite left out" if count else ""
    return f"{size(divergence.estimate)} nats (95% interval {low} to {high}{lost})"


def payload(comparison: DivergenceComparison) -> live.Payload:
    """Both divergences with their intervals, and their terms."""
    both = np.stack([comparison.d_estimate, comparison.d_exact])
    both = both[:, np.isfinite(both).all(0)].astype(float)
    return live.payload(panels=[_means(comparison), _scatter(both)])


def _means(comparison: DivergenceComparison) -> Panel:
    two = (comparison.estimate, comparison.exact)
    axis = scale(
        np.array([[divergence.estimate, divergence.low, divergence.high] for divergence in two])
    )
    ends = np.array([end for divergence in two for end in (divergence.low, divergence.high, 0.0)])
    marks: list[Mark] = [VLine(0.0, color=NULL, width=1)]
    looks = ((0.7, "classifier's estimate", LEARNED), (0.3, "exact", SKL))
    for divergence, (height, label, color) in zip(two, looks, strict=True):
        low, mid, high = (
            axis.at(np.array([v])) for v in (divergence.low, divergence.estimate, divergence.high)
        )
        marks += [
            Line([low[0], high[0]], [height] * 2, color=color, width=3),
            Points(mid, [height], color=color, size=11, symbol="diamond"),
            Note(float(mid[0]), height + 0.1, label, color=color, anchor="middle"),
        ]
    return Panel(
        marks,
        title="The divergence",
        height=270,
        y=Axis((0, 1), hidden=True),
        x=_axis(axis, ends, "nats (symmetric-log axis)", 0.35),
        caption=f"Logits were multiplied by {comparison.slope:.2g} so that they are log ratios on "
        "rows other than their own.",
    )


def _scatter(both: Array) -> Panel:
    axes = [scale(row[None]) for row in both]
    axis = max(axes, key=lambda scale: scale.unit)
    at = axis.at(both)
    ends = np.array([both.min(), both.max()])
    line = axis.at(ends)
    return Panel(
        [
            Line(line, line, color=NULL, dash="2 4", width=1.5),
            Points(at[1], at[0], color=LEARNED, size=3.5, opacity=0.5),
        ],
        title="Term by term",
        square=True,
        x=_axis(axis, ends, "exact d in nats (symmetric-log)", 0.05),
        y=_axis(axis, ends, "estimated d in nats", 0.05),
    )


def _axis(axis: SymlogScale, ends: Array, label: str, room: float) -> Axis:
    low, high = min(float(ends.min()), 0.0), max(float(ends.max()), 0.0)
    nats = axis.ticks(low, high, 7)
    places = axis.at(np.array([low, high]))
    more = max(room * float(places[1] - places[0]), 0.1)
    limits = (float(places[0]) - more, float(places[1]) + more)
    return Axis(limits, label, ticks=axis.at(nats), names=[tick(float(v)) for v in nats])
