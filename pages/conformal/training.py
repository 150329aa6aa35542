"""Training on the workbench: what is missing, how far it is, and how it went."""

import streamlit as st

from pages.conformal.controls import ConformalChoice
from pages.ui import charts, jobs
from pages.ui.services import services
from validation_core import models
from validation_core.engine import JobState
from validation_core.figures.outcome import loss_curve
from validation_core.scores.classifier import Classifier
from validation_core.sweep.conformal_explorer import GridTask, with_training


def _course(state: JobState) -> None:
    """Loss and held-out AUC of the training that reported last."""
    if state.history:
        charts.show(loss_curve(state.history, height=240), "course")


def train(chosen: ConformalChoice, *, missing_here: bool) -> None:
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
                f"No classifier has been trained and scored for gamma = {chosen.gamma:g} with "
                f"these settings. {left} of {len(grids)} values of gamma are missing; the present "
                "one comes first."
            )
        st.button(
            "Train the classifiers" if missing_here else f"Train the other {left} gammas",
            key="train",
            type="primary" if missing_here else "secondary",
            icon=":material/model_training:",
            on_click=jobs.starting(tasks, label),
        )
    jobs.panel(state, follow=True, draw=_course if missing_here else None)


def trained(task: GridTask) -> None:
    """Loss and held-out AUC of the network at hand."""
    network = models.load(services().store, task.training)
    if network is None:
        st.caption("The network was deleted; its scores are still here.")
        return
    charts.show(loss_curve(network.history, height=240), "loss")
    recipe = task.training.recipe
    assert isinstance(recipe, Classifier)
    st.caption(
        f"{recipe.train} + {recipe.train} rows, {recipe.epochs} epochs, learning rate "
        f"{recipe.lr:g} falling to 0 along a cosine; {network.seconds:.1f} s on {network.device}; "
        f"held-out AUC {network.auc:.3f}. A loss of 0.693 and an AUC of one half are guessing."
    )
