"""Power curves on the workbench: asked for with a button, refined while one looks."""

import numpy as np
import pandas as pd
import streamlit as st

from pages.components import jobs, live
from pages.components.controls import Chosen
from pages.components.services import services
from validation_core import statistics, workbench
from validation_core.figures import style
from validation_core.figures.power import Curve, curves
from validation_core.methods import C2ST, Multiple, Uniform
from validation_core.power import Trials
from validation_core.rng import stream
from validation_core.tasks import Axis, PowerTask, ScoreGrid, sweep
from validation_core.types import Method, PowerCell
from validation_core.workbench import PAPER_M

METHODS: tuple[Method, ...] = (C2ST(), Multiple(), *(Uniform(m=m) for m in PAPER_M))
STAGES = (20, 200)
"""Trials: a first picture, then the papers' number."""
PAPER_BETAS = (0.0, 0.2, 0.4, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)
_AXES = {
    "gamma": "perturbation strength gamma",
    "beta": "classifier degradation beta",
    "m": "calibration draws per test point m",
}
_FIXED = {
    "gamma": "beta = {beta:g}",
    "beta": "gamma = {gamma:g}",
    "m": "gamma = {gamma:g}, beta = {beta:g}",
}
_WORDS = {"gamma": "over gamma", "beta": "over beta", "m": "over m"}


def power(chosen: Chosen, beta: float, scores: ScoreGrid | None) -> None:
    """The curve along one axis through the present place, and what is missing of it."""
    heading = st.container()
    axis: Axis = st.segmented_control(
        "Power", list(_WORDS), format_func=_WORDS.get, default="gamma", required=True,
        key="along", bind="query-params", label_visibility="collapsed",
    )  # fmt: skip
    fixed = _FIXED[axis].format(gamma=chosen.gamma, beta=beta)
    heading.subheader(f"Power at {fixed}", anchor=False)
    first, full = (_tasks(chosen, axis, beta, trials) for trials in STAGES)
    missing = [i for i, task in enumerate(full) if not task.done(services().store)]
    wanted = [first[i] for i in missing] + [full[i] for i in missing]
    state = jobs.latest(wanted)
    quick = [first[i] for i in missing if first[i].done(services().store)]
    done = [task for i, task in enumerate(full) if i not in missing]
    drawn = [cell for task in quick + done for cell in _counts(task.key, task)]
    if drawn:
        _figure(drawn, axis, chosen, beta)
    if axis == "m" and scores is not None:
        _noise(scores, beta)
    if wanted and state is None:
        label = f"Power {_WORDS[axis]}, {chosen.benchmark.label}"
        st.button(
            f"Run {STAGES[-1]} trials a point", key="run-power", icon=":material/show_chart:",
            help="Trains what is missing. The curve refines as results come.",
            on_click=lambda: jobs.ensure(wanted, label, start=True, again=True),
        )  # fmt: skip
    jobs.panel(state, follow=True)


def _tasks(chosen: Chosen, axis: Axis, beta: float, trials: int) -> list[PowerTask]:
    design = Trials(trials=trials, n=chosen.n, alpha=chosen.alpha)
    training = chosen.grid().training
    if axis == "m":  # every m is tested on the same trials
        return sweep(training, "beta", [beta], beta=beta, methods=METHODS, design=design)
    values = chosen.benchmark.gammas if axis == "gamma" else PAPER_BETAS
    return sweep(training, axis, values, beta=beta, methods=METHODS, design=design)


@st.cache_resource(show_spinner=False, max_entries=512)
def _counts(key: str, _task: PowerTask) -> list[PowerCell]:
    return _task.load(services().store) or []


def _figure(drawn: list[PowerCell], axis: Axis, chosen: Chosen, beta: float) -> None:
    at = {"gamma": chosen.gamma, "beta": beta, "m": float(chosen.m)}[axis]
    places = {"gamma": chosen.benchmark.gammas, "beta": PAPER_BETAS, "m": PAPER_M}[axis]
    shown = [
        cell for cell in drawn
        if axis == "m" or cell.method != "uniform" or cell.options["m"] == chosen.m
    ]  # fmt: skip
    place = np.log10 if axis == "m" else np.asarray
    where = place(np.array(places, dtype=float))
    room = 0.02 * (where[-1] - where[0]) or 0.5
    marks = [live.hline(chosen.alpha, dash="6 4", color=style.NULL), live.vline(place(at))]
    for curve in curves(shown, axis):
        marks += _marks(curve, place(curve.x))
    x = live.axis(
        (where[0] - room, where[-1] + room), _AXES[axis],
        ticks=where,
        shown=[f"{value:g}" for value in places],
    )  # fmt: skip
    y = live.axis((-0.03, 1.04), "share of trials rejected", percent=True)
    panel = live.panel(marks, x=x, y=y, height=300, margin=92, caption=_said(shown))
    live.chart(live.payload(sliders=[], panels=[panel], columns=1), key="power")
    numbers = st.expander("The numbers", key="numbers", on_change="rerun")
    if numbers.open:
        numbers.dataframe(_numbers(shown), hide_index=True)


def _marks(curve: Curve, x: np.ndarray) -> list[dict]:
    color, dash, symbol = live.look(style.method_style(curve.method))
    low, high = curve.interval
    return [
        live.band(x, low, high, color=color, opacity=0.16),
        live.line(x, curve.rate, color=color, dash=dash, label=curve.label),
        live.points(x, curve.rate, color=color, symbol=symbol, size=6),
    ]


def _said(shown: list[PowerCell]) -> str:
    trials = sorted({cell.trials for cell in shown})
    count = f"{trials[0]}" if len(trials) == 1 else f"{trials[0]} to {trials[-1]}"
    p, q = max(cell.draws_p for cell in shown), max(cell.draws_q for cell in shown)
    seconds = sum({(cell.gamma, cell.beta): cell.seconds for cell in shown}.values())
    return (
        f"{count} trials a point, {shown[0].protocol} protocol; at most {p:,} draws of p and "
        f"{q:,} of q a point; {seconds:.1f} s of computing. Bands are 95% Wilson intervals of "
        "these trials with this one trained classifier. The dashed line is the level, where every "
        "curve would lie were q right."
    )


def _numbers(shown: list[PowerCell]) -> pd.DataFrame:
    low, high = statistics.wilson([c.rejections for c in shown], [c.trials for c in shown])
    return pd.DataFrame(
        {"Test": c.label, "gamma": c.gamma, "beta": c.beta, "Rejected": c.rejections,
         "Trials": c.trials, "Power": c.rate, "95% from": a, "to": b}
        for c, a, b in zip(shown, low, high, strict=True)
    )  # fmt: skip


def _noise(scores: ScoreGrid, beta: float) -> None:
    """Var(U | its draw of q) against m, on doubly logarithmic axes."""
    at = int(np.abs(scores.betas - beta).argmin())
    variance = workbench.rank_variance(scores.p[at], scores.q[at], stream(0, "workbench", "noise"))
    x, y = np.log10(PAPER_M), np.log10(variance)
    guide = y[-1] + x[-1] - x
    decades = np.arange(np.floor(y.min()), np.ceil(max(y.max(), guide.max())) + 1)
    panel = live.panel(
        [
            live.line(x, guide, color=style.NULL, dash="2 3", label="1/m"),
            live.points(x, y, color=style.method_style("uniform").color, symbol="diamond", size=7),
        ],
        title="Noise of a rank",
        x=live.axis((x[0] - 0.05, x[-1] + 0.05), "calibration draws m", ticks=x,
                    shown=[f"{m}" for m in PAPER_M]),
        y=live.axis((decades[0], decades[-1]), "variance of U at a given draw of q",
                    ticks=decades, shown=[f"{10.0**d:g}" for d in decades]),
        caption="Over calibration sets. It falls as 1/m, and with it what more calibration draws "
        "can still win.", margin=40,
    )  # fmt: skip
    live.chart(live.payload(sliders=[], panels=[panel]), key="noise")
