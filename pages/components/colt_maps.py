"""Where q is wrong: the map in theta at an x, and the map over x that moves it."""

from typing import Literal

import numpy as np
import streamlit as st

from pages.components import colt_line as line
from pages.components import live
from pages.components.colt_controls import segmented
from pages.components.colt_over_x import over_x, rates, shares
from pages.components.colt_theta import Sight, picture
from validation_core.diagnosis import equals
from validation_core.maps import Maps, bend
from validation_core.types import Array

_EVIDENCE = 0.05


def where(key: str, found: Maps, sight: Sight, alpha: float) -> None:
    """Both maps under one slider."""
    name = "x" if found.x_at.shape[1] == 1 else "place"
    live.chart(chart(key, found, sight, alpha), key=f"where-{name}", url=(name,))
    st.caption(how_to_read(found, sight) + bent(key, found, sight))
    if found.tied > 0.01:
        st.caption(
            f"{float(found.tied):.0%} of truths tie with a draw of q: ties are broken at random, "
            "and say nothing about q."
        )


def directions(d: int) -> Sight:
    """Which two directions of theta are shown where it has more, and about which origin."""
    if d == 1:
        return Sight()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        onto = _onto(d) if d > 2 else "pca"
        axes = {"fixed": "Fixed", "around": "Around q"}
        about = segmented(
            "Axes of θ", axes, f"axes{min(d, 3)}", first="fixed" if d == 2 else "around",
            help="Fixed: one scale for every x. Around q: from the mean of q's draws at each x, "
            "in their standard deviations.",
        )  # fmt: skip
    return Sight(onto, around=about == "around")


def _onto(d: int) -> tuple[int, int] | Literal["pca"]:
    names = {"pca": "Principal components", "pair": "Two parameters"}
    if segmented("Directions of θ", names, "onto") == "pca":
        return "pca"
    across, up = (
        int(st.number_input(label, 1, d, first, key=key, bind="query-params", width=110)) - 1
        for label, first, key in (("Across, θ", 1, "across"), ("Up, θ", 2, "up"))
    )
    return across, up if up != across else (across + 1) % d


@st.cache_resource(show_spinner=False, max_entries=32)
def chart(key: str, _found: Maps, sight: Sight, alpha: float) -> live.Payload:
    """Both maps at every place of the slider; keyed by the task's key."""
    one = _found.q.shape[2] == 1
    here = line.picture(_found) if one else picture(_found, sight)
    height = line.HEIGHT if one else 460
    return live.payload(
        sliders=[slider(_found)],
        panels=[here, *over_x(_found, rates(key, _found), height)],
        headline=headline(_found, alpha),
    )


@st.cache_resource(show_spinner=False, max_entries=32)
def bent(key: str, _found: Maps, sight: Sight) -> str:
    """How curved the truth is, where its principal curve is drawn."""
    curve = None if sight.around else bend(_found)
    if curve is None:
        return ""
    return (
        " Dotted: the principal curve of the truth over all x (Hastie, Stuetzle 1989), of length "
        f"{curve.length:.2g}, turning by {curve.total_abs_curvature:.2g} radians in all."
    )


def slider(found: Maps) -> dict:
    """Over x itself where it is a number, over places elsewhere."""
    x, places, first = found.x_at, len(found.x_at), telling(found)
    if x.shape[1] == 1:
        start = float(x[first, 0])
        return live.slider("x", x[:, 0], label="x", shown=said_of(x), start=start)
    label = "Place x, along the first principal component"
    return live.slider("x", np.arange(places), label=label, shown=said_of(x), start=first)


def telling(found: Maps) -> int:
    """Where to begin: where q is most wrong, among usual x at which its spread is not small.

    Without evidence against q the place farthest off would be so by chance: the most usual x.
    """
    x = found.x_at.astype(float)
    scale = x.std(0)
    away = np.abs((x - np.median(x, axis=0)) / np.where(scale > 0, scale, 1)).max(1)
    if found.pvalue > _EVIDENCE:
        return int(away.argmin())
    spread = np.log(np.maximum(found.q.std(1), 1e-12)).mean(-1)
    usual = (spread >= np.median(spread)) & (away <= 1.3)
    gap = np.abs(shares(found).share - found.u_star)
    return int(np.where(usual | ~usual.any(), gap, -1.0).argmax())


def said_of(x: Array) -> list[str]:
    """Places (V, M) in words."""
    if x.shape[1] > 3:
        return [f"{i + 1} of {len(x)}" for i in range(len(x))]
    rounded = np.round(x.astype(float), 2) + 0.0  # no minus before a zero
    shown = [", ".join(f"{value:.2f}" for value in row).replace("-", "−") for row in rounded]
    return shown if x.shape[1] == 1 else [f"({row})" for row in shown]


def headline(found: Maps, alpha: float) -> live.Text:
    """The answer in one sentence: the ball over all x, and at the slider's x."""
    u, here = float(found.u_star), shares(found)
    p = f"KS p {equals(float(found.pvalue))}"
    over_all = (
        f"Over all x, q puts {u:.0%} of its mass into the learnt ball and the truth "
        f"{interval(found.inside, found.inside_low, found.inside_high)}"
    )
    verdict = f" ({p})." if found.pvalue <= alpha else f": no evidence against q ({p})."
    name = "x = {x}" if found.x_at.shape[1] <= 3 else "place {x}"
    several = found.truth.shape[1] > 1
    local = f" At {name} the truth puts {{share}} there{{says}}" if several else ""
    sure = shares(found, 1 - 0.05 / len(found.x_at))
    says = [_says(u, low, high) for low, high in zip(sure.low, sure.high, strict=True)]
    return live.text(
        over_all + verdict + local,
        x=live.over(said_of(found.x_at), "x"),
        share=live.over([interval(*each) for each in zip(*here, strict=True)], "x"),
        says=live.over(says, "x"),
    )


def interval(share: Array, low: Array, high: Array) -> str:
    """A share with its interval, in percent."""
    return f"{100 * float(share):.0f}% [{100 * float(low):.0f}, {100 * float(high):.0f}]"


def _says(u: float, low: float, high: float) -> str:
    if low > u:
        return ": q misses mass in the ball."
    return ": q puts too much mass into the ball." if high < u else "."


def how_to_read(found: Maps, sight: Sight) -> str:
    """What both maps show, and what they would look like were q right."""
    d, m = found.q.shape[2], found.x_at.shape[1]
    u, truths = f"{float(found.u_star):.0%}", found.truth.shape[1]
    ball = (
        f"In θ: the learnt centre and the ball around it that holds {u} of q's mass"
        if d <= 2
        else f"In θ: draws of q in the ball that holds {u} of its mass. The ball lives in all {d} "
        "dimensions; its shadow is shown"
    )
    edge = "; a centre beyond the edge is drawn on it" if sight.around else ""
    thin = ", the thin line its path over x" if m == 1 and d == 2 and not sight.around else ""
    coloured = d == 2 and found.difference.size > 0 and not sight.around
    background = "; blue where p is denser than q, orange where q is" * coloured
    beside = {
        1: "the truth's share in the ball less q's along x, smoothed over "
        f"{len(found.u_quote)} simulations, with pointwise 95% intervals; the point is {truths} "
        "true draws at this x",
        2: f"the truth's share in the ball less q's, smoothed over {len(found.u_quote)} "
        "simulations; dots are the places of the slider",
    }.get(m, "the same share along the coordinates of x that tell most")
    return (
        f"{ball}{thin}{background}{edge}. Beside it: {beside}. Brackets are 95% intervals; what "
        f"is said of one x holds for all {len(found.x_at)} places at once. Were q right, the ball "
        "would hold as large a share of the truth as of q at every x."
    )
