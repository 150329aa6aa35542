"""Meaning of nats: pairs of normals with a chosen divergence; the augmented and the learned
divergence.
"""

from __future__ import annotations

import numpy as np

from validation_core.bayes.two_stage_normal import TwoStageNormal
from validation_core.drawing import live
from validation_core.drawing.marks import (
    Axis,
    Band,
    HLine,
    Line,
    Mark,
    Note,
    Panel,
    Points,
    Slider,
    VLine,
    over,
    sentence,
)
from validation_core.drawing.style import NULL, P, Q, method_style
from validation_core.rng import stream
from validation_core.statistics import divergence_mean
from validation_core.statistics.divergence_mean import Divergence
from validation_core.symmetric_divergence import terms
from validation_core.symmetric_divergence.learned import DivergenceComparison
from validation_core.symmetric_divergence.nats_text import format_number, tick_label, with_unit
from validation_core.symmetric_divergence.terms import NATS, NormalPair, SymlogScale, term_scale
from validation_core.text import signed_text
from validation_core.types import Array

_X = np.linspace(-4, 6, 126)


def meaning_payload() -> live.Payload:
    """Picture of two pairs of normals, over their divergence in nats."""
    shifted, narrow, wide = (
        terms.shifted_normal_pair(NATS),
        terms.scaled_normal_pair(NATS),
        terms.scaled_normal_pair(NATS, "wide"),
    )
    labels = [format_number(float(nats)) for nats in NATS]
    units = [with_unit(float(nats)) for nats in NATS]
    return live.payload(
        sliders=[
            Slider(
                "nats",
                NATS,
                label="Symmetric divergence in nats",
                names=labels,
                ends=("hard to see", "plain to see"),
            )
        ],
        panels=[
            _pair_panel(shifted, "Same width, the mean off", _shift(shifted), 6),
            _pair_panel(narrow, "Same mean, q too narrow", _scale(narrow, wide), 4),
        ],
        headline=sentence(
            "{nats} a mean that is {delta} sd off, or a width that is wrong by a factor "
            "of {ratio}.",
            nats=over(
                [f"{each} {'are' if each.endswith('s') else 'is'}" for each in units], "nats"
            ),
            delta=over([f"{delta:.2f}" for delta in shifted.mean], "nats"),
            ratio=over([f"{sd:.2f}" for sd in wide.sd], "nats"),
        ),
    )


def _pair_panel(q: NormalPair, title: str, captions: list[str], end: float) -> Panel:
    away = (_X - q.mean[:, None]) / q.sd[:, None]
    return Panel(
        [
            Band(_X, 0 * _X, _bell(_X), color=P),
            Line(_X, _bell(_X), color=P),
            Band(_X, 0 * _X, over(_bell(away), "nats"), color=Q),
            Line(_X, over(_bell(away), "nats"), color=Q, dash="6 3"),
        ],
        title=title,
        height=210,
        legend=[("p", P, "line"), ("q", Q, "dash")],
        x=Axis((-4, end), "θ, in sds of p"),
        y=Axis((0, 1.08), hidden=True),
        caption=over(captions, "nats"),
    )


def _bell(z: Array) -> Array:
    return np.asarray(np.exp(-(z**2) / 2))


def _shift(q: NormalPair) -> list[str]:
    return [f"q is {q.mean[i]:.3g} sd off. {_tells(q, i)}" for i in range(len(NATS))]


def _scale(narrow: NormalPair, wide: NormalPair) -> list[str]:
    return [
        f"q has {narrow.sd[i]:.3g} of p's sd. {_tells(narrow, i)} If q were too wide by the "
        f"same factor, {_share(float(wide.misses[i]))} would."
        for i in range(len(NATS))
    ]


def _share(misses: float) -> str:
    return f"{misses:.2%}" if misses >= 1e-4 else "fewer than 0.01%"


def _tells(q: NormalPair, i: int) -> str:
    return (
        f"The best classifier has AUC {q.auc[i]:.3f} and is right {q.accuracy[i]:.1%} of the "
        f"time; total variation is {q.distance[i]:.3f}; {q.misses[i]:.1%} of q's 90% intervals "
        "miss the true value."
    )


_SKL = method_style("skl").color
OFF = np.round(np.linspace(-1.5, 1.5, 31), 1) + 0.0
SIMULATED = 10_000
"""Terms behind each estimate."""
_H = np.linspace(-5, 5, 161)


def augmented_payload() -> live.Payload:
    """Picture of the augmented bound with its estimates, and of the laws of h, over r."""
    mixture = TwoStageNormal()
    exact, bound = mixture.skl(), mixture.bound(OFF)
    terms = [
        mixture.simulate(SIMULATED, stream(0, "augmented", i), float(off))
        for i, off in enumerate(OFF)
    ]
    estimates = divergence_mean.means(np.stack(terms))
    marginal = divergence_mean.means(mixture.marginal(SIMULATED, stream(0, "marginal")))
    intervals = [
        f"{format_number(estimate)} (95% interval {format_number(low)} to {format_number(high)})"
        for estimate, low, high in zip(*estimates, strict=True)
    ]
    labels = [f"{signed_text(off, '+.1f')} sd" if off else "right" for off in OFF]
    return live.payload(
        sliders=[
            Slider(
                "off", OFF, label="r moved from q's own law of h given z", names=labels, start=0.8
            )
        ],
        panels=[_bounds(exact, bound, estimates, marginal), _conditionals()],
        headline=sentence(
            "SKL(z) is {exact}; with this r, SKL(z, h) is {bound}, {more}. Algorithm 3 "
            "estimates {said}.",
            exact=with_unit(exact),
            bound=over([with_unit(float(nats)) for nats in bound], "off"),
            said=over(intervals, "off"),
            more=over([_more(float(nats) - exact) for nats in bound], "off"),
        ),
    )


def _more(excess: float) -> str:
    return f"{format_number(excess)} too many" if excess > 1e-9 else "no more, as r is q's own law"


def _bounds(
    exact: float,
    bound: Array,
    means: divergence_mean.MeanInterval,
    marginal: divergence_mean.MeanInterval,
) -> Panel:
    few = slice(None, None, 3)  # enough points to see that they follow the line
    top = 1.08 * float(max(bound.max(), means.high.max()))
    here = [over(values[:, None], "off") for values in means]
    return Panel(
        [
            HLine(exact, label="SKL(z)"),
            Line(OFF, bound, color=_SKL),
            Points(
                OFF[few],
                means.estimate[few],
                low=means.low[few],
                high=means.high[few],
                color=_SKL,
                opacity=0.6,
            ),
            Points(
                over(OFF[:, None], "off"),
                here[0],
                low=here[1],
                high=here[2],
                color=_SKL,
                size=9,
                symbol="diamond",
            ),
            VLine(over(OFF, "off"), color=NULL, width=1),
        ],
        title="What Algorithm 3 estimates",
        height=260,
        click="off",
        legend=[("SKL(z, h), exact", _SKL, "line"), ("estimates", _SKL, "circle")],
        x=Axis((OFF[0] - 0.1, OFF[-1] + 0.1), "mean of r, in sds of q's own law"),
        y=Axis((0, top), "nats"),
        caption=f"Algorithm 1 on z alone, which this q allows, estimates "
        f"{format_number(float(marginal.estimate))} (95% interval "
        f"{format_number(float(marginal.low))} to {format_number(float(marginal.high))}).",
    )


def _conditionals() -> Panel:
    own = np.exp(-(_H**2) / 2)
    moved = np.exp(-((_H - OFF[:, None]) ** 2) / 2)
    return Panel(
        [
            Band(_H, 0 * _H, own, color=Q),
            Line(_H, own, color=Q),
            Line(_H, over(moved, "off"), color=P, dash="6 3"),
        ],
        title="h given z",
        height=260,
        legend=[("q's own", Q, "line"), ("r", P, "dash")],
        x=Axis((-5, 5), "h, in sds of q's own law"),
        y=Axis((0, 1.08), hidden=True),
        caption="r may look at z and y, never at the h of q's draw.",
    )


_LEARNED = method_style("c2st").color


def in_words(divergence: Divergence) -> str:
    """A divergence with its interval, in words."""
    count, low, high = (
        divergence.infinite,
        format_number(divergence.low),
        format_number(divergence.high),
    )
    lost = f", {count} terms that are not finite left out" if count else ""
    return f"{with_unit(divergence.estimate)} (95% interval {low} to {high}{lost})"


def learned_payload(comparison: DivergenceComparison) -> live.Payload:
    """Picture of both estimates of the divergence, with their intervals and terms."""
    both = np.stack([comparison.d_estimate, comparison.d_exact])
    both = both[:, np.isfinite(both).all(0)].astype(float)
    return live.payload(panels=[_divergences(comparison), _scatter(both)])


def _divergences(comparison: DivergenceComparison) -> Panel:
    two = (comparison.estimate, comparison.exact)
    axis = term_scale(
        np.array([[divergence.estimate, divergence.low, divergence.high] for divergence in two])
    )
    ends = np.array([end for divergence in two for end in (divergence.low, divergence.high, 0.0)])
    marks: list[Mark] = [VLine(0.0, color=NULL, width=1)]
    looks = ((0.7, "classifier's estimate", _LEARNED), (0.3, "exact", _SKL))
    for each, (height, label, color) in zip(two, looks, strict=True):
        low, mid, high = (axis.at(np.array([v])) for v in (each.low, each.estimate, each.high))
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
        x=_symlog_axis(axis, ends, "nats (symmetric-log axis)", 0.35),
        caption=f"Logits were multiplied by {comparison.slope:.2g} so that they are log ratios on "
        "rows other than their own.",
    )


def _scatter(both: Array) -> Panel:
    axes = [term_scale(row[None]) for row in both]
    axis = max(axes, key=lambda scale: scale.unit)
    at = axis.at(both)
    ends = np.array([both.min(), both.max()])
    line = axis.at(ends)
    return Panel(
        [
            Line(line, line, color=NULL, dash="2 4", width=1.5),
            Points(at[1], at[0], color=_LEARNED, size=3.5, opacity=0.5),
        ],
        title="Term by term",
        square=True,
        x=_symlog_axis(axis, ends, "exact d in nats (symmetric-log)", 0.05),
        y=_symlog_axis(axis, ends, "estimated d in nats", 0.05),
    )


def _symlog_axis(axis: SymlogScale, ends: Array, label: str, room: float) -> Axis:
    low, high = min(float(ends.min()), 0.0), max(float(ends.max()), 0.0)
    nats = axis.ticks(low, high, 7)
    places = axis.at(np.array([low, high]))
    more = max(room * float(places[1] - places[0]), 0.1)
    limits = (float(places[0]) - more, float(places[1]) + more)
    return Axis(limits, label, ticks=axis.at(nats), names=[tick_label(float(v)) for v in nats])
