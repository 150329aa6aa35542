"""CoLT on the diagnosis page: its ranks, and the mass and place of its ball."""

from collections.abc import Sequence

import streamlit as st

from pages.ui import live
from pages.ui.jobs import plain
from pages.ui.services import services, stored
from validation_core import Record
from validation_core.diagnosis import Diagnosis
from validation_core.localization import Maps, MapTask
from validation_core.panels.colt import ball
from validation_core.panels.colt.ball import BallAxes

_AXES = {"own": "The same everywhere", "around": "Around q"}


def where(record: Record, diagnosis: Diagnosis, task: MapTask | None) -> None:
    """The mass of the ball in words, and its picture at a chosen observation."""
    sentence, estimate, learnt = (plain(words) for words in record.kind.findings(record))
    st.markdown(sentence)
    st.caption(f"{estimate} {learnt}")
    if task is not None and task.done(services().store):
        worst = sorted(
            range(len(diagnosis.parameters)), key=lambda i: diagnosis.parameters[i].pvalue
        )
        _picture(task, diagnosis.upload.names, diagnosis.upload.x_names, worst)


@st.fragment
def _picture(
    task: MapTask, names: Sequence[str], x_names: Sequence[str], worst: Sequence[int]
) -> None:
    localization = stored(task)
    sight = _sight(task.key, localization, names, worst or range(len(names)))
    payload = live.once(
        ("ball", task.key, tuple(names), tuple(x_names), sight),
        lambda: ball.ball(localization, names, x_names, sight),
    )
    live.chart(payload, key="ball", save_as="The region of CoLT")
    st.caption(plain(ball.how_to_read(localization, sight)))


def _sight(key: str, maps: Maps, names: Sequence[str], order: Sequence[int]) -> BallAxes:
    """The two parameters to draw: the first ones of this order, or the user's choice."""
    draws, d = maps.q.shape[1:]
    if d == 1:
        return BallAxes(0, 0, around=False)
    across, up = 0, 1
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if d > 2:
            across, up = (
                st.selectbox(
                    label,
                    order,
                    index=i,
                    format_func=names.__getitem__,
                    key=f"{label}-{key}",
                    width=240,
                )
                for i, label in enumerate(["Across", "Up"])
            )
            up = up if up != across else next(i for i in order if i != across)
        around = False
        if draws >= ball.FEWEST:
            narrow = ball.is_narrow(maps, (across, up))
            axes = st.segmented_control(
                "Axes",
                list(_AXES),
                format_func=_AXES.__getitem__,
                default="around" if narrow else "own",
                required=True,
                key=f"axes-{key}",
            )
            around = axes == "around"
    return BallAxes(across, up, around)
