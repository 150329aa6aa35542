"""Conformal C2ST workbench: a benchmark, a classifier, and every slider on cached scores."""

import numpy as np
import streamlit as st

from pages.components import charts, jobs, live, workbench
from pages.components.controls import Chosen, choose
from pages.components.power import power
from pages.components.services import services
from validation_core import models
from validation_core.engine import JobState
from validation_core.figures.training import loss_curve
from validation_core.tasks import GridTask, with_training

VIEWS = ("Ranks", "Scores", "Other tests")


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
    """A view that follows beta while it is dragged, then power at the beta where it was left."""
    view = st.segmented_control(
        "View", VIEWS, default=VIEWS[0], required=True, key="view", bind="query-params",
        label_visibility="collapsed",
    )  # fmt: skip
    scores = workbench.grid(task.key, task)
    payload = workbench.chart(
        task.key, view, scores, chosen.m, chosen.n, chosen.alpha, chosen.seed
    )
    (beta,) = live.chart(payload, key="beta", url=("beta",))
    st.caption(workbench.how_to_read(view, chosen.m, chosen.n, scores))
    at = task.betas[int(np.abs(scores.betas - beta).argmin())]
    st.subheader(f"Power at beta = {at:g}", anchor=False)
    power(chosen, at, scores)
    trained = st.expander("How the classifier was trained", key="trained", on_change="rerun")
    if trained.open:
        with trained:
            training(task)


def training(task: GridTask) -> None:
    """Loss and held-out AUC of the network at hand."""
    network = models.load(services().store, task.training)
    if network is None:
        st.caption("The network was deleted; its scores are still here.")
        return
    charts.show(loss_curve(network.history, height=240), "loss")
    recipe = task.training.recipe
    st.caption(
        f"{recipe.train} + {recipe.train} rows, {recipe.epochs} epochs, learning rate "
        f"{recipe.lr:g} falling to 0 along a cosine; {network.seconds:.1f} s on {network.device}; "
        f"held-out AUC {network.auc:.3f}. A loss of 0.693 and an AUC of one half are guessing."
    )


st.title("Can a weak classifier still find what is wrong with q?", anchor=False)
chosen = choose()
st.markdown(f"{chosen.benchmark.label}, gamma = {chosen.gamma:g}: {chosen.benchmark.summary}.")
done = [t for t in (chosen.grid(), chosen.coarse()) if t.done(services().store)]
if done:
    results(chosen, done[0])
train(chosen, missing_here=not done)
if not done:
    st.subheader("Power", anchor=False)
    power(chosen, 0.0, None)
