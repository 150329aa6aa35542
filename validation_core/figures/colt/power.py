"""How often CoLT rejects as q gets worse, beside its rivals and beside what no learning gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from validation_core import statistics
from validation_core.figures import live, style
from validation_core.figures.marks import Axis, Band, HLine, Line, Mark, Panel, Points, VLine
from validation_core.figures.power import Curve, curves
from validation_core.sweep.trials import TrialDesign
from validation_core.types import Benchmark, PowerCell

UNTRAINED = "CoLT untrained"

_COLT = style.method_style("colt")

# One family of colours, a dash and a symbol of their own.
_EMBEDDINGS = {
    "fourier": (_COLT.color, "", "circle"),
    "identity": ("#9A62C7", "7 5", "square"),
    "residual": ("#5C82D6", "3 3", "diamond"),
    "mlp": ("#B0579A", "9 3 2 3", "ring"),
}


def named(cells: Sequence[PowerCell]) -> list[PowerCell]:
    """Cells under the names of their curves: a localizer at beta = 1 has learnt nothing."""
    return [
        replace(cell, label=UNTRAINED) if cell.beta == 1 and cell.method == "colt" else cell
        for cell in cells
    ]


def payload(
    cells: Sequence[PowerCell], benchmark: Benchmark, design: TrialDesign, gamma: float
) -> live.Payload:
    """Power of CoLT and its rivals against gamma, a curve for each test."""
    gammas = benchmark.gammas
    room = 0.02 * (max(gammas) - min(gammas)) or 0.5
    marks: list[Mark] = [HLine(design.alpha, dash="6 4", color=style.NULL), VLine(gamma)]
    for curve in curves(cells, "gamma"):
        marks += _marks(curve)
    trials = sorted({cell.trials for cell in cells})
    count = f"{trials[0]}" if len(trials) == 1 else f"{trials[0]} to {trials[-1]}"
    panel = Panel(
        marks,
        height=340,
        margin=118,
        x=Axis(
            (min(gammas) - room, max(gammas) + room),
            "strength gamma",
            ticks=gammas,
            names=[f"{value:g}" for value in gammas],
        ),
        y=Axis((-0.03, 1.04), "share of tables on which the test rejects q", percent=True),
        caption=f"{count} tables a point, {design.n} simulations with {design.k} draws of q each; "
        "C2ST learns from one such table and is tested on as many draws of p and of q as there "
        "are simulations. The grey curve is the localizer before training: what lies above it was "
        "learnt. Bands are 95% Wilson intervals with one trained network a point. Were q "
        "right, every curve would lie at the dashed level.",
    )
    headline = _answer(cells, gamma)
    return live.payload(panels=[panel], columns=1, headline=headline)


def _answer(cells: Sequence[PowerCell], gamma: float) -> str:
    """Who catches q at the present gamma, the most powerful first."""
    here = sorted((c for c in cells if c.gamma == gamma), key=lambda c: (-c.rate, c.label))
    shares = ", ".join(f"{c.label} on {c.rate:.0%}" for c in here)
    return f"At gamma = {gamma:g}, q is rejected by {shares} of the tables." if here else ""


def look(curve: Curve) -> tuple[str, str, str]:
    """Colour, dash and symbol of a curve."""
    if curve.label == UNTRAINED:
        return style.NULL, "2 3", "cross"
    if curve.method == "colt":
        return _EMBEDDINGS[curve.label.split()[1]]
    return live.look(style.method_style(curve.method))


def _marks(curve: Curve) -> list[Mark]:
    color, dash, symbol = look(curve)
    low, high = curve.interval
    label = curve.label.split(" paper")[0] if curve.method == "colt" else curve.label
    return [
        Band(curve.x, low, high, color=color, opacity=0.12),
        Line(curve.x, curve.rate, color=color, dash=dash, label=label),
        Points(curve.x, curve.rate, color=color, symbol=symbol, size=6),
    ]


def table(cells: Sequence[PowerCell]) -> pd.DataFrame:
    """The counts behind the curves."""
    low, high = statistics.wilson([c.rejections for c in cells], [c.trials for c in cells])
    return pd.DataFrame(
        {
            "Test": c.label,
            "gamma": c.gamma,
            "Rejected": c.rejections,
            "Trials": c.trials,
            "Power": c.rate,
            "95% from": a,
            "to": b,
            "Mean statistic": c.statistic,
        }
        for c, a, b in zip(cells, low, high, strict=True)
    ).sort_values(["Test", "gamma"])
