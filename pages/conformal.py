"""Conformal C2ST workbench: a benchmark, a classifier, and every slider on cached scores."""

import numpy as np
import streamlit as st

from pages.components import charts, jobs, live
from pages.components import workbench as view
from pages.components.controls import Chosen, choose
from pages.components.power import power_tab
from validation_core.engine import JobState
from validation_core.figures.training import loss_curve
from validation_core.nets import pick_device
from validation_core.tasks import with_training

TABS = ("Power", "Scores", "Other tests", "Training")


def training_course(state: JobState) -> None:
    """Loss and held-out AUC of the training that reported last."""
    history = state.live.get("history")
    if history:
        course = {name: np.array(values) for name, values in history.items()}
        charts.show(loss_curve(course, height=240), "course")


def train(chosen: Chosen, *, missing_here: bool) -> None:
    """What is not trained yet, and the button that trains it."""
    grids = chosen.grids()
    tasks = with_training(grids, pick_device())
    left = sum(not task.done(view.services().store) for task in grids)
    label = f"Train and score {chosen.benchmark.label}, {chosen.preset}"
    state = jobs.ensure(tasks, label, start=False)
    if missing_here and (state is None or not state.active):
        st.markdown(
            f"No classifier has been trained for gamma = {chosen.gamma:g} with these settings. "
            f"{left} of {len(grids)} values of gamma are missing; the present one comes first."
        )
    if left and (state is None or not state.active):
        words = "Train the classifiers" if missing_here else f"Train the other {left} gammas"
        if st.button(words, key="train", type="primary" if missing_here else "secondary",
                     icon=":material/model_training:"):  # fmt: skip
            state = jobs.ensure(tasks, label, start=True, again=True)
    jobs.panel(state, follow=missing_here, draw=training_course if missing_here else None)


@st.fragment
def results(chosen: Chosen) -> None:
    """Ranks at every beta, then the tab at hand."""
    task = chosen.grid()
    scores = view.grid(task.key, task)
    payload = view.rank_chart(task.key, scores, chosen.m, chosen.n, chosen.alpha, chosen.seed)
    (beta,) = live.chart(payload, key="beta", url=("beta",))
    at = int(np.abs(scores.betas - beta).argmin())
    exact = chosen.n * chosen.m <= scores.p.shape[1]
    st.caption(view.how_to_read(chosen.m, chosen.n, exact))
    power, spread, others, training = st.tabs(TABS, key="tab", on_change="rerun")
    if power.open:
        with power:
            power_tab(chosen, round(beta, 2))
    if spread.open:
        with spread:
            view.scores_tab(scores, at)
    if others.open:
        with others:
            view.tests_tab(scores, at, chosen.n, chosen.alpha, chosen.seed)
    if training.open:
        with training:
            view.training_tab(task)


st.title("Can a weak classifier still find what is wrong with q?", anchor=False)
chosen = choose()
st.markdown(f"{chosen.benchmark.label}, gamma = {chosen.gamma:g}: {chosen.benchmark.summary}.")
ready = chosen.grid().done(view.services().store)
if ready:
    results(chosen)
train(chosen, missing_here=not ready)
