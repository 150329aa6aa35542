"""Panels of the playground in theta: where q is wrong, and CoLT's ball there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from validation_core.drawing import style
from validation_core.drawing.marks import (
    Axis,
    Bars,
    Heat,
    HLine,
    Line,
    Mark,
    Panel,
    Points,
    Shades,
    VLine,
    Words,
    over,
)
from validation_core.explorers.playground.headline import one_point
from validation_core.explorers.playground.sizes import COLT, LINE_BINS, PANEL_HEIGHT, SHOWN_DRAWS
from validation_core.explorers.playground.study import DRAWS_PER_CELL, BallOverX, theta_grid
from validation_core.panels.colt.theta import filled_region
from validation_core.text import share_interval_text, share_text
from validation_core.types import Array

_OUTSIDE = 0.04  # of the frame's width, where a region that goes on beyond it is closed

_EDGE = 0.002  # of a rim kept in half precision, from the end of its grid


def theta_panel(where: BallOverX, joint: Array) -> Panel:
    """Draws of p and q at this x, and CoLT's ball.

    Args:
        where: the draws and the ball.
        joint: draws (N, 2) of the truth over all x, drawn faintly; none where N is 0.
    """
    still = len(where.p) == 1
    by = ("x",) if still else ("gamma", "x")
    # Of a single parameter draws are counted in bins, and all of them travel in a few bytes.
    most = None if where.q.shape[-1] == 1 else SHOWN_DRAWS
    p = np.asarray(where.p[0] if still else where.p, float)[..., :most, :]
    q = np.asarray(where.q, float)[..., :most, :]
    point = bool(one_point(where).all())
    common: dict[str, Any] = {
        "title": "Where q is wrong",
        "caption": _caption(where, point),
        "height": PANEL_HEIGHT,
        "legend": [
            ("true p", style.P, "circle"),
            ("estimate q", style.Q, "circle"),
            ("CoLT's region", COLT, "line" if where.q.shape[-1] == 1 else "band"),
        ],
    }
    if q.shape[-1] == 1:
        return _on_line(where, p, q, by, common)
    outline = np.asarray(where.outline, float) - where.origin[:, None]
    p, q = (side - where.origin[:, None] for side in (p, q))
    around = [np.asarray(side, float) - where.origin[:, None] for side in (where.p, where.q)]
    grids = [theta_grid(around, axis) for axis in range(2)]
    # Beyond the grid on which distances are known there is no region to draw.
    limits = [
        (max(low, grid[0]), min(high, grid[-1]))
        for (low, high), grid in zip(
            (theta_frame((p, q, joint[:, None]), axis) for axis in range(2)), grids, strict=True
        )
    ]
    moved = " less its true mean" * bool(where.origin.any())
    p, q = (_within(side, limits) for side in (p, q))
    beyond = [_beyond(ends) for ends in limits]
    rims = [_led_out(rim, grids, beyond) for rim in outline.reshape(-1, *outline.shape[2:])]
    marks: list[Mark] = []
    if len(joint):
        marks.append(Points(*joint.T, color=style.NULL, size=3, opacity=0.25))
    marks.append(
        filled_region(rims, (beyond[0], beyond[1]), "gamma", "x", shape=outline.shape[:2])
    )
    for cloud, names, color in ((q, ("gamma", "x"), style.Q), (p, by, style.P)):
        x, y = (over(cloud[..., axis], *names, coarse=True) for axis in range(2))
        marks.append(Points(x, y, color=color, size=4, opacity=0.75))
    if point:
        x, y = (over(p[..., 0, axis][..., None], *by) for axis in range(2))
        marks.append(Points(x, y, color="", size=14, symbol="ring"))
    return Panel(marks, x=Axis(limits[0], f"θ₁{moved}"), y=Axis(limits[1], f"θ₂{moved}"), **common)


def _caption(where: BallOverX, point: bool) -> Words:
    shares = [f"Over all x, {_share_text(*share)} of p's." for share in where.inside]
    region = f"Purple: {where.u_star:.0%} of q's draws at each x"
    if not point:
        return over([f"{region}. {share}" for share in shares], "gamma")
    both = np.ptp(where.q, axis=-2).max(axis=(1, 2)) == 0
    drawn = f"the truth is one point. {region}, where it can be drawn."
    return over(
        [
            "Ringed: this x, where "
            + ("p and q are the same point." if one else f"{drawn} {share}")
            for one, share in zip(both, shares, strict=True)
        ],
        "gamma",
    )


def _share_text(share: float, low: float, high: float) -> str:
    """A share in per cent with its interval, unless all three round alike."""
    if share_text(low) == share_text(high):
        return share_text(share)
    return share_interval_text((share, low, high))


def _beyond(ends: tuple[float, float]) -> tuple[float, float]:
    """Ends a little outside the frame, so that a region's edge along it is cut off, not drawn."""
    room = _OUTSIDE * (ends[1] - ends[0])
    return ends[0] - room, ends[1] + room


def _led_out(rim: Array, grids: Sequence[Array], beyond: Sequence[tuple[float, float]]) -> Array:
    """A rim (L, 2) whose open pieces, which end where the grid does, end beyond the frame.

    Pieces so short that only their ends were kept lie on the frame, and are left out.
    """
    ends = np.array([[grid[0], grid[-1]] for grid in grids])
    targets = np.array(beyond)
    pieces = []
    for piece in np.split(rim, np.flatnonzero(np.isnan(rim[:, 0]))):
        line = piece[~np.isnan(piece[:, 0])]
        if len(line) > 1 and not np.array_equal(line[0], line[-1]):
            if np.isclose(line[:, :, None], ends, rtol=0, atol=_EDGE).all(0).any():
                continue
            outer = []
            for point in (line[0], line[-1]):
                axis, side = np.unravel_index(np.abs(ends - point[:, None]).argmin(), (2, 2))
                there = point.copy()
                there[axis] = targets[axis, side]
                outer.append(there)
            line = np.concatenate([outer[:1], line, outer[1:]])
        pieces += [line, np.full((1, 2), np.nan)]
    return np.concatenate(pieces)


def _on_line(
    where: BallOverX, p: Array, q: Array, by: tuple[str, ...], common: Mapping[str, Any]
) -> Panel:
    """Panel of one parameter: histograms of both, the ball as an interval."""
    limits = theta_frame((p, q), 0)
    edges = np.linspace(*limits, LINE_BINS + 1)
    counts = [_binned(side[..., 0], edges) for side in (p, q)]
    top = 1.1 * max(side.max() for side in counts)
    stretch = np.asarray(where.outline, np.float64)[..., 0, :]
    return Panel(
        [
            Bars(edges, over(counts[1], "gamma", "x"), color=style.Q),
            Bars(edges, over(counts[0], *by), color=style.P),
            *(
                VLine(over(stretch[..., end], "gamma", "x"), color=COLT, width=2.5)
                for end in (0, 1)
            ),
        ],
        x=Axis(limits, "θ"),
        y=Axis((0, top), "draws"),
        **common,
    )


def _binned(values: Array, edges: Array) -> Array:
    """Counts (..., bins) of values (..., n)."""
    rows = values.reshape(-1, values.shape[-1])
    counts = np.stack([np.histogram(row, edges)[0] for row in rows])
    return counts.reshape(*values.shape[:-1], -1)


def theta_frame(sides: Sequence[Array], axis: int) -> tuple[float, float]:
    """Limits that hold nearly all draws of one parameter at every gamma and x."""
    both = np.concatenate([side[..., axis].ravel() for side in sides])
    low, high = np.quantile(both, [0.005, 0.995])
    room = 0.06 * (high - low)
    return float(low - room), float(high + room)


def _within(points: Array, limits: Sequence[tuple[float, float]]) -> Array:
    """Points (..., 2), NaN beyond the frame."""
    low, high = np.array(limits).T
    outside = ((points < low) | (points > high)).any(-1)
    return np.where(outside[..., None], np.nan, points)


def error_map_panel(where: BallOverX) -> Panel:
    """Map over x of the truth's share in the ball minus q's."""
    reach = float(np.ceil(20 * max(np.abs(where.difference).max(), 0.1)) / 20)
    caption = (
        f"p's share in the region less q's {where.u_star:.0%}. If q were correct: 0 everywhere, "
        f"up to the noise of {DRAWS_PER_CELL} draws a cell."
    )
    if len(where.x_edges) == 1:
        middles = (where.x_edges[0][1:] + where.x_edges[0][:-1]) / 2
        at = where.x_at[:, 0]
        return Panel(
            [
                HLine(0, label="if q = p"),
                Line(middles, over(where.difference, "gamma"), color=COLT),
                VLine(over(at, "x")),
            ],
            x=Axis((float(where.x_edges[0][0]), float(where.x_edges[0][-1])), "x"),
            y=Axis((-1.1 * reach, 1.1 * reach), "truth less q", percent=True),
            title="Over x",
            caption=caption,
            height=PANEL_HEIGHT,
            click="x",
            at=np.stack([at, 0 * at], axis=1),
        )
    across, up = where.x_edges
    return Panel(
        [
            Heat(
                across,
                up,
                Shades(over(where.difference, "gamma"), limit=reach, label="truth less q"),
            ),
            Points(
                over(where.x_at[:, :1], "x"),
                over(where.x_at[:, 1:], "x"),
                color="",
                size=12,
                symbol="ring",
            ),
        ],
        x=Axis((float(across[0]), float(across[-1])), "x₁"),
        y=Axis((float(up[0]), float(up[-1])), "x₂"),
        title="Over x",
        caption=caption,
        height=PANEL_HEIGHT,
        click="x",
        at=where.x_at,
    )
