"""Pictures in theta at an x: q's draws in and out of the ball, true draws, centre and ball."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core.drawing import live, style
from validation_core.drawing.marks import (
    Axis,
    Bars,
    Heat,
    Line,
    Mark,
    Over,
    Panel,
    Points,
    Shades,
    Slider,
    VLine,
    over,
)
from validation_core.drawing.over_sliders import join_over
from validation_core.localization import (
    Maps,
    areas,
    ball_outlines,
    intervals,
    places_of,
    project,
    truth_curve,
)
from validation_core.panels.gamma_scale import STRENGTH, GammaScale
from validation_core.text import numbered, signed_text
from validation_core.types import Array, Benchmark

COLT = style.method_style("colt").color
ANOTHER_SEED = "try another seed, in the sidebar under Objective, seed and networks"
"""What to do where a correct q is rejected."""
Q_SHOWN, TRUTH_SHOWN = 180, 120
"""Points in a picture: more would hide one another."""
_FILL = 0.14  # how opaque a region is
_AROUND = 4.5
"""Half the width of a picture around q, in sds."""
AxisLimits = tuple[float, float]


class ThetaAxes(NamedTuple):
    """Directions of theta that are drawn, where it has more than two, and their origin."""

    onto: tuple[int, int] | Literal["pca"] = "pca"
    around: bool = False
    """Whether theta is in sds of q's own draws at each x, from their mean."""


class _Plane(NamedTuple):
    """Projection of theta to two dimensions, for V places x."""

    q: Array  # (V, S, 2)
    truth: Array  # (V, T, 2)
    centre: Array  # (V, 2)
    film_centre: Array  # (F, V, 2)
    limits: tuple[AxisLimits, AxisLimits]
    labels: tuple[str, str]


def project_theta(maps: Maps, sight: ThetaAxes, draws: Array | None = None) -> _Plane:
    """Theta itself in two dimensions, projected to the chosen directions in more.

    Principal components are those of the draws (..., D), by default of the map's q.
    """
    flat = maps.grid_y.size > 0
    whole = (maps.q, maps.truth, maps.centre, maps.film_centre)
    q, truth, centre, film_centre = whole if flat else project(maps, sight.onto, draws)[:4]
    labels = _labels(sight if not flat else sight._replace(onto=(0, 1)))
    if sight.around:
        mean, sd = _frame(q)
        # Points beyond the picture are shown at its edge.
        reach = 0.97 * _AROUND
        return _Plane(
            (q - mean[:, None]) / sd[:, None],
            (truth - mean[:, None]) / sd[:, None],
            np.clip((centre - mean) / sd, -reach, reach),
            np.clip((film_centre - mean) / sd, -reach, reach),
            ((-_AROUND, _AROUND), (-_AROUND, _AROUND)),
            labels,
        )
    across, up = _most(q, truth)
    if flat:
        across, up = _span(maps.grid_x, across), _span(maps.grid_y, up)
    return _Plane(q, truth, centre, film_centre, (across, up), labels)


def _span(grid: Array, points: AxisLimits) -> AxisLimits:
    """Limits that hold a grid and points beside it."""
    return min(float(grid[0]), points[0]), max(float(grid[-1]), points[1])


def _most(q: Array, truth: Array) -> tuple[AxisLimits, AxisLimits]:
    """Limits that hold all but the farthest points of q's and of the true draws."""
    ends = np.array(
        [np.quantile(side.reshape(-1, 2), [0.003, 0.997], axis=0) for side in (q, truth)]
    )
    low, high = ends[:, 0].min(0), ends[:, 1].max(0)
    room = 0.08 * np.maximum(high - low, 1e-9)
    (left, below), (right, above) = (low - room).tolist(), (high + room).tolist()
    return (left, right), (below, above)


def _frame(q: Array) -> tuple[Array, Array]:
    """Mean and sd (V, 2) of q's draws (V, S, 2) at each x."""
    return q.mean(1), np.maximum(q.std(1), 1e-9)


def _labels(sight: ThetaAxes) -> tuple[str, str]:
    unit = ", in sd of q from its mean at this x" * sight.around
    if sight.onto == "pca":
        return "first principal component of θ" + unit, "second component" + unit
    across, up = (f"θ{subscript(i + 1)}{unit}" for i in sight.onto)
    return across, up


def subscript(number: int) -> str:
    """A number in subscript digits."""
    return "".join("₀₁₂₃₄₅₆₇₈₉"[int(digit)] for digit in str(number))


def cell_edges(grid: Array) -> Array:
    """Edges (G + 1,) of cells about evenly spaced points (G,)."""
    half = (grid[1] - grid[0]) / 2
    return np.linspace(grid[0] - half, grid[-1] + half, len(grid) + 1)


def padded_limits(lines: Sequence[Array]) -> tuple[Array, Array]:
    """Polylines (L, 2) as two arrays (V, longest), padded with NaN."""
    longest = max((len(line) for line in lines), default=0) or 1
    out = np.full((len(lines), longest, 2), np.nan)
    for row, line in zip(out, lines, strict=True):
        row[: len(line)] = line
    return out[..., 0], out[..., 1]


def split_by_ball(points: Array, inside: Array, *sliders: str) -> tuple[list[Over], ...]:
    """Split points by the ball: coordinates of those inside, and of those outside.

    Args:
        points: (..., S, 2).
        inside: positive for points in the ball (..., S).
        sliders: sliders that the leading axes run over.

    Returns:
        x and y over the sliders of each part, NaN for the points of the other.
    """
    where = inside[..., None] > 0
    at = np.broadcast_to(points, (*inside.shape, 2))
    parts = np.where(where, at, np.nan), np.where(where, np.nan, at)
    return tuple(coordinates_over(part, *sliders) for part in parts)


def coordinates_over(points: Array, *sliders: str) -> list[Over]:
    """Coordinates x and y over sliders of points (..., S, 2)."""
    return [over(points[..., i], *sliders) for i in (0, 1)]


def theta_panels(maps: Sequence[Maps], sight: ThetaAxes) -> list[Panel]:
    """The picture at each gamma, on one plane and with one order of marks."""
    if maps[0].q.shape[2] == 1:
        return [_line_picture(each) for each in maps]
    draws = np.stack([each.q for each in maps])
    planes = [project_theta(each, sight, draws) for each in maps]
    # Where the truth is nearly a point, the centre would hide it.
    above = all(
        plane.truth[:, :TRUTH_SHOWN].std(1).max() < 0.1 * plane.q.std(1).max() for plane in planes
    )
    return [_picture(each, sight, plane, above) for each, plane in zip(maps, planes, strict=True)]


def _picture(maps: Maps, sight: ThetaAxes, projection: _Plane, above: bool) -> Panel:
    """A panel over the slider x; `above` draws the true draws over everything."""
    within, without = split_by_ball(projection.q[:, :Q_SHOWN], maps.q_inside[:, :Q_SHOWN], "x")
    # Over many x in a row the centres draw a line; over a few they would be stray points.
    trail = maps.x_at.shape[1] == 1 and len(maps.x_at) > 2 and not sight.around
    truths = projection.truth[:, :TRUTH_SHOWN]
    crosses = Points(*coordinates_over(truths, "x"), color=style.P, size=5, symbol="cross")
    marks: list[Mark] = [
        *([] if sight.around else [*_background(maps), *_spine(maps)]),
        *_outline(maps, sight, projection.limits),
        *q_draw_marks(within, without),
        *([] if above else [crosses]),
        *(centre_path_marks(projection.centre, 1) if trail else []),
        centre_marker(coordinates_over(projection.centre[:, None], "x")),
        *([crosses] if above else []),
    ]
    return theta_panel(
        projection, marks, "At this x, in θ", truth=True, ball=bool(maps.grid_y.size)
    )


def theta_panel(
    plane: _Plane, marks: list[Mark], title: str, *, truth: bool, ball: bool, trail: bool = False
) -> Panel:
    """A square panel in theta with a legend of its symbols."""
    symbols = [
        ("q inside", style.Q, "circle"),
        ("q outside", style.Q, "ring"),
        *([("truth", style.P, "cross")] if truth else []),
        ("centre", COLT, "diamond"),
        *([("region", COLT, "band")] if ball else []),
        *([("centre at other x", COLT, "circle")] if trail else []),
    ]
    return Panel(
        marks,
        title=title,
        square=True,
        legend=symbols,
        x=Axis(plane.limits[0], plane.labels[0]),
        y=Axis(plane.limits[1], plane.labels[1]),
    )


def q_draw_marks(within: list[Over], without: list[Over]) -> list[Mark]:
    """Marks of q's draws, filled inside the ball."""
    return [
        Points(*without, color=style.Q, size=5, symbol="ring", opacity=0.7),
        Points(*within, color=style.Q, size=5, opacity=0.85),
    ]


def centre_marker(at: list[Over]) -> Points:
    """Mark of the learnt centre."""
    return Points(*at, color=COLT, size=11, symbol="diamond")


def centre_path_marks(centres: Array, coordinates: int, *sliders: str) -> list[Mark]:
    """Marks of the centre at every x (..., V, 2): a line where x is one number."""
    at = coordinates_over(centres, *sliders) if sliders else [centres[..., 0], centres[..., 1]]
    if coordinates == 1:
        return [Line(*at, color=COLT, width=1.2, opacity=0.55)]
    return [Points(*at, color=COLT, size=4, opacity=0.55)]


def _background(maps: Maps) -> list[Mark]:
    """Heat map of p - q, scaled by its largest value at each x: densities differ by orders."""
    if not maps.difference.size:
        return []
    values = np.asarray(maps.difference, dtype=float)
    largest = np.abs(values).max((1, 2), keepdims=True)
    relative = np.divide(values, largest, where=largest > 0, out=np.zeros_like(values))
    across, up = maps.axes_of(values)
    return [
        Heat(
            cell_edges(across),
            cell_edges(up),
            Shades(over(relative, "x"), limit=1, label="density p − q, scaled"),
        )
    ]


def _spine(maps: Maps) -> list[Mark]:
    """The curve along which p lies, over all x."""
    curve = truth_curve(maps)
    if curve is None:
        return []
    return [Line(*curve.points.T, color=style.NULL, dash="2 4", width=1.4, opacity=0.9)]


def _outline(maps: Maps, sight: ThetaAxes, limits: tuple[AxisLimits, AxisLimits]) -> list[Mark]:
    if not maps.grid_y.size:
        return []
    lines = ball_outlines(maps)
    if sight.around:
        lines = standardise_outlines(
            lines, maps.q, float(max(np.ptp(maps.grid_x), np.ptp(maps.grid_y))) / 60
        )
    return [filled_region(lines, limits, "x")]


def filled_region(
    rims: Sequence[Array],
    limits: tuple[AxisLimits, AxisLimits],
    *sliders: str,
    shape: Sequence[int] = (),
) -> Line:
    """Filled regions enclosed by the rims (L, 2) at each place of the sliders.

    Args:
        shape: number of places of each slider, where there are several.
    """
    x, y = (
        over(side.reshape(*(shape or side.shape[:1]), side.shape[-1]), *sliders, coarse=True)
        for side in padded_limits([areas(np.asarray(rim, float), *limits) for rim in rims])
    )
    return Line(x, y, color=COLT, width=1.8, fill=_FILL)


def standardise_outlines(lines: Sequence[Array], q: Array, cell: float) -> list[Array]:
    """Outlines in q's standardised coordinates; empty where the grid is too coarse for q's draws.

    Args:
        lines: outlines (L, 2) at V places x.
        q: draws (V, S, 2).
        cell: width of a grid cell.
    """
    mean, sd = _frame(q)
    return [
        (line - mean[i]) / sd[i] if cell < sd[i].min() else np.zeros((0, 2))
        for i, line in enumerate(lines)
    ]


LINE_HEIGHT = 330
_LINE_BINS = 40


def _line_picture(maps: Maps) -> Panel:
    """Panel of one parameter: draws in and out of the ball, true draws, ball, and p - q."""
    low, high = float(maps.grid_x[0]), float(maps.grid_x[-1])
    bins = np.linspace(low, high, _LINE_BINS + 1)
    q, inside = maps.q[..., 0], maps.q_inside > 0
    within, without = (_densities(q, bins, part) for part in (inside, ~inside))
    truth = _densities(maps.truth[..., 0], bins)
    top = 1.1 * max(float(np.quantile(d.max(1), 0.9)) for d in (within + without, truth))
    difference = np.asarray(maps.difference, dtype=float)
    floor = 1.1 * min(0.0, float(np.nanquantile(difference, 0.005))) if difference.size else 0.0
    floor = min(floor, -0.07 * top)
    balls = ball_outlines(maps)
    x, y = padded_limits([_stretches(ends, floor / 2) for ends in balls])
    truth_steps = over(np.repeat(truth, 2, axis=1), "x")
    marks: list[Mark] = [
        Bars(bins, over(without, "x"), color=style.Q, opacity=0.3),
        Bars(bins, over(within, "x"), color=style.Q, opacity=0.75),
        Line(np.repeat(bins, 2)[1:-1], truth_steps, color=style.P, width=1.6),
        Line(over(x, "x"), over(y, "x"), color=COLT, width=7),
        VLine(over(maps.centre[:, 0], "x"), color=COLT, label="centre"),
    ]
    known = [("p less q", "", "dash")] if difference.size else []
    if known:
        curve = over(difference, "x")
        marks.append(Line(maps.axes_of(difference)[0], curve, color="", dash="4 3", width=1.4))
    return Panel(
        marks,
        title="At this x, in θ",
        height=LINE_HEIGHT,
        x=Axis((low, high), "θ"),
        y=Axis((floor, top), "density"),
        legend=[
            ("q inside", style.Q, "square"),
            ("q outside", style.Q, "band"),
            ("truth", style.P, "line"),
            ("region", COLT, "line"),
            *known,
        ],
    )


def training_strip_panel(maps: Maps, places: Array) -> Panel:
    """Strip of q's draws and the ball, at each frame of the training film and at some places."""
    frames, few = len(maps.film_step), slice(Q_SHOWN)
    inside = maps.film_inside[:, places, few] > 0
    at = np.broadcast_to(maps.q[places][None, :, few, 0], inside.shape)
    height = over(
        np.broadcast_to(np.linspace(0.15, 0.95, inside.shape[2]), inside.shape), "frame", "x"
    )
    within, without = (
        over(np.where(part, at, np.nan), "frame", "x") for part in (inside, ~inside)
    )
    field = maps.film_field[:, places].reshape(-1, maps.film_field.shape[2])
    ends = intervals(maps.axes_of(maps.film_field)[0], field, maps.film_radius[:, places].ravel())
    lines = padded_limits([_stretches(pair, 0.05) for pair in ends])
    ball = [over(side.reshape(frames, len(places), -1), "frame", "x") for side in lines]
    centre = over(maps.film_centre[:, places, 0], "frame", "x")
    return Panel(
        [
            Points(without, height, color=style.Q, size=5, symbol="ring", opacity=0.7),
            Points(within, height, color=style.Q, size=5, opacity=0.85),
            Line(*ball, color=COLT, width=7),
            VLine(centre, color=COLT, label="centre"),
        ],
        title="The region at this step",
        height=LINE_HEIGHT,
        x=Axis((float(maps.grid_x[0]), float(maps.grid_x[-1])), "θ"),
        y=Axis((0, 1), hidden=True),
        legend=[
            ("q inside", style.Q, "circle"),
            ("q outside", style.Q, "ring"),
            ("region", COLT, "line"),
        ],
    )


def centre_path_panel(maps: Maps, places: Array) -> Panel:
    """Path of the centre as x varies, at this training step, beside q's mean."""
    centre, mean = maps.film_centre[..., 0], maps.q[..., 0].mean(1)
    number = maps.x_at.shape[1] == 1
    across = maps.x_at[:, 0] if number else np.arange(len(mean), dtype=float)
    draw = Line if number else Points
    now = over(centre[:, places, None], "frame", "x")
    both = np.concatenate([mean, centre.ravel()])
    room = 0.05 * np.ptp(both) or 1.0
    return Panel(
        [
            draw(across, mean, color=style.Q),
            draw(across, over(centre, "frame"), color=COLT),
            Points(over(across[places][:, None], "x"), now, color=COLT, size=11, symbol="diamond"),
        ],
        title="The path of the centre as x moves",
        height=230,
        x=Axis((across.min(), across.max()), "x" if number else "observation x, in order"),
        y=Axis((both.min() - room, both.max() + room), "θ"),
        legend=[("centre", COLT, "line"), ("mean of q's draws", style.Q, "line")],
    )


def _stretches(ends: Array, height: float) -> Array:
    """Intervals (L, 2) as one broken polyline (3 L, 2) at a height."""
    rows = [[[low, height], [high, height], [np.nan, np.nan]] for low, high in ends]
    return np.array(rows, dtype=float).reshape(-1, 2)


def _densities(draws: Array, bins: Array, of: NDArray[np.bool_] | None = None) -> Array:
    """Histograms (V, B) of draws (V, S), or of a subset, as parts of the density of all."""
    counts = [
        np.histogram(row, bins, weights=None if of is None else of[i].astype(float))[0]
        for i, row in enumerate(draws)
    ]
    return np.stack(counts) / draws.shape[1] / (bins[1] - bins[0])


_BEFORE = 15
"""Places x at which draws are shown while a localizer learns."""


def gamma_slider(
    gammas: Sequence[float], start: float, scale: GammaScale = STRENGTH
) -> list[Slider]:
    """The slider of gamma in all views of CoLT; none for a single gamma."""
    if len(gammas) == 1:
        return []
    slider = Slider(
        "gamma",
        gammas,
        names=[f"{gamma:,g}" for gamma in gammas],
        start=start,
        label=scale.slider,
        ends=("q = p", "q far off") if gammas[0] == 0 else ("", ""),
        play=True,
    )
    return [slider]


def place_labels(x: Array) -> list[str]:
    """Labels of places (V, M)."""
    if x.shape[1] > 3:
        return numbered(len(x))
    labels = [", ".join(signed_text(value, ".2f") for value in row) for row in x]
    return labels if x.shape[1] == 1 else [f"({row})" for row in labels]


def draws_payload(benchmark: Benchmark, gammas: Sequence[float], start: float) -> live.Payload:
    """Picture of draws of p and q over gamma and x, which needs no learning.

    Args:
        benchmark: of the draws.
        gammas: of the slider; there is none for one.
        start: its initial value.
    """
    places = [places_of(benchmark, gamma, _BEFORE) for gamma in gammas]
    x = places[0].x
    label = "x" if x.shape[1] == 1 else "Observation x, along the first principal component"
    start_place = _BEFORE // 2
    slider = Slider("x", range(_BEFORE), label=label, names=place_labels(x), start=start_place)
    sides = [(each.q[:, :Q_SHOWN], each.truth[:, :TRUTH_SHOWN]) for each in places]
    draw = _draws_on_line if sides[0][0].shape[2] == 1 else _draws_in_plane
    return live.payload(
        sliders=[*gamma_slider(gammas, start, GammaScale.of(benchmark)), slider],
        panels=[join_over("gamma", [draw(q, truth) for q, truth in sides])],
    )


def _draws_in_plane(q: Array, truth: Array) -> Panel:
    """Panel of the first two parameters."""
    limits = _most(q[..., :2], truth[..., :2])
    return Panel(
        [
            Points(*coordinates_over(q[..., :2], "x"), color=style.Q, size=5, opacity=0.75),
            Points(*coordinates_over(truth[..., :2], "x"), color=style.P, size=5, symbol="cross"),
        ],
        title="Draws at this x",
        square=True,
        legend=[("estimate q", style.Q, "circle"), ("true p", style.P, "cross")],
        x=Axis(limits[0], "θ₁"),
        y=Axis(limits[1], "θ₂"),
    )


def _draws_on_line(q: Array, truth: Array) -> Panel:
    q, truth = q[..., 0], truth[..., 0]
    both = np.concatenate([q.ravel(), truth.ravel()])
    low, high = style.padded(np.quantile(both, [0.003, 0.997]))
    bins = np.linspace(low, high, _LINE_BINS + 1)
    of_q, of_p = (_densities(side, bins) for side in (q, truth))
    return Panel(
        [
            Bars(bins, over(of_q, "x"), color=style.Q),
            Line(np.repeat(bins, 2)[1:-1], over(np.repeat(of_p, 2, axis=1), "x"), color=style.P),
        ],
        title="Draws at this x",
        height=LINE_HEIGHT,
        x=Axis((low, high), "θ"),
        y=Axis((0, 1.1 * max(float(of_q.max()), float(of_p.max()))), "density"),
        legend=[("estimate q", style.Q, "square"), ("true p", style.P, "line")],
    )
