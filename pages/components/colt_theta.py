"""The picture in theta at an x: q's draws in and out of the ball, the truth's, centre and ball."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from pages.components import live
from validation_core.figures import style
from validation_core.maps import Maps, contours, intervals, project
from validation_core.types import Array

COLT = style.method_style("colt").color
Q_SHOWN, TRUTH_SHOWN = 180, 120
"""Points in a picture: more would hide one another."""
_BINS = 40

Onto = tuple[int, int] | Literal["pca"]


class Plane(NamedTuple):
    """Theta as two dimensions, for V places x."""

    q: Array  # (V, S, 2)
    truth: Array  # (V, T, 2)
    centre: Array  # (V, 2)
    film_centre: Array  # (F, V, 2)
    limits: tuple[tuple[float, float], tuple[float, float]]
    labels: tuple[str, str]


def plane(found: Maps, onto: Onto = "pca") -> Plane:
    """Theta itself where it has two dimensions, chosen directions of it where it has more."""
    if found.grid_y.size:
        ends = tuple((float(grid[0]), float(grid[-1])) for grid in (found.grid_x, found.grid_y))
        drawn = (found.q, found.truth, found.centre, found.film_centre)
        return Plane(*drawn, limits=ends, labels=("θ₁", "θ₂"))
    drawn = project(found, onto)
    cloud = np.concatenate([drawn.q.reshape(-1, 2), drawn.truth.reshape(-1, 2)])
    low, high = np.quantile(cloud, [0.003, 0.997], axis=0)
    room = 0.08 * np.maximum(high - low, 1e-9)
    ends = tuple(zip((low - room).tolist(), (high + room).tolist(), strict=True))
    return Plane(*drawn[:4], limits=ends, labels=_labels(onto, drawn.share))


def _labels(onto: Onto, share: Array) -> tuple[str, str]:
    if onto == "pca":
        return tuple(
            f"principal component {i + 1} of θ, {part:.0%} of q's variance"
            for i, part in enumerate(share)
        )
    return f"θ{onto[0] + 1}", f"θ{onto[1] + 1}"


def edges(grid: Array) -> Array:
    """Edges (G + 1,) of cells about evenly spaced points (G,)."""
    half = (grid[1] - grid[0]) / 2
    return np.linspace(grid[0] - half, grid[-1] + half, len(grid) + 1)


def padded(lines: Sequence[Array]) -> tuple[Array, Array]:
    """Polylines (L, 2) as two arrays (V, longest), nan at their ends."""
    longest = max((len(line) for line in lines), default=0) or 1
    out = np.full((len(lines), longest, 2), np.nan)
    for row, line in zip(out, lines, strict=True):
        row[: len(line)] = line
    return out[..., 0], out[..., 1]


def split(points: Array, inside: Array, *sliders: str) -> tuple[list[live.Over], ...]:
    """Points (..., S, 2) as (x, y) of those inside and of those outside, nan for the others."""
    where = inside[..., None] > 0
    at = np.broadcast_to(points, (*inside.shape, 2))
    parts = np.where(where, at, np.nan), np.where(where, np.nan, at)
    return tuple(pair(part, *sliders) for part in parts)


def pair(points: Array, *sliders: str) -> list[live.Over]:
    """Points (..., S, 2) as x and y over sliders."""
    return [live.over(points[..., i], *sliders) for i in (0, 1)]


def picture(found: Maps, onto: Onto = "pca", *, slider: str = "x", height: int = 460) -> dict:
    """One panel in theta that follows the slider over x."""
    if found.q.shape[2] == 1:
        return _line(found, slider, height)
    shown = plane(found, onto)
    within, without = split(shown.q[:, :Q_SHOWN], found.q_inside[:, :Q_SHOWN], slider)
    truth, centre = pair(shown.truth[:, :TRUTH_SHOWN], slider), pair(shown.centre[:, None], slider)
    marks = [
        *_background(found, slider),
        live.points(*without, color=style.Q, size=5, symbol="ring", opacity=0.7),
        live.points(*within, color=style.Q, size=5, opacity=0.85),
        live.points(*truth, color=style.P, size=5, symbol="cross"),
        *_outline(found, slider),
        live.points(*centre, color=COLT, size=11, symbol="diamond"),
    ]
    return live.panel(
        marks, title="At this x, in θ", square=True, legend=legend(bool(found.grid_y.size)),
        x=live.axis(shown.limits[0], shown.labels[0]),
        y=live.axis(shown.limits[1], shown.labels[1]),
    )  # fmt: skip


def legend(ball: bool) -> list[tuple[str, str, str]]:
    """What the symbols are."""
    return [
        ("q inside", style.Q, "circle"), ("q outside", style.Q, "ring"),
        ("truth", style.P, "cross"), ("centre", COLT, "diamond"),
        *([("ball", COLT, "line")] if ball else []),
    ]  # fmt: skip


def _background(found: Maps, slider: str) -> list[dict]:
    if not found.difference.size:
        return []
    values = np.asarray(found.difference, dtype=float)
    limit = float(np.nanquantile(np.abs(values), 0.995)) or 1.0
    return [
        live.heat(edges(found.grid_x), edges(found.grid_y), live.over(values, slider),
                  limit=limit, low=style.Q, high=style.P, label="density of p less q"),
    ]  # fmt: skip


def _outline(found: Maps, slider: str) -> list[dict]:
    if not found.grid_y.size:
        return []
    lines = contours(found.grid_x, found.grid_y, found.field, found.radius)
    x, y = padded(lines)
    return [live.line(live.over(x, slider), live.over(y, slider), color=COLT, width=2.2)]


def stretches(ends: Array, height: float) -> Array:
    """Stretches (L, 2) of a line as one broken polyline (3 L, 2) at a height."""
    rows = [[[low, height], [high, height], [np.nan, np.nan]] for low, high in ends]
    return np.array(rows, dtype=float).reshape(-1, 2)


def _line(found: Maps, slider: str, height: int) -> dict:
    """Theta on a line: densities, the ball as stretches of the axis, p - q as a curve."""
    low, high = float(found.grid_x[0]), float(found.grid_x[-1])
    bins = np.linspace(low, high, _BINS + 1)
    q, inside = found.q[..., 0], found.q_inside > 0
    within, without = (_densities(q, bins, part) for part in (inside, ~inside))
    truth = _densities(found.truth[..., 0], bins)
    top = 1.1 * max(float(np.quantile(d.max(1), 0.9)) for d in (within + without, truth))
    difference = np.asarray(found.difference, dtype=float)
    floor = 1.1 * min(0.0, float(np.nanquantile(difference, 0.005))) if difference.size else 0.0
    floor = min(floor, -0.07 * top)
    balls = intervals(found.grid_x, found.field, found.radius)
    x, y = padded([stretches(ends, floor / 2) for ends in balls])
    truth_steps = live.over(np.repeat(truth, 2, axis=1), slider)
    marks = [
        live.bars(bins, live.over(without, slider), color=style.Q, opacity=0.3),
        live.bars(bins, live.over(within, slider), color=style.Q, opacity=0.75),
        live.line(np.repeat(bins, 2)[1:-1], truth_steps, color=style.P, width=1.6),
        live.line(live.over(x, slider), live.over(y, slider), color=COLT, width=7),
        live.vline(live.over(found.centre[:, 0], slider), color=COLT, label="centre"),
    ]
    known = [("p less q", "", "dash")] if difference.size else []
    if known:
        curve = live.over(difference, slider)
        marks.append(live.line(found.grid_x, curve, color="", dash="4 3", width=1.4))
    return live.panel(
        marks, title="At this x, in θ", height=height,
        x=live.axis((low, high), "θ"), y=live.axis((floor, top), "density"),
        legend=[("q inside", style.Q, "square"), ("q outside", style.Q, "band"),
                ("truth", style.P, "line"), ("ball", COLT, "line"), *known],
    )  # fmt: skip


def _densities(draws: Array, bins: Array, of: Array | None = None) -> Array:
    """Histograms (V, B) of draws (V, S), or of some of them, as parts of the density of all."""
    counts = [
        np.histogram(row, bins, weights=None if of is None else of[i].astype(float))[0]
        for i, row in enumerate(draws)
    ]
    return np.stack(counts) / draws.shape[1] / (bins[1] - bins[0])
