"""How the localizer learnt: its distance on anchors it saw and on held-out ones, and the film."""

import numpy as np
import streamlit as st
from scipy.stats import kstwo

from pages.components import jobs, live
from pages.components.colt_controls import Chosen
from pages.components.colt_maps import said_of
from pages.components.colt_theta import COLT, Q_SHOWN, Onto, padded, pair, plane, split, stretches
from pages.components.services import services
from validation_core import keys
from validation_core.engine import JobState
from validation_core.figures import style
from validation_core.maps import Maps, contours, intervals
from validation_core.types import Array

_PLACES = 9
"""Places x of the film: each frame has a ball at each."""
TRAIN, HELD = style.NULL, style.P


def training(chosen: Chosen, found: Maps, onto: Onto) -> None:
    """The film under a frame slider, and what the training cost."""
    task = chosen.map()
    live.chart(chart(task.key, found, onto, _watched(chosen)), key="film")
    st.caption(
        "A step is kept when its ranks on held-out anchors, which shape nothing, are clearly "
        "farther from uniform than the start's. A training curve that rises alone is overfitting. "
        "Were q right, both would stay in the grey, and no ball would hold more of one than of "
        "the other."
    )
    _spent(chosen)


def _watched(chosen: Chosen) -> int:
    """Held-out anchors."""
    recipe = chosen.recipe
    return max(2, round(recipe.anchors * recipe.held)) if recipe.keep_best else 1000


def _spent(chosen: Chosen) -> None:
    network = services().store.load("models", keys.key(chosen.training()))
    recipe = chosen.recipe
    p, q = recipe.spent()
    took = network and f"{jobs.seconds(network.meta['seconds'])} on {network.meta['device']}; "
    st.caption(
        f"{recipe.steps} steps; {took or ''}{p:,} draws of p and {q:,} of q, held-out anchors "
        "included."
    )


def course(state: JobState) -> None:
    """Both curves of the training that reported last."""
    history = state.live.get("history")
    if history and history.get("step"):
        seen = {name: np.array(values, dtype=float) for name, values in history.items()}
        marks, top = _curves(seen["step"], seen["train"], seen["held"])
        panel = live.panel(
            marks, height=200, margin=76,
            x=live.axis((0, max(float(seen["step"][-1]), 1)), "step"),
            y=live.axis((0, top), "KS distance of the ranks"),
        )  # fmt: skip
        live.chart(live.payload(sliders=[], panels=[panel], columns=1), key="course")


def _curves(step: Array, train: Array, held: Array) -> tuple[list[dict], float]:
    top = 1.12 * float(max(train.max(), held.max(), 0.05))
    return [
        live.line(step, train, color=TRAIN, label="training"),
        live.line(step, held, color=HELD, label="held out"),
        live.points(step, held, color=HELD, size=5),
    ], top


@st.cache_resource(show_spinner=False, max_entries=16)
def chart(key: str, _found: Maps, onto: Onto, watched: int) -> live.Payload:
    """The film at a few places; keyed by the task's key."""
    places = np.unique(np.linspace(0, len(_found.x_at) - 1, _PLACES).round().astype(int))
    step = _found.film_step
    kept = int(_found.kept)
    label = "x" if _found.x_at.shape[1] == 1 else "Place x"
    shown = said_of(_found.x_at)
    return live.payload(
        sliders=[
            live.slider("frame", np.arange(len(step)), label="Step", play=True,
                        shown=[f"{s:.0f}" for s in step], ends=("start", "end")),
            live.slider("x", places, label=label, shown=[shown[i] for i in places],
                        start=places[len(places) // 2]),
        ],
        panels=[
            _picture(_found, onto, places),
            _course(_found, watched),
            _path(_found, onto, places),
        ],
        headline=live.text(
            f"{_kept(_found, kept)} At step {{step}} the ranks are {{train}} from uniform on "
            "the training anchors, {held} on held-out ones.",
            step=live.over([f"{s:.0f}" for s in step], "frame"),
            train=live.over([f"{v:.3f}" for v in _found.film_train], "frame"),
            held=live.over([f"{v:.3f}" for v in _found.film_held], "frame"),
        ),
    )  # fmt: skip


def _kept(found: Maps, kept: int) -> str:
    if kept == 0:
        origin, mean = (float(value) for value in found.starts)
        at = "at the origin" if not mean > origin else "at q's mean"
        return f"No step beat the start, a centre {at}: the start was kept."
    return f"Step {found.film_step[kept]:.0f} was kept."


def _course(found: Maps, watched: int) -> dict:
    marks, top = _curves(found.film_step, found.film_train, found.film_held)
    step = found.film_step
    chance = float(kstwo.isf(0.05, watched))
    end = max(float(step[-1]), 1.0)
    now = [live.points(live.over(step[:, None], "frame"), live.over(v[:, None], "frame"),
                       color=color, size=9)
           for v, color in ((found.film_train, TRAIN), (found.film_held, HELD))]  # fmt: skip
    return live.panel(
        [
            live.band([0, end], [0, 0], [chance, chance]),
            live.vline(float(step[int(found.kept)]), color=COLT, dash="4 3", width=1.2,
                       label="kept"),
            *marks, *now,
        ],
        title="Distance of the ranks from uniform", height=460, margin=76,
        x=live.axis((0, end), "step"), y=live.axis((0, max(top, 1.1 * chance)), "KS distance"),
        caption=f"Grey: where {watched} held-out anchors would lie by chance, 19 times of 20.",
    )  # fmt: skip


def _picture(found: Maps, onto: Onto, places: Array) -> dict:
    """The ball of the frame, at the place."""
    inside = found.film_inside[:, places]  # (F, P, S)
    if found.q.shape[2] == 1:
        return _line(found, places)
    shown = plane(found, onto)
    few = slice(Q_SHOWN)
    within, without = split(shown.q[places][None, :, few], inside[..., few], "frame", "x")
    centre = pair(shown.film_centre[:, places, None], "frame", "x")
    marks = [
        live.points(*without, color=style.Q, size=5, symbol="ring", opacity=0.7),
        live.points(*within, color=style.Q, size=5, opacity=0.85),
        *_outlines(found, places),
        live.points(*centre, color=COLT, size=11, symbol="diamond"),
    ]
    ball = [("ball", COLT, "line")] if found.grid_y.size else []
    return live.panel(
        marks, title="The ball at this step", square=True,
        legend=[("q inside", style.Q, "circle"), ("q outside", style.Q, "ring"),
                ("centre", COLT, "diamond"), *ball],
        x=live.axis(shown.limits[0], shown.labels[0]),
        y=live.axis(shown.limits[1], shown.labels[1]),
    )  # fmt: skip


def _outlines(found: Maps, places: Array) -> list[dict]:
    if not found.grid_y.size:
        return []
    frames = len(found.film_step)
    field = found.film_field[:, places].reshape(-1, *found.film_field.shape[2:])
    lines = contours(found.grid_x[::2], found.grid_y[::2], field,
                     found.film_radius[:, places].ravel())  # fmt: skip
    x, y = (side.reshape(frames, len(places), -1) for side in padded(lines))
    return [live.line(live.over(x, "frame", "x"), live.over(y, "frame", "x"), color=COLT,
                      width=2.2)]  # fmt: skip


def _line(found: Maps, places: Array) -> dict:
    """Theta on a line: a strip of q's draws, and the ball as stretches of it."""
    frames, few = len(found.film_step), slice(Q_SHOWN)
    inside = found.film_inside[:, places, few] > 0
    at = np.broadcast_to(found.q[places][None, :, few, 0], inside.shape)
    height = np.broadcast_to(np.linspace(0.15, 0.95, inside.shape[2]), inside.shape)
    field = found.film_field[:, places].reshape(-1, found.film_field.shape[2])
    ends = intervals(found.grid_x[::2], field, found.film_radius[:, places].ravel())
    lines = padded([stretches(pair, 0.05) for pair in ends])
    x, y = (side.reshape(frames, len(places), -1) for side in lines)
    return live.panel(
        [
            live.points(live.over(np.where(inside, np.nan, at), "frame", "x"),
                        live.over(height, "frame", "x"), color=style.Q, size=5, symbol="ring",
                        opacity=0.7),
            live.points(live.over(np.where(inside, at, np.nan), "frame", "x"),
                        live.over(height, "frame", "x"), color=style.Q, size=5, opacity=0.85),
            live.line(live.over(x, "frame", "x"), live.over(y, "frame", "x"), color=COLT, width=7),
            live.vline(live.over(found.film_centre[:, places, 0], "frame", "x"), color=COLT,
                       label="centre"),
        ],
        title="The ball at this step", height=460,
        x=live.axis((float(found.grid_x[0]), float(found.grid_x[-1])), "θ"),
        y=live.axis((0, 1), hidden=True),
        legend=[("q inside", style.Q, "circle"), ("q outside", style.Q, "ring"),
                ("ball", COLT, "line")],
    )  # fmt: skip


def _path(found: Maps, onto: Onto, places: Array) -> dict:
    """Where the centre goes as x moves, at this step; q's mean beside it."""
    d, m = found.q.shape[2], found.x_at.shape[1]
    if d == 1:
        centre, mean = found.film_centre[..., 0], found.q[..., 0].mean(1)
        across = found.x_at[:, 0] if m == 1 else np.arange(len(mean), dtype=float)
        draw = live.line if m == 1 else live.points
        marks = [
            draw(across, mean, color=style.Q),
            draw(across, live.over(centre, "frame"), color=COLT),
            live.points(live.over(across[places][:, None], "x"),
                        live.over(centre[:, places, None], "frame", "x"), color=COLT, size=11,
                        symbol="diamond"),
        ]  # fmt: skip
        both = np.concatenate([mean, centre.ravel()])
        room = 0.05 * np.ptp(both) or 1.0
        x = live.axis((across.min(), across.max()), "x" if m == 1 else "place x, in order")
        y = live.axis((both.min() - room, both.max() + room), "θ")
    else:
        shown = plane(found, onto)
        mean, centre = shown.q.mean(1), pair(shown.film_centre, "frame")
        now = pair(shown.film_centre[:, places, None], "frame", "x")
        marks = [
            live.points(mean[:, 0], mean[:, 1], color=style.Q, size=5),
            *([live.line(*centre, color=COLT, width=1.2, opacity=0.6)] if m == 1 else []),
            live.points(*centre, color=COLT, size=5, symbol="ring"),
            live.points(*now, color=COLT, size=11, symbol="diamond"),
        ]
        x = live.axis(shown.limits[0], shown.labels[0])
        y = live.axis(shown.limits[1], shown.labels[1])
    return live.panel(
        marks, title="The path of the centre over x", square=d > 1, height=300, x=x, y=y,
        legend=[("centre at each x", COLT, "ring"), ("mean of q there", style.Q, "circle")],
        caption="At the origin the centre is a fixed point that q's draws lie around; at q's mean "
        "it follows them. Were q right, no path would make ranks differ from uniform.",
    )  # fmt: skip
