"""Runs of the Symmetric divergence page: missing ones, their cost, and failures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import streamlit as st

from pages.divergence.controls import DivergenceChoice
from pages.ui import jobs
from pages.ui.services import services
from validation_core import symmetric_divergence
from validation_core.bayes import HeartTransplants
from validation_core.bayes.algorithms import possible
from validation_core.engine import JobState
from validation_core.symmetric_divergence import InferenceRun, Plan, RunMemory, RunTermsStudy
from validation_core.symmetric_divergence.shipped import ships
from validation_core.text import count_text, list_text, more_text, rough_duration_text

_STEP = 1.5e-3  # seconds of a step of inference for a hundred data sets of a small model
_POINT = 2.5e-4  # and of each further point at which a step looks at the model


@st.cache_resource(show_spinner=False)
def memory() -> RunMemory:
    """Results read from the store before."""
    return {}


class MissingRuns(NamedTuple):
    """Runs that the store lacks, in the order in which they should run."""

    offered: tuple[InferenceRun, ...]
    long: tuple[InferenceRun, ...]
    """Of up to an hour each, which are offered only where their model is chosen alone."""


def missing(plan: Plan) -> MissingRuns:
    """Runs of a plan that the store lacks."""
    left = symmetric_divergence.missing(plan, services().store)
    wanted = tuple(run for run in left if possible(run.model, run.inference))
    if len(plan.models) == 1:
        return MissingRuns(wanted, ())
    quick = tuple(run for run in wanted if ships(run))
    return MissingRuns(quick, tuple(run for run in wanted if not ships(run)))


def explain_early_ends(long: Sequence[InferenceRun]) -> None:
    """Where a curve ends early, since its runs take an hour each: how to have them."""
    models = dict.fromkeys(run.model.title for run in long)
    if models:
        st.caption(
            f"IWVI with 10 draws and more ends early on {list_text([*models])}: further runs take "
            "up to an hour of a core each. Choose that model alone to run them."
        )


def begin(plan: Plan) -> bool:
    """The quickest panel starts by itself, so that there is something to look at.

    Whether it is under way: nothing else begins by itself before it is there. All its runs make
    one job, whatever is there of them: one that failed is not begun anew.
    """
    first = [run for run in plan.runs() if isinstance(run.model, HeartTransplants)]
    heart = [run for run in first if possible(run.model, run.inference)]
    if all(RunTermsStudy(of=run).done(services().store) for run in heart):
        return False
    state = jobs.ensure(heart, f"{heart[0].model.label}, {len(heart)} runs", start=True)
    return state is not None and state.active


def awaited(plan: Plan) -> None:
    """The page runs anew once the first panel is there; called again and again until then."""
    if not begin(plan):
        st.rerun()


def unasked(left: Sequence[InferenceRun], state: JobState | None) -> bool:
    """Whether a run is missing that the job under way does not make."""
    job = services().engine.find(state.key) if state is not None and state.active else None
    keys = {task.key for task in job.tasks} if job else set()
    return any(run.key not in keys for run in left)


def button(left: Sequence[InferenceRun]) -> None:
    """The button that starts the missing runs, with their number and cost."""
    workers = services().engine.slots
    guess = rough_duration_text(_seconds(left) / workers)
    many = len(left) > 1
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            f"Run {len(left)} runs" if many else "Run it",
            key="run-divergence",
            type="primary",
            icon=":material/play_arrow:",
            on_click=_start,
            args=(tuple(left),),
        )
        st.caption(
            f"{len(left)} run{' is' if not many else 's are'} missing: {guess} with "
            f"{count_text(workers, 'worker')}. The figure refines as they come in.",
            width="content",
        )


def _start(left: tuple[InferenceRun, ...]) -> None:
    """Submit the missing runs."""
    models = dict.fromkeys(run.model.title for run in left)
    jobs.ensure(left, f"Divergence on {', '.join(models)}", start=True, again=True)


def _seconds(left: Sequence[InferenceRun]) -> float:
    """About what runs take on one core."""
    return sum(
        run.iterations
        * run.datasets
        / 100
        * (_STEP + _POINT * getattr(run.inference, "m", 1) * (run.model.dims[0] / 3))
        for run in left
    )


def failures(plan: Sequence[InferenceRun], state: JobState) -> None:
    """Runs that failed; the others go on."""
    labels = {run.key: run.label for run in plan}
    by_reason: dict[str, list[str]] = {}
    for key, why in state.failures.items():
        if key in labels:
            by_reason.setdefault(why, []).append(labels[key])
    for why, names in by_reason.items():
        st.error(
            f"{jobs.plain(names[0])}{more_text(len(names) - 1)} failed, the others go on: "
            f"{jobs.plain(why)}",
            icon=":material/error:",
        )


def impossible(chosen: DivergenceChoice) -> None:
    """Says which curves there are not."""
    plan = chosen.plan
    lacking = [
        model.title
        for model in plan.models
        if any(not possible(model, inference) for inference in plan.inferences)
    ]
    if lacking:
        st.caption(f"The exact posterior has no closed form on {' and '.join(lacking)}.")
