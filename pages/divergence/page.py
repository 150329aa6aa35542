"""Symmetric divergence of q from the posterior in nats, on simulated data."""

import streamlit as st

from pages.divergence import controls, figures, numbers, one, runs
from pages.divergence.controls import DivergenceChoice
from pages.ui import address, jobs, live
from pages.ui.forms import segmented
from pages.ui.services import services
from validation_core.symmetric_divergence import Plan, Terms, collect

_EVERY = 1.0
_ABOUT = (
    "Each model simulates parameters and data, so the true parameters are known; inference makes "
    "q from the data alone. The symmetric divergence KL(p‖q) + KL(q‖p), SKL for short (Domke "
    "2021), is 0 only where q is the posterior p. It is counted in nats: for two normals of one "
    "width, 0.1 nats are means 0.3 sd apart, 1 nat 1 sd, 10 nats 3 sd. "
)


def _divergence(chosen: DivergenceChoice, view: str) -> None:
    """A figure that refines, its missing runs and numbers, and the details of one run."""
    plan = chosen.plan if view == "iterations" else chosen.each_m
    first = runs.begin(plan)
    if first:
        st.fragment(runs.awaited, run_every=_EVERY)(plan)
    left, long = runs.missing(plan)
    state = jobs.latest(left) if left else None
    active = state if state is not None and state.active else None
    jobs.panel(active)
    address.fragment(_figure, run_every=_EVERY if active else None)(plan, view)
    if runs.unasked(left, state):
        runs.button(left)
    runs.explain_early_ends(long)
    if state is not None:
        runs.failures(left, state)
    runs.impossible(chosen)
    numbers.numbers(plan, _terms(plan))
    one.show(chosen.plan, begin=not first, watched=active.key if active else "")


def _figure(plan: Plan, view: str) -> None:
    """A view of what there is; its sliders move in the browser."""
    payload = figures.payload(view, plan, _terms(plan))
    key = f"divergence-{view}-{plan.datasets}"
    live.chart(
        payload, key=key, url=(figures.ADDRESS[view], "first-k"), save_as="Symmetric divergence"
    )
    st.caption(_ABOUT + figures.READ[view] + controls.unfinished(plan))


def _terms(plan: Plan) -> dict[tuple[int, int], Terms]:
    return collect(plan, services().store, runs.memory())


live.one_screen(1.7)
st.title("How many nats is q away from the posterior?", anchor=False)
jobs.notices()
chosen = controls.choose()
if chosen is None:
    st.info("Choose at least one model and one inference in the sidebar.", icon=":material/info:")
else:
    view = segmented("View", figures.VIEWS, "divergence-view", label_visibility="collapsed")
    _divergence(chosen, view)
