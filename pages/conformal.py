"""Conformal C2ST workbench: a benchmark, a classifier, and every slider on cached scores."""

import numpy as np
import streamlit as st

from pages.components import jobs, live, workbench
from pages.components.controls import Chosen, choose
from pages.components.power import power
from pages.components.services import services
from pages.components.training import train, trained
from validation_core.tasks import BETAS, GridTask

VIEWS = ("Ranks", "Scores", "Other tests")


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
    beta = chosen_beta(payload, fine=task.betas == BETAS)
    st.caption(workbench.how_to_read(view, chosen.m, chosen.n, scores))
    at = task.betas[int(np.abs(scores.betas - beta).argmin())]
    power(chosen, at, scores)
    opened = st.expander("How the classifier was trained", key="trained", on_change="rerun")
    if opened.open:
        with opened:
            trained(task)


def chosen_beta(payload: live.Payload, *, fine: bool) -> float:
    """Where the slider was left; a link's beta is kept until the fine grid is there to show it."""
    if not fine:
        (coarse,) = live.chart(payload, key="beta-coarse")
        return coarse
    begun = st.session_state.get("beta-coarse")
    (beta,) = live.chart(
        payload, key="beta", default=begun["value"] if begun else None, url=("beta",)
    )
    return beta


st.title("Can a weak classifier still find what is wrong with q?", anchor=False)
jobs.notices()
chosen = choose()
st.markdown(f"{chosen.benchmark.label}, gamma = {chosen.gamma:g}: {chosen.benchmark.summary}.")
done = [t for t in (chosen.grid(), chosen.coarse()) if t.done(services().store)]
if done:
    results(chosen, done[0])
train(chosen, missing_here=not done)
if not done:
    power(chosen, 0.0, None)
