"""Power curves of the playground."""

from __future__ import annotations

import numpy as np

from validation_core.drawing.marks import Axis, Key, Mark, Panel, VLine, over
from validation_core.drawing.power_curves import (
    LEVEL_KEY,
    Rates,
    level_line,
    line_key,
    method_look,
    rate_line,
    rate_points,
    rejection_axis,
)
from validation_core.explorers.playground.sizes import (
    LEVEL,
    PANEL_HEIGHT,
    PROBABILITY_TICKS,
    PlaygroundRates,
    short_title,
)
from validation_core.explorers.playground.study import (
    BETAS,
    COLT_BETAS,
    METHODS,
    POINTS,
    POWER_BETAS,
    Playground,
)
from validation_core.panels.gamma_scale import GammaScale

_EVERY_TICK = 7  # gammas that are all written on their axis


def power_over_gamma(seen: Playground, rates: PlaygroundRates, scale: GammaScale) -> Panel:
    """Power over gamma at the slider's own places, which are denser where curves rise."""
    count = len(seen.gammas)
    if count == 1:
        return _power_by_test(rates)
    places = np.arange(count, dtype=float)
    shown = count if count <= _EVERY_TICK else PROBABILITY_TICKS
    ticks = np.round(np.linspace(0, count - 1, shown)).astype(int)
    marks: list[Mark] = [level_line(LEVEL), VLine(over(places, "gamma"))]
    for method, rate in zip(METHODS, rates.rate, strict=True):
        marks.append(rate_line(places, rate, method_look(method.name), "beta", coarse=True))
    even = np.allclose(np.diff(seen.gammas), np.diff(seen.gammas)[0])
    name = scale.axis if scale.logarithmic else "gamma"
    stretched = "" if even or scale.logarithmic else " (axis stretched where curves rise)"
    return Panel(
        marks,
        title=f"Power over {name}",
        x=Axis(
            (-0.5, count - 0.5),
            name + stretched,
            ticks=ticks,
            names=[f"{seen.gammas[i]:,g}" for i in ticks],
        ),
        y=rejection_axis(),
        caption=_trials(rates),
        height=PANEL_HEIGHT,
        click="gamma",
        at=np.stack([places, np.full(count, 0.5)], axis=1),
        legend=_legend(),
    )


def _power_by_test(rates: PlaygroundRates) -> Panel:
    """Power at the only gamma: a point for each test."""
    marks: list[Mark] = [level_line(LEVEL)]
    for i, (method, rate) in enumerate(zip(METHODS, rates.rate, strict=True)):
        counted = Rates.of(rate * rates.trials, rates.trials)
        marks.append(rate_points([i], counted, method_look(method.name), "beta", size=9))
    names = [short_title(method) for method in METHODS]
    return Panel(
        marks,
        title="Power of each test",
        x=Axis((-0.5, len(names) - 0.5), ticks=range(len(names)), names=names),
        y=rejection_axis(),
        caption=f"{_trials(rates)} Bars: 95% intervals.",
        height=PANEL_HEIGHT,
        legend=[LEVEL_KEY],
    )


def _trials(rates: PlaygroundRates) -> str:
    return f"{rates.trials} trials a point, {POINTS} test points each, one network for all."


def power_over_beta(rates: PlaygroundRates) -> Panel:
    """Power over beta."""
    marks: list[Mark] = [level_line(LEVEL), VLine(over(BETAS, "beta"))]
    for method, rate in zip(METHODS, rates.rate, strict=True):
        marks.append(rate_line(BETAS, rate.T, method_look(method.name), "gamma", coarse=True))
    return Panel(
        marks,
        title="Power over beta",
        x=Axis((-0.02, 1.02), "beta: 0 trained network, 1 random network"),
        y=rejection_axis(),
        caption=(
            f"Counted at {len(POWER_BETAS)} values of beta, CoLT at {len(COLT_BETAS)}, straight "
            "lines between. SBC has no network: beta does not change it."
        ),
        height=PANEL_HEIGHT,
        click="beta",
        legend=_legend(),
    )


def _legend() -> list[Key]:
    keys = [line_key(short_title(method), method_look(method.name)) for method in METHODS]
    return [*keys, LEVEL_KEY]
