"""The paper's figures, each with the sentence that says how to read it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from validation_core.figures.divergence import axes
from validation_core.figures.divergence.sheet import Subplot, sheet
from validation_core.figures.outcome import Drawn
from validation_core.simulations import MS, Plan, curves
from validation_core.simulations.curves import DivergenceCurve, PlanTerms


def drawn(
    number: int, plan: Plan, found: PlanTerms, ms: Sequence[int] | None = None
) -> tuple[Drawn, ...]:
    """One of the paper's figures, of what has run of its plan."""
    if number == 1:
        return (
            against_iterations(_panels(plan, lambda i: curves.along_iterations(plan, found, i))),
        )
    if number == 2:
        return tuple(
            against_m(_panels(plan, partial(_weighed, plan, found, n, ms or MS)), n)
            for n in plan.picked
        )
    last = plan.iterations[-1]
    panels = _panels(plan, lambda i: curves.trained_with_m(plan, found, i, last))
    return (trained_with_m(panels, last),)


def _weighed(
    plan: Plan, found: PlanTerms, iterations: int, ms: Sequence[int], model: int
) -> list[DivergenceCurve]:
    return curves.along_m(plan, found, model, iterations, ms)


def _panels(plan: Plan, lines: Callable[[int], Sequence[DivergenceCurve]]) -> list[Subplot]:
    return [Subplot(model.label, lines(i)) for i, model in enumerate(plan.models)]


def against_iterations(panels: Sequence[Subplot]) -> Drawn:
    """Figure 1."""
    caption = (
        "Each point is the mean over the simulated data sets of an estimate of KL(p‖q) + KL(q‖p) "
        "in nats, with the normal 95% interval of that mean; if q were right, each would be 0 and "
        "every point would lie at the foot of its panel."
    )
    return Drawn(
        "Figure 1: divergence against iterations of inference",
        sheet(panels, "iterations"),
        caption + _marks(panels),
    )


def against_m(panels: Sequence[Subplot], iterations: int) -> Drawn:
    """Figure 2, of what inference gave after so many iterations."""
    caption = (
        "Lines fall as more draws of q are weighted, as far as importance sampling mends q, with "
        "normal 95% intervals; if q were right, they would lie at the foot of the panel from M = "
        "1 on."
    )
    return Drawn(
        f"Figure 2: importance sampling of q after {iterations:,} iterations, M draws weighted",
        sheet(panels, "M"),
        caption + _marks(panels),
    )


def trained_with_m(panels: Sequence[Subplot], iterations: int) -> Drawn:
    """Figure 3, after so many iterations."""
    caption = (
        "Where the line of VI trained with M is lower, training for M gained more than weighting "
        "a q that was trained with M = 1, with normal 95% intervals; if q were right, both would "
        "lie at the foot of the panel."
    )
    return Drawn(
        f"Figure 3: VI trained and tested with M, {iterations:,} iterations",
        sheet(panels, "M"),
        caption + _marks(panels),
    )


def _marks(panels: Sequence[Subplot]) -> str:
    """What the marks mean that are there."""
    several = [(c.found, axes.foot(p.curves)) for p in panels for c in p.curves]
    legend = ""
    if any(
        ((estimates.low <= foot) & (estimates.mean > foot)).any() for estimates, foot in several
    ):
        legend += " Intervals that end at the foot go on below it, to 0 or further."
    if any((estimates.mean <= foot).any() for estimates, foot in several):
        legend += " Open marks: the estimate is at or below the foot, 0 or negative, say."
    if any(c.gap.any() for p in panels for c in p.curves):
        legend += (
            " Crosses along the top, and a gap below them: inference gave no q on some data sets."
        )
    return legend
