"""The paper's figures, each with the sentence that says how to read it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from validation_core.figures import style
from validation_core.figures.marks import Axis, Grid, Line, Mark, Panel, Picture, Points, empty
from validation_core.figures.outcome import Drawn
from validation_core.simulations import MS, Plan, curves
from validation_core.simulations.curves import DivergenceCurve, PlanTerms
from validation_core.types import Array

LOWEST = 1e-4
"""Nats below which no axis goes: nothing that anybody would notice is smaller."""

_LARGEST = 1e37
"""Nats above which nothing is drawn: numbers travel in single precision."""

_FEW, _TICKS = 2, 6  # ticks along the divergence
_BELOW, _ABOVE = 0.06, 0.12  # of its axis, for open marks and for crosses
_NOTHING = 0.01  # nats: where a panel ends at most, of which an estimate is nothing


def _tick_words(tick: float) -> str:
    """A tick as it is written: in figures where it has few, else with a power of ten."""
    exponent = int(np.floor(np.log10(tick) + 1e-9))
    if -3 < exponent < 4:
        return f"{tick:g}"
    times = round(tick / 10.0**exponent)
    return f"{times} × " * (times > 1) + f"10<sup>{exponent}</sup>".replace("-", "−")


def _axis_along(curves: Sequence[DivergenceCurve], name: str) -> Axis:
    """The axis of iterations or of M."""
    places = np.concatenate([curve.x for curve in curves])
    low, high = float(places.min()), float(places.max())
    room = (high / low) ** 0.07 if high > low else 2.0
    ticks = sorted(set(places))
    return Axis((low / room, high * room), name, log=True, ticks=_fewer(ticks, high / low))


def _fewer(ticks: Sequence[float], span: float) -> list[float]:
    """Those of the places that do not write over one another."""
    spaced: list[float] = []
    for tick in ticks:
        if not spaced or np.log(tick / spaced[-1]) >= 0.09 * np.log(span) - 1e-9:
            spaced.append(float(tick))
    return spaced


def _axis_foot(curves: Sequence[DivergenceCurve]) -> float:
    """The lowest power of ten that an estimate or an interval's end above 0 asks for; lower where
    an estimate is nothing, which should not look like a hundred nats.
    """
    ends = np.concatenate([[*c.found.mean, *c.found.low] for c in curves])
    above = ends[np.isfinite(ends) & (ends > LOWEST)]
    low = float(10.0 ** np.floor(np.log10(above.min()))) if above.size else LOWEST
    nothing = any((c.found.mean <= LOWEST).any() for c in curves)
    return min(low, _NOTHING) if nothing else low


def _axis_up(curves: Sequence[DivergenceCurve]) -> Axis:
    """The axis of the divergence, with room below its foot and for crosses at its top."""
    low = _axis_foot(curves)
    ends = np.concatenate([[*c.found.mean, *c.found.high] for c in curves])
    top = min(max(float(ends[np.isfinite(ends)].max(initial=0.0)), 10 * low), _LARGEST)
    span = np.log10(top / low)
    limits = low * 10 ** (-_BELOW * span), top * 10 ** (_ABOVE * span)
    ticks = _ticks(low, top)
    return Axis(limits, "SKL, nats", log=True, ticks=ticks, names=[*map(_tick_words, ticks)])


def _ticks(low: float, top: float) -> list[float]:
    """Powers of ten from the foot on, and what lies between where these are few."""
    decades = 10.0 ** np.arange(np.round(np.log10(low)), np.floor(np.log10(top)) + 1)
    if len(decades) > _FEW:
        return list(map(float, decades[:: -(-len(decades) // _TICKS)]))
    between = np.outer(decades, (1, 2, 5)).ravel()
    return [float(tick) for tick in between if tick <= top]


_BETWEEN_LINES = 0.018  # of the axis' length, between the algorithms at one place


def _marks_of(curves: Sequence[DivergenceCurve], x: Axis, y: Axis, along: str) -> Iterator[Mark]:
    foot, (floor, roof) = _axis_foot(curves), y.limits
    top = roof / (roof / floor) ** 0.04
    step = (x.limits[1] / x.limits[0]) ** _BETWEEN_LINES
    for j, curve in enumerate(curves):
        look = style._algorithm_style(curve.name)
        at = curve.x * step ** (j - (len(curves) - 1) / 2)
        texts = np.array(_hover(curve, along))
        mean, low, high = (_clipped(values, foot) for values in curve.found[:3])
        yield _intervals(at, low, high, look.color, curve.label)
        yield Line(at, mean, color=look.color, dash=look.dash, width=1.8, label=curve.label)
        yield Points(
            at,
            mean,
            color=look.color,
            size=8,
            symbol=[look.symbol + "-open" * bool(m <= foot) for m in curve.found.mean],
            label=curve.label,
            texts=texts,
            hover="%{text}",
        )
        if curve.gap.any():
            yield Points(
                at[curve.gap],
                np.full(int(curve.gap.sum()), top),
                color=look.color,
                size=8,
                symbol="x-thin-open",
                label=curve.label,
                texts=texts[curve.gap],
                hover="%{text}",
            )


def _clipped(values: Array, foot: float) -> Array:
    """On the axis: what lies below its foot at the foot, NaN where there is nothing."""
    return np.where(np.isfinite(values), np.clip(values, foot, _LARGEST), np.nan)


def _intervals(x: Array, low: Array, high: Array, color: str, label: str) -> Line:
    """Upright pieces of a line: a length from the mean would be rounded off over such decades."""
    nothing = np.full(len(x), np.nan)
    across, up = ((a, b, nothing) for a, b in ((x, x), (low, high)))
    ends = (np.stack(parts, axis=1).ravel() for parts in (across, up))
    return Line(*ends, color=color, width=1.5, opacity=0.75, label=label)


def _hover(curve: DivergenceCurve, along: str) -> list[str]:
    """What the pointer reads at each place."""
    texts = []
    for i, mean in enumerate(curve.found.mean):
        place = f"{curve.label}, {int(curve.x[i]):,} {along}<br>"
        if np.isfinite(mean):
            low, high, median, largest, _ = (float(values[i]) for values in curve.found[1:])
            texts.append(
                f"{place}SKL {mean:.3g} [{low:.3g}, {high:.3g}] nats<br>median of d {median:.3g}, "
                f"largest {largest:.3g}, {curve.k} data sets"
            )
        elif curve.failures[i]:
            texts.append(f"{place}no q on {curve.failures[i]} of {curve.k} data sets")
        else:
            texts.append(place + ("no finite estimate" if curve.done[i] else "no run yet"))
    return texts


_COLUMNS = 3
_HEIGHT = 232  # pixels of a panel


class Subplot(NamedTuple):
    """A model and its lines."""

    title: str
    curves: Sequence[DivergenceCurve]


def _sheet(panels: Sequence[Subplot], along: str) -> Picture:
    """All panels, what lies along them being iterations or M."""
    if not any(np.isfinite(c.found.mean).any() or c.gap.any() for p in panels for c in p.curves):
        return empty("No run has ended yet", height=_HEIGHT)
    return Grid([_panel(panel, along) for panel in panels], min(_COLUMNS, len(panels)))


def _panel(subplot: Subplot, along: str) -> Panel:
    curves = subplot.curves
    x, y = _axis_along(curves, along), _axis_up(curves)
    styles = [style._algorithm_style(curve.name) for curve in curves]
    return Panel(
        list(_marks_of(curves, x, y, along)),
        x=x,
        y=y,
        title=subplot.title,
        height=_HEIGHT,
        legend=[
            (c.label, look.color, look.symbol) for c, look in zip(curves, styles, strict=True)
        ],
    )


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
        _sheet(panels, "iterations"),
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
        _sheet(panels, "M"),
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
        _sheet(panels, "M"),
        caption + _marks(panels),
    )


def _marks(panels: Sequence[Subplot]) -> str:
    """What the marks mean that are there."""
    several = [(c.found, _axis_foot(p.curves)) for p in panels for c in p.curves]
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
