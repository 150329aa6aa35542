"""Power of the verdict and of each test against one injected defect of growing strength."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from validation_core.diagnosis.questions.sensitivity.study import (
    InjectionPower,
    MethodPower,
    Sensitivity,
    VerdictPower,
)
from validation_core.figures import style
from validation_core.figures.outcome import Drawn
from validation_core.figures.style import Trace
from validation_core.types import Array

_HEIGHT = 340
_CAPTION = (
    "Share of tables with a defect of this strength in which it is found: by the verdict (thick, "
    "with its 95% interval), by each test alone at the level. Dashed: 80%, and the strength where "
    "the verdict gets there. With no defect at all, none would rise above the dotted level."
)


def figures(result: Sensitivity) -> tuple[Drawn, ...]:
    """One figure for each defect."""
    return tuple(_curves(injection, result) for injection in result.injections)


def _curves(injection: InjectionPower, result: Sensitivity) -> Drawn:
    title = f"If q were {injection.title}"
    if not injection.strengths:
        return Drawn(title, style.empty("Nothing has been asked yet", height=_HEIGHT), _CAPTION)
    in_nats = injection.nats if injection.unit == "nats" else None
    strengths = injection.strengths if in_nats is None else in_nats.strengths
    size = (injection.smallest if in_nats is None else in_nats.smallest).estimate
    sizes = np.array(strengths) - injection.neutral
    traces = _verdict(sizes, injection.verdict)
    traces += [trace for test in injection.tests if (trace := _test(sizes, test))]
    shapes = [style.hline(result.power), style.hline(result.alpha, dash="dot")]
    if injection.smallest.known:
        shapes.append(style.vline(size - injection.neutral, style.P, dash="dash"))
    beyond = f" beyond {injection.neutral:g}" if injection.neutral else ""
    decades = 10.0 ** np.arange(np.floor(np.log10(sizes[0])), np.ceil(np.log10(sizes[-1])) + 1)
    ticks = [float(t) for t in np.outer(decades, [1, 3]).ravel() if sizes[0] <= t <= sizes[-1]]
    sheet = style.figure(
        traces,
        x=style.Axis(
            f"{injection.unit}{beyond}", (sizes[0], sizes[-1]), log=True, ticks=ticks or None
        ),
        y=style.Axis("found", (0, 1.02), percent=True),
        height=_HEIGHT,
        shapes=shapes,
        extra={
            "showlegend": True,
            "legend": {"orientation": "h", "y": -0.28, "yanchor": "top", "font": {"size": 11}},
            "margin": {"l": 56, "r": 16, "t": 18, "b": 110},
        },
    )
    return Drawn(title, sheet, _CAPTION)


def _verdict(sizes: Array, powers: Sequence[VerdictPower | None]) -> list[Trace]:
    # Where fewer tests were asked than at weaker defects, there is but a lower bound: a false dip.
    firm = {i: p for i, p in enumerate(powers) if p is not None and not p.bound}
    if not firm:
        return []
    x = sizes[list(firm)]
    rate, low, high = np.array([(power.rate, power.low, power.high) for power in firm.values()]).T
    line = style.line(
        x, rate, style.P, width=4, name="Verdict", hover="verdict at %{x:.3g}: %{y:.0%}"
    )
    return [{**style.band(x, low, high, style.P, 0.18), "showlegend": False}, line]


def _test(sizes: Array, test: MethodPower) -> Trace | None:
    powers = {i: power for i, power in enumerate(test.power) if power is not None}
    if not powers:
        return None
    look = style.method_style(test.name)
    trace = style.line(
        sizes[list(powers)],
        [power.rate for power in powers.values()],
        look.color,
        dash=look.dash,
        width=1.5,
        name=test.title,
        hover=f"{test.title} at %{{x:.3g}}: %{{y:.0%}}",
    )
    marker = {"color": look.color, "symbol": look.symbol, "size": 6}
    return {**trace, "mode": "lines+markers", "marker": marker}
