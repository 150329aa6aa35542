"""Algorithm 3 on an example with closed forms: the augmented divergence bounds from above."""

import numpy as np
import streamlit as st

from pages.components import live
from pages.components.divergence_words import size
from validation_core.bayes.augmented import Mixture
from validation_core.figures.style import NULL, P, Q, method_style
from validation_core.rng import stream
from validation_core.statistics import divergence

SKL = method_style("skl").color
OFF = np.round(np.linspace(-1.5, 1.5, 31), 1) + 0.0
SIMULATED = 10_000
"""Terms behind each estimate."""
_H = np.linspace(-5, 5, 161)


@st.fragment
def show() -> None:
    """The bound, and r beside q's own law of h, under a slider that moves r."""
    st.subheader("If q's density is an integral", anchor=False)
    st.markdown(
        "Some q draw a hidden h first and z given h (a mixture, a Markov chain, a latent "
        "variable), and log q(z | y) cannot be had. Algorithm 3 of Domke (2021) gives the truth "
        "an h as well, from any law r(h | z, y), and compares the pairs: SKL(z, h) = SKL(z) + SKL "
        "of h given z, never below SKL(z). Here z ~ N(0, 1), y | z ~ N(z, 1), and q is a mixture "
        "whose integral is known, so that the bound can be seen beside what it bounds."
    )
    live.chart(_chart(), key="augmented", default=(0.8,), url=("r-off",))
    st.caption(
        "The curve is the exact SKL(z, h) for every r, with estimates of Algorithm 3 from "
        f"{SIMULATED:,} simulations each and their 95% intervals; the dashed line is SKL(z). Were "
        "r right, it and q's own law of h given z would lie on one another, and the bound would "
        "touch the dashed line; were q right as well, both would be 0."
    )


@st.cache_resource(show_spinner=False, max_entries=1)
def _chart() -> live.Payload:
    mixture = Mixture()
    exact, bound = mixture.skl(), mixture.bound(OFF)
    terms = [
        mixture.simulate(SIMULATED, stream(0, "augmented", i), float(off))
        for i, off in enumerate(OFF)
    ]
    found = divergence.means(np.stack(terms))
    plain = divergence.means(mixture.marginal(SIMULATED, stream(0, "marginal")))
    said = [
        f"{size(estimate)} (95% interval {size(low)} to {size(high)})"
        for estimate, low, high in zip(*found, strict=True)
    ]
    shown = [f"{off:+.1f} sd".replace("-", "−") if off else "right" for off in OFF]
    return live.payload(
        sliders=[live.slider("off", OFF, label="r moved from q's own law of h given z",
                             shown=shown, start=0.8)],
        panels=[_bounds(exact, bound, found, plain), _laws()],
        headline=live.text(
            "SKL(z) is {exact} nats; with this r, SKL(z, h) is {bound} nats, {more}. Algorithm 3 "
            "estimates {said}.",
            exact=size(exact), bound=live.over([size(float(one)) for one in bound], "off"),
            said=live.over(said, "off"),
            more=live.over([_more(float(one) - exact) for one in bound], "off"),
        ),
    )  # fmt: skip


def _more(excess: float) -> str:
    return f"{size(excess)} too many" if excess > 1e-9 else "no more, as r is right"


def _bounds(
    exact: float, bound: np.ndarray, found: divergence.Means, plain: divergence.Means
) -> dict:
    few = slice(None, None, 3)  # enough points to see that they follow the line
    top = 1.08 * float(max(bound.max(), found.high.max()))
    here = [live.over(values[:, None], "off") for values in found]
    return live.panel(
        [
            live.hline(exact, label="SKL(z)"),
            live.line(OFF, bound, color=SKL),
            live.points(OFF[few], found.estimate[few], low=found.low[few], high=found.high[few],
                        color=SKL, opacity=0.6),
            live.points(live.over(OFF[:, None], "off"), here[0], low=here[1], high=here[2],
                        color=SKL, size=9, symbol="diamond"),
            live.vline(live.over(OFF, "off"), color=NULL, width=1),
        ],
        title="What Algorithm 3 estimates", height=260, click="off",
        legend=[("SKL(z, h), exact", SKL, "line"), ("estimates", SKL, "circle")],
        x=live.axis((OFF[0] - 0.1, OFF[-1] + 0.1), "mean of r, in sds of q's own law"),
        y=live.axis((0, top), "nats"),
        caption=f"Algorithm 1 on z alone, which this q allows, estimates "
        f"{size(float(plain.estimate))} (95% interval {size(float(plain.low))} to "
        f"{size(float(plain.high))}).",
    )  # fmt: skip


def _laws() -> dict:
    own = np.exp(-(_H**2) / 2)
    moved = np.exp(-((_H - OFF[:, None]) ** 2) / 2)
    return live.panel(
        [
            live.band(_H, 0 * _H, own, color=Q),
            live.line(_H, own, color=Q),
            live.line(_H, live.over(moved, "off"), color=P, dash="6 3"),
        ],
        title="h given z", height=260, legend=[("q's own", Q, "line"), ("r", P, "dash")],
        x=live.axis((-5, 5), "h, in sds of q's own law"), y=live.axis((0, 1.08), hidden=True),
        caption="r may look at z and y, never at the h of q's draw.",
    )  # fmt: skip
