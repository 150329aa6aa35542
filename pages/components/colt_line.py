"""Pictures of theta where it is one number: densities and the ball as stretches of the axis."""

import numpy as np

from pages.components import live
from pages.components.colt_theta import COLT, Q_SHOWN, padded
from validation_core.figures import style
from validation_core.maps import Maps, intervals
from validation_core.types import Array

HEIGHT = 330
_BINS = 40


def picture(found: Maps) -> dict:
    """q's draws in and out of the ball, the truth's, the ball, and p - q as a curve."""
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
    truth_steps = live.over(np.repeat(truth, 2, axis=1), "x")
    marks = [
        live.bars(bins, live.over(without, "x"), color=style.Q, opacity=0.3),
        live.bars(bins, live.over(within, "x"), color=style.Q, opacity=0.75),
        live.line(np.repeat(bins, 2)[1:-1], truth_steps, color=style.P, width=1.6),
        live.line(live.over(x, "x"), live.over(y, "x"), color=COLT, width=7),
        live.vline(live.over(found.centre[:, 0], "x"), color=COLT, label="centre"),
    ]
    known = [("p less q", "", "dash")] if difference.size else []
    if known:
        curve = live.over(difference, "x")
        marks.append(live.line(found.grid_x, curve, color="", dash="4 3", width=1.4))
    return live.panel(
        marks, title="At this x, in θ", height=HEIGHT,
        x=live.axis((low, high), "θ"), y=live.axis((floor, top), "density"),
        legend=[("q inside", style.Q, "square"), ("q outside", style.Q, "band"),
                ("truth", style.P, "line"), ("ball", COLT, "line"), *known],
    )  # fmt: skip


def frame(found: Maps, places: Array) -> dict:
    """A strip of q's draws and the ball, at each frame of the film and at some places."""
    frames, few = len(found.film_step), slice(Q_SHOWN)
    inside = found.film_inside[:, places, few] > 0
    at = np.broadcast_to(found.q[places][None, :, few, 0], inside.shape)
    height = live.over(
        np.broadcast_to(np.linspace(0.15, 0.95, inside.shape[2]), inside.shape), "frame", "x"
    )
    within, without = (live.over(np.where(part, at, np.nan), "frame", "x")
                       for part in (inside, ~inside))  # fmt: skip
    field = found.film_field[:, places].reshape(-1, found.film_field.shape[2])
    ends = intervals(found.film_axes[0], field, found.film_radius[:, places].ravel())
    lines = padded([stretches(pair, 0.05) for pair in ends])
    ball = [live.over(side.reshape(frames, len(places), -1), "frame", "x") for side in lines]
    centre = live.over(found.film_centre[:, places, 0], "frame", "x")
    return live.panel(
        [
            live.points(without, height, color=style.Q, size=5, symbol="ring", opacity=0.7),
            live.points(within, height, color=style.Q, size=5, opacity=0.85),
            live.line(*ball, color=COLT, width=7),
            live.vline(centre, color=COLT, label="centre"),
        ],
        title="The ball at this step", height=HEIGHT,
        x=live.axis((float(found.grid_x[0]), float(found.grid_x[-1])), "θ"),
        y=live.axis((0, 1), hidden=True),
        legend=[("q inside", style.Q, "circle"), ("q outside", style.Q, "ring"),
                ("ball", COLT, "line")],
    )  # fmt: skip


def path(found: Maps, places: Array) -> dict:
    """Where the centre goes as x moves, at this step; q's mean beside it."""
    centre, mean = found.film_centre[..., 0], found.q[..., 0].mean(1)
    number = found.x_at.shape[1] == 1
    across = found.x_at[:, 0] if number else np.arange(len(mean), dtype=float)
    draw = live.line if number else live.points
    now = live.over(centre[:, places, None], "frame", "x")
    both = np.concatenate([mean, centre.ravel()])
    room = 0.05 * np.ptp(both) or 1.0
    return live.panel(
        [
            draw(across, mean, color=style.Q),
            draw(across, live.over(centre, "frame"), color=COLT),
            live.points(live.over(across[places][:, None], "x"), now, color=COLT, size=11,
                        symbol="diamond"),
        ],
        title="The path of the centre as x moves", height=230,
        x=live.axis((across.min(), across.max()), "x" if number else "place x, in order"),
        y=live.axis((both.min() - room, both.max() + room), "θ"),
        legend=[("centre", COLT, "line"), ("mean of q's draws", style.Q, "line")],
    )  # fmt: skip


def stretches(ends: Array, height: float) -> Array:
    """Stretches (L, 2) of a line as one broken polyline (3 L, 2) at a height."""
    rows = [[[low, height], [high, height], [np.nan, np.nan]] for low, high in ends]
    return np.array(rows, dtype=float).reshape(-1, 2)


def _densities(draws: Array, bins: Array, of: Array | None = None) -> Array:
    """Histograms (V, B) of draws (V, S), or of some of them, as parts of the density of all."""
    counts = [
        np.histogram(row, bins, weights=None if of is None else of[i].astype(float))[0]
        for i, row in enumerate(draws)
    ]
    return np.stack(counts) / draws.shape[1] / (bins[1] - bins[0])
