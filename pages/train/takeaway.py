"""What a visitor takes along: the table of the diagnosis."""

import streamlit as st

from pages.ui.jobs import undisturbed
from pages.ui.services import services, stored
from validation_core.explorers.training.film import FilmStudy
from validation_core.explorers.training.fresh_table import FreshTableStudy


def show(study: FilmStudy) -> None:
    """Downloads of the estimator's table and of the scripts that train it."""
    table = FreshTableStudy(training=study.training, seed=study.seed)
    if not table.done(services().store):
        return
    st.subheader("Take it away", anchor=False)
    with st.container(horizontal=True):
        st.download_button(
            "Table (.npz)",
            undisturbed(lambda: stored(table.key, table).as_npz()),
            f"{study.recipe.name}-{study.simulator.name}.npz",
            "application/octet-stream",
            key="take-trained-table",
            on_click="ignore",
            icon=":material/download:",
            help="theta, x and theta_q, as My posterior and npt.diagnose read it.",
        )
