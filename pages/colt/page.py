"""CoLT: the ball to which q gives the wrong mass, at every x, and how it was found."""

from contextlib import nullcontext

import streamlit as st

from pages.colt import film, papers, power, ranks
from pages.colt import maps as colt_maps
from pages.colt.controls import ColtChoice, choose
from pages.colt.data import maps
from pages.ui import jobs
from pages.ui.forms import segmented
from pages.ui.services import services
from validation_core.sweep import costs

VIEWS = {name: name for name in ("Where", "Ranks", "Training", "Power", "Papers")}


def _trained(chosen: ColtChoice, view: str) -> None:
    """A view of the trained localizer, or the button that trains it."""
    task = chosen.map()
    if not task.done(services().store):
        _train(chosen)
        return
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
    """What is missing, the button that trains it, and how far it is."""
    tasks = [chosen.map()]
    state = jobs.latest(tasks)
    if state is None:
        p, q = chosen.recipe.spent()
        st.markdown(
            f"No localizer has been trained for gamma = {chosen.gamma:g} with these settings. "
            f"Training draws {p:,} times from p and {q:,} times from q, and takes "
            f"{costs.about(costs.maps(tasks))} on one core."
        )
        st.button(
            "Train the localizer",
            key="train",
            type="primary",
            icon=":material/model_training:",
            on_click=jobs.starting(tasks, f"Train and map {chosen.benchmark.label}"),
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
