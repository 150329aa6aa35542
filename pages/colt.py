"""CoLT: the ball to which q gives the wrong mass, at every x, and how it was found."""

from contextlib import nullcontext

import streamlit as st

from pages.components import colt_costs as costs
from pages.components import colt_film, colt_maps, colt_papers, colt_power, colt_ranks, jobs
from pages.components.colt_controls import Chosen, choose, segmented
from pages.components.colt_data import maps
from pages.components.services import services

VIEWS = {name: name for name in ("Where", "Ranks", "Training", "Power", "Papers")}


def trained(chosen: Chosen, view: str) -> None:
    """A view of the trained localizer, or the button that trains it."""
    task = chosen.map()
    if not task.done(services().store):
        train(chosen)
        return
    found = maps(task.key, task)
    if view == "Ranks":
        colt_ranks.ranks(chosen, found)
    else:
        # In a plane nothing must be chosen before one looks.
        above = st.container() if found.q.shape[2] == 2 else nullcontext()
        sight = colt_maps.directions(found.q.shape[2])
        with above:
            if view == "Where":
                colt_maps.where(task.key, found, sight, chosen.alpha)
            else:
                colt_film.training(chosen, found, sight)


def train(chosen: Chosen) -> None:
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
            "Train the localizer", key="train", type="primary", icon=":material/model_training:",
            on_click=lambda: jobs.ensure(
                tasks, f"Train and map {chosen.benchmark.label}", start=True, again=True
            ),
        )  # fmt: skip
    jobs.panel(state, draw=colt_film.course)


@st.fragment
def results(chosen: Chosen) -> None:
    """The view that was chosen."""
    view = segmented("View", VIEWS, "view", label_visibility="collapsed")
    if view == "Power":
        colt_power.power(chosen)
    elif view == "Papers":
        colt_papers.tables()
    else:
        trained(chosen, view)


st.title("Where does q put its mass wrongly?", anchor=False)
jobs.notices()
chosen = choose()
st.markdown(f"{chosen.benchmark.label}, gamma = {chosen.gamma:g}: {chosen.benchmark.summary}.")
results(chosen)
