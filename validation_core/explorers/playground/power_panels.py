"""Power curves of the playground."""

from __future__ import annotations

import numpy as np

from validation_core.drawing.marks import Axis, Key, Mark, Panel, VLine, over
from validation_core.drawing.power_curves import (
    level_line,
    line_key,
    method_look,
    rate_line,
    rejection_axis,
)
from validation_core.explorers.playground.sizes import (
    LEVEL,
    PANEL_HEIGHT,
    PROBABILITY_TICKS,
    PlaygroundRates,
)
from validation_core.explorers.playground.study import (
    BETAS,
    COLT_BETAS,
    METHODS,
    POINTS,
    POWER_BETAS,
    Playground,
)


def power_over_gamma(seen: Playground, rates: PlaygroundRates) -> Panel:
    """Power over gamma at the slider's own places, which are denser where curves rise."""
    count = len(seen.gammas)
    places = np.arange(count, dtype=float)
    ticks = np.unique(
        np.round(np.linspace(0, count - 1, min(PROBABILITY_TICKS, count))).astype(int)
    )
    marks: list[Mark] = [level_line(LEVEL), VLine(over(places, "gamma"))]
    for method, rate in zip(METHODS, rates.rate, strict=True):
        marks.append(rate_line(places, rate, method_look(method.name), "beta"))
    return Panel(
        marks,
        title="Power over gamma",
        x=Axis(
            (-0.5, count - 0.5),
            "gamma, finer where curves climb",
            ticks=ticks,
            names=[f"{seen.gammas[i]:g}" for i in ticks],
        ),
        y=rejection_axis(),
        caption=f"{rates.trials} trials a point, {POINTS} test points each, one network for all. "
        "Press to move gamma.",
        height=PANEL_HEIGHT,
        click="gamma",
        at=np.stack([places, np.full(count, 0.5)], axis=1),
        legend=_legend(),
    )


def power_over_beta(seen: Playground, rates: PlaygroundRates) -> Panel:
    """Power over beta."""
    marks: list[Mark] = [level_line(LEVEL), VLine(over(BETAS, "beta"))]
    for method, rate in zip(METHODS, rates.rate, strict=True):
        marks.append(rate_line(BETAS, rate.T, method_look(method.name), "gamma"))
    return Panel(
        marks,
        title="Power over beta",
        x=Axis((-0.02, 1.02), "beta: the network is moved back to its random start"),
        y=rejection_axis(),
        caption=(
            f"Counted at {len(POWER_BETAS)} values of beta, CoLT at {len(COLT_BETAS)}, straight "
            "lines between. SBC has no network: beta does not change it."
        ),
        height=PANEL_HEIGHT,
        click="beta",
    )


def _legend() -> list[Key]:
    return [
        line_key(method.title.removeprefix("Conformal C2ST, "), method_look(method.name))
        for method in METHODS
    ]
