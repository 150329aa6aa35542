"""Conformal C2ST workbench: a benchmark, a classifier, and every slider on cached scores."""

import numpy as np
import streamlit as st

from pages.components import charts, jobs, live
from pages.components import workbench as view
from pages.components.controls import Chosen, choose
from pages.components.power import power_tab
from pages.components.services import services
from validation_core.engine import JobState
from validation_core.figures.training import loss_curve
from validation_core.tasks import GridTask, with_training

TABS = ("Power", "Scores", "Other tests", "Training")


def training_course(state: JobState) -> None:
    """Loss and held-out AUC of the training that reported last."""
    history = state.live.get("history")
    if history:
        course = {name: np.array(values) for name, values in history.items()}
        charts.show(loss_curve(course, height=240), "course")


def train(chosen: Chosen, *, missing_here: bool) -> None:
    """What is not trained yet, the button that trains it, and how far it is."""
    grids = chosen.grids()
    left = sum(not task.done(services().store) for task in grids)
    first = [] if chosen.grid().done(services().store) else [chosen.coarse()]
    tasks = with_training([*first, *grids], services().engine.device)
    label = f"Train and score {chosen.benchmark.label}, {chosen.preset}"
    state = jobs.latest(tasks) if left else None
    if left and state is None:
        if missing_here:
            st.markdown(
                f"No classifier has been trained for gamma = {chosen.gamma:g} with these "
                f"settings. {left} of {len(grids)} values of gamma are missing; the present one "
                "comes first."
            )
        st.button(
            "Train the classifiers" if missing_here else f"Train the other {left} gammas",
            key="train", type="primary" if missing_here else "secondary",
            icon=":material/model_training:",
            on_click=lambda: jobs.ensure(tasks, label, start=True, again=True),
        )  # fmt: skip
    jobs.panel(state, follow=True, draw=training_course if missing_here else None)


@st.fragment
def results(chosen: Chosen, task: GridTask) -> None:
    """Ranks at every beta, then the tab at hand."""
    scores = view.grid(task.key, task)
    payload = view.rank_chart(task.key, scores, chosen.m, chosen.n, chosen.alpha, chosen.seed)
    (beta,) = live.chart(payload, key="beta", url=("beta",))
    at = int(np.abs(scores.betas - beta).argmin())
    st.caption(view.how_to_read(chosen.m, chosen.n, scores))
    tabs = dict(zip(TABS, st.tabs(TABS, key="tab", on_change="rerun"), strict=True))
    for name, tab in tabs.items():
        if tab.open:
            with tab:
                draw(name, chosen, task, at)


def draw(name: str, chosen: Chosen, task: GridTask, at: int) -> None:
    """One tab; the others are not computed."""
    scores = view.grid(task.key, task)
    if name == "Power":
        power_tab(chosen, task.betas[at])
    elif name == "Scores":
        view.scores_tab(scores, at)
    elif name == "Other tests":
        view.tests_tab(scores, at, chosen.n, chosen.alpha, chosen.seed)
    else:
        view.training_tab(task)


st.title("Can a weak classifier still find what is wrong with q?", anchor=False)
chosen = choose()
st.markdown(f"{chosen.benchmark.label}, gamma = {chosen.gamma:g}: {chosen.benchmark.summary}.")
done = [t for t in (chosen.grid(), chosen.coarse()) if t.done(services().store)]
if done:
    results(chosen, done[0])
train(chosen, missing_here=not done)
if not done:
    st.subheader("Power", anchor=False)
    power_tab(chosen, 0.0)
