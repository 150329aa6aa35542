"""CoLT's ball at an observation of a table: draws, boundary and true values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from validation_core.drawing import live, style
from validation_core.drawing.marks import (
    Axis,
    Bars,
    Line,
    Mark,
    Over,
    Panel,
    Points,
    Slider,
    VLine,
    over,
)
from validation_core.localization import Maps, ball_outlines
from validation_core.panels.colt.theta import COLT, filled_region, padded_limits, split_by_ball
from validation_core.text import numbered, signed_text
from validation_core.types import Array

_SHOWN = 200
"""Draws of q in a picture: more would hide one another."""
_BINS = 40
_TAIL = 0.003
_DOT = 0.4  # of q's spread over all observations
FEWEST = 5  # draws that have a middle and a spread to draw around
_REACH = 4.5  # sds from q's median
_EDGE = 0.97 * _REACH


class BallAxes(NamedTuple):
    """The two parameters drawn, and whether they are standardised by q's draws."""

    across: int
    up: int
    around: bool


def is_narrow(maps: Maps, pair: tuple[int, int]) -> bool:
    """Whether q's draws at one observation are a dot among those at all, in two parameters."""
    q = maps.q[..., list(pair)]
    here, pooled = _ball_frame(q)[1], _ball_frame(q.reshape(1, -1, 2))[1]
    return bool((np.median(here, axis=0) < _DOT * pooled[0]).any())


def _ball_frame(q: Array) -> tuple[Array, Array]:
    """Median and robust sd (V, 1, 2) of draws (V, S, 2), against outliers."""
    low, middle, high = np.quantile(q, [0.25, 0.5, 0.75], axis=1, keepdims=True)
    spread = (high - low) / 1.349
    spread = np.where(spread > 0, spread, q.std(1, keepdims=True, dtype=np.float64))
    return middle, np.where(spread > 0, spread, 1.0)


def ball(
    maps: Maps, names: Sequence[str], x_names: Sequence[str], sight: BallAxes
) -> live.Payload:
    """Picture of the ball at each observation of the slider."""
    univariate = maps.q.shape[2] == 1
    panel = _line(maps, names[0]) if univariate else _ball_panel(maps, names, sight)
    panels = [panel, *_observations(maps.x_at, x_names)]
    return live.payload(sliders=[_slider(maps.x_at, x_names)], panels=panels)


def _slider(x: Array, names: Sequence[str]) -> Slider:
    """Slider over some of the table's observations, in the order of x, starting in the middle."""
    places, m = len(x), x.shape[1]
    labels = numbered(places)
    label = "Observation"
    if m <= 3:
        rows = [", ".join(signed_text(value, ".3g") for value in row) for row in x]
        labels = rows if m == 1 else [f"({row})" for row in rows]
        label = f"Observation: {', '.join(names)}"
    return Slider("x", np.arange(places), label=label, names=labels, start=places // 2)


def _observations(x: Array, names: Sequence[str]) -> list[Panel]:
    """Panel of the slider's observations x (V, M), in two coordinates or components."""
    if x.shape[1] < 2:
        return []
    at, labels = x, tuple(names)
    if x.shape[1] > 2:
        scale = x.std(0)
        z = (x - x.mean(0)) / np.where(scale > 0, scale, 1.0)
        left, strength, _ = np.linalg.svd(z, full_matrices=False)
        at, labels = (left * strength)[:, :2], tuple(f"component {i} of x" for i in (1, 2))
    marks: list[Mark] = [
        Points(at[:, 0], at[:, 1], color="currentColor", size=5, opacity=0.55),
        Points(*_over(at[:, None]), color=COLT, size=13, symbol="ring"),
    ]
    axes = [Axis(_ends(at[:, i]), labels[i]) for i in (0, 1)]
    return [
        Panel(marks, title="Observations", square=True, click="x", at=at, x=axes[0], y=axes[1])
    ]


def _ball_panel(maps: Maps, names: Sequence[str], sight: BallAxes) -> Panel:
    pair = [sight.across, sight.up]
    q, truth, centre = (part[..., pair] for part in (maps.q, maps.truth, maps.centre[:, None]))
    labels, rims = [names[i] for i in pair], ball_outlines(maps)
    ends = [_both_ends(q[..., i], truth[..., i]) for i in (0, 1)]
    if sight.around:
        middle, sd = _ball_frame(q)
        if rims:
            cell = [np.ptp(axis) / max(len(axis) - 1, 1) for axis in (maps.grid_x, maps.grid_y)]
            rims = [
                (line - middle[i]) / sd[i] if (cell < sd[i, 0]).all() else line[:0]
                for i, line in enumerate(rims)
            ]
        q, truth, centre = ((part - middle) / sd for part in (q, truth, centre))
        truth, centre = (np.clip(part, -_EDGE, _EDGE) for part in (truth, centre))
        labels = [f"{label}, in sd of q from its median" for label in labels]
        ends = [(-_REACH, _REACH)] * 2
    few = slice(_SHOWN)
    (in_x, in_y), (out_x, out_y) = split_by_ball(q[:, few], maps.q_inside[:, few], "x")
    outlined = any(map(len, rims))
    marks: list[Mark] = [
        *([filled_region(rims, (ends[0], ends[1]), "x")] if outlined else []),
        Points(out_x, out_y, color=style.Q, size=5, symbol="ring", opacity=0.7),
        Points(in_x, in_y, color=style.Q, size=5, opacity=0.85),
        Points(*_over(centre), color=COLT, size=11, symbol="diamond"),
        Points(*_over(truth), color=style.P, size=11, symbol="cross"),
    ]
    return Panel(
        marks,
        title="The region at this observation",
        square=True,
        legend=_legend(outlined),
        x=Axis(ends[0], labels[0]),
        y=Axis(ends[1], labels[1]),
    )


def _line(maps: Maps, name: str) -> Panel:
    """Panel of one parameter: q's draws as bars, the ball as intervals."""
    q, inside = maps.q[..., 0], maps.q_inside > 0
    ends = _both_ends(q, maps.truth)
    bins = np.linspace(*ends, _BINS + 1)
    heights = [
        np.stack(
            [
                np.histogram(row[part], bins)[0] / len(row)
                for row, part in zip(q, which, strict=True)
            ]
        )
        for which in (inside, ~inside)
    ]
    top = 1.1 * float(np.max(heights[0] + heights[1]))
    stretches = [
        np.array([[[low, 0], [high, 0], [np.nan, np.nan]] for low, high in each]).reshape(-1, 2)
        for each in ball_outlines(maps)
    ]
    marks: list[Mark] = [
        Bars(bins, over(heights[1], "x"), color=style.Q, opacity=0.3),
        Bars(bins, over(heights[0], "x"), color=style.Q, opacity=0.75),
        Line(*(over(part, "x") for part in padded_limits(stretches)), color=COLT, width=7),
        VLine(over(maps.centre[:, 0], "x"), color=COLT, label="centre"),
        VLine(over(maps.truth[:, 0, 0], "x"), color=style.P, dash="4 3", label="truth"),
    ]
    return Panel(
        marks,
        title="The region at this observation",
        height=330,
        x=Axis(ends, name),
        y=Axis((-0.05 * top, top), "share of q's draws", percent=True),
        legend=[
            ("q inside", style.Q, "square"),
            ("q outside", style.Q, "band"),
            ("region", COLT, "line"),
        ],
    )


def _legend(outlined: bool) -> list[tuple[str, str, str]]:
    return [
        ("q inside", style.Q, "circle"),
        ("q outside", style.Q, "ring"),
        ("truth", style.P, "cross"),
        ("centre", COLT, "diamond"),
        *([("region", COLT, "band")] if outlined else []),
    ]


def _over(points: Array) -> list[Over]:
    """Points (V, T, 2) as x and y over the slider."""
    return [over(points[..., i], "x") for i in (0, 1)]


def _both_ends(q: Array, truth: Array) -> tuple[float, float]:
    """Limits of an axis that holds all but q's farthest draws, and all truths."""
    low, high = _ends(q)
    left, right = style.padded(truth)
    return min(low, left), max(high, right)


def _ends(values: Array) -> tuple[float, float]:
    """Limits of an axis that holds all but the farthest values, with a margin."""
    low, high = (float(end) for end in np.quantile(values, [_TAIL, 1 - _TAIL]))
    room = 0.08 * (high - low) or 1.0
    return low - room, high + room


def how_to_read(maps: Maps, sight: BallAxes) -> str:
    """How to read the picture of the ball."""
    d = maps.q.shape[2]
    beyond = f" It lies in all {d} parameters, so that two of them cannot show its rim." * (d > 2)
    edge = " A true value or centre beyond the picture is drawn at its edge." * sight.around
    return (
        f"At each observation the region is as large as it takes to hold {float(maps.u_star):.0%} "
        f"of q's draws there. If q were correct, over all observations the same share of the "
        f"true values would lie in their regions.{beyond}{edge}"
    )
