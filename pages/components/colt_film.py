"""How the localizer learnt: its distance on anchors it saw and on held-out ones, and the film."""

import numpy as np
import streamlit as st
from scipy.stats import kstwo

from pages.components import colt_line as line
from pages.components import jobs, live
from pages.components.colt_controls import Chosen
from pages.components.colt_maps import said_of, telling
from pages.components.colt_theta import (
    COLT,
    Q_SHOWN,
    Sight,
    about,
    centre,
    draws,
    padded,
    pair,
    panel,
    path,
    plane,
    split,
)
from pages.components.services import services
from validation_core import keys
from validation_core.engine import JobState
from validation_core.figures import style
from validation_core.maps import Maps, contours
from validation_core.types import Array

_PLACES = 9
"""Places x of the film: each frame has a ball at each."""
TRAIN, HELD = style.NULL, style.P


def training(chosen: Chosen, found: Maps, sight: Sight) -> None:
    """The film under a frame slider, and what the training cost."""
    task = chosen.map()
    live.chart(chart(task.key, found, sight, _watched(chosen)), key="film")
    st.caption(
        "A step is kept when its ranks on held-out anchors, which shape nothing, are clearly "
        "farther from uniform than the start's. A training curve that rises alone is overfitting. "
        "Were q right, both would stay in the grey, and no ball would hold more of one than of "
        "the other."
    )
    _spent(chosen, int(found.film_step[-1]))


def _watched(chosen: Chosen) -> int:
    """Held-out anchors."""
    recipe = chosen.recipe
    return max(2, round(recipe.anchors * recipe.held)) if recipe.keep_best else 1000


def _spent(chosen: Chosen, steps: int) -> None:
    network = services().store.load("models", keys.key(chosen.training()))
    recipe = chosen.recipe
    p, q = recipe.spent()
    took = network and f"{jobs.seconds(network.meta['seconds'])} on {network.meta['device']}; "
    st.caption(
        f"{steps} steps; {took or ''}{p:,} draws of p and {q:,} of q, held-out anchors included."
    )


def course(state: JobState) -> None:
    """Both curves of the training that reported last."""
    history = state.live.get("history")
    if history and history.get("step"):
        seen = {name: np.array(values, dtype=float) for name, values in history.items()}
        marks, top = _curves(seen["step"], seen["train"], seen["held"])
        shown = live.panel(
            marks, height=200, margin=76,
            x=live.axis((0, max(float(seen["step"][-1]), 1)), "step"),
            y=live.axis((0, top), "KS distance of the ranks"),
        )  # fmt: skip
        live.chart(live.payload(sliders=[], panels=[shown], columns=1), key="course")


def _curves(step: Array, train: Array, held: Array) -> tuple[list[dict], float]:
    top = 1.12 * float(max(train.max(), held.max(), 0.05))
    return [
        live.line(step, train, color=TRAIN, label="training"),
        live.line(step, held, color=HELD, label="held out"),
        live.points(step, held, color=HELD, size=5),
    ], top


@st.cache_resource(show_spinner=False, max_entries=16)
def chart(key: str, _found: Maps, sight: Sight, watched: int) -> live.Payload:
    """The film at a few places; keyed by the task's key."""
    begin = telling(_found)
    evenly = np.linspace(0, len(_found.x_at) - 1, _PLACES).round()
    places = np.unique([*evenly, begin]).astype(int)
    step = _found.film_step
    kept, one = int(_found.kept), _found.q.shape[2] == 1
    label = "x" if _found.x_at.shape[1] == 1 else "Place x"
    shown = said_of(_found.x_at)
    return live.payload(
        sliders=[
            live.slider("frame", np.arange(len(step)), label="Step", play=True,
                        shown=[f"{s:.0f}" for s in step], ends=("start", "end"), start=kept),
            live.slider("x", places, label=label, shown=[shown[i] for i in places],
                        start=begin),
        ],
        panels=[
            line.frame(_found, places) if one else _picture(_found, sight, places),
            _course(_found, watched, line.HEIGHT if one else 460),
            *([line.path(_found, places)] if one else []),
        ],
        headline=live.text(
            f"{_kept(_found, kept)} At step {{step}} the ranks are {{train}} from uniform on "
            "the training anchors, {held} on held-out ones.",
            step=live.over([f"{s:.0f}" for s in step], "frame"),
            train=live.over([f"{v:.3f}" for v in _found.film_train], "frame"),
            held=live.over([f"{v:.3f}" for v in _found.film_held], "frame"),
        ),
    )  # fmt: skip


_STARTS = (
    "a centre at the origin", "a centre at q's mean",
    "an embedding that tells q's draws from blurred ones",
)  # fmt: skip


def _kept(found: Maps, kept: int) -> str:
    # A second stage begins at the step where the first has ended.
    if kept > 0 and found.film_step[kept] > found.film_step[kept - 1]:
        return f"Step {found.film_step[kept]:.0f} was kept."
    tried = np.nan_to_num(np.asarray(found.starts, dtype=float), nan=-1.0)
    plain = int(tried[:2].argmax())  # the paper preset tries none: the origin
    start = _STARTS[2 if kept > 0 else plain]
    return f"No step beat the start, {start}: the start was kept."


def _course(found: Maps, watched: int, height: int) -> dict:
    marks, top = _curves(found.film_step, found.film_train, found.film_held)
    step = found.film_step
    chance = float(kstwo.isf(0.05, watched))
    end, kept = max(float(step[-1]), 1.0), float(step[int(found.kept)])
    late = kept > end / 2
    now = [live.points(live.over(step[:, None], "frame"), live.over(v[:, None], "frame"),
                       color=color, size=9)
           for v, color in ((found.film_train, TRAIN), (found.film_held, HELD))]  # fmt: skip
    return live.panel(
        [
            live.band([0, end], [0, 0], [chance, chance]),
            live.vline(kept, color=COLT, dash="4 3", width=1.2),
            live.note(kept + (-0.02 if late else 0.02) * end, 0.03 * top, "kept", color=COLT,
                      anchor="end" if late else "start"),
            *marks, *now,
        ],
        title="Distance of the ranks from uniform", height=height, margin=76,
        x=live.axis((0, end), "step"), y=live.axis((0, max(top, 1.1 * chance)), "KS distance"),
        caption=f"Grey: where {watched} held-out anchors would lie by chance, 19 times of 20.",
    )  # fmt: skip


def _picture(found: Maps, sight: Sight, places: Array) -> dict:
    """The ball of the frame at the place, and the path of its centre over all x."""
    shown, few = plane(found, sight), slice(Q_SHOWN)
    inside = found.film_inside[:, places, few]  # (F, P, S)
    within, without = split(shown.q[places][None, :, few], inside, "frame", "x")
    marks = [
        *draws(within, without),
        *_outlines(found, sight, places),
        *([] if sight.around else path(shown.film_centre, found.x_at.shape[1], "frame")),
        centre(pair(shown.film_centre[:, places, None], "frame", "x")),
    ]
    ball = bool(found.grid_y.size)
    trail = found.x_at.shape[1] > 1 and not sight.around
    return panel(shown, marks, "The ball at this step", truth=False, ball=ball, trail=trail)


def _outlines(found: Maps, sight: Sight, places: Array) -> list[dict]:
    if not found.grid_y.size:
        return []
    frames = len(found.film_step)
    axes = found.film_axes
    field = found.film_field[:, places].reshape(-1, *found.film_field.shape[2:])
    lines = contours(*axes, field, found.film_radius[:, places].ravel())
    if sight.around:
        q = np.broadcast_to(found.q[places], (frames, *found.q[places].shape))
        lines = about(lines, q.reshape(-1, *q.shape[2:]), max(map(np.ptp, axes)) / len(axes[0]))
    x, y = (
        live.over(side.reshape(frames, len(places), -1), "frame", "x") for side in padded(lines)
    )
    return [live.line(x, y, color=COLT, width=2)]
