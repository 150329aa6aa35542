"""CoLT: the ball to which q gives the wrong mass, at every x, and how it was found."""

from contextlib import nullcontext

import streamlit as st

from pages.colt import film, papers, power, ranks
from pages.colt import maps as colt_maps
from pages.colt.controls import ColtChoice, choose
from pages.colt.data import maps
from pages.ui import jobs, live
from pages.ui.forms import segmented
from pages.ui.services import services
from validation_core import models
from validation_core.figures.colt import theta
from validation_core.sweep import costs

VIEWS = {name: name for name in ("Where", "Ranks", "Training", "Power", "Papers")}


def _trained(chosen: ColtChoice, view: str) -> None:
    """A view of the trained localizer; while it learns, what needs no learning."""
    task = chosen.map()
    if not task.done(services().store):
        _train(chosen)
        return
    jobs.only("colt", [], "")
    localization = maps(task.key, task)
    if view == "Ranks":
        ranks.ranks(chosen, localization)
    else:
        # In a plane nothing must be chosen before one looks.
        above = st.container() if localization.q.shape[2] == 2 else nullcontext()
        sight = colt_maps.directions(localization.q.shape[2])
        with above:
            if view == "Where":
                colt_maps.where(task.key, localization, sight, chosen.alpha)
            else:
                film.training(chosen, localization, sight)


def _train(chosen: ColtChoice) -> None:
    """The localizer of this setting learns by itself; the paper's, which takes minutes, is asked
    for. Meanwhile there are the draws.
    """
    tasks = [chosen.map()]
    label = f"Train and map {chosen.benchmark.label}"
    paper = chosen.colt.preset == "paper"
    state = jobs.latest(tasks) if paper else jobs.only("colt", tasks, label)
    if state is None and paper:
        st.button(
            f"Train the paper's localizer, {costs.about(costs.maps(tasks))}",
            key="train",
            type="primary",
            icon=":material/model_training:",
            on_click=jobs.starting(tasks, label),
        )
    source = chosen.source()
    if models.network_behind(source.benchmark) is None:
        live.chart(live.once(("before", source.key), lambda: theta.before(source)), key="before")
        st.caption(
            "Draws of the truth and of q at the same x: no test has looked at them yet. A "
            "localizer is learning where q puts too much or too little mass."
            if state
            else "Draws of the truth and of q at the same x."
        )
    jobs.panel(state, draw=film.course)


@st.fragment
def _results(chosen: ColtChoice) -> None:
    """The view that was chosen."""
    view = segmented("View", VIEWS, "view", label_visibility="collapsed")
    if view == "Power":
        power.power(chosen)
    elif view == "Papers":
        papers.tables()
    else:
        _trained(chosen, view)


st.title("Where does q put its mass wrongly?", anchor=False)
jobs.notices()
chosen = choose()
st.markdown(f"{chosen.benchmark.label}, gamma = {chosen.gamma:g}: {chosen.benchmark.summary}.")
_results(chosen)
