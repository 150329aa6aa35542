"""The terms d_k behind one divergence, and what signs alone would make of their mean."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from validation_core.diagnosis import equals
from validation_core.figures import live
from validation_core.figures.divergence.nats import size, tick
from validation_core.figures.marks import (
    Axis,
    Band,
    Bars,
    Panel,
    Points,
    Slider,
    VLine,
    over,
    text,
)
from validation_core.figures.style import NULL, OBSERVED, method_style
from validation_core.simulations import MS
from validation_core.simulations.terms import FLIPS, SymlogScale, TermSpread, counts, scale
from validation_core.types import Array

SKL = method_style("skl").color

_LEVEL = 0.05


def payload(terms: TermSpread) -> live.Payload:
    """Histogram of d, and its null, over M."""
    sentences = ["; ".join((_mean(terms, i), _evidence(terms, i))) for i in range(len(MS))]
    return live.payload(
        sliders=[
            Slider(
                "m",
                MS,
                label="Draws of q to a side, M",
                names=list(map(str, MS)),
                ends=("q itself", "q, weighed by p / q"),
            )
        ],
        panels=[_histogram(terms), _null(terms)],
        headline=text(
            "At M = {m}, {said}", m=over(list(map(str, MS)), "m"), said=over(sentences, "m")
        ),
    )


def _mean(terms: TermSpread, i: int) -> str:
    low, high = size(float(terms.low[i])), size(float(terms.high[i]))
    mean = size(float(terms.mean[i]))
    return f"the mean term is {mean} nats (95% interval {low} to {high})"


def _evidence(terms: TermSpread, i: int) -> str:
    if terms.none[i]:
        return "every term is 0 but for rounding, as where q is p."
    p = float(terms.pvalue[i])
    says = "evidence that q is not p" if p <= _LEVEL else "no evidence against q"
    return f"flipping signs gives p {equals(p)}, {says}."


def _histogram(terms: TermSpread) -> Panel:
    axis = scale(terms.d)
    edges, heights = _halved(*counts(terms.d, axis))
    top = 1.1 * float(heights.max())
    largest = terms.d.max(-1)
    ends = axis.at(np.stack([terms.low, terms.high], -1))
    sides = np.clip(ends, edges[0], edges[-1])
    return Panel(
        [
            Band(over(sides, "m"), [0, 0], [top, top], color=OBSERVED, opacity=0.16),
            Bars(edges, over(heights, "m"), color=SKL),
            VLine(0.0, color=NULL, width=1),
            VLine(over(axis.at(np.median(terms.d, -1)), "m"), dash="5 3"),
            VLine(over(axis.at(terms.mean), "m"), color=OBSERVED, width=2.5),
            Points(
                over(axis.at(largest)[:, None], "m"),
                over(np.full((len(MS), 1), 0.04 * top), "m"),
                color=SKL,
                size=9,
                symbol="diamond",
            ),
        ],
        title="Terms d, one for each data set",
        height=270,
        x=_ticks(axis, edges, terms.d),
        y=Axis((0, top), "data sets", ticks=_whole(top)),
        caption=over([_spread_out(terms, i) for i in range(len(MS))], "m"),
        legend=[
            ("mean, 95% interval", OBSERVED, "line"),
            ("median", "", "dash"),
            ("largest", SKL, "diamond"),
        ],
    )


def _halved(edges: Array, heights: NDArray[Any]) -> tuple[Array, Array]:
    """Pairs of bins in one, 0 still an edge: a hundred terms leave narrower ones nearly empty."""
    zero = int(np.abs(edges).argmin())
    room = (zero % 2, (heights.shape[-1] + zero % 2) % 2)
    width = edges[1] - edges[0]
    padded = np.pad(heights, [(0, 0)] * (heights.ndim - 1) + [room])
    pairs = padded.reshape(*heights.shape[:-1], -1, 2).sum(-1)
    return edges[0] - room[0] * width + 2 * width * np.arange(pairs.shape[-1] + 1), pairs


def _ticks(axis: SymlogScale, edges: Array, d: Array) -> Axis:
    nats = axis.ticks(float(d.min()), float(d.max()))
    labels = [tick(float(position)) for position in nats]
    room = 0.02 * (edges[-1] - edges[0])
    ends = (float(edges[0] - room), float(edges[-1] + room))
    return Axis(ends, "d in nats (symmetric-log axis)", ticks=axis.at(nats), names=labels)


def _whole(top: float) -> Array:
    """At most six numbers of data sets, from 0 on."""
    step = next(s * 10**e for e in range(9) for s in (1, 2, 5) if top < 6 * s * 10**e)
    return np.arange(0, top, step, dtype=float)


def _spread_out(terms: TermSpread, i: int) -> str:
    d = terms.d[i]
    where, n = int(d.argmax()), len(d)
    summary = (
        f"Median {size(float(np.median(d)))}, largest {size(float(d[where]))} (data set "
        f"{terms.places[where] + 1}), sd {size(float(d.std(ddof=1)))} nats; {int((d > 0).sum())} "
        f"of {n} are above 0."
    )
    if terms.heavy[i]:
        summary += (
            " The tail is heavy: a few terms make the mean, its variance may be infinite, and "
            "the interval says too little. Read the median and the largest beside it."
        )
    return summary


def _ruled(terms: TermSpread, i: int) -> str:
    """Why a null may fall in two."""
    squares = np.square(terms.d[i])
    if terms.none[i] or squares.max() < 0.8 * squares.sum():
        return ""
    return (
        " One term outweighs all others, so that random signs fall into two groups by its sign: "
        "beside it the others decide."
    )


def _null(terms: TermSpread) -> Panel:
    reach = float(np.sqrt(terms.d.shape[1]))  # no signs give more
    largest = np.abs(terms.signs).max()
    width = min(reach, max(3.5, float(np.abs(terms.null).max()))) * 1.02
    edges = np.linspace(-width, width, 41)
    heights = np.stack([np.histogram(row, edges)[0] for row in terms.null])
    top = 1.15 * float(heights.max())
    captions = [
        f"{round(terms.pvalue[i] * (FLIPS + 1)) - 1:,} of B = {FLIPS:,} random signs give a mean "
        f"as large: p {equals(float(terms.pvalue[i]))}. Paired AUC "
        f"{terms.auc[i]:.3f}: how often the truth weighs more than q's draw, one half were q "
        f"right.{_ruled(terms, i)}"
        for i in range(len(MS))
    ]
    limits = (-width, 1.05 * max(width, float(largest)))
    return Panel(
        [
            Bars(edges, over(heights, "m"), color=NULL),
            VLine(over(terms.signs, "m"), color=OBSERVED, width=2.5),
        ],
        title="Their mean, among means with random signs",
        height=270,
        x=Axis(limits, "mean term, in sds of random signs"),
        y=Axis((0, top), "random signs"),
        caption=over(captions, "m"),
        legend=[("random signs: as if q = p", NULL, "band"), ("this run", OBSERVED, "line")],
    )
