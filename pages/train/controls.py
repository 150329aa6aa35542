"""Controls of the page: task, simulations, estimator, epochs, and further options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace

import streamlit as st

from pages.ui import address, forms
from pages.ui.once import same
from validation_core.estimators import ESTIMATORS
from validation_core.explorers.training.film import FilmStudy
from validation_core.explorers.training.film import examples as shipped_examples
from validation_core.simulators import SIMULATORS

SIZES = (100, 200, 400, 1000, 2000, 10_000, 100_000)
"""Numbers of simulations; those up to 2000 train while one looks on."""
_OWN = ("simulations", "epochs")


def choose() -> FilmStudy:
    """Draw the controls in the sidebar; every setting stands in the address, to be shared."""
    with st.sidebar:
        task = forms.choice(
            "Task",
            list(SIMULATORS),
            "task",
            words=lambda name: SIMULATORS[name].title,
            help="A prior and a simulator whose exact posterior is known at every x.",
        )
        name = forms.choice(
            "Estimator",
            list(ESTIMATORS),
            "estimator",
            first="nsf",
            words=lambda name: ESTIMATORS[name].title,
            help="What learns q from simulated pairs.",
        )
        simulations = forms.choice(
            "Simulations",
            SIZES,
            "simulations",
            first=1000,
            words="{:,}".format,
            draw=st.select_slider,
            help="Pairs of theta and x that it learns from; a tenth of them is held out.",
        )
        usual = ESTIMATORS[name]().for_simulations(simulations)
        key = f"{name}-{simulations}"
        epochs = forms.number(
            "Maximum epochs", 1, 5000, usual.epochs, f"{key}-epochs", help="Passes over the pairs."
        )
        usual = replace(usual, epochs=epochs)
        with st.expander("More options"):
            recipe = forms.form(type(usual), key, usual=usual, but=_OWN)
            simulator = forms.form(SIMULATORS[task], task)
            seed = forms.seed(help="Of the pairs, the first weights and their order.")
    return same(FilmStudy(simulator=simulator, recipe=recipe, seed=seed))


def examples() -> None:
    """Buttons for the trainings that ship."""
    with st.container(
        horizontal=True, key="train-examples", width="content", vertical_alignment="center"
    ):
        st.caption("Trained already:", width="content")
        for name, study in shipped_examples().items():
            st.button(name, key=f"example-{name}", type="tertiary", on_click=_take, args=(study,))


def _take(study: FilmStudy) -> None:
    """Set the widgets to a training's settings before they are drawn.

    It opens where it shows most, not where the last one stood.
    """
    st.session_state.update(_settings(study))
    for name in ("epoch", "x", "trained-on"):
        address.ask(name)


def _settings(study: FilmStudy) -> Mapping[str, object]:
    simulator, recipe = study.simulator, study.recipe
    options = {
        f"{key}-{field.name}": getattr(of, field.name)
        for key, of in (
            (simulator.name, simulator),
            (f"{recipe.name}-{recipe.simulations}", recipe),
        )
        for field in fields(of)
        if field.name != "simulations"
    }
    return {
        "task": simulator.name,
        "estimator": recipe.name,
        "simulations": recipe.simulations,
        "seed": study.seed,
        **options,
    }
