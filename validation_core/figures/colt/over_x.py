"""The map over x: where along x the truth's share in the ball is not q's."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from validation_core import statistics
from validation_core.diagnosis import equals
from validation_core.figures import style
from validation_core.figures.colt.theta import COLT, edges, subscript
from validation_core.figures.marks import (
    Axis,
    Band,
    Heat,
    HLine,
    Line,
    Mark,
    Panel,
    Points,
    VLine,
    over,
)
from validation_core.localization import LocalRate, Maps, RateCurve, local_rate
from validation_core.types import Array

_PERMUTATIONS = 1999

_RANKED = 3
"""Coordinates of x whose curves are drawn."""


def rates(maps: Maps) -> LocalRate:
    """The local rate over x; its permutations cost a moment."""
    coordinates = maps.x_quote.shape[1]
    count = max(_PERMUTATIONS, 50 * coordinates - 1)
    return local_rate(
        maps.x_quote, maps.u_quote, float(maps.u_star), permutations=count, shown=_RANKED
    )


class Shares(NamedTuple):
    """The truth's share in the ball at each place, with its interval: (V,) each."""

    share: Array
    low: Array
    high: Array


def shares(maps: Maps, level: float = 0.95) -> Shares:
    """By the true draws at each place; none of them shaped the ball."""
    count, n = maps.truth_inside.sum(1), maps.truth_inside.shape[1]
    low, high = statistics.wilson(count, np.full(count.shape, n), level)
    return Shares(count / n, np.asarray(low), np.asarray(high))


def over_x(maps: Maps, rate: LocalRate, height: int) -> list[Panel]:
    """Where along x the ball is wrong: a curve, a heat map, or the coordinates that tell most."""
    if rate.heat is not None:
        return [_plane(maps, rate)]
    several = maps.x_at.shape[1] > 1
    here = [] if several else [shares(maps).share - maps.u_star]
    low = min(float(np.nanmin(part)) for part in (*(c.low for c in rate.curves), *here))
    high = max(float(np.nanmax(part)) for part in (*(c.high for c in rate.curves), *here))
    low, high = min(low, -0.05), max(high, 0.05)
    limits = (low - 0.06 * (high - low), high + 0.06 * (high - low))
    pairs = zip(rate.curves, rate.coordinates, rate.pvalues, strict=False)
    return [
        _along(
            maps,
            curve,
            int(which) if several else None,
            float(p),
            limits,
            height if i == 0 else 230,
        )
        for i, (curve, which, p) in enumerate(pairs)
    ]


def _along(
    maps: Maps,
    curve: RateCurve,
    which: int | None,
    p: float,
    limits: tuple[float, float],
    height: int,
) -> Panel:
    """The local rate along one coordinate; `which` is None where x is a number."""
    at = maps.x_at[:, which or 0]
    rate = np.interp(at, curve.at, curve.rate)
    marks: list[Mark] = [
        Band(curve.at, curve.low, curve.high, color=COLT, opacity=0.2),
        HLine(0, label="if q = p"),
        Line(curve.at, curve.rate, color=COLT),
    ]
    if which is None:
        here = shares(maps)
        u = float(maps.u_star)
        marks += [
            VLine(over(at, "x"), width=1),
            Points(
                over(at[:, None], "x"),
                over(here.share[:, None] - u, "x"),
                low=over(here.low[:, None] - u, "x"),
                high=over(here.high[:, None] - u, "x"),
                color=style.P,
                size=8,
            ),
        ]
        title, label, places = "Over x: press to move", "x", None
    else:
        marks += [
            Points(at, rate, color=style.NULL, size=4),
            Points(
                over(at[:, None], "x"),
                over(rate[:, None], "x"),
                color=COLT,
                size=11,
                symbol="ring",
            ),
        ]
        label, places = f"x{subscript(which + 1)}", np.stack([at, rate], axis=1)
        most = ", on which it depends most" * (height > 230 and p <= 0.05)
        title = f"Over {label}{most}: press a place"
    span = 0.03 * (curve.at[-1] - curve.at[0])
    low, high = min(curve.at[0], at.min()) - span, max(curve.at[-1], at.max()) + span
    return Panel(
        marks,
        title=title,
        height=height,
        click="x",
        at=places,
        x=Axis((low, high), label),
        y=Axis(limits, "truth's share in the ball, less q's", percent=True),
        caption=f"The same rate everywhere? Permutation p {equals(p)}"
        + (f", adjusted for {maps.x_at.shape[1]} coordinates." if which is not None else "."),
    )


def _plane(maps: Maps, rate: LocalRate) -> Panel:
    heat = rate.heat
    assert heat is not None, "of x in two dimensions"
    limit = max(0.1, float(np.nanmax(np.abs(heat.rate), initial=0)))
    at = maps.x_at
    room = [0.04 * (axis[-1] - axis[0]) for axis in (heat.grid_x, heat.grid_y)]
    ends = [
        (min(axis[0], at[:, i].min()) - room[i], max(axis[-1], at[:, i].max()) + room[i])
        for i, axis in enumerate((heat.grid_x, heat.grid_y))
    ]
    return Panel(
        [
            Heat(
                edges(heat.grid_x),
                edges(heat.grid_y),
                heat.rate,
                limit=limit,
                low=style.Q,
                high=style.P,
                label="truth's share less q's",
            ),
            Points(at[:, 0], at[:, 1], color="currentColor", size=4, opacity=0.55),
            Points(over(at[:, :1], "x"), over(at[:, 1:], "x"), color=COLT, size=13, symbol="ring"),
        ],
        title="Over x: press a place",
        square=True,
        click="x",
        at=at,
        x=Axis(ends[0], "x₁"),
        y=Axis(ends[1], "x₂"),
        caption=f"The same rate everywhere? Permutation p {equals(rate.pvalue)}.",
    )
