"""Training of a localizer: the course of its objective, and the film of its ball.

The objective is shown on training anchors and on held-out ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.stats import kstwo

from validation_core.drawing import live, style
from validation_core.drawing.marks import (
    Axis,
    Band,
    Line,
    Mark,
    Note,
    Panel,
    Points,
    Slider,
    VLine,
    over,
    sentence,
)
from validation_core.localization import Maps, contours
from validation_core.panels.colt import theta
from validation_core.panels.colt.theta import (
    COLT,
    Q_SHOWN,
    AxisLimits,
    ThetaAxes,
    centre_marker,
    centre_path_marks,
    coordinates_over,
    filled_region,
    place_labels,
    project_theta,
    q_draw_marks,
    split_by_ball,
    standardise_outlines,
    theta_panel,
)
from validation_core.panels.colt.where import choose_initial_place
from validation_core.types import Array

_PLACES = 9
"""Places x of the film: each frame has a ball at each."""
TRAIN, HELD = style.NULL, style.P


def training_curves(history: Mapping[str, Sequence[float]]) -> live.Payload:
    """Curves of a running training: `train` and `held` against `step`."""
    curves = {name: np.array(values, dtype=float) for name, values in history.items()}
    marks, top = _curves(curves["step"], curves["train"], curves["held"])
    panel = Panel(
        marks,
        height=200,
        margin=76,
        x=Axis((0, max(float(curves["step"][-1]), 1)), "step"),
        y=Axis((0, top), "KS distance of the ranks"),
    )
    return live.payload(panels=[panel], columns=1)


def _curves(step: Array, train: Array, held: Array) -> tuple[list[Mark], float]:
    top = 1.12 * float(max(train.max(), held.max(), 0.05))
    return [
        Line(step, train, color=TRAIN, label="training"),
        Line(step, held, color=HELD, label="held out"),
        Points(step, held, color=HELD, size=5),
    ], top


def training_film(
    maps: Maps, sight: ThetaAxes, watched: int, *, correct: bool = False
) -> live.Payload:
    """Film of the ball at a few places, beside `watched` held-out anchors.

    Args:
        maps: the ball at every check of the training.
        sight: axes of theta.
        watched: held-out anchors.
        correct: whether q is known to be correct, so that whatever is found is so by chance.
    """
    begin = choose_initial_place(maps)
    evenly = np.linspace(0, len(maps.x_at) - 1, _PLACES).round()
    places = np.unique([*evenly, begin]).astype(int)
    step = maps.film_step
    kept_frame, univariate = int(maps.kept), maps.q.shape[2] == 1
    label = "x" if maps.x_at.shape[1] == 1 else "Observation x"
    labels = place_labels(maps.x_at)
    return live.payload(
        sliders=[
            Slider(
                "frame",
                np.arange(len(step)),
                label="Step",
                play=True,
                names=[f"{s:.0f}" for s in step],
                ends=("start", "end"),
                start=kept_frame,
            ),
            Slider("x", places, label=label, names=[labels[i] for i in places], start=begin),
        ],
        panels=[
            theta.training_strip_panel(maps, places)
            if univariate
            else _picture(maps, sight, places),
            _course(maps, watched, theta.LINE_HEIGHT if univariate else 460),
            *([theta.centre_path_panel(maps, places)] if univariate else []),
        ],
        headline=sentence(
            f"{describe_kept_step(maps, kept_frame)} At step {{step}} the ranks are {{train}} "
            "from uniform on the training anchors, {held} on held-out ones."
            f"{_by_chance(len(step), watched) * correct}",
            step=over([f"{s:.0f}" for s in step], "frame"),
            train=over([f"{v:.3f}" for v in maps.film_train], "frame"),
            held=over([f"{v:.3f}" for v in maps.film_held], "frame"),
        ),
    )


def _by_chance(looks: int, watched: int) -> str:
    return (
        f" q is correct here, so that no step has found an error: of {looks} looks at {watched} "
        "held-out anchors the farthest is far by chance. The view Ranks takes fresh simulations."
    )


_STARTS = (
    "a centre at the origin of the whitened θ",
    "a centre at q's mean",
    "an embedding that tells q's draws from blurred ones",
)


def describe_kept_step(maps: Maps, kept: int) -> str:
    """Which step of the training was kept, in words."""
    if kept > 0 and kept != _second_stage(maps):
        return f"Step {maps.film_step[kept]:.0f} was kept."
    tried = np.nan_to_num(np.asarray(maps.starts, dtype=float), nan=-1.0)
    best = int(tried[:2].argmax())  # the paper preset tries none: the origin
    start = _STARTS[2 if kept > 0 else best]
    return f"The start was kept, {start}: no step was clearly better on held-out anchors."


def _second_stage(maps: Maps) -> int | None:
    """The frame in which a second stage begins: at the step where the first has ended."""
    begins = np.flatnonzero(np.diff(maps.film_step) == 0)
    return int(begins[0]) + 1 if begins.size else None


def _course(maps: Maps, watched: int, height: int) -> Panel:
    marks, top = _curves(maps.film_step, maps.film_train, maps.film_held)
    step = maps.film_step
    chance = float(kstwo.isf(0.05, watched))
    end, kept_step = max(float(step[-1]), 1.0), float(step[int(maps.kept)])
    late, second = kept_step > end / 2, _second_stage(maps)
    stage = "" if second is None else f" A second stage starts at step {step[second]:.0f}."
    now = [
        Points(over(step[:, None], "frame"), over(v[:, None], "frame"), color=color, size=9)
        for v, color in ((maps.film_train, TRAIN), (maps.film_held, HELD))
    ]
    return Panel(
        [
            Band([0, end], [0, 0], [chance, chance]),
            VLine(kept_step, color=COLT, dash="4 3", width=1.2),
            Note(
                kept_step + (-0.02 if late else 0.02) * end,
                0.03 * top,
                "kept",
                color=COLT,
                anchor="end" if late else "start",
            ),
            *marks,
            *now,
        ],
        title="Distance of the ranks from uniform",
        height=height,
        margin=76,
        x=Axis((0, end), "step"),
        y=Axis((0, max(top, 1.1 * chance)), "KS distance"),
        caption=f"Grey: where {watched} held-out anchors would lie by chance, 19 times of 20 at "
        f"each step.{stage}",
    )


def _picture(maps: Maps, sight: ThetaAxes, places: Array) -> Panel:
    """The ball of the frame at the place, and the path of its centre over all x."""
    projection, few = project_theta(maps, sight), slice(Q_SHOWN)
    inside = maps.film_inside[:, places, few]  # (F, P, S)
    within, without = split_by_ball(projection.q[places][None, :, few], inside, "frame", "x")
    marks: list[Mark] = [
        *_outlines(maps, sight, places, projection.limits),
        *q_draw_marks(within, without),
        *(
            []
            if sight.around
            else centre_path_marks(projection.film_centre, maps.x_at.shape[1], "frame")
        ),
        centre_marker(coordinates_over(projection.film_centre[:, places, None], "frame", "x")),
    ]
    ball = bool(maps.grid_y.size)
    trail = maps.x_at.shape[1] > 1 and not sight.around
    return theta_panel(
        projection, marks, "The region at this step", truth=False, ball=ball, trail=trail
    )


def _outlines(
    maps: Maps, sight: ThetaAxes, places: Array, limits: tuple[AxisLimits, AxisLimits]
) -> list[Mark]:
    if not maps.grid_y.size:
        return []
    frames = len(maps.film_step)
    axes = maps.axes_of(maps.film_field)
    field = maps.film_field[:, places].reshape(-1, *maps.film_field.shape[2:])
    lines = contours(*axes, field, maps.film_radius[:, places].ravel())
    if sight.around:
        q = np.broadcast_to(maps.q[places], (frames, *maps.q[places].shape))
        lines = standardise_outlines(
            lines, q.reshape(-1, *q.shape[2:]), float(max(map(np.ptp, axes))) / len(axes[0])
        )
    return [filled_region(lines, limits, "frame", "x", shape=(frames, len(places)))]
