"""What more simulations are worth: the true error of a task's estimators over their number."""

import streamlit as st

from pages.train.scoreboard import USUAL
from pages.ui import address, live
from pages.ui.services import services
from validation_core import keys
from validation_core.explorers.training import learning_curve
from validation_core.explorers.training.film import FilmStudy


@address.fragment
def show(study: FilmStudy) -> None:
    """The curves of this task's estimators, where it has any."""
    simulator, shown = study.simulator, study.recipe.name
    curves = learning_curve.learning_curves(simulator, services().store)
    if not curves:
        return
    st.subheader("Would more simulations help?", anchor=False)
    if not study.usual:
        st.caption(USUAL)
    known = [len(errors) for errors in curves.values()]
    live.chart(
        live.once(
            ("learning curve", keys.key(simulator), shown, *known),
            lambda: learning_curve.payload(curves, shown, simulator.quasi),
        ),
        key=f"learning-curve-{keys.key(simulator)[:12]}-{shown}",
        save_as="True error by simulations",
    )
