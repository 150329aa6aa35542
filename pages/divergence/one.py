"""One run of the Symmetric divergence page opened up: which one, and its parts."""

from __future__ import annotations

import streamlit as st

from pages.divergence import augmented, bounds, broad, joint, learned, meaning, opened, terms
from pages.ui import jobs
from pages.ui.forms import choice
from pages.ui.services import services, stored_if_there
from validation_core import keys
from validation_core.bayes import Hospitals
from validation_core.bayes.algorithms import possible
from validation_core.symmetric_divergence import InferenceRun, Plan, RunResult
from validation_core.symmetric_divergence.shipped import FIRST
from validation_core.symmetric_divergence.terms import run_nats


def _choose(plan: Plan) -> InferenceRun:
    """The run that a reader picks from the plan."""
    names = keys.by_name(*plan.models)
    first = names.get(Hospitals.name, plan.models[0]).name
    left, middle, right = st.columns(3)
    with left:
        model = names[
            choice("Model", list(names), "one-model", first=first, words=lambda n: names[n].title)
        ]
    there = [inference for inference in plan.inferences if possible(model, inference)]
    inferences = keys.by_name(*(there or plan.inferences))
    with middle:
        inference = inferences[
            choice(
                "Inference",
                list(inferences),
                "one-inference",
                words=lambda name: inferences[name].label,
            )
        ]
    usual = max(n for n in plan.iterations if n <= FIRST.iterations)
    with right:
        n = choice(
            "Iterations", plan.iterations, "one-iterations", first=usual, words="{:,}".format
        )
    return plan.run(model, inference, n)


def _found(run: InferenceRun, begin: bool, watched: str) -> RunResult | None:
    """The result of the run, which is started, if allowed, and watched while missing."""
    if not run.done(services().store):
        state = jobs.ensure([run], run.label, start=begin)
        if state is not None and state.key != watched:
            jobs.panel(state)
    return stored_if_there(run)


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
    bounds.show(run, left, begin=begin)
    opened.show(run, left if begin else None)
    meaning.show(run_nats(run, left) if left is not None else None, there=left is not None)
    augmented.show()
    learned.show(run)
    joint.show(run)
    broad.show()
