"""What a visitor takes along: the table of the diagnosis, and scripts that train the same."""

from functools import partial

import streamlit as st

from pages.ui import jobs
from pages.ui.jobs import undisturbed
from pages.ui.services import services, stored
from validation_core.explorers.training.film import FilmStudy
from validation_core.explorers.training.found_verdict import FoundVerdictStudy
from validation_core.explorers.training.scripts import LIBRARIES, libraries_for, training_script

_SAME = {
    ("zuko", "sbi", "bayesflow"): "zuko's network is the same as here; sbi's and BayesFlow's are "
    "built otherwise inside.",
    ("torch",): "The network is the same as here.",
}


def show(study: FilmStudy) -> None:
    """The estimator's table, drawn first where a verdict stands without it, and scripts."""
    store, found = services().store, FoundVerdictStudy(training=study.training, seed=study.seed)
    table, written = found.table, libraries_for(study.recipe)
    st.subheader("Take it away", anchor=False)
    with st.container(horizontal=True):
        if table.done(store):
            st.download_button(
                "Table (.npz)",
                undisturbed(lambda: stored(table).as_npz()),
                table_name(study),
                "application/octet-stream",
                key="take-trained-table",
                on_click="ignore",
                icon=":material/download:",
                help="theta, x and theta_q, as My posterior and npt.diagnose read it.",
            )
        elif found.done(store) and jobs.latest([table]) is None:
            st.button(
                "Draw its table",
                key="draw-trained-table",
                icon=":material/table:",
                on_click=jobs.starting([table], table.label),
                help=f"{table.n:,} fresh simulations with {table.k} draws of q at each, to save.",
            )
        for library in written:
            st.download_button(
                f"Script for {LIBRARIES[library]}",
                undisturbed(partial(_script, library, study)),
                f"train_with_{library}.py",
                "text/x-python",
                key=f"take-{library}",
                on_click="ignore",
                icon=":material/code:",
            )
    st.caption(
        "`npt.check(prior, simulate, sample)` draws such a table from your own prior, simulator "
        "and estimator, and diagnoses it."
    )
    if written:
        st.caption(
            "A script holds the simulator, trains the estimator with these options and writes a "
            f"table that My posterior reads. {_SAME[written]}"
        )
    else:
        st.caption(
            "Scripts are written for estimators of one network: masked autoregressive and neural "
            "spline flows, diffusion models and flow matching."
        )


def table_name(study: FilmStudy) -> str:
    """The name of the file with the estimator's table."""
    return f"{study.recipe.name}-{study.simulator.name}.npz"


def _script(library: str, study: FilmStudy) -> str:
    return training_script(library, study.simulator, study.recipe, study.seed)
