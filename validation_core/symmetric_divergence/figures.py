"""Figures 1 to 3 of Domke (2021), each with a sentence on how to read it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from validation_core.drawing import style
from validation_core.drawing.drawn import Drawn
from validation_core.drawing.marks import Grid, HLine, Panel, Picture, empty
from validation_core.symmetric_divergence.curves import (
    CurveFamily,
    DivergenceCurve,
    PlanTerms,
    curves_along_iterations,
    curves_along_m,
    curves_for_each_m,
    trained_with_each,
    weighted,
)
from validation_core.symmetric_divergence.lines import (
    BARE,
    GUIDE,
    MARKS,
    DrawnLine,
    NatsAxis,
    log_axis,
    marks,
    rate_guide,
    staggered_places,
)
from validation_core.symmetric_divergence.runs import MS, Plan, importance_sample_size
from validation_core.text import interval_text

_COLUMNS = 3
_HEIGHT = 232  # pixels of a panel


def _hover(curve: DivergenceCurve, along: str) -> list[str]:
    """Hover text at each position."""
    texts = []
    for i, mean in enumerate(curve.found.mean):
        place = f"{curve.label}, {int(curve.x[i]):,} {along}<br>"
        if np.isfinite(mean):
            low, high, *median, largest, _, _ = (float(v[i]) for v in curve.found[1:])
            mean_text = interval_text((float(mean), low, high), ".3g")
            texts.append(
                f"{place}median of d {interval_text(median, '.3g')} nats<br>"
                f"SKL, the mean, {mean_text}; largest {largest:.3g}, "
                f"{curve.k} data sets"
                + "<br>most of the mean is one data set's"
                * bool(curve.found.dominated[i])
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
    curve_marks = [
        marks(
            staggered_places(x, curve.x, j, len(curves)),
            DrawnLine(
                curve.label, curve.look, curve.found, curve.gap, _hover(curve, axis), curve.bare
            ),
            nats,
        )
        for j, curve in enumerate(curves)
    ]
    guide = (
        []
        if axis != "M"
        else [rate_guide(np.unique(places), [curve.found.median for curve in curves], nats)]
    )
    return Panel(
        [HLine(0.0, color=style.NULL), *guide, *(mark for line in curve_marks for mark in line)],
        x=x,
        y=nats.axis(),
        title=subplot.title,
        height=_HEIGHT,
        legend=[(c.label, c.look.color, c.look.symbol) for c in curves] + [GUIDE] * len(guide),
    )


def _nats(curves: Sequence[DivergenceCurve]) -> NatsAxis:
    return NatsAxis.of([values for c in curves for values in c.found.medians])


def drawn(
    number: int, plan: Plan, found: PlanTerms, ms: Sequence[int] | None = None
) -> tuple[Drawn, ...]:
    """One of the paper's figures, drawn from a plan's finished runs.

    Figures 2 and 3 are followed by the same divergences along M, after the last iterations.
    """
    if number == 1:
        panels = _panels(plan, lambda i: curves_along_iterations(plan, found, i))
        return (against_iterations_figure(panels),)
    own = [importance_sample_size(inference) for inference in plan.inferences]
    if number == 2:
        families = [weighted(plan, j) for j in range(len(plan.inferences))]
        sheets, shown = families, ms or MS
    else:
        sheets, shown = [trained_with_each(plan)], sorted(set(own))
        families = sheets + [weighted(plan, own.index(1))] * (1 in own)
    figures = [_each_m_figure(number, plan, found, family, shown) for family in sheets]
    along = _panels(plan, lambda i: curves_along_m(plan, found, i, families, shown))
    return (*figures, _along_m_figure(along, plan.iterations[-1], number))


def _each_m_figure(
    number: int, plan: Plan, found: PlanTerms, family: CurveFamily, ms: Sequence[int]
) -> Drawn:
    """Figure 2 or 3: divergence against iterations, a curve for each M."""
    panels = _panels(plan, lambda i: curves_for_each_m(plan, found, i, family, ms))
    what, caption = _EACH_M[number]
    return Drawn(
        f"Figure {number}: {what.format(family.label)}",
        _sheet(panels, "iterations"),
        caption + _marks(panels),
    )


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
        f"{caption}{_marks(panels)} {BARE}",
    )


_EACH_M = {
    2: (
        "importance sampling of {}, a curve for each M",
        "Each curve weighs M draws of the same q by p / q; curves for larger M lie lower, as far "
        "as importance sampling mends q; if q were correct, all would lie about 0.",
    ),
    3: (
        "{} trained with M, a curve for each M",
        "Each curve is VI trained for the M draws that it is tested with, M = 1 plain VI; if q "
        "were correct, all would lie about 0.",
    ),
}
"""Title and reading of the figures with a curve for each M."""


def _along_m_figure(panels: Sequence[Subplot], iterations: int, number: int) -> Drawn:
    """The divergences of Figure 2 or 3 along M, after so many iterations."""
    caption = (
        "Lines fall as more draws of q are weighted, as far as importance sampling mends q. The "
        "dashed line falls as 1/M, the rate of KL(q‖p) for large M"
        + ". Where VI trained with M is lower, training for M gained more than weighting a q "
        "trained with M = 1" * (number == 3) + "; if q were correct, all lines would lie about 0."
    )
    return Drawn(
        f"Figure {number}, along M: after {iterations:,} iterations",
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
