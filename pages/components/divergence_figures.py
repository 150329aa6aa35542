"""What the Symmetric divergence page draws: SKL on a logarithmic axis, a panel for each model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import streamlit as st

from pages.components import live
from pages.components.divergence_curves import (
    Line,
    Panels,
    along_iterations,
    along_m,
    along_training,
    prefixes,
)
from pages.components.divergence_sentences import answer, caption
from pages.components.divergence_words import tick
from validation_core import keys
from validation_core.simulations import MS, Plan, Terms, tested
from validation_core.types import Array

VIEWS = {"iterations": "Iterations", "weighted": "Importance sampling", "trained": "IWVI"}

READ = {
    "iterations": "Each point is a mean over data sets, in nats; its bar is the 95% normal "
    "interval, formed before the logarithm and cut at the lower edge where it reaches 0; rings "
    "are medians. IWVI weighs as many draws as it was trained with, or more. Were q right, every "
    "point would be 0: on the lower edge.",
    "weighted": "Along a curve more draws of the same q are weighed by p over q, which brings it "
    "nearer: a steep curve is a q that weighing repairs. Were q right, the curve would be on the "
    "lower edge from M = 1 on.",
    "trained": "One curve is importance-weighted VI (IWVI), trained for the M draws that are "
    "weighed; the other is plain VI, its draws weighed alike. Where both lie together, training "
    "with M buys nothing that weighing does not. Were q right, both would be on the lower edge "
    "from M = 1 on.",
}
"""How to read each view, and what it would look like if q were right."""

_FLOOR, _CEILING = -4, 15  # decades of nats; what is nearer to 0 is not told apart
_HEIGHT, _MARGIN = 250, 104
_APART = 0.012  # of the axis: intervals do not hide one another


ADDRESS = {"iterations": "weigh", "weighted": "after", "trained": "after"}
"""What the address calls the first slider of each view."""


def payload(view: str, plan: Plan, terms: Mapping[tuple[int, int], Terms]) -> live.Payload:
    """A view of what has run, made once."""
    there = np.concatenate([terms[place].done for place in sorted(terms)])
    return _payload(view, keys.key(plan), np.packbits(there).tobytes(), plan, terms)


@st.cache_resource(show_spinner=False, max_entries=64)
def _payload(
    view: str, key: str, there: bytes, _plan: Plan, _terms: Mapping[tuple[int, int], Terms]
) -> live.Payload:
    along = {"iterations": along_iterations, "weighted": along_m, "trained": along_training}
    return draw(view, _plan, along[view](_plan, _terms))


def draw(view: str, plan: Plan, panels: Panels) -> live.Payload:
    """A view at every position of its two sliders."""
    titles = [model.label for model in plan.models]
    first = _slider(view, plan)
    second = _data_sets(plan)
    places = plan.iterations if view == "iterations" else ms(view, plan)
    unit = "iterations" if view == "iterations" else "M"
    a, p = len(first["values"]), len(second["values"])
    ends = [_end(panels, i) for i in range(a)]
    said = [[answer(titles, panels, (i, j, ends[i])) for j in range(p)] for i in range(a)]
    here = [f"{places[end]:,}" for end in ends]
    names = first["name"], "k"
    return live.payload(
        sliders=[first, second],
        panels=[
            _panel(title, lines, places, unit, names)
            for title, lines in zip(titles, panels, strict=True)
        ],
        headline=live.text(
            "After {iterations} iterations, over {k} data sets and with M = {m}: {answer}",
            iterations=live.over(here if unit == "iterations" else first["shown"], names[0]),
            k=live.over(second["shown"], "k"),
            m=live.over(first["shown"] if unit == "iterations" else here, names[0]),
            answer=live.over(said, *names),
        ),
    )  # fmt: skip


def ms(view: str, plan: Plan) -> tuple[int, ...]:
    """M along the axis of a view."""
    if view == "trained":
        return tuple(tested(inference) for inference in plan.inferences)
    return MS


def _slider(view: str, plan: Plan) -> dict:
    if view == "iterations":
        return live.slider(
            "m", MS, label="Draws weighed, M", shown=[f"{m}" for m in MS],
            ends=("q as it is", "importance sampling"),
        )  # fmt: skip
    return live.slider(
        "iterations", plan.iterations, label="Iterations of inference", play=True,
        shown=[f"{n:,}" for n in plan.iterations], start=plan.iterations[-1],
    )  # fmt: skip


def _data_sets(plan: Plan) -> dict:
    first = prefixes(plan.datasets)
    return live.slider(
        "k", first, label="Data sets averaged, K", shown=[f"{k}" for k in first],
        start=plan.datasets, ends=("wide intervals", "narrow"),
    )  # fmt: skip


def _end(panels: Panels, a: int) -> int:
    """The last place at which any curve has a number."""
    there = [np.isfinite(line.numbers.mean[a]).any(0) for lines in panels for line in lines]
    seen = np.flatnonzero(np.any(there, axis=0))
    return int(seen[-1]) if seen.size else len(there[0]) - 1


def _panel(
    title: str, lines: Sequence[Line], places: Sequence[int], unit: str, names: tuple[str, str]
) -> dict:
    at = np.log10(np.array(places, float))
    width = at[-1] - at[0] or 1.0
    low, high = _limits(lines)
    marks = []
    for j, line in enumerate(lines):
        x = at + _APART * width * (j - (len(lines) - 1) / 2)
        of = line.numbers
        y, down, up = (live.over(_log(one, low), *names) for one in (of.mean, of.low, of.high))
        marks += [
            live.line(x, y, color=line.color, dash=line.dash, label=line.label),
            live.points(
                x,
                live.over(_log(of.median, low), *names),
                color=line.color,
                symbol="ring",
                size=5,
                opacity=0.75,
            ),
            live.points(x, y, low=down, high=up, color=line.color, symbol=line.symbol, size=6),
        ]
    a, p, _ = lines[0].numbers.mean.shape
    said = [[caption(lines, places, unit, i, j) for j in range(p)] for i in range(a)]
    decades = np.arange(low, high + 1, -(-(high - low) // 5))
    return live.panel(
        marks, title=title, height=_HEIGHT, margin=_MARGIN,
        x=live.axis((at[0] - 0.04 * width, at[-1] + 0.04 * width),
                    "iterations" if unit == "iterations" else "draws weighed, M",
                    ticks=at, shown=[_short(n) for n in places]),
        y=live.axis((low - 0.05, high + 0.05), "symmetric divergence, nats", ticks=decades,
                    shown=[tick(float(10.0**d)) for d in decades]),
        caption=live.over(said, *names),
    )  # fmt: skip


def _limits(lines: Sequence[Line]) -> tuple[int, int]:
    """Decades between which all curves lie, at every position of the sliders."""
    numbers = [line.numbers for line in lines]
    drawn = np.concatenate([of.ravel() for one in numbers for of in (one.mean, one.median)])
    tops = np.concatenate([one.high.ravel() for one in numbers])
    drawn, tops = drawn[drawn > 0], tops[tops > 0]
    if not (drawn.size and tops.size):
        return -2, 1
    low = int(np.clip(np.floor(np.log10(drawn.min())), _FLOOR, _CEILING - 2))
    high = int(np.clip(np.ceil(np.log10(tops.max())), low + 2, _CEILING))
    return low, high


def _log(values: Array, low: int) -> Array:
    return np.log10(np.clip(values, 10.0**low, 10.0**_CEILING))


def _short(n: int) -> str:
    return f"{n // 1000}k" if n >= 1000 else f"{n}"
