"""Training of the localizer: its distance on training and held-out anchors, and the film."""

import streamlit as st

from pages.colt.controls import ColtChoice
from pages.ui import live
from pages.ui.services import services
from validation_core import keys
from validation_core.engine import JobState
from validation_core.localization import Maps
from validation_core.panels.colt import training
from validation_core.panels.colt.theta import ThetaAxes
from validation_core.text import duration_text


def show_training(chosen: ColtChoice, gamma: float, maps: Maps, sight: ThetaAxes) -> None:
    """The film under a frame slider, and the cost of the training."""
    task = chosen.map(gamma)
    watched = _watched(chosen)
    correct = chosen.benchmark.is_exact(gamma)
    payload = live.once(
        ("film", task.key, sight, watched),
        lambda: training.training_film(maps, sight, watched, correct=correct),
    )
    live.chart(payload, key="film", save_as="How the region was learned")
    st.caption(
        "A step is kept when its ranks on held-out anchors, which training does not use, are "
        "clearly farther from uniform than the start's. A training curve that rises alone is "
        "overfitting. If q were correct, each point of the held-out curve would lie in the grey "
        "band 19 times of 20, and every region would hold as large a share of p as of q."
    )
    _spent(chosen, gamma, int(maps.film_step[-1]))


def _watched(chosen: ColtChoice) -> int:
    """Held-out anchors."""
    recipe = chosen.recipe
    return max(2, round(recipe.anchors * recipe.held)) if recipe.keep_best else 1000


def _spent(chosen: ColtChoice, gamma: float, steps: int) -> None:
    network = services().store.load("models", keys.key(chosen.training(gamma)))
    recipe = chosen.recipe
    p, q = recipe.spent()
    took = network and f"{duration_text(network.number('seconds'))} on {network.meta['device']}; "
    whose = f" at {chosen.benchmark.place(gamma)} alone" if len(chosen.gammas) > 1 else ""
    st.caption(
        f"This localizer{whose}: {steps} steps; {took or ''}{p:,} draws of p and {q:,} of q, "
        "held-out anchors included."
    )


def course(state: JobState) -> None:
    """Both curves of the training that reported last."""
    if state.history.get("step"):
        live.chart(training.training_curves(state.history), key="course")
