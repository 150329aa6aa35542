"""One run of the Symmetric divergence page opened up: which one, and its parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import streamlit as st

from pages.divergence import augmented, learned, meaning, opened, terms
from pages.ui import jobs
from pages.ui.services import services
from validation_core.bayes import Hospitals
from validation_core.bayes.inference import possible
from validation_core.simulations import InferenceRun, Plan, RunResult
from validation_core.simulations.terms import mean

_T = TypeVar("_T")

_FIRST = 3000  # iterations


def _choose(plan: Plan) -> InferenceRun:
    """The run that a reader picks from the plan."""
    names = {model.name: model for model in plan.models}
    first = Hospitals.name if Hospitals.name in names else next(iter(names))
    left, middle, right = st.columns(3)
    with left:
        model = names[
            _one("Model", list(names), first, "one-model", lambda name: names[name].title)
        ]
    inferences = {
        inference.name: inference for inference in plan.inferences if possible(model, inference)
    }
    if not inferences:
        inferences = {inference.name: inference for inference in plan.inferences}
    with middle:
        inference = inferences[
            _one(
                "Inference",
                list(inferences),
                next(iter(inferences)),
                "one-inference",
                lambda name: inferences[name].label,
            )
        ]
    usual = max(n for n in plan.iterations if n <= _FIRST)
    with right:
        n = _one("Iterations", list(plan.iterations), usual, "one-iterations", "{:,}".format)
    return plan.run(model, inference, n)


def _one(label: str, values: Sequence[_T], first: _T, key: str, text: Callable[[_T], str]) -> _T:
    """One of several; what is no longer among them gives way to the first."""
    if st.session_state.get(key, first) not in values:
        st.session_state.pop(key)
    return st.selectbox(
        label, values, values.index(first), key=key, bind="query-params", format_func=text
    )


def _found(run: InferenceRun, begin: bool, watched: str) -> RunResult | None:
    """What the run left; it is started where there is nothing yet and it may, and watched."""
    if not run.done(services().store):
        state = jobs.ensure([run], run.label, start=begin)
        if state is not None and state.key != watched:
            jobs.panel(state)
    return _load(run.key, run) if run.done(services().store) else None


@st.cache_resource(show_spinner=False, max_entries=16)
def _load(key: str, _run: InferenceRun) -> RunResult | None:
    return _run.load(services().store)


def show(plan: Plan, *, begin: bool, watched: str) -> None:
    """The picked run, in the order a reader asks: its terms, one data set, what its nats mean.

    Args:
        begin: whether work may be started that nobody pressed a button for.
        watched: the job whose progress the page shows already.
    """
    st.header("Inside one run", anchor=False)
    run = _choose(plan)
    left = _found(run, begin, watched)
    terms.show(run, left)
    opened.show(run, left if begin else None)
    meaning.show(mean(run, left) if left is not None else float("nan"))
    augmented.show()
    learned.show(run)
