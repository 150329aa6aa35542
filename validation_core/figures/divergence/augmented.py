"""Algorithm 3 on an example with closed forms: the augmented divergence bounds from above."""

from __future__ import annotations

import numpy as np

from validation_core.bayes.augmented import Mixture
from validation_core.figures import live
from validation_core.figures.divergence.nats import size
from validation_core.figures.marks import (
    Axis,
    Band,
    HLine,
    Line,
    Panel,
    Points,
    Slider,
    VLine,
    over,
    text,
)
from validation_core.figures.style import NULL, P, Q, method_style
from validation_core.rng import stream
from validation_core.statistics import divergence
from validation_core.types import Array

SKL = method_style("skl").color

OFF = np.round(np.linspace(-1.5, 1.5, 31), 1) + 0.0

SIMULATED = 10_000
"""Terms behind each estimate."""

_H = np.linspace(-5, 5, 161)


def payload() -> live.Payload:
    """The bound with its estimates, and the laws of h, over r."""
    mixture = Mixture()
    exact, bound = mixture.skl(), mixture.bound(OFF)
    terms = [
        mixture.simulate(SIMULATED, stream(0, "augmented", i), float(off))
        for i, off in enumerate(OFF)
    ]
    estimates = divergence.means(np.stack(terms))
    marginal = divergence.means(mixture.marginal(SIMULATED, stream(0, "marginal")))
    intervals = [
        f"{size(estimate)} (95% interval {size(low)} to {size(high)})"
        for estimate, low, high in zip(*estimates, strict=True)
    ]
    labels = [f"{off:+.1f} sd".replace("-", "−") if off else "right" for off in OFF]
    return live.payload(
        sliders=[
            Slider(
                "off", OFF, label="r moved from q's own law of h given z", names=labels, start=0.8
            )
        ],
        panels=[_bounds(exact, bound, estimates, marginal), _laws()],
        headline=text(
            "SKL(z) is {exact} nats; with this r, SKL(z, h) is {bound} nats, {more}. Algorithm 3 "
            "estimates {said}.",
            exact=size(exact),
            bound=over([size(float(nats)) for nats in bound], "off"),
            said=over(intervals, "off"),
            more=over([_more(float(nats) - exact) for nats in bound], "off"),
        ),
    )


def _more(excess: float) -> str:
    return f"{size(excess)} too many" if excess > 1e-9 else "no more, as r is right"


def _bounds(
    exact: float, bound: Array, means: divergence.MeanInterval, marginal: divergence.MeanInterval
) -> Panel:
    few = slice(None, None, 3)  # enough points to see that they follow the line
    top = 1.08 * float(max(bound.max(), means.high.max()))
    here = [over(values[:, None], "off") for values in means]
    return Panel(
        [
            HLine(exact, label="SKL(z)"),
            Line(OFF, bound, color=SKL),
            Points(
                OFF[few],
                means.estimate[few],
                low=means.low[few],
                high=means.high[few],
                color=SKL,
                opacity=0.6,
            ),
            Points(
                over(OFF[:, None], "off"),
                here[0],
                low=here[1],
                high=here[2],
                color=SKL,
                size=9,
                symbol="diamond",
            ),
            VLine(over(OFF, "off"), color=NULL, width=1),
        ],
        title="What Algorithm 3 estimates",
        height=260,
        click="off",
        legend=[("SKL(z, h), exact", SKL, "line"), ("estimates", SKL, "circle")],
        x=Axis((OFF[0] - 0.1, OFF[-1] + 0.1), "mean of r, in sds of q's own law"),
        y=Axis((0, top), "nats"),
        caption=f"Algorithm 1 on z alone, which this q allows, estimates "
        f"{size(float(marginal.estimate))} (95% interval {size(float(marginal.low))} to "
        f"{size(float(marginal.high))}).",
    )


def _laws() -> Panel:
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
