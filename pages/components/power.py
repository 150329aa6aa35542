"""Power curves on the workbench: asked for with a button, refined while one looks."""

import streamlit as st

from pages.components import jobs, workbench
from pages.components.controls import Chosen
from pages.components.services import services
from validation_core.methods import C2ST, Multiple, Uniform
from validation_core.power import Trials
from validation_core.tasks import Axis, PowerTask, sweep
from validation_core.types import Method
from validation_core.workbench import PAPER_M

METHODS: tuple[Method, ...] = (C2ST(), Multiple(), *(Uniform(m=m) for m in PAPER_M))
STAGES = (20, 200)
"""Trials: a first picture, then the papers' number."""
PAPER_BETAS = (0.0, 0.2, 0.4, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)
_WORDS = {"gamma": "over gamma", "beta": "over beta", "m": "over m"}


def power_tab(chosen: Chosen, beta: float) -> None:
    """The curve along one axis through the present place, and what is missing of it."""
    axis: Axis = st.segmented_control(
        "Power", list(_WORDS), format_func=_WORDS.get, default="gamma", required=True,
        key="along", bind="query-params", label_visibility="collapsed",
    )  # fmt: skip
    stages = [_tasks(chosen, axis, beta, trials) for trials in STAGES]
    at = {"gamma": chosen.gamma, "beta": beta, "m": float(chosen.m)}[axis]
    wanted = _wanted(*stages)
    label = f"Power {_WORDS[axis]}, {chosen.benchmark.label}"
    state = jobs.latest(wanted)
    drawn = workbench.cells(stages)
    if drawn:
        workbench.power_figure(drawn, axis, chosen.m, chosen.alpha, at)
    if wanted and state is None:
        where = "every gamma" if axis == "gamma" else f"gamma = {chosen.gamma:g}"
        st.button(
            f"Run {STAGES[-1]} trials a point", key="run-power", icon=":material/show_chart:",
            help=f"At {where}; trains what is missing. The curve refines as results come.",
            on_click=lambda: jobs.ensure(wanted, label, start=True, again=True),
        )  # fmt: skip
    jobs.panel(state, follow=True)


def _wanted(first: list[PowerTask], full: list[PowerTask]) -> list[PowerTask]:
    """What is missing: a quick look at every point that lacks one, then the full run."""
    missing = [i for i, task in enumerate(full) if not task.done(services().store)]
    return [first[i] for i in missing] + [full[i] for i in missing]


def _tasks(chosen: Chosen, axis: Axis, beta: float, trials: int) -> list[PowerTask]:
    design = Trials(trials=trials, n=chosen.n, alpha=chosen.alpha)
    training = chosen.grid().training
    if axis == "m":  # every m is tested on the same trials
        return sweep(training, "beta", [beta], beta=beta, methods=METHODS, design=design)
    values = chosen.benchmark.gammas if axis == "gamma" else PAPER_BETAS
    return sweep(training, axis, values, beta=beta, methods=METHODS, design=design)
