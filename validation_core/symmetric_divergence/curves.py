"""Figures 1 to 3: estimates with intervals along iterations or M, and how they are drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import isfinite, log10
from typing import Any, NamedTuple, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from validation_core.drawing import style
from validation_core.drawing.marks import (
    Axis,
    Grid,
    HLine,
    Line,
    Mark,
    Number,
    Panel,
    Picture,
    Points,
    empty,
    over,
)
from validation_core.drawing.outcome import Drawn
from validation_core.statistics.divergence import HEAVY, tail_shape
from validation_core.symmetric_divergence.runs import (
    MS,
    Plan,
    Terms,
    TermSummary,
    importance_sample_size,
    summarise_terms,
)
from validation_core.symmetric_divergence.terms import SymlogScale
from validation_core.types import Array

PlanTerms = Mapping[tuple[int, int], Terms]


@dataclass(frozen=True, eq=False)
class DivergenceCurve:
    """One line of a panel, with P places along x."""

    name: str
    """The algorithm, as the registry calls it: its look."""
    label: str
    x: Array
    """Iterations or M (P,)."""
    found: TermSummary
    """(P,) each, in nats; NaN where there is no estimate."""
    done: NDArray[np.bool_]
    """Where there is a run (P,)."""
    failures: NDArray[np.int64]
    """Data sets without q (P,)."""
    k: int

    @property
    def gap(self) -> NDArray[np.bool_]:
        """Where there is a run, but no estimate (P,)."""
        return np.asarray(self.done & ~np.isfinite(self.found.mean))


def curves_along_iterations(plan: Plan, found: PlanTerms, model: int) -> list[DivergenceCurve]:
    """Figure 1: each inference of a model, tested with the M that it was made for."""
    curves = []
    for j, inference in enumerate(plan.inferences):
        terms = found[model, j]
        d = terms.d[:, MS.index(importance_sample_size(inference))]
        curves.append(
            DivergenceCurve(
                inference.name,
                inference.label,
                np.array(plan.iterations, float),
                summarise_terms(d),
                terms.done,
                terms.failures,
                plan.datasets,
            )
        )
    return curves


def _along_m(
    plan: Plan, found: PlanTerms, model: int, iterations: int, ms: Sequence[int] = MS
) -> list[DivergenceCurve]:
    """Figure 2: each inference of a model after so many iterations, its draws weighted with M."""
    at = plan.iterations.index(iterations)
    return [
        _weighted(inference.name, inference.label, found[model, j], at, plan.datasets, ms)
        for j, inference in enumerate(plan.inferences)
    ]


def curves_trained_with_m(
    plan: Plan, found: PlanTerms, model: int, iterations: int
) -> list[DivergenceCurve]:
    """Figure 3: VI trained with each M and tested with the same, beside VI that is trained with
    M = 1 and weighted with M.
    """
    at = plan.iterations.index(iterations)
    ms = [importance_sample_size(inference) for inference in plan.inferences]
    order = np.argsort(ms)
    several = [found[model, int(j)] for j in order]
    d = np.stack([t.d[at, MS.index(ms[j])] for j, t in zip(order, several, strict=True)])
    curves = [
        DivergenceCurve(
            "iwvi",
            "VI trained with M",
            np.sort(ms).astype(float),
            summarise_terms(d),
            np.array([t.done[at] for t in several]),
            np.array([t.failures[at] for t in several]),
            plan.datasets,
        )
    ]
    if 1 in ms:
        terms = found[model, ms.index(1)]
        label = "VI trained with M = 1, weighted with M"
        curves.append(_weighted("vi", label, terms, at, plan.datasets, sorted(ms)))
    return curves


def _weighted(
    name: str, label: str, terms: Terms, at: int, k: int, ms: Sequence[int]
) -> DivergenceCurve:
    places = [MS.index(m) for m in ms]
    return DivergenceCurve(
        name,
        label,
        np.array(ms, float),
        summarise_terms(terms.d[at, places]),
        np.repeat(terms.done[at], len(ms)),
        np.repeat(terms.failures[at], len(ms)),
        k,
    )


Row = dict[str, Any]


def rows(plan: Plan, found: PlanTerms, ms: Sequence[int] | None = None) -> list[Row]:
    """A row for each run that there is, in the order of the plan.

    Args:
        plan: what was asked for.
        found: what has run of it.
        ms: M of the importance sampling, a row each; by default the M that each inference was
            made for.

    Returns:
        Estimates in nats, None where a data set has no q; `k` data sets, `failures` of them
        without q; `heavy` where the `tail` of the terms is one of infinite variance.
    """
    records = []
    for (i, j), terms in sorted(found.items()):
        model, inference = plan.models[i], plan.inferences[j]
        numbers = summarise_terms(terms.d)
        for at, iterations in enumerate(plan.iterations):
            for m in ms or (importance_sample_size(inference),) if terms.done[at] else ():
                got = [float(values[at, MS.index(m)]) for values in numbers]
                got.append(tail_shape(np.abs(terms.d[at, MS.index(m)])))
                skl, low, high, *median, largest, sd, tail = (v if v == v else None for v in got)
                records.append(
                    {
                        "model": model.name,
                        "model_label": model.label,
                        "inference": inference.name,
                        "inference_label": inference.label,
                        "iterations": iterations,
                        "trained_m": importance_sample_size(inference),
                        "m": m,
                        "skl": skl,
                        "ci_low": low,
                        "ci_high": high,
                        "median": median[0],
                        "median_low": median[1],
                        "median_high": median[2],
                        "largest": largest,
                        "sd": sd,
                        "tail": tail,
                        "heavy": tail is not None and tail > HEAVY,
                        "k": plan.datasets,
                        "failures": int(terms.failures[at]),
                        "seed": plan.seed,
                        "seconds": float(terms.seconds[at]),
                    }
                )
    return records


def figure_rows(
    number: int, plan: Plan, found: PlanTerms, ms: Sequence[int] | None = None
) -> list[Row]:
    """What one of the paper's figures shows of its plan, M on the axis being `ms`."""
    if number == 1:
        return rows(plan, found)
    if number == 2:
        return [row for row in rows(plan, found, ms or MS) if row["iterations"] in plan.picked]
    weighted = rows(
        plan, found, sorted({importance_sample_size(inference) for inference in plan.inferences})
    )
    last = [row for row in weighted if row["iterations"] == plan.iterations[-1]]
    return [row for row in last if row["trained_m"] in (1, row["m"])]


# ---- Numbers of nats in words, from 1e-15 to 1e10 ----


_HIGH = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def format_number(nats: float) -> str:
    """Two digits: 0.166 as 0.17; three from 100 on: 1234 as 1,230; 1.2e10 as 1.2 × 10¹⁰."""
    if not isfinite(nats):
        return "infinitely many" if nats == float("inf") else "unknown"
    if 99.5 <= abs(nats) < 1e6:
        return f"{float(f'{nats:.3g}'):,.0f}".replace("-", "−")
    digits, _, power = f"{nats:.2g}".partition("e")
    mantissa = digits.replace("-", "−")
    return f"{mantissa}\u00a0×\u00a010{_raised(int(power))}" if power else mantissa


def tick_label(nats: float) -> str:
    """A power of ten on an axis: 0.01, 100, 10⁶."""
    if 1e-3 <= abs(nats) < 1e4 or nats == 0:
        return f"{nats:g}".replace("-", "−")
    return "−" * (nats < 0) + "10" + _raised(round(log10(abs(nats))))


def _raised(power: int) -> str:
    return str(power).translate(_HIGH)


# ---- Lines of the divergence on one panel, for the browser and for plotly ----
#
# Medians, rings, edges.


SCALE = SymlogScale(0.1)

LABEL = "nats"

MARKS = (
    "Points are medians over the data sets of d, what each adds to the divergence, with 95% "
    "intervals; rings are means of d, the divergence itself. Values beyond an axis are drawn "
    "at its edge, with an arrow. The axis is linear up to 0.1 nats and logarithmic beyond."
)
"""How to read every such panel."""

_ROOM = 0.09  # of the axis, at either end, for what lies beyond
_ARROW = 0.04, 0.085  # where an arrow begins there, and its tip
_HALF = 0.011  # of the axis, to either side of the tip
_CROSSES = 0.045
_LEAST = -0.01, 1.0  # nats: every axis reaches so far
_APART = 0.012  # of the axis, between lines at one place
_CROWDED = 0.09  # of the axis, between two ticks
_TICKS = 7


class LineStyle(NamedTuple):
    """Of a line."""

    color: str
    dash: str
    symbol: str


class NatsAxis(NamedTuple):
    """What of the scale a panel shows: from the lowest to the highest median with its interval."""

    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[Array]) -> NatsAxis:
        """One that holds all values, and from 0 to a nat in any case."""
        every = np.concatenate([np.ravel(part) for part in values])
        every = every[np.isfinite(every)]
        low, high = _LEAST
        return cls(float(every.min(initial=low)), float(every.max(initial=high)))

    def edges(self, room: float = 0.0) -> Array:
        """Where both ends are, and so much of the axis beyond them."""
        low, high = SCALE.at(np.array(self))
        return np.array([low - room * (high - low), high + room * (high - low)])

    def axis(self) -> Axis:
        """As a panel has it, with room for what lies beyond."""
        nats = SCALE.ticks(*self, _TICKS)
        low, high = map(float, self.edges(_ROOM))
        names = [tick_label(float(v)) for v in nats]
        return Axis((low, high), LABEL, ticks=SCALE.at(nats), names=names)

    def within(self, nats: Array) -> Array:
        """Places of values, those beyond an edge at it."""
        return SCALE.at(np.clip(nats, *self))


def log_axis(places: ArrayLike, label: str) -> Axis:
    """An axis of iterations or of M, by their logarithms."""
    at = np.log10(np.asarray(places, float))
    width = float(np.ptp(at)) or 1.0
    shown: list[float] = []
    for place in sorted(set(map(float, at))):
        if not shown or place - shown[-1] >= _CROWDED * width - 1e-9:
            shown.append(place)
    names = [_short(round(10**place)) for place in shown]
    limits = float(at.min() - 0.05 * width), float(at.max() + 0.05 * width)
    return Axis(limits, label, ticks=shown, names=names)


def _short(n: int) -> str:
    return f"{n / 1000:g}k" if n >= 1000 else f"{n}"


def staggered_places(x: Axis, places: ArrayLike, j: int, count: int) -> Array:
    """Where the j-th of so many lines has its points: intervals do not hide one another."""
    step = _APART * (x.limits[1] - x.limits[0])
    return np.asarray(np.log10(np.asarray(places, float)) + step * (j - (count - 1) / 2))


class DrawnLine(NamedTuple):
    """What one line shows."""

    label: str
    look: LineStyle
    numbers: TermSummary
    """(..., X), leading axes over sliders."""
    gap: NDArray[np.bool_]
    """Where there is a run, but no estimate (..., X)."""
    texts: Sequence[str] = ()
    """What the pointer reads at each place (X,)."""


class _PointOptions(TypedDict, total=False):
    color: str
    label: str
    hover: str
    texts: Sequence[str]


def marks(x: Array, line: DrawnLine, nats: NatsAxis, by: Sequence[str] = ()) -> Iterator[Mark]:
    """A line's marks, its points at x (X,), over the sliders of these names."""

    def at(values: Array) -> Number:
        return over(values, *by) if by else values

    numbers, color = line.numbers, line.look.color
    # The browser writes every label that a mark has; plotly's legend hides marks by theirs.
    own = "" if by else line.label
    points: _PointOptions = {"color": color, "label": own}
    if line.texts:
        points |= {"hover": "%{text}", "texts": line.texts}
    middle, low, high = (at(nats.within(end)) for end in numbers.medians)
    yield Line(x, middle, color=color, dash=line.look.dash, width=1.8, label=line.label)
    yield Points(x, at(nats.within(numbers.mean)), symbol="ring", size=6.5, opacity=0.8, **points)
    yield Points(x, middle, low=low, high=high, symbol=line.look.symbol, size=6, **points)
    drawn = (numbers.mean, *numbers.medians)
    above = np.any([values > nats.high for values in drawn], axis=0)
    below = np.any([values < nats.low for values in drawn], axis=0)
    for there, edge in ((above, 1), (below, 0)):
        if there.any():
            across, up = _arrows(x, there, *(nats.edges(room)[edge] for room in _ARROW))
            yield Line(across, at(up), color=color, width=1.2, label=own)
    if line.gap.any():
        top = np.where(line.gap, nats.edges(_CROSSES)[1], np.nan)
        yield Points(x, at(top), symbol="cross", size=7, **points)


def _arrows(x: Array, there: NDArray[np.bool_], foot: float, tip: float) -> tuple[Array, Array]:
    """A tip at each place where something lies beyond an edge: x (4X,), y (..., 4X)."""
    half = _HALF * max(float(np.ptp(x)), 1.0)
    across = np.stack([x - half, x, x + half, x], -1)
    y = np.where(there[..., None], [foot, tip, foot, np.nan], np.nan)
    return across.ravel(), y.reshape(*y.shape[:-2], -1)


# ---- The paper's figures, each with the sentence that says how to read it ----


_COLUMNS = 3
_HEIGHT = 232  # pixels of a panel


def _hover(curve: DivergenceCurve, along: str) -> list[str]:
    """What the pointer reads at each place."""
    texts = []
    for i, mean in enumerate(curve.found.mean):
        place = f"{curve.label}, {int(curve.x[i]):,} {along}<br>"
        if np.isfinite(mean):
            low, high, *median, largest, _ = (float(values[i]) for values in curve.found[1:])
            texts.append(
                f"{place}median of d {median[0]:.3g} [{median[1]:.3g}, {median[2]:.3g}] nats<br>"
                f"SKL, the mean, {mean:.3g} [{low:.3g}, {high:.3g}]; largest {largest:.3g}, "
                f"{curve.k} data sets"
            )
        elif curve.failures[i]:
            texts.append(f"{place}no q on {curve.failures[i]} of {curve.k} data sets")
        else:
            texts.append(place + ("no finite estimate" if curve.done[i] else "no run yet"))
    return texts


class Subplot(NamedTuple):
    """A model and its lines."""

    title: str
    curves: Sequence[DivergenceCurve]


def _sheet(panels: Sequence[Subplot], along: str) -> Picture:
    """All panels, what lies along them being iterations or M."""
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
    """One of the paper's figures, of what has run of its plan."""
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
    return _along_m(plan, found, model, iterations, ms)


def _panels(plan: Plan, lines: Callable[[int], Sequence[DivergenceCurve]]) -> list[Subplot]:
    return [Subplot(model.label, lines(i)) for i, model in enumerate(plan.models)]


def against_iterations_figure(panels: Sequence[Subplot]) -> Drawn:
    """Figure 1."""
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
    """Figure 2, of what inference gave after so many iterations."""
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
    """Figure 3, after so many iterations."""
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
    """How to read the marks, and what those mean that are not always there."""
    crosses = any(c.gap.any() for p in panels for c in p.curves)
    return (
        f" {MARKS}"
        + (" Crosses along the top, and a gap below them: inference gave no q on some data sets.")
        * crosses
    )
