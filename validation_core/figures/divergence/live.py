"""What the Symmetric divergence page draws: SKL on a logarithmic axis, a panel for each model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from validation_core.figures import live
from validation_core.figures.divergence.curves import (
    Panels,
    SummaryCurve,
    along_iterations,
    along_m,
    along_training,
    prefixes,
)
from validation_core.figures.divergence.nats import tick
from validation_core.figures.divergence.sentences import answer, caption
from validation_core.figures.marks import Axis, Line, Mark, Panel, Points, Slider, over, text
from validation_core.simulations import MS, Plan, Terms, tested
from validation_core.types import Array

_FLOOR, _CEILING = -4, 15  # decades of nats; what is nearer to 0 is not told apart

_HEIGHT, _MARGIN = 250, 104

_APART = 0.012  # of the axis: intervals do not hide one another


def payload(view: str, plan: Plan, terms: Mapping[tuple[int, int], Terms]) -> live.Payload:
    """A view of what has run: "iterations", "weighted" or "trained"."""
    along = {"iterations": along_iterations, "weighted": along_m, "trained": along_training}
    return draw(view, plan, along[view](plan, terms))


def there(terms: Mapping[tuple[int, int], Terms]) -> bytes:
    """Which runs are there: pictures of one plan differ by that alone."""
    return np.packbits(np.concatenate([terms[place].done for place in sorted(terms)])).tobytes()


def draw(view: str, plan: Plan, panels: Panels) -> live.Payload:
    """A view at every position of its two sliders."""
    titles = [model.label for model in plan.models]
    first, second = _slider(view, plan), _data_sets(plan)
    at_first, at_second = list(first.names or ()), list(second.names or ())
    places = plan.iterations if view == "iterations" else ms(view, plan)
    unit = "iterations" if view == "iterations" else "M"
    a, p = len(first.grid), len(second.grid)
    ends = [_end(panels, i) for i in range(a)]
    answers = [[answer(titles, panels, (i, j, ends[i])) for j in range(p)] for i in range(a)]
    here = [f"{places[end]:,}" for end in ends]
    names = first.name, "k"
    return live.payload(
        sliders=[first, second],
        panels=[
            _panel(title, lines, places, unit, names)
            for title, lines in zip(titles, panels, strict=True)
        ],
        headline=text(
            "After {iterations} iterations, over {k} data sets and with M = {m}: {answer}",
            iterations=over(here if unit == "iterations" else at_first, names[0]),
            k=over(at_second, "k"),
            m=over(at_first if unit == "iterations" else here, names[0]),
            answer=over(answers, *names),
        ),
    )


def ms(view: str, plan: Plan) -> tuple[int, ...]:
    """M along the axis of a view."""
    if view == "trained":
        return tuple(tested(inference) for inference in plan.inferences)
    return MS


def _slider(view: str, plan: Plan) -> Slider:
    if view == "iterations":
        return Slider(
            "m",
            MS,
            label="Draws weighed, M",
            names=[f"{m}" for m in MS],
            ends=("q as it is", "importance sampling"),
        )
    return Slider(
        "iterations",
        plan.iterations,
        label="Iterations of inference",
        play=True,
        names=[f"{n:,}" for n in plan.iterations],
        start=plan.iterations[-1],
    )


def _data_sets(plan: Plan) -> Slider:
    first = prefixes(plan.datasets)
    return Slider(
        "k",
        first,
        label="Data sets averaged, K",
        names=[f"{k}" for k in first],
        start=plan.datasets,
        ends=("wide intervals", "narrow"),
    )


def _end(panels: Panels, a: int) -> int:
    """The last place at which any curve has a number."""
    there = [np.isfinite(line.numbers.mean[a]).any(0) for lines in panels for line in lines]
    finite = np.flatnonzero(np.any(there, axis=0))
    return int(finite[-1]) if finite.size else len(there[0]) - 1


def _panel(
    title: str,
    lines: Sequence[SummaryCurve],
    places: Sequence[int],
    unit: str,
    names: tuple[str, str],
) -> Panel:
    at = np.log10(np.array(places, float))
    width = at[-1] - at[0] or 1.0
    low, high = _limits(lines)
    marks: list[Mark] = []
    for j, line in enumerate(lines):
        x = at + _APART * width * (j - (len(lines) - 1) / 2)
        of = line.numbers
        y, down, up = (over(_log(curve, low), *names) for curve in (of.mean, of.low, of.high))
        marks += [
            Line(x, y, color=line.color, dash=line.dash, label=line.label),
            Points(
                x,
                over(_log(of.median, low), *names),
                color=line.color,
                symbol="ring",
                size=5,
                opacity=0.75,
            ),
            Points(x, y, low=down, high=up, color=line.color, symbol=line.symbol, size=6),
        ]
    a, p, _ = lines[0].numbers.mean.shape
    captions = [[caption(lines, places, unit, i, j) for j in range(p)] for i in range(a)]
    decades = np.arange(low, high + 1, -(-(high - low) // 5))
    return Panel(
        marks,
        title=title,
        height=_HEIGHT,
        margin=_MARGIN,
        x=Axis(
            (at[0] - 0.04 * width, at[-1] + 0.04 * width),
            "iterations" if unit == "iterations" else "draws weighed, M",
            ticks=at,
            names=[_short(n) for n in places],
        ),
        y=Axis(
            (low - 0.05, high + 0.05),
            "symmetric divergence, nats",
            ticks=decades,
            names=[tick(float(10.0**d)) for d in decades],
        ),
        caption=over(captions, *names),
    )


def _limits(lines: Sequence[SummaryCurve]) -> tuple[int, int]:
    """Decades between which all curves lie, at every position of the sliders."""
    numbers = [line.numbers for line in lines]
    centres = np.concatenate(
        [of.ravel() for summary in numbers for of in (summary.mean, summary.median)]
    )
    tops = np.concatenate([summary.high.ravel() for summary in numbers])
    centres, tops = centres[centres > 0], tops[tops > 0]
    if not (centres.size and tops.size):
        return -2, 1
    low = int(np.clip(np.floor(np.log10(centres.min())), _FLOOR, _CEILING - 2))
    high = int(np.clip(np.ceil(np.log10(tops.max())), low + 2, _CEILING))
    return low, high


def _log(values: Array, low: int) -> Array:
    return np.log10(np.clip(values, 10.0**low, 10.0**_CEILING))


def _short(n: int) -> str:
    return f"{n // 1000}k" if n >= 1000 else f"{n}"
