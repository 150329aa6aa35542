"""Picture of both bounds on log p(y): weighing M draws, and annealing through T states."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from validation_core.drawing import live
from validation_core.drawing.marks import Axis, HLine, Line, Mark, Panel, Points, sentence
from validation_core.drawing.style import NULL, P, Q
from validation_core.statistics import divergence_mean
from validation_core.symmetric_divergence.bounds import STATES, Bounds
from validation_core.symmetric_divergence.lines import SCALE, NatsAxis, log_axis
from validation_core.symmetric_divergence.nats_text import format_number, with_unit
from validation_core.symmetric_divergence.runs import MS
from validation_core.text import signed_text

_TITLES = "Weighing M draws", "Annealing through T states"
_ALONG = "draws, M", "states, T"


def bounds_payload(weighed: Bounds, annealed: Bounds) -> live.Payload:
    """Picture of the means of both bounds, as far as they are from their meeting point.

    The origin of each data set is the middle of its closest pair of bounds: log p(y) itself varies
    far more from data set to data set than its bounds are apart.
    """
    both = weighed, annealed
    closest = min(both, key=lambda each: abs(float(each.gap.estimate[-1])))
    middle = (closest.upper[-1] + closest.lower[-1]) / 2
    sides = [
        tuple(divergence_mean.means(side - middle) for side in (each.upper, each.lower))
        for each in both
    ]
    nats = NatsAxis.of([np.stack(side) for pair in sides for side in pair])
    elbo, mirror = (float(side[0].mean()) for side in (weighed.lower, weighed.upper))
    return live.payload(
        panels=[
            _panel(title, along, places, pair, each, nats)
            for title, along, places, pair, each in zip(
                _TITLES, _ALONG, (MS, STATES), sides, both, strict=True
            )
        ],
        headline=sentence(
            "The ELBO is {elbo} nats, its mirror at the true z {mirror}, means over {count} data "
            "sets; what lies between them, {gap}, estimates the divergence.",
            elbo=signed_text(elbo, ",.2f"),
            mirror=signed_text(mirror, ",.2f"),
            count=f"{weighed.lower.shape[1]}",
            gap=_gap(weighed, 0),
        ),
    )


def _panel(
    title: str,
    along: str,
    places: Sequence[int],
    sides: Sequence[divergence_mean.MeanInterval],
    each: Bounds,
    nats: NatsAxis,
) -> Panel:
    x = log_axis(places, along)
    at = np.log10(np.asarray(places, float))
    marks: list[Mark] = [HLine(0.0, color=NULL)]
    for side, color, symbol in zip(sides, (P, Q), ("circle", "square"), strict=True):
        middle, low, high = (SCALE.at(values) for values in side)
        marks += [
            Line(at, middle, color=color, width=1.8),
            Points(at, middle, low=low, high=high, color=color, symbol=symbol, size=6),
        ]
    return Panel(
        marks,
        title=title,
        height=260,
        x=x,
        y=Axis(
            nats.axis().limits,
            "nats from log p(y)",
            ticks=nats.axis().ticks,
            names=nats.axis().names,
        ),
        legend=[("from the true z", P, "circle"), ("from q's draw", Q, "square")],
        caption=_gaps(places, along.rpartition(" ")[2], each),
    )


def _gaps(places: Sequence[int], letter: str, each: Bounds) -> str:
    """The first and the last gap, with their intervals."""
    texts = [f"{_gap(each, i)} at {letter} = {places[i]}" for i in (0, -1)]
    return f"Apart: {texts[0]}, {texts[1]}."


def _gap(each: Bounds, i: int) -> str:
    """A gap with its interval."""
    middle, low, high = (float(end[i]) for end in each.gap)
    return f"{with_unit(middle)} (95% interval {format_number(low)} to {format_number(high)})"
