"""Pictures of theta where it is one number: densities and the ball as stretches of the axis."""

import numpy as np
from numpy.typing import NDArray

from validation_core.figures import style
from validation_core.figures.colt.theta import COLT, Q_SHOWN, padded
from validation_core.figures.marks import Axis, Bars, Line, Mark, Panel, Points, VLine, over
from validation_core.localization import Maps, intervals
from validation_core.types import Array

HEIGHT = 330
_BINS = 40


def picture(maps: Maps) -> Panel:
    """q's draws in and out of the ball, the truth's, the ball, and p - q as a curve."""
    low, high = float(maps.grid_x[0]), float(maps.grid_x[-1])
    bins = np.linspace(low, high, _BINS + 1)
    q, inside = maps.q[..., 0], maps.q_inside > 0
    within, without = (_densities(q, bins, part) for part in (inside, ~inside))
    truth = _densities(maps.truth[..., 0], bins)
    top = 1.1 * max(float(np.quantile(d.max(1), 0.9)) for d in (within + without, truth))
    difference = np.asarray(maps.difference, dtype=float)
    floor = 1.1 * min(0.0, float(np.nanquantile(difference, 0.005))) if difference.size else 0.0
    floor = min(floor, -0.07 * top)
    balls = intervals(maps.grid_x, maps.field, maps.radius)
    x, y = padded([stretches(ends, floor / 2) for ends in balls])
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
        marks.append(Line(maps.grid_x, curve, color="", dash="4 3", width=1.4))
    return Panel(
        marks,
        title="At this x, in θ",
        height=HEIGHT,
        x=Axis((low, high), "θ"),
        y=Axis((floor, top), "density"),
        legend=[
            ("q inside", style.Q, "square"),
            ("q outside", style.Q, "band"),
            ("truth", style.P, "line"),
            ("ball", COLT, "line"),
            *known,
        ],
    )


def frame(maps: Maps, places: Array) -> Panel:
    """A strip of q's draws and the ball, at each frame of the film and at some places."""
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
    ends = intervals(maps.film_axes[0], field, maps.film_radius[:, places].ravel())
    lines = padded([stretches(pair, 0.05) for pair in ends])
    ball = [over(side.reshape(frames, len(places), -1), "frame", "x") for side in lines]
    centre = over(maps.film_centre[:, places, 0], "frame", "x")
    return Panel(
        [
            Points(without, height, color=style.Q, size=5, symbol="ring", opacity=0.7),
            Points(within, height, color=style.Q, size=5, opacity=0.85),
            Line(*ball, color=COLT, width=7),
            VLine(centre, color=COLT, label="centre"),
        ],
        title="The ball at this step",
        height=HEIGHT,
        x=Axis((float(maps.grid_x[0]), float(maps.grid_x[-1])), "θ"),
        y=Axis((0, 1), hidden=True),
        legend=[
            ("q inside", style.Q, "circle"),
            ("q outside", style.Q, "ring"),
            ("ball", COLT, "line"),
        ],
    )


def path(maps: Maps, places: Array) -> Panel:
    """Where the centre goes as x moves, at this step; q's mean beside it."""
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
        x=Axis((across.min(), across.max()), "x" if number else "place x, in order"),
        y=Axis((both.min() - room, both.max() + room), "θ"),
        legend=[("centre", COLT, "line"), ("mean of q's draws", style.Q, "line")],
    )


def stretches(ends: Array, height: float) -> Array:
    """Stretches (L, 2) of a line as one broken polyline (3 L, 2) at a height."""
    rows = [[[low, height], [high, height], [np.nan, np.nan]] for low, high in ends]
    return np.array(rows, dtype=float).reshape(-1, 2)


def _densities(draws: Array, bins: Array, of: NDArray[np.bool_] | None = None) -> Array:
    """Histograms (V, B) of draws (V, S), or of some of them, as parts of the density of all."""
    counts = [
        np.histogram(row, bins, weights=None if of is None else of[i].astype(float))[0]
        for i, row in enumerate(draws)
    ]
    return np.stack(counts) / draws.shape[1] / (bins[1] - bins[0])
