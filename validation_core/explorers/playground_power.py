"""Power curves of the playground."""

from __future__ import annotations

from typing import Any

import numpy as np

from validation_core.drawing import style
from validation_core.drawing.marks import Axis, HLine, Line, Mark, Panel, VLine, over
from validation_core.explorers.playground import (
    BETAS,
    COLT_BETAS,
    METHODS,
    POINTS,
    POWER_BETAS,
    Playground,
)
from validation_core.explorers.playground_view import (
    LEVEL,
    PANEL_HEIGHT,
    PROBABILITY_TICKS,
    PlaygroundRates,
)
from validation_core.methods.base import Method
from validation_core.types import Array


def power_over_gamma(seen: Playground, rates: PlaygroundRates) -> Panel:
    """Along the slider's own places, which lie closer where the curves climb."""
    count = len(seen.gammas)
    places = np.arange(count, dtype=float)
    ticks = np.unique(
        np.round(np.linspace(0, count - 1, min(PROBABILITY_TICKS, count))).astype(int)
    )
    marks: list[Mark] = [
        HLine(LEVEL, color=style.NULL, label="level"),
        VLine(over(places, "gamma")),
    ]
    for method, rate in zip(METHODS, rates.rate, strict=True):
        marks.append(_curve(method, places, over(rate, "beta")))
    return Panel(
        marks,
        title="Power over gamma",
        x=Axis(
            (-0.5, count - 0.5),
            "gamma, finer where curves climb",
            ticks=ticks,
            names=[f"{seen.gammas[i]:g}" for i in ticks],
        ),
        y=Axis((0, 1.02), "trials that reject q", percent=True),
        caption=f"{rates.trials} trials a point, {POINTS} test points each, one network for all. "
        "Press to move gamma.",
        height=PANEL_HEIGHT,
        click="gamma",
        at=np.stack([places, np.full(count, 0.5)], axis=1),
        legend=_legend(),
    )


def power_over_beta(seen: Playground, rates: PlaygroundRates) -> Panel:
    marks: list[Mark] = [HLine(LEVEL, color=style.NULL, label="level"), VLine(over(BETAS, "beta"))]
    for method, rate in zip(METHODS, rates.rate, strict=True):
        marks.append(_curve(method, np.array(BETAS), over(rate.T, "gamma")))
    return Panel(
        marks,
        title="Power over beta",
        x=Axis((-0.02, 1.02), "beta: the network is moved back to its random start"),
        y=Axis((0, 1.02), "trials that reject q", percent=True),
        caption=(
            f"Counted at {len(POWER_BETAS)} values of beta, CoLT at {len(COLT_BETAS)}, straight "
            "lines between. SBC has no network: beta does not change it."
        ),
        height=PANEL_HEIGHT,
        click="beta",
    )


def _curve(method: Method, x: Array, y: Any) -> Line:
    look = style.method_style(method.name)
    return Line(x, y, color=look.color, dash=look.dash, width=2)


def _legend() -> list[tuple[str, str, str]]:
    return [
        (
            method.title.removeprefix("Conformal C2ST, "),
            style.method_style(method.name).color,
            "line" if style.method_style(method.name).dash == "solid" else "dash",
        )
        for method in METHODS
    ]
