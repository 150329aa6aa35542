"""Power curves on the workbench: asked for with a button, refined while one looks."""

from typing import Literal

import streamlit as st

from pages.conformal.controls import ConformalChoice
from pages.ui import jobs, live
from pages.ui.services import services
from validation_core import C2ST, Multiple, PowerCell, Uniform
from validation_core.figures import conformal as figures
from validation_core.methods.base import Method
from validation_core.sweep.conformal_explorer import PAPER_M, ScoreGrid
from validation_core.sweep.plan import Memory, Sweep, collect, missing
from validation_core.sweep.trials import TrialDesign

Axis = Literal["gamma", "beta", "m"]
METHODS: tuple[Method, ...] = (C2ST(), Multiple(), *(Uniform(m=m) for m in PAPER_M))
TRIALS = 200
"""The papers' number; a first picture comes from ten."""
PAPER_BETAS = (0.0, 0.2, 0.4, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)
_FIXED = {
    "gamma": "beta = {beta:g}",
    "beta": "gamma = {gamma:g}",
    "m": "gamma = {gamma:g}, beta = {beta:g}",
}
_WORDS: dict[Axis, str] = {"gamma": "over gamma", "beta": "over beta", "m": "over m"}


def power(chosen: ConformalChoice, beta: float, scores: ScoreGrid | None) -> None:
    """The curve along one axis through the present place, and what is missing of it."""
    heading = st.container()
    axis: Axis = st.segmented_control(
        "Power",
        list(_WORDS),
        format_func=_WORDS.__getitem__,
        default="gamma",
        required=True,
        key="along",
        bind="query-params",
        label_visibility="collapsed",
    )
    fixed = _FIXED[axis].format(gamma=chosen.gamma, beta=beta)
    heading.subheader(f"Power at {fixed}", anchor=False)
    store = services().store
    sweep, *beside = (_sweep(chosen, each, beta) for each in dict.fromkeys((axis, *_WORDS)))
    wanted = missing(sweep, store, beside)
    state = jobs.latest(wanted)
    cells = list(collect(sweep, store, _memory(str(store.root)), beside).cells)
    if cells:
        _figure(cells, axis, chosen, beta)
    if axis == "m" and scores is not None:
        live.chart(figures.noise(scores, beta), key="noise")
    if wanted and state is None:
        label = f"Power {_WORDS[axis]}, {chosen.benchmark.label}"
        st.button(
            f"Run {TRIALS} trials a point",
            key="run-power",
            icon=":material/show_chart:",
            help="Trains what is missing. The curve refines as results come.",
            on_click=jobs.starting(wanted, label),
        )
    jobs.panel(state, follow=True)


def _figure(cells: list[PowerCell], axis: Axis, chosen: ConformalChoice, beta: float) -> None:
    at = {"gamma": chosen.gamma, "beta": beta, "m": float(chosen.m)}[axis]
    places = {"gamma": chosen.benchmark.gammas, "beta": PAPER_BETAS, "m": PAPER_M}[axis]
    payload = figures.power(cells, axis, places, at=at, m=chosen.m, alpha=chosen.alpha)
    live.chart(payload, key="power")
    numbers = st.expander("The numbers", key="numbers", on_change="rerun")
    if numbers.open:
        table = figures.power_table(figures.of_m(cells, axis, chosen.m))
        numbers.dataframe(table, hide_index=True)


def _sweep(chosen: ConformalChoice, axis: Axis, beta: float) -> Sweep:
    """Along one axis; every m is tested on the same trials."""
    training = chosen.grid().training
    return Sweep(
        benchmark=chosen.benchmark,
        methods=METHODS,
        gammas=chosen.benchmark.gammas if axis == "gamma" else (chosen.gamma,),
        betas=PAPER_BETAS if axis == "beta" else (beta,),
        design=TrialDesign(trials=TRIALS, n=chosen.n, alpha=chosen.alpha),
        recipe=training.recipe,
        seed=training.seed,
    )


@st.cache_resource(show_spinner=False, max_entries=4)
def _memory(root: str) -> Memory:
    """Trials that were read from the store of that folder before."""
    return {}
