"""Power curves of the verdict and of each test by the strength of a defect."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from validation_core.diagnosis.questions.sensitivity.result import (
    InjectionPower,
    MethodPower,
    Sensitivity,
    VerdictPower,
)
from validation_core.drawing import style
from validation_core.drawing.drawn import Drawn
from validation_core.drawing.marks import (
    Axis,
    Band,
    HLine,
    Line,
    Mark,
    Panel,
    Points,
    VLine,
    empty,
)
from validation_core.drawing.power_curves import rejection_axis
from validation_core.types import Array

_HEIGHT = 340
_CAPTION = (
    "Share of tables with a defect of this strength that reject q: by the verdict (thick, with "
    "its 95% interval), by each test alone at the level. Dashed: 80%, and the strength where "
    "the verdict gets there. With no defect at all, none would rise above the dotted level."
)


def power_panel(injection: InjectionPower, result: Sensitivity) -> Drawn:
    """Power over the size of one defect: of the verdict, and of each test."""
    title = f"If q were {injection.title}"
    if not injection.strengths:
        return Drawn(title, empty("Nothing computed yet", height=_HEIGHT), _CAPTION)
    in_nats = injection.nats if injection.unit == "nats" else None
    strengths = injection.strengths if in_nats is None else in_nats.strengths
    size = (injection.smallest if in_nats is None else in_nats.smallest).estimate
    sizes = np.array(strengths) - injection.neutral
    tests = [test for test in injection.tests if any(test.power)]
    marks: list[Mark] = [
        HLine(result.power, dash="dash"),
        HLine(result.alpha, dash="dot"),
        *_verdict_marks(sizes, injection.verdict),
        *(mark for test in tests for mark in _test_marks(sizes, test)),
    ]
    if injection.smallest.known:
        marks.append(VLine(size - injection.neutral, color=style.P, dash="dash"))
    styles = [style.method_style(test.name) for test in tests]
    beyond = f" beyond {injection.neutral:g}" if injection.neutral else ""
    decades = 10.0 ** np.arange(np.floor(np.log10(sizes[0])), np.ceil(np.log10(sizes[-1])) + 1)
    ticks = [float(t) for t in np.outer(decades, [1, 3]).ravel() if sizes[0] <= t <= sizes[-1]]
    panel = Panel(
        marks,
        x=Axis((sizes[0], sizes[-1]), f"{injection.unit}{beyond}", log=True, ticks=ticks or None),
        y=rejection_axis(),
        height=_HEIGHT,
        legend=[
            ("Verdict", style.P, "line"),
            *((t.title, look.color, look.symbol) for t, look in zip(tests, styles, strict=True)),
        ],
    )
    return Drawn(title, panel, _CAPTION)


def _verdict_marks(sizes: Array, powers: Sequence[VerdictPower | None]) -> list[Mark]:
    # Where fewer tests were asked than at weaker defects, there is but a lower bound: a false dip.
    firm = {i: p for i, p in enumerate(powers) if p is not None and not p.bound}
    if not firm:
        return []
    x = sizes[list(firm)]
    rate, low, high = np.array([(power.rate, power.low, power.high) for power in firm.values()]).T
    hover = "verdict at %{x:.3g}: %{y:.0%}"
    return [
        Band(x, low, high, color=style.P, opacity=0.18, label="Verdict"),
        Line(x, rate, color=style.P, width=4, label="Verdict", hover=hover),
    ]


def _test_marks(sizes: Array, test: MethodPower) -> tuple[Mark, Mark]:
    powers = {i: power for i, power in enumerate(test.power) if power is not None}
    x, rate = sizes[list(powers)], [power.rate for power in powers.values()]
    color, dash, symbol = style.method_style(test.name)
    hover = f"{test.title} at %{{x:.3g}}: %{{y:.0%}}"
    return (
        Line(x, rate, color=color, dash=dash, width=1.5, label=test.title),
        Points(x, rate, color=color, symbol=symbol, size=6, label=test.title, hover=hover),
    )
