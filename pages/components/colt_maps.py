"""Where q is wrong: the map in theta at an x, and the map over x that moves it."""

from typing import NamedTuple

import numpy as np
import streamlit as st

from pages.components import live
from pages.components.colt_theta import COLT, Onto, edges, picture
from validation_core import statistics
from validation_core.diagnosis import equals
from validation_core.figures import style
from validation_core.maps import Maps, local_rate
from validation_core.maps.over_x import Curve, LocalRate
from validation_core.types import Array

_PERMUTATIONS = 1999
_RANKED = 3
"""Coordinates of x whose curves are drawn."""


def where(key: str, found: Maps, onto: Onto, alpha: float) -> None:
    """Both maps under one slider."""
    payload = chart(key, found, onto, alpha)
    name = "x" if found.x_at.shape[1] == 1 else "place"
    live.chart(payload, key=f"where-{name}", url=(name,))
    st.caption(how_to_read(found))
    if found.tied > 0.01:
        st.caption(
            f"{float(found.tied):.0%} of truths tie with a draw of q: ties are broken at random, "
            "and say nothing about q."
        )


def directions(d: int) -> Onto:
    """Which two directions of theta are shown, where it has more than two."""
    if d <= 2:
        return "pca"
    names = {"pca": "Principal components", "pair": "Two parameters"}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        kind = st.segmented_control(
            "Directions of θ shown", list(names), format_func=names.get, default="pca",
            required=True, key="onto", bind="query-params",
        )  # fmt: skip
        if kind == "pca":
            return "pca"
        chosen = [
            st.number_input(label, 1, d, first, key=key, bind="query-params", width=120)
            for label, first, key in (("Across, θ", 1, "across"), ("Up, θ", 2, "up"))
        ]
    across, up = (int(one) - 1 for one in chosen)
    return across, up if up != across else (across + 1) % d


@st.cache_resource(show_spinner=False, max_entries=32)
def chart(key: str, _found: Maps, onto: Onto, alpha: float) -> live.Payload:
    """Both maps at every place of the slider; keyed by the task's key."""
    rate = rates(key, _found)
    return live.payload(
        sliders=[slider(_found)],
        panels=[picture(_found, onto), *over_x(_found, rate)],
        headline=headline(_found, alpha),
    )


@st.cache_resource(show_spinner=False, max_entries=32)
def rates(key: str, _found: Maps) -> LocalRate:
    """The local rate over x; its permutations cost a moment."""
    coordinates = _found.x_quote.shape[1]
    count = max(_PERMUTATIONS, 50 * coordinates - 1)
    return local_rate(
        _found.x_quote, _found.u_quote, float(_found.u_star), permutations=count, shown=_RANKED
    )


def slider(found: Maps) -> dict:
    """Over x itself where it is a number, over places elsewhere; it begins where q is worst."""
    x, places = found.x_at, len(found.x_at)
    worst = int(np.abs(shares(found).share - found.u_star).argmax())
    if x.shape[1] == 1:
        return live.slider("x", x[:, 0], label="x", start=float(x[worst, 0]))
    label = "x" if x.shape[1] == 2 else "Place x, along the first principal component"
    return live.slider("x", np.arange(places), label=label, shown=said_of(x), start=worst)


def said_of(x: Array) -> list[str]:
    """Places (V, M) in words."""
    if x.shape[1] > 3:
        return [f"{i + 1} of {len(x)}" for i in range(len(x))]
    shown = [", ".join(f"{value:.2f}" for value in row).replace("-", "−") for row in x]
    return shown if x.shape[1] == 1 else [f"({row})" for row in shown]


class Shares(NamedTuple):
    """The truth's share in the ball at each place, with its 95% interval: (V,) each."""

    share: Array
    low: Array
    high: Array


def shares(found: Maps) -> Shares:
    """By the true draws at each place; none of them shaped the ball."""
    count, n = found.truth_inside.sum(1), found.truth_inside.shape[1]
    low, high = statistics.wilson(count, np.full(count.shape, n))
    return Shares(count / n, np.asarray(low), np.asarray(high))


def headline(found: Maps, alpha: float) -> live.Text:
    """The answer in one sentence: the ball over all x, and at the slider's x."""
    u, here = float(found.u_star), shares(found)
    over_all = f"{interval(found.inside, found.inside_low, found.inside_high)}"
    name = "x = {x}" if found.x_at.shape[1] <= 3 else "place {x}"
    verdict = (
        f"the truth {over_all} of its own (KS p {equals(float(found.pvalue))})"
        if found.pvalue <= alpha
        else f"the truth {over_all} of its own: no evidence against q (KS p "
        f"{equals(float(found.pvalue))})"
    )
    several = found.truth.shape[1] > 1
    local = f" At {name} the truth puts {{share}} there{{says}}" if several else ""
    says = [_says(u, low, high) for low, high in zip(here.low, here.high, strict=True)]
    return live.text(
        f"q puts {u:.0%} of its mass into its ball, {verdict}.{local}",
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


def over_x(found: Maps, rate: LocalRate) -> list[dict]:
    """Where along x the ball is wrong: a curve, a heat map, or the coordinates that tell most."""
    if rate.heat is not None:
        return [_plane_of_x(found, rate)]
    several = found.x_at.shape[1] > 1
    reach = 1.15 * max(
        *(float(np.nanmax(np.abs([c.low, c.high]))) for c in rate.curves),
        0.0 if several else float(np.abs(shares(found).share - found.u_star).max()), 0.05,
    )  # fmt: skip
    pairs = zip(rate.curves, rate.coordinates, rate.pvalues, strict=False)
    return [
        _curve_panel(found, curve, int(which) if several else None, float(p), reach, first=i == 0)
        for i, (curve, which, p) in enumerate(pairs)
    ]


def _curve_panel(
    found: Maps, curve: Curve, which: int | None, p: float, reach: float, *, first: bool
) -> dict:
    """The local rate along one coordinate; `which` is None where x is a number."""
    at = found.x_at[:, which or 0]
    height = np.interp(at, curve.at, curve.rate)
    marks = [
        live.band(curve.at, curve.low, curve.high, color=COLT, opacity=0.2),
        live.hline(0, label="if q = p"),
        live.line(curve.at, curve.rate, color=COLT),
    ]
    if which is None:
        here = shares(found)
        u = float(found.u_star)
        marks += [
            live.vline(live.over(at, "x"), width=1),
            live.points(live.over(at[:, None], "x"), live.over(here.share[:, None] - u, "x"),
                        low=live.over(here.low[:, None] - u, "x"),
                        high=live.over(here.high[:, None] - u, "x"), color=style.P, size=8),
        ]  # fmt: skip
        title, label, places = "Over x", "x", None
    else:
        marks += [
            live.points(at, height, color=style.NULL, size=4),
            live.points(live.over(at[:, None], "x"), live.over(height[:, None], "x"),
                        color=COLT, size=11, symbol="ring"),
        ]  # fmt: skip
        title = f"Over x{which + 1}" + ", on which it depends most" * first
        label, places = f"x{which + 1}", np.stack([at, height], axis=1)
    span = 0.03 * (curve.at[-1] - curve.at[0])
    low, high = min(curve.at[0], at.min()) - span, max(curve.at[-1], at.max()) + span
    return live.panel(
        marks, title=title, height=460 if first else 220, click="x", at=places,
        x=live.axis((low, high), label),
        y=live.axis((-reach, reach), "truth's share in the ball, less q's", percent=True),
        caption=f"The same rate everywhere? Permutation p {equals(p)}"
        + (f", adjusted for {found.x_at.shape[1]} coordinates." if which is not None else "."),
    )  # fmt: skip


def _plane_of_x(found: Maps, rate: LocalRate) -> dict:
    heat = rate.heat
    limit = max(0.1, float(np.nanmax(np.abs(heat.rate), initial=0)))
    at = found.x_at
    room = [0.04 * (axis[-1] - axis[0]) for axis in (heat.grid_x, heat.grid_y)]
    ends = [
        (min(axis[0], at[:, i].min()) - room[i], max(axis[-1], at[:, i].max()) + room[i])
        for i, axis in enumerate((heat.grid_x, heat.grid_y))
    ]
    return live.panel(
        [
            live.heat(edges(heat.grid_x), edges(heat.grid_y), heat.rate, limit=limit,
                      low=style.Q, high=style.P, label="truth's share less q's"),
            live.points(at[:, 0], at[:, 1], color="currentColor", size=4, opacity=0.55),
            live.points(live.over(at[:, :1], "x"), live.over(at[:, 1:], "x"), color=COLT, size=13,
                        symbol="ring"),
        ],
        title="Over x: press a place", square=True, click="x", at=at,
        x=live.axis(ends[0], "x₁"), y=live.axis(ends[1], "x₂"),
        caption=f"The same rate everywhere? Permutation p {equals(rate.pvalue)}.",
    )  # fmt: skip


def how_to_read(found: Maps) -> str:
    """What both maps show, and what they would look like were q right."""
    d, m = found.q.shape[2], found.x_at.shape[1]
    background = (
        "; behind them blue where p is denser than q, orange where q is denser"
        if d == 2 and found.difference.size else ""
    )  # fmt: skip
    ball = (
        f"the ball around the learnt centre that holds {float(found.u_star):.0%} of q's mass"
        if d <= 2
        else f"q's draws in the ball of q-mass {float(found.u_star):.0%}, which lives in all {d} "
        "dimensions and is shown by its draws"
    )
    right = {
        1: "Right, the truth's share in that ball less q's, along x: the curve from "
        f"{len(found.u_quote)} simulations with pointwise intervals, the point from "
        f"{found.truth.shape[1]} true draws at this x",
        2: "Beside it the same over x, smoothed",
    }.get(m, "Beside it the same along the coordinates of x that tell most, with places to press")
    return (
        f"In θ: {ball}{background}. {right}. Were q right, the ball would hold the same share of "
        "both at every x" + (", and nothing would be coloured." if background or m == 2 else ".")
    )
