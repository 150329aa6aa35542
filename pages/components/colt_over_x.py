"""The map over x: where along x the truth's share in the ball is not q's."""

from typing import NamedTuple

import numpy as np
import streamlit as st

from pages.components import live
from pages.components.colt_theta import COLT, edges, subscript
from validation_core import statistics
from validation_core.diagnosis import equals
from validation_core.figures import style
from validation_core.maps import Curve, LocalRate, Maps, local_rate
from validation_core.types import Array

_PERMUTATIONS = 1999
_RANKED = 3
"""Coordinates of x whose curves are drawn."""


@st.cache_resource(show_spinner=False, max_entries=32)
def rates(key: str, _found: Maps) -> LocalRate:
    """The local rate over x; its permutations cost a moment."""
    coordinates = _found.x_quote.shape[1]
    count = max(_PERMUTATIONS, 50 * coordinates - 1)
    return local_rate(
        _found.x_quote, _found.u_quote, float(_found.u_star), permutations=count, shown=_RANKED
    )


class Shares(NamedTuple):
    """The truth's share in the ball at each place, with its interval: (V,) each."""

    share: Array
    low: Array
    high: Array


def shares(found: Maps, level: float = 0.95) -> Shares:
    """By the true draws at each place; none of them shaped the ball."""
    count, n = found.truth_inside.sum(1), found.truth_inside.shape[1]
    low, high = statistics.wilson(count, np.full(count.shape, n), level)
    return Shares(count / n, np.asarray(low), np.asarray(high))


def over_x(found: Maps, rate: LocalRate, height: int) -> list[dict]:
    """Where along x the ball is wrong: a curve, a heat map, or the coordinates that tell most."""
    if rate.heat is not None:
        return [_plane(found, rate)]
    several = found.x_at.shape[1] > 1
    here = [] if several else [shares(found).share - found.u_star]
    low = min(float(np.nanmin(part)) for part in (*(c.low for c in rate.curves), *here))
    high = max(float(np.nanmax(part)) for part in (*(c.high for c in rate.curves), *here))
    low, high = min(low, -0.05), max(high, 0.05)
    limits = (low - 0.06 * (high - low), high + 0.06 * (high - low))
    pairs = zip(rate.curves, rate.coordinates, rate.pvalues, strict=False)
    return [
        _along(found, curve, int(which) if several else None, float(p), limits,
               height if i == 0 else 230)
        for i, (curve, which, p) in enumerate(pairs)
    ]  # fmt: skip


def _along(
    found: Maps, curve: Curve, which: int | None, p: float, limits: tuple[float, float],
    height: int,
) -> dict:  # fmt: skip
    """The local rate along one coordinate; `which` is None where x is a number."""
    at = found.x_at[:, which or 0]
    rate = np.interp(at, curve.at, curve.rate)
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
        title, label, places = "Over x: press to move", "x", None
    else:
        marks += [
            live.points(at, rate, color=style.NULL, size=4),
            live.points(live.over(at[:, None], "x"), live.over(rate[:, None], "x"),
                        color=COLT, size=11, symbol="ring"),
        ]  # fmt: skip
        label, places = f"x{subscript(which + 1)}", np.stack([at, rate], axis=1)
        most = ", on which it depends most" * (height > 230 and p <= 0.05)
        title = f"Over {label}{most}: press a place"
    span = 0.03 * (curve.at[-1] - curve.at[0])
    low, high = min(curve.at[0], at.min()) - span, max(curve.at[-1], at.max()) + span
    return live.panel(
        marks, title=title, height=height, click="x", at=places,
        x=live.axis((low, high), label),
        y=live.axis(limits, "truth's share in the ball, less q's", percent=True),
        caption=f"The same rate everywhere? Permutation p {equals(p)}"
        + (f", adjusted for {found.x_at.shape[1]} coordinates." if which is not None else "."),
    )  # fmt: skip


def _plane(found: Maps, rate: LocalRate) -> dict:
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
