"""Conformal C2ST workbench: a benchmark, a classifier, and every slider on cached scores."""

import streamlit as st

from pages.conformal import explorer
from pages.conformal.controls import ConformalChoice, choose
from pages.conformal.power import power
from pages.conformal.training import train, trained
from pages.ui import jobs, live
from pages.ui.services import services
from validation_core.figures import conformal as figures
from validation_core.figures.live import Payload
from validation_core.sweep.conformal_explorer import BETAS, GridTask

VIEWS = ("Ranks", "Scores", "Other tests")


@st.fragment
def _results(chosen: ConformalChoice, task: GridTask) -> None:
    """A view that follows beta while it is dragged, then power at the beta where it was left."""
    view = st.segmented_control(
        "View",
        VIEWS,
        default=VIEWS[0],
        required=True,
        key="view",
        bind="query-params",
        label_visibility="collapsed",
    )
    scores = explorer.grid(task.key, task)
    m, n, alpha, seed = chosen.m, chosen.n, chosen.alpha, chosen.seed
    payload = live.once(
        ("conformal", task.key, view, m, n, alpha, seed),
        lambda: figures.payload(
            view, scores, explorer.ranks(task.key, scores, m, n, seed), n=n, alpha=alpha, seed=seed
        ),
    )
    beta = _chosen_beta(payload, fine=task.betas == BETAS)
    st.caption(figures.how_to_read(view, m, n, scores))
    at = min(task.betas, key=lambda value: abs(value - beta))
    power(chosen, at, scores)
    opened = st.expander("How the classifier was trained", key="trained", on_change="rerun")
    if opened.open:
        with opened:
            trained(task)


def _chosen_beta(payload: Payload, *, fine: bool) -> float:
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
    _results(chosen, done[0])
train(chosen, missing_here=not done)
if not done:
    power(chosen, 0.0, None)
