"""The terms d_k behind one divergence, and what signs alone would make of their mean."""

import numpy as np
import streamlit as st

from pages.components import live
from pages.components.divergence_words import size, tick
from validation_core.diagnosis import equals
from validation_core.figures.style import NULL, OBSERVED, method_style
from validation_core.simulations import MS, Found, Run, tested
from validation_core.simulations.terms import FLIPS, Scale, Spread, counts, scale, spread
from validation_core.types import Array

SKL = method_style("skl").color
_LEVEL = 0.05


@st.fragment
def show(run: Run, found: Found | None) -> None:
    """Histogram of d, and its null, under a slider over M."""
    st.subheader("The terms behind the mean", anchor=False)
    st.markdown(
        "Each simulated data set gives one term d, how far the log weight log p − log q of the "
        "truth is above that of q's draw; the symmetric divergence is their mean. With M > 1, "
        "q's draws are first weighed by p / q (importance sampling), M to a side."
    )
    if found is None:
        st.caption("The terms will stand here once this run is done.")
        return
    terms = _spread(run.key, found, run.seed)
    _left_out(found, terms)
    if terms is None:
        return
    live.chart(_chart(run.key, terms), key="terms", default=(float(tested(run.inference)),),
               url=("weighed",))  # fmt: skip
    st.caption(
        f"The {len(terms.places)} terms are on an axis that is linear near 0 and logarithmic "
        "beyond, with bins equally wide on it, so that none is cut off; their mean is shown again "
        f"among {FLIPS:,} means whose terms had random signs, in sds of these. If q were right, "
        "each term would be as often below 0 as above, and the red line among these means would "
        "be a draw of the grey histogram."
    )


def _left_out(found: Found, terms: Spread | None) -> None:
    """What of the data sets has no term, in words."""
    k = len(found.ok)
    without = int((~found.ok).sum())
    if terms is None:
        lost = f": inference gave no q on {without} of {k}" if without else ""
        st.info(f"Fewer than two data sets have a finite term{lost}. There is no mean to draw.")
        return
    if without:
        st.warning(
            f"Inference gave no q on {without} of {k} data sets, and these are left out. What "
            "remains may be the easier ones: its mean is no estimate of the divergence over all "
            "data sets, though the test keeps its level.",
            icon=":material/warning:",
        )
    if terms.infinite:
        st.warning(
            f"A log density is not finite on {terms.infinite} further data sets, which are left "
            "out: the divergence over all of them has no finite estimate.",
            icon=":material/warning:",
        )


@st.cache_resource(show_spinner=False, max_entries=64)
def _spread(key: str, _found: Found, seed: int) -> Spread | None:
    return spread(_found, seed)


@st.cache_resource(show_spinner=False, max_entries=64)
def _chart(key: str, _terms: Spread) -> live.Payload:
    terms = _terms
    said = ["; ".join((_mean(terms, i), _evidence(terms, i))) for i in range(len(MS))]
    return live.payload(
        sliders=[live.slider("m", MS, label="Draws of q to a side, M", shown=list(map(str, MS)),
                             ends=("q itself", "q, weighed by p / q"))],
        panels=[_histogram(terms), _null(terms)],
        headline=live.text("At M = {m}, {said}", m=live.over(list(map(str, MS)), "m"),
                           said=live.over(said, "m")),
    )  # fmt: skip


def _mean(terms: Spread, i: int) -> str:
    low, high = size(float(terms.low[i])), size(float(terms.high[i]))
    mean = size(float(terms.mean[i]))
    return f"the mean term is {mean} nats (95% interval {low} to {high})"


def _evidence(terms: Spread, i: int) -> str:
    if terms.none[i]:
        return "every term is 0 but for rounding, as where q is p."
    p = float(terms.pvalue[i])
    says = "evidence that q is not p" if p <= _LEVEL else "no evidence against q"
    return f"flipping signs gives p {equals(p)}, {says}."


def _histogram(terms: Spread) -> dict:
    axis = scale(terms.d)
    edges, heights = _halved(*counts(terms.d, axis))
    top = 1.1 * float(heights.max())
    largest = terms.d.max(-1)
    ends = axis.at(np.stack([terms.low, terms.high], -1))
    sides = np.clip(ends, edges[0], edges[-1])
    return live.panel(
        [
            live.band(live.over(sides, "m"), [0, 0], [top, top], color=OBSERVED, opacity=0.16),
            live.bars(edges, live.over(heights, "m"), color=SKL),
            live.vline(0.0, color=NULL, width=1),
            live.vline(live.over(axis.at(np.median(terms.d, -1)), "m"), dash="5 3"),
            live.vline(live.over(axis.at(terms.mean), "m"), color=OBSERVED, width=2.5),
            live.points(live.over(axis.at(largest)[:, None], "m"),
                        live.over(np.full((len(MS), 1), 0.04 * top), "m"), color=SKL, size=9,
                        symbol="diamond"),
        ],
        title="Terms d, one for each data set", height=270,
        x=_ticks(axis, edges, terms.d),
        y=live.axis((0, top), "data sets", ticks=_whole(top)),
        caption=live.over([_spread_out(terms, i) for i in range(len(MS))], "m"),
        legend=[("mean, 95% interval", OBSERVED, "line"), ("median", "", "dash"),
                ("largest", SKL, "diamond")],
    )  # fmt: skip


def _halved(edges: Array, heights: Array) -> tuple[Array, Array]:
    """Pairs of bins in one, 0 still an edge: a hundred terms leave narrower ones nearly empty."""
    zero = int(np.abs(edges).argmin())
    room = (zero % 2, (heights.shape[-1] + zero % 2) % 2)
    width = edges[1] - edges[0]
    padded = np.pad(heights, [(0, 0)] * (heights.ndim - 1) + [room])
    pairs = padded.reshape(*heights.shape[:-1], -1, 2).sum(-1)
    return edges[0] - room[0] * width + 2 * width * np.arange(pairs.shape[-1] + 1), pairs


def _ticks(axis: Scale, edges: Array, d: Array) -> dict:
    nats = axis.ticks(float(d.min()), float(d.max()))
    shown = [tick(float(one)) for one in nats]
    room = 0.02 * (edges[-1] - edges[0])
    ends = (float(edges[0] - room), float(edges[-1] + room))
    return live.axis(ends, "d in nats (symmetric-log axis)", ticks=axis.at(nats), shown=shown)


def _whole(top: float) -> Array:
    """At most six numbers of data sets, from 0 on."""
    step = next(s * 10**e for e in range(9) for s in (1, 2, 5) if top < 6 * s * 10**e)
    return np.arange(0, top, step, dtype=float)


def _spread_out(terms: Spread, i: int) -> str:
    d = terms.d[i]
    where, n = int(d.argmax()), len(d)
    said = (
        f"Median {size(float(np.median(d)))}, largest {size(float(d[where]))} (data set "
        f"{terms.places[where] + 1}), sd {size(float(d.std(ddof=1)))} nats; {int((d > 0).sum())} "
        f"of {n} are above 0."
    )
    if terms.heavy[i]:
        said += (
            " The tail is heavy: a few terms make the mean, its variance may be infinite, and "
            "the interval says too little. Read the median and the largest beside it."
        )
    return said


def _ruled(terms: Spread, i: int) -> str:
    """Why a null may fall in two."""
    squares = np.square(terms.d[i])
    if terms.none[i] or squares.max() < 0.8 * squares.sum():
        return ""
    return (
        " One term outweighs all others, so that random signs fall into two groups by its sign: "
        "beside it the others decide."
    )


def _null(terms: Spread) -> dict:
    reach = float(np.sqrt(terms.d.shape[1]))  # no signs give more
    seen = np.abs(terms.signs).max()
    width = min(reach, max(3.5, float(np.abs(terms.null).max()))) * 1.02
    edges = np.linspace(-width, width, 41)
    heights = np.stack([np.histogram(row, edges)[0] for row in terms.null])
    top = 1.15 * float(heights.max())
    said = [
        f"{round(terms.pvalue[i] * (FLIPS + 1)) - 1:,} of B = {FLIPS:,} random signs give a mean "
        f"as large: p {equals(float(terms.pvalue[i]))}. Paired AUC "
        f"{terms.auc[i]:.3f}: how often the truth weighs more than q's draw, one half were q "
        f"right.{_ruled(terms, i)}"
        for i in range(len(MS))
    ]
    limits = (-width, 1.05 * max(width, float(seen)))
    return live.panel(
        [
            live.bars(edges, live.over(heights, "m"), color=NULL),
            live.vline(live.over(terms.signs, "m"), color=OBSERVED, width=2.5),
        ],
        title="Their mean, among means with random signs", height=270,
        x=live.axis(limits, "mean term, in sds of random signs"),
        y=live.axis((0, top), "random signs"), caption=live.over(said, "m"),
        legend=[("random signs: as if q = p", NULL, "band"), ("this run", OBSERVED, "line")],
    )  # fmt: skip
