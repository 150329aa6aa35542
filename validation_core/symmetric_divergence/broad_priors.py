"""What a broad prior does to the diagnostic: hospitals under wider and wider priors.

The divergence is a mean over data that the model simulates. Under a broad prior most of these
resemble no data that anyone will see, and they are the ones on which inference fails: the mean
says little of its error at the data at hand (Domke 2021, Sections 6.2 and 7). A mean over those
simulated data sets that resemble the real ones does: which they are depends on y alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from validation_core.bayes import Hospitals
from validation_core.bayes.hospitals import OBSERVED, OPERATIONS, UNITS
from validation_core.bayes.laplace import Laplace
from validation_core.drawing import live
from validation_core.drawing.marks import (
    Axis,
    Bars,
    HLine,
    Line,
    Panel,
    Points,
    Slider,
    VLine,
    over,
    sentence,
)
from validation_core.drawing.style import NULL, P, method_style
from validation_core.drawing.style import OBSERVED as RED
from validation_core.store import Store
from validation_core.symmetric_divergence.lines import SCALE
from validation_core.symmetric_divergence.nats_text import tick_label, with_unit
from validation_core.symmetric_divergence.runs import InferenceRun, RunTermsStudy
from validation_core.text import count_text, share_text
from validation_core.types import Array

WIDTHS = (1.0, 1.5, 2.0, 3.0, 5.0, 10.0)
"""Factors on the prior's intervals; 1 is the paper's modest prior."""
ITERATIONS = 3000
_BINS = 25
_SKL = method_style("skl").color


class WidePrior(NamedTuple):
    """Data sets simulated under one prior, and the terms of Laplace's q on them."""

    rates: Array
    """Death rate of each hospital (K, 12)."""
    d: Array
    """Terms (K,), in nats; NaN without q."""

    @property
    def extreme(self) -> Array:
        """Hospitals in which nobody died, or everybody (K,)."""
        return ((self.rates == 0) | (self.rates == 1)).sum(1)

    @property
    def alike(self) -> Array:
        """Which data sets resemble the real one: some died and some lived in each hospital."""
        return self.extreme == 0


def runs() -> tuple[InferenceRun, ...]:
    """Laplace's approximation under each prior."""
    return tuple(
        InferenceRun(model=Hospitals(width=width), inference=Laplace(), iterations=ITERATIONS)
        for width in WIDTHS
    )


def load(store: Store) -> tuple[WidePrior, ...] | None:
    """The simulations under every prior; None while a run is missing."""
    found = [RunTermsStudy(of=run).load(store) for run in runs()]
    if any(terms is None for terms in found):
        return None
    return tuple(
        WidePrior(run.pairs().x / OPERATIONS, terms.d[0])
        for run, terms in zip(runs(), found, strict=True)
        if terms is not None
    )


def broad_payload(priors: Sequence[WidePrior]) -> live.Payload:
    """Picture of the simulated death rates and of the terms, over the prior's width."""
    names = [f"{width:g}×" for width in WIDTHS]
    return live.payload(
        sliders=[
            Slider(
                "width",
                WIDTHS,
                label="Width of the prior",
                names=names,
                ends=("as in the paper", "hardly a prior"),
            )
        ],
        panels=[_rates(priors), _terms(priors)],
        headline=sentence(
            "With a prior {width} as wide as the paper's, {said}",
            width=over(names, "width"),
            said=over([_said(prior) for prior in priors], "width"),
        ),
    )


def _said(prior: WidePrior) -> str:
    d, alike = prior.d, prior.alike & np.isfinite(prior.d)
    found = d[np.isfinite(d)]
    which = f"all {len(d)} data sets"
    if len(found) < len(d):
        which = f"the {len(found)} of {len(d)} data sets that inference has a q for"
    every = f"the median of d is {_median(found)} over {which}"
    if not alike.any():
        return f"{every}; none of them resembles the real one."
    few = int(alike.sum())
    those = f"the {few} that resemble" if few > 1 else "the only one that resembles"
    return f"{every}, and {_median(d[alike])} over {those} the real one."


def _median(d: Array) -> str:
    return with_unit(float(np.median(d)))


def _rates(priors: Sequence[WidePrior]) -> Panel:
    edges = np.linspace(0, 1, _BINS + 1)
    shares = np.stack([np.histogram(prior.rates, edges)[0] / prior.rates.size for prior in priors])
    real = OBSERVED / OPERATIONS
    top = 1.1 * float(shares.max())
    captions = [
        f"In {share_text(prior.extreme.sum() / prior.rates.size)} of simulated hospitals nobody "
        "dies or everybody does."
        for prior in priors
    ]
    return Panel(
        [
            Bars(edges, over(shares, "width"), color=P, opacity=0.7),
            Line([real.min(), real.max()], [0.93 * top] * 2, color=RED, width=4),
            VLine(float(OBSERVED.sum() / OPERATIONS.sum()), color=RED, width=1.5),
        ],
        title="What the prior simulates",
        height=270,
        x=Axis((-0.02, 1.02), "death rate of a hospital"),
        y=Axis((0, top), "share of hospitals"),
        legend=[("simulated", P, "band"), ("the twelve real ones", RED, "line")],
        caption=over(captions, "width"),
    )


def _terms(priors: Sequence[WidePrior]) -> Panel:
    d = np.stack([prior.d for prior in priors])
    count = d.shape[1]
    extreme = np.stack([prior.extreme for prior in priors])
    beside = extreme + 0.5 * (np.arange(count) / count - 0.5)  # data sets of one x side by side
    at = SCALE.at(d)
    low, high = float(np.nanmin(at)), float(np.nanmax(at))
    room = 0.05 * (high - low)
    nats = SCALE.ticks(float(np.nanmin(d)), float(np.nanmax(d)), 7)
    middle = SCALE.at(np.array([[np.nanmedian(row)] * 2 for row in d]))
    captions = [
        f"Mean {with_unit(float(np.nanmean(row)))}; at the left "
        f"{count_text(int(prior.alike.sum()), 'data set')} like the real one."
        for row, prior in zip(d, priors, strict=True)
    ]
    return Panel(
        [
            HLine(0.0, color=NULL),
            Line([-0.6, UNITS + 0.6], over(middle, "width"), color=_SKL, dash="6 4", width=1.5),
            Points(over(beside, "width"), over(at, "width"), color=_SKL, size=4.5, opacity=0.75),
        ],
        title="What each data set adds to the divergence",
        height=270,
        x=Axis(
            (-0.6, UNITS + 0.6),
            "hospitals where nobody dies, or everybody",
            ticks=np.arange(0, UNITS + 1, 3),
        ),
        y=Axis(
            (low - room, high + room),
            "d in nats (symmetric-log)",
            ticks=SCALE.at(nats),
            names=[tick_label(float(v)) for v in nats],
        ),
        legend=[("a data set", _SKL, "circle"), ("median", _SKL, "dash")],
        caption=over(captions, "width"),
    )
