"""The picture in theta at an x: q's draws in and out of the ball, the truth's, centre and ball."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from pages.components import live
from validation_core.figures import style
from validation_core.maps import Maps, bend, contours, project
from validation_core.types import Array

COLT = style.method_style("colt").color
Q_SHOWN, TRUTH_SHOWN = 180, 120
"""Points in a picture: more would hide one another."""
_AROUND = 4.5
"""Half the width of a picture around q, in sds."""


class Sight(NamedTuple):
    """Which two directions of theta are shown where it has more, and about which origin."""

    onto: tuple[int, int] | Literal["pca"] = "pca"
    around: bool = False
    """In sds of q's own draws at each x, from their mean."""


class Plane(NamedTuple):
    """Theta as two dimensions, for V places x."""

    q: Array  # (V, S, 2)
    truth: Array  # (V, T, 2)
    centre: Array  # (V, 2)
    film_centre: Array  # (F, V, 2)
    limits: tuple[tuple[float, float], tuple[float, float]]
    labels: tuple[str, str]


def plane(found: Maps, sight: Sight) -> Plane:
    """Theta itself where it has two dimensions, chosen directions of it where it has more."""
    flat = found.grid_y.size > 0
    whole = (found.q, found.truth, found.centre, found.film_centre)
    drawn = whole if flat else project(found, sight.onto)[:4]
    labels = _labels(sight if not flat else sight._replace(onto=(0, 1)))
    if sight.around:
        mean, sd = frame(drawn[0])
        q, truth = ((part - mean[:, None]) / sd[:, None] for part in drawn[:2])
        # What lies beyond the picture is shown at its edge.
        reach = 0.97 * _AROUND
        centres = (np.clip((part - mean) / sd, -reach, reach) for part in drawn[2:])
        return Plane(q, truth, *centres, limits=((-_AROUND, _AROUND),) * 2, labels=labels)
    if flat:
        ends = tuple((float(grid[0]), float(grid[-1])) for grid in (found.grid_x, found.grid_y))
        return Plane(*drawn, limits=ends, labels=labels)
    cloud = np.concatenate([drawn[0].reshape(-1, 2), drawn[1].reshape(-1, 2)])
    low, high = np.quantile(cloud, [0.003, 0.997], axis=0)
    room = 0.08 * np.maximum(high - low, 1e-9)
    ends = tuple(zip((low - room).tolist(), (high + room).tolist(), strict=True))
    return Plane(*drawn, limits=ends, labels=labels)


def frame(q: Array) -> tuple[Array, Array]:
    """Mean and sd (V, 2) of q's draws (V, S, 2) at each x."""
    return q.mean(1), np.maximum(q.std(1), 1e-9)


def _labels(sight: Sight) -> tuple[str, ...]:
    names = (
        ("first principal component of θ", "second component")
        if sight.onto == "pca"
        else tuple(f"θ{subscript(i + 1)}" for i in sight.onto)
    )
    return tuple(name + ", in sd of q from its mean at this x" * sight.around for name in names)


def subscript(number: int) -> str:
    """Digits below the line."""
    return "".join("₀₁₂₃₄₅₆₇₈₉"[int(digit)] for digit in str(number))


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


def picture(found: Maps, sight: Sight) -> dict:
    """One panel in a plane of theta that follows the slider x."""
    shown = plane(found, sight)
    within, without = split(shown.q[:, :Q_SHOWN], found.q_inside[:, :Q_SHOWN], "x")
    # Over many x in a row the centres draw a line; over a few they would be stray points.
    trail = found.x_at.shape[1] == 1 and len(found.x_at) > 2 and not sight.around
    truths = shown.truth[:, :TRUTH_SHOWN]
    crosses = live.points(*pair(truths, "x"), color=style.P, size=5, symbol="cross")
    # Where the truth is nearly a point, the centre would hide it.
    above = truths.std(1).max() < 0.1 * shown.q.std(1).max()
    marks = [
        *([] if sight.around else [*_background(found), *_spine(found)]),
        *draws(within, without),
        *([] if above else [crosses]),
        *_outline(found, sight),
        *(path(shown.centre, 1) if trail else []),
        centre(pair(shown.centre[:, None], "x")),
        *([crosses] if above else []),
    ]
    return panel(shown, marks, "At this x, in θ", truth=True, ball=bool(found.grid_y.size))


def panel(
    shown: Plane, marks: list[dict], title: str, *, truth: bool, ball: bool, trail: bool = False
) -> dict:
    """A square picture in theta with its symbols explained."""
    symbols = [
        ("q inside", style.Q, "circle"), ("q outside", style.Q, "ring"),
        *([("truth", style.P, "cross")] if truth else []),
        ("centre", COLT, "diamond"), *([("ball", COLT, "line")] if ball else []),
        *([("centre at other x", COLT, "circle")] if trail else []),
    ]  # fmt: skip
    return live.panel(
        marks, title=title, square=True, legend=symbols,
        x=live.axis(shown.limits[0], shown.labels[0]),
        y=live.axis(shown.limits[1], shown.labels[1]),
    )  # fmt: skip


def draws(within: list[live.Over], without: list[live.Over]) -> list[dict]:
    """q's draws, filled in the ball."""
    return [
        live.points(*without, color=style.Q, size=5, symbol="ring", opacity=0.7),
        live.points(*within, color=style.Q, size=5, opacity=0.85),
    ]


def centre(at: list[live.Over]) -> dict:
    """The learnt centre."""
    return live.points(*at, color=COLT, size=11, symbol="diamond")


def path(centres: Array, coordinates: int, *sliders: str) -> list[dict]:
    """Where the centre lies at every x (..., V, 2): a line where x is a number."""
    at = pair(centres, *sliders) if sliders else [centres[..., 0], centres[..., 1]]
    if coordinates == 1:
        return [live.line(*at, color=COLT, width=1.2, opacity=0.55)]
    return [live.points(*at, color=COLT, size=4, opacity=0.55)]


def _background(found: Maps) -> list[dict]:
    """p - q at each x over its own largest value there: densities differ by orders over x."""
    if not found.difference.size:
        return []
    values = np.asarray(found.difference, dtype=float)
    largest = np.abs(values).max((1, 2), keepdims=True)
    relative = np.divide(values, largest, where=largest > 0, out=np.zeros_like(values))
    return [
        live.heat(edges(found.grid_x), edges(found.grid_y), live.over(relative, "x"), limit=1,
                  low=style.Q, high=style.P, label="p less q, of its largest here"),
    ]  # fmt: skip


def _spine(found: Maps) -> list[dict]:
    """The curve along which p lies, over all x."""
    curve = bend(found)
    if curve is None:
        return []
    return [live.line(*curve.points.T, color=style.NULL, dash="2 4", width=1.4, opacity=0.9)]


def _outline(found: Maps, sight: Sight) -> list[dict]:
    if not found.grid_y.size:
        return []
    lines = contours(found.grid_x, found.grid_y, found.field, found.radius)
    if sight.around:
        lines = about(lines, found.q, max(np.ptp(found.grid_x), np.ptp(found.grid_y)) / 60)
    x, y = padded(lines)
    return [live.line(live.over(x, "x"), live.over(y, "x"), color=COLT, width=1.8)]


def about(lines: Sequence[Array], q: Array, cell: float) -> list[Array]:
    """Outlines in q's own frame; none where the grid is too coarse for q's draws."""
    mean, sd = frame(q)
    return [
        (line - mean[i]) / sd[i] if cell < sd[i].min() else np.zeros((0, 2))
        for i, line in enumerate(lines)
    ]
