"""Lines of the divergence on one panel.

Medians, rings, edges.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from validation_core.drawing.marks import Axis, Line, Mark, Number, Points, over
from validation_core.symmetric_divergence.nats_text import tick_label
from validation_core.symmetric_divergence.runs import TermSummary
from validation_core.symmetric_divergence.terms import SymlogScale
from validation_core.types import Array

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
