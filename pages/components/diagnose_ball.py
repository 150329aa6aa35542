"""What the diagnosis page shows of CoLT: its ranks, what its ball holds, and where it lies."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import streamlit as st

from pages.components import live
from pages.components.colt_data import maps
from pages.components.colt_theta import COLT, padded, split
from pages.components.jobs import plain
from pages.components.services import services
from validation_core.diagnosis import Diagnosis, Record, ball
from validation_core.figures import style
from validation_core.maps import Maps, MapTask, contours, intervals
from validation_core.types import Array

_SHOWN = 200
"""Draws of q in a picture: more would hide one another."""
_BINS = 40
_TAIL = 0.003
_DOT = 0.4  # of q's spread over all observations
_FEWEST = 5  # draws that have a middle and a spread to draw around
_REACH = 4.5  # sds from q's median
_EDGE = 0.97 * _REACH
_AXES = {"own": "The same everywhere", "around": "Around q"}


def where(record: Record, found: Diagnosis, task: MapTask | None) -> None:
    """What the ball holds, in words, and a picture of it at an observation that a user picks."""
    said, estimate, learnt = (plain(words) for words in ball(record))
    st.markdown(said)
    st.caption(f"{estimate} {learnt}")
    if task is not None and task.done(services().store):
        worst = sorted(range(len(found.parameters)), key=lambda i: found.parameters[i].pvalue)
        _picture(task, found.upload.names, found.upload.x_names, worst)


class Sight(NamedTuple):
    """Which two parameters are drawn, and whether in sds of q's own draws about their median."""

    across: int
    up: int
    around: bool


@st.fragment
def _picture(
    task: MapTask, names: Sequence[str], x_names: Sequence[str], worst: Sequence[int]
) -> None:
    found = maps(task.key, task)
    sight = _sight(task.key, found, names, worst or range(len(names)))
    live.chart(_chart(task.key, found, tuple(names), tuple(x_names), sight), key="ball")
    st.caption(plain(_words(found, sight)))


def _sight(key: str, found: Maps, names: Sequence[str], order: Sequence[int]) -> Sight:
    """What to draw: the first two parameters of this order, or what the user chooses."""
    shown, d = found.q.shape[1:]
    if d == 1:
        return Sight(0, 0, around=False)
    across, up = 0, 1
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if d > 2:
            across, up = (
                st.selectbox(label, order, index=i, format_func=names.__getitem__,
                             key=f"{label}-{key}", width=240)
                for i, label in enumerate(["Across", "Up"])
            )  # fmt: skip
            up = up if up != across else next(i for i in order if i != across)
        around = False
        if shown >= _FEWEST:
            narrow = _narrow(found.q[..., [across, up]])
            axes = st.segmented_control(
                "Axes", list(_AXES), format_func=_AXES.get, default="around" if narrow else "own",
                required=True, key=f"axes-{key}",
            )  # fmt: skip
            around = axes == "around"
    return Sight(across, up, around)


def _narrow(q: Array) -> bool:
    """Whether q's draws (V, S, 2) at an observation would be a dot among those at all."""
    here, every = _frame(q)[1], _frame(q.reshape(1, -1, 2))[1]
    return bool((np.median(here, axis=0) < _DOT * every[0]).any())


def _frame(q: Array) -> tuple[Array, Array]:
    """Median and robust sd (V, 1, 2) of draws (V, S, 2): a few far ones shrink no picture."""
    low, middle, high = np.quantile(q, [0.25, 0.5, 0.75], axis=1, keepdims=True)
    spread = (high - low) / 1.349
    spread = np.where(spread > 0, spread, q.std(1, keepdims=True, dtype=np.float64))
    return middle, np.where(spread > 0, spread, 1.0)


@st.cache_resource(show_spinner=False, max_entries=16)
def _chart(
    key: str, _found: Maps, names: tuple[str, ...], x_names: tuple[str, ...], sight: Sight
) -> live.Payload:
    """The picture at every place of the slider; keyed by the task's key, names and parameters."""
    one = _found.q.shape[2] == 1
    panel = _line(_found, names[0]) if one else _plane(_found, names, sight)
    panels = [panel, *_observations(_found.x_at, x_names)]
    return live.payload(sliders=[_slider(_found.x_at, x_names)], panels=panels)


def _slider(x: Array, names: Sequence[str]) -> dict:
    """Over some of the table's observations, in the order of x; it begins in the middle."""
    places, m = len(x), x.shape[1]
    shown = [f"{i + 1} of {places}" for i in range(places)]
    label = "Observation"
    if m <= 3:
        rows = [", ".join(f"{value:.3g}" for value in row).replace("-", "−") for row in x]
        shown = rows if m == 1 else [f"({row})" for row in rows]
        label = f"Observation: {', '.join(names)}"
    return live.slider("x", np.arange(places), label=label, shown=shown, start=places // 2)


def _observations(x: Array, names: Sequence[str]) -> list[dict]:
    """The slider's places (V, M) in two coordinates of x, or two components of more, to press."""
    if x.shape[1] < 2:
        return []
    at, labels = x, tuple(names)
    if x.shape[1] > 2:
        scale = x.std(0)
        z = (x - x.mean(0)) / np.where(scale > 0, scale, 1.0)
        left, strength, _ = np.linalg.svd(z, full_matrices=False)
        at, labels = (left * strength)[:, :2], tuple(f"component {i} of x" for i in (1, 2))
    marks = [
        live.points(at[:, 0], at[:, 1], color="currentColor", size=5, opacity=0.55),
        live.points(*_over(at[:, None]), color=COLT, size=13, symbol="ring"),
    ]
    axes = [live.axis(_ends(at[:, i]), labels[i]) for i in (0, 1)]
    return [
        live.panel(marks, title="Observations: press one", square=True, click="x", at=at,
                   x=axes[0], y=axes[1])
    ]  # fmt: skip


def _plane(found: Maps, names: Sequence[str], sight: Sight) -> dict:
    pair = [sight.across, sight.up]
    q, truth, centre = (part[..., pair] for part in (found.q, found.truth, found.centre[:, None]))
    labels, outlines = [names[i] for i in pair], _outlines(found)
    ends = [_ends(np.concatenate([q[..., i].ravel(), truth[..., i].ravel()])) for i in (0, 1)]
    if sight.around:
        middle, sd = _frame(q)
        if outlines:
            cell = [np.ptp(axis) / max(len(axis) - 1, 1) for axis in (found.grid_x, found.grid_y)]
            outlines = [
                (line - middle[i]) / sd[i] if (cell < sd[i, 0]).all() else line[:0]
                for i, line in enumerate(outlines)
            ]
        q, truth, centre = ((part - middle) / sd for part in (q, truth, centre))
        truth, centre = (np.clip(part, -_EDGE, _EDGE) for part in (truth, centre))
        labels = [f"{label}, in sd of q from its median" for label in labels]
        ends = [(-_REACH, _REACH)] * 2
    few = slice(_SHOWN)
    (in_x, in_y), (out_x, out_y) = split(q[:, few], found.q_inside[:, few], "x")
    outlined = any(map(len, outlines))
    rim = [live.line(*(live.over(part, "x") for part in padded(outlines)), color=COLT, width=2.2)]
    marks = [
        live.points(out_x, out_y, color=style.Q, size=5, symbol="ring", opacity=0.7),
        live.points(in_x, in_y, color=style.Q, size=5, opacity=0.85),
        *(rim if outlined else []),
        live.points(*_over(centre), color=COLT, size=11, symbol="diamond"),
        live.points(*_over(truth), color=style.P, size=11, symbol="cross"),
    ]
    return live.panel(
        marks, title="The ball at this observation", square=True, legend=_legend(outlined),
        x=live.axis(ends[0], labels[0]), y=live.axis(ends[1], labels[1]),
    )  # fmt: skip


def _line(found: Maps, name: str) -> dict:
    """One parameter: q's draws as bars, the ball as stretches of the axis."""
    q, inside = found.q[..., 0], found.q_inside > 0
    ends = _ends(np.concatenate([q.ravel(), found.truth.ravel()]))
    bins = np.linspace(*ends, _BINS + 1)
    heights = [
        np.stack([np.histogram(row[part], bins)[0] / len(row)
                  for row, part in zip(q, which, strict=True)])
        for which in (inside, ~inside)
    ]  # fmt: skip
    top = 1.1 * float(np.max(heights[0] + heights[1]))
    stretches = [
        np.array([[[low, 0], [high, 0], [np.nan, np.nan]] for low, high in each]).reshape(-1, 2)
        for each in intervals(found.grid_x, found.field, found.radius)
    ]
    marks = [
        live.bars(bins, live.over(heights[1], "x"), color=style.Q, opacity=0.3),
        live.bars(bins, live.over(heights[0], "x"), color=style.Q, opacity=0.75),
        live.line(*(live.over(part, "x") for part in padded(stretches)), color=COLT, width=7),
        live.vline(live.over(found.centre[:, 0], "x"), color=COLT, label="centre"),
        live.vline(live.over(found.truth[:, 0, 0], "x"), color=style.P, dash="4 3", label="truth"),
    ]
    return live.panel(
        marks, title="The ball at this observation", height=330, x=live.axis(ends, name),
        y=live.axis((-0.05 * top, top), "share of q's draws", percent=True),
        legend=[("q inside", style.Q, "square"), ("q outside", style.Q, "band"),
                ("ball", COLT, "line")],
    )  # fmt: skip


def _legend(outlined: bool) -> list[tuple[str, str, str]]:
    return [
        ("q inside", style.Q, "circle"), ("q outside", style.Q, "ring"),
        ("truth", style.P, "cross"), ("centre", COLT, "diamond"),
        *([("ball", COLT, "line")] if outlined else []),
    ]  # fmt: skip


def _outlines(found: Maps) -> list[Array]:
    """The ball's rim at each place; none where theta has more than two parameters."""
    if not found.grid_y.size:
        return []
    return contours(found.grid_x, found.grid_y, found.field, found.radius)


def _over(points: Array) -> list[live.Over]:
    """Points (V, T, 2) as x and y over the slider."""
    return [live.over(points[..., i], "x") for i in (0, 1)]


def _ends(values: Array) -> tuple[float, float]:
    """Where an axis begins and ends: at all but the farthest values, and some room."""
    low, high = (float(end) for end in np.quantile(values, [_TAIL, 1 - _TAIL]))
    room = 0.08 * (high - low) or 1.0
    return low - room, high + room


def _words(found: Maps, sight: Sight) -> str:
    d = found.q.shape[2]
    beyond = f" It lies in all {d} parameters, so that two of them cannot show its rim." * (d > 2)
    edge = " A truth or centre beyond the picture is drawn at its edge." * sight.around
    return (
        f"At each observation the ball is as large as it takes to hold {float(found.u_star):.0%} "
        f"of q's draws there. If q were right, over all observations the same share of the truths "
        f"would lie in their balls.{beyond}{edge}"
    )
