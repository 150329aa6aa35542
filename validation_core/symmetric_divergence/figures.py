"""Figures 1 to 3 of Domke (2021), each with a sentence on how to read it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from validation_core.drawing import style
from validation_core.drawing.drawn import Drawn
from validation_core.drawing.marks import Grid, HLine, Panel, Picture, empty
from validation_core.symmetric_divergence.curves import (
    DivergenceCurve,
    PlanTerms,
    along_m,
    curves_along_iterations,
    curves_trained_with_m,
)
from validation_core.symmetric_divergence.lines import (
    MARKS,
    DrawnLine,
    LineStyle,
    NatsAxis,
    log_axis,
    marks,
    staggered_places,
)
from validation_core.symmetric_divergence.runs import MS, Plan
from validation_core.text import interval_text

_COLUMNS = 3
_HEIGHT = 232  # pixels of a panel


def _hover(curve: DivergenceCurve, along: str) -> list[str]:
    """Hover text at each position."""
    texts = []
    for i, mean in enumerate(curve.found.mean):
        place = f"{curve.label}, {int(curve.x[i]):,} {along}<br>"
        if np.isfinite(mean):
            low, high, *median, largest, _ = (float(values[i]) for values in curve.found[1:])
            mean_text = interval_text((float(mean), low, high), ".3g")
            texts.append(
                f"{place}median of d {interval_text(median, '.3g')} nats<br>"
                f"SKL, the mean, {mean_text}; largest {largest:.3g}, "
                f"{curve.k} data sets"
            )
        elif curve.failures[i]:
            texts.append(f"{place}no q on {curve.failures[i]} of {curve.k} data sets")
        else:
            texts.append(place + ("no finite estimate" if curve.done[i] else "no run yet"))
    return texts


class Subplot(NamedTuple):
    """A model and its curves."""

    title: str
    curves: Sequence[DivergenceCurve]


def _sheet(panels: Sequence[Subplot], along: str) -> Picture:
    """All panels on one sheet, along iterations or M."""
    if not any(np.isfinite(c.found.mean).any() or c.gap.any() for p in panels for c in p.curves):
        return empty("No run has ended yet", height=_HEIGHT)
    return Grid([_panel(panel, along) for panel in panels], min(_COLUMNS, len(panels)))


def _panel(subplot: Subplot, axis: str) -> Panel:
    curves = subplot.curves
    places = np.concatenate([curve.x for curve in curves])
    x, nats = log_axis(places, axis), _nats(curves)
    looks = [style.algorithm_style(curve.name) for curve in curves]
    curve_marks = [
        marks(
            staggered_places(x, curve.x, j, len(curves)),
            DrawnLine(
                curve.label,
                LineStyle(look.color, look.dash, look.symbol),
                curve.found,
                curve.gap,
                _hover(curve, axis),
            ),
            nats,
        )
        for j, (curve, look) in enumerate(zip(curves, looks, strict=True))
    ]
    return Panel(
        [HLine(0.0, color=style.NULL), *(mark for line in curve_marks for mark in line)],
        x=x,
        y=nats.axis(),
        title=subplot.title,
        height=_HEIGHT,
        legend=[(c.label, look.color, look.symbol) for c, look in zip(curves, looks, strict=True)],
    )


def _nats(curves: Sequence[DivergenceCurve]) -> NatsAxis:
    return NatsAxis.of([values for c in curves for values in c.found.medians])


def drawn(
    number: int, plan: Plan, found: PlanTerms, ms: Sequence[int] | None = None
) -> tuple[Drawn, ...]:
    """One of the paper's figures, drawn from a plan's finished runs."""
    if number == 1:
        return (
            against_iterations_figure(
                _panels(plan, lambda i: curves_along_iterations(plan, found, i))
            ),
        )
    if number == 2:
        return tuple(
            _against_m_figure(_panels(plan, partial(_weighed, plan, found, n, ms or MS)), n)
            for n in plan.picked
        )
    last = plan.iterations[-1]
    panels = _panels(plan, lambda i: curves_trained_with_m(plan, found, i, last))
    return (_trained_with_m_figure(panels, last),)


def _weighed(
    plan: Plan, found: PlanTerms, iterations: int, ms: Sequence[int], model: int
) -> list[DivergenceCurve]:
    return along_m(plan, found, model, iterations, ms)


def _panels(plan: Plan, lines: Callable[[int], Sequence[DivergenceCurve]]) -> list[Subplot]:
    return [Subplot(model.label, lines(i)) for i, model in enumerate(plan.models)]


def against_iterations_figure(panels: Sequence[Subplot]) -> Drawn:
    """Figure 1: divergence against iterations."""
    caption = (
        "How far q is from the posterior, KL(p‖q) + KL(q‖p) in nats, after so many iterations; if "
        "q were correct, points and rings would lie about 0 from the first."
    )
    return Drawn(
        "Figure 1: divergence against iterations of inference",
        _sheet(panels, "iterations"),
        caption + _marks(panels),
    )


def _against_m_figure(panels: Sequence[Subplot], iterations: int) -> Drawn:
    """Figure 2: divergence against M, after so many iterations."""
    caption = (
        "Lines fall as more draws of q are weighted, as far as importance sampling mends q; if q "
        "were correct, they would lie about 0 from M = 1 on."
    )
    return Drawn(
        f"Figure 2: importance sampling of q after {iterations:,} iterations, M draws weighted",
        _sheet(panels, "M"),
        caption + _marks(panels),
    )


def _trained_with_m_figure(panels: Sequence[Subplot], iterations: int) -> Drawn:
    """Figure 3: divergence against the M of training, after so many iterations."""
    caption = (
        "Where the line of VI trained with M is lower, training for M gained more than weighting "
        "a q that was trained with M = 1; if q were correct, both would lie about 0."
    )
    return Drawn(
        f"Figure 3: VI trained and tested with M, {iterations:,} iterations",
        _sheet(panels, "M"),
        caption + _marks(panels),
    )


def _marks(panels: Sequence[Subplot]) -> str:
    """How to read the marks, with those that not every figure has."""
    crosses = any(c.gap.any() for p in panels for c in p.curves)
    return (
        f" {MARKS}"
        + (" Crosses along the top, and a gap below them: inference gave no q on some data sets.")
        * crosses
    )
