"""How often CoLT rejects as q gets worse, beside its rivals and beside what no learning gives."""

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd
import streamlit as st

from pages.components import colt_costs as costs
from pages.components import jobs, live
from pages.components.colt_controls import Chosen
from pages.components.colt_data import cells
from pages.components.services import services
from validation_core import statistics
from validation_core.figures import style
from validation_core.figures.power import Curve, curves
from validation_core.tasks import PowerTask
from validation_core.types import PowerCell

STAGES = (20, 200)
"""Trials: a first picture, then the paper's number."""
UNTRAINED = "CoLT untrained"
_COLT = style.method_style("colt")
# One family of colours, a dash and a symbol of their own.
_EMBEDDINGS = {
    "fourier": (_COLT.color, "", "circle"),
    "identity": ("#9A62C7", "7 5", "square"),
    "residual": ("#5C82D6", "3 3", "diamond"),
    "mlp": ("#B0579A", "9 3 2 3", "ring"),
}


def power(chosen: Chosen) -> None:
    """Curves along gamma, and what is missing of them."""
    gammas = chosen.benchmark.gammas
    near = sorted(gammas, key=lambda gamma: abs(gamma - chosen.gamma))
    first, full = ([chosen.contest(gamma, trials) for gamma in near] for trials in STAGES)
    store = services().store
    # Kind by kind, so that one curve is whole before the next begins.
    pairs = [pair for kind in zip(*map(zip, first, full), strict=True) for pair in kind]
    missing = [pair for pair in pairs if not pair[1].done(store)]
    drawn = [
        cell for quick, whole in pairs
        for task in ([whole] if whole.done(store) else [quick] if quick.done(store) else [])
        for cell in named(cells(task.key, task), task)
    ]  # fmt: skip
    if drawn:
        live.chart(chart(drawn, chosen), key="colt-power")
        numbers = st.expander("The numbers", key="colt-numbers", on_change="rerun")
        if numbers.open:
            numbers.dataframe(table(drawn), hide_index=True)
    wanted = [quick for quick, _ in missing] + [whole for _, whole in missing]
    state = jobs.latest(wanted) if wanted else None
    if wanted and state is None:
        if not drawn:
            st.markdown(
                "No test has been run with these settings. Each point of a curve trains a network "
                f"of its own and tests it on {STAGES[-1]} tables."
            )
        st.button(
            f"Run {STAGES[-1]} trials a point, {costs.about(costs.power(wanted))}",
            key="run-power", icon=":material/show_chart:",
            help="Trains what is missing. A first picture comes from 20 trials, curve by curve.",
            on_click=lambda: jobs.ensure(
                wanted, f"Power, {chosen.benchmark.label}", start=True, again=True
            ),
        )  # fmt: skip
    jobs.panel(state, follow=True)


def named(found: Sequence[PowerCell], task: PowerTask) -> list[PowerCell]:
    """Cells under the names of their curves: a localizer at beta = 1 has learnt nothing."""
    return [
        replace(cell, label=UNTRAINED) if task.beta == 1 and cell.method == "colt" else cell
        for cell in found
    ]


def chart(drawn: Sequence[PowerCell], chosen: Chosen) -> live.Payload:
    """Power against gamma, a curve for each test."""
    gammas = chosen.benchmark.gammas
    room = 0.02 * (max(gammas) - min(gammas)) or 0.5
    marks = [live.hline(chosen.alpha, dash="6 4", color=style.NULL), live.vline(chosen.gamma)]
    for curve in curves(drawn, "gamma"):
        marks += _marks(curve)
    trials = sorted({cell.trials for cell in drawn})
    count = f"{trials[0]}" if len(trials) == 1 else f"{trials[0]} to {trials[-1]}"
    panel = live.panel(
        marks, height=340, margin=118,
        x=live.axis((min(gammas) - room, max(gammas) + room), "strength gamma", ticks=gammas,
                    shown=[f"{value:g}" for value in gammas]),
        y=live.axis((-0.03, 1.04), "share of tables on which the test rejects q", percent=True),
        caption=f"{count} tables a point, {chosen.n} simulations with {chosen.k} draws of q each; "
        "C2ST learns from one such table and is tested on as many draws of p and of q as there "
        "are simulations. The grey curve is the localizer before training: what lies above it was "
        "learnt. Bands are 95% Wilson intervals with one trained network a point. Were q "
        "right, every curve would lie at the dashed level.",
    )  # fmt: skip
    headline = _answer(drawn, chosen.gamma)
    return live.payload(sliders=[], panels=[panel], columns=1, headline=headline)


def _answer(drawn: Sequence[PowerCell], gamma: float) -> str:
    """Who catches q at the present gamma, the most powerful first."""
    here = sorted((c for c in drawn if c.gamma == gamma), key=lambda c: (-c.rate, c.label))
    said = ", ".join(f"{c.label} on {c.rate:.0%}" for c in here)
    return f"At gamma = {gamma:g}, q is rejected by {said} of the tables." if here else ""


def look(curve: Curve) -> tuple[str, str, str]:
    """Colour, dash and symbol of a curve."""
    if curve.label == UNTRAINED:
        return style.NULL, "2 3", "cross"
    if curve.method == "colt":
        return _EMBEDDINGS[curve.label.split()[1]]
    return live.look(style.method_style(curve.method))


def _marks(curve: Curve) -> list[dict]:
    color, dash, symbol = look(curve)
    low, high = curve.interval
    label = curve.label.split(" paper")[0] if curve.method == "colt" else curve.label
    return [
        live.band(curve.x, low, high, color=color, opacity=0.12),
        live.line(curve.x, curve.rate, color=color, dash=dash, label=label),
        live.points(curve.x, curve.rate, color=color, symbol=symbol, size=6),
    ]


def table(drawn: Sequence[PowerCell]) -> pd.DataFrame:
    """The counts behind the curves."""
    low, high = statistics.wilson([c.rejections for c in drawn], [c.trials for c in drawn])
    return pd.DataFrame(
        {"Test": c.label, "gamma": c.gamma, "Rejected": c.rejections, "Trials": c.trials,
         "Power": c.rate, "95% from": a, "to": b, "Mean statistic": c.statistic}
        for c, a, b in zip(drawn, low, high, strict=True)
    ).sort_values(["Test", "gamma"])  # fmt: skip
