"""Lines of the divergence on one panel: medians with intervals, means as rings, edge arrows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from validation_core.drawing.marks import Axis, Line, Mark, Number, Points, over
from validation_core.drawing.style import NULL
from validation_core.symmetric_divergence.nats_text import tick_label
from validation_core.symmetric_divergence.runs import MS, TermSummary
from validation_core.symmetric_divergence.terms import SymlogScale
from validation_core.types import Array, MethodStyle

SCALE = SymlogScale(0.1)
LABEL = "nats"
BARE_M = 2, 10, 50
"""Every other M: their curves are medians alone where there is a curve for each."""
BARE = "Curves of M = 2, 10 and 50 are medians alone."
MARKS = (
    "Points are medians over the data sets of d, what each adds to the divergence, with 95% "
    "intervals; rings are means of d, the divergence itself. Values beyond an axis are drawn "
    "at its edge, with an arrow. The axis is linear up to 0.1 nats and logarithmic beyond."
)
"""How to read each panel."""
GUIDE = "1/M", NULL, "dash"
"""The guide in a panel's legend."""
_M_STYLES = dict(
    zip(
        MS,
        (
            MethodStyle("#8A4FB8", "solid", "circle"),
            MethodStyle("#5566D0", "dash", "square"),
            MethodStyle("#2F80BF", "dashdot", "diamond"),
            MethodStyle("#1B8F8A", "longdash", "triangle-up"),
            MethodStyle("#4C8F3A", "solid", "square"),
            MethodStyle("#94821F", "dash", "circle"),
            MethodStyle("#BF6A1F", "dashdot", "triangle-up"),
        ),
        strict=True,
    )
)
_ROOM = 0.09  # share of the axis, at either end, for values beyond it
_ARROW = 0.04, 0.085  # where an arrow begins there, and its tip
_HALF = 0.011  # of the axis, to either side of the tip
_CROSSES = 0.045
_LEAST = -0.01, 1.0  # nats: every axis reaches so far
_APART = 0.012  # of the axis, between lines at one place
_CROWDED = 0.09  # of the axis, between two ticks
_TICKS = 7


class NatsAxis(NamedTuple):
    """Range of a panel's axis in nats, from the lowest to the highest median with its interval."""

    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[Array]) -> NatsAxis:
        """The axis that covers all values, and at least 0 to 1 nat."""
        every = np.concatenate([np.ravel(part) for part in values])
        every = every[np.isfinite(every)]
        low, high = _LEAST
        return cls(float(every.min(initial=low)), float(every.max(initial=high)))

    def edges(self, room: float = 0.0) -> Array:
        """Both ends, widened by a share `room` of the axis."""
        low, high = SCALE.at(np.array(self))
        return np.array([low - room * (high - low), high + room * (high - low)])

    def axis(self) -> Axis:
        """The panel's axis, with room for marks beyond the range."""
        nats = SCALE.ticks(*self, _TICKS)
        low, high = map(float, self.edges(_ROOM))
        names = [tick_label(float(v)) for v in nats]
        return Axis((low, high), LABEL, ticks=SCALE.at(nats), names=names)

    def within(self, nats: Array) -> Array:
        """Positions of values, clipped to the range."""
        return SCALE.at(np.clip(nats, *self))


def m_style(m: int) -> MethodStyle:
    """Colour, dash and symbol of the curve of one M: from violet for 1 to orange for 100."""
    return _M_STYLES[m]


def rate_guide(
    ms: ArrayLike, medians: Sequence[Array], nats: NatsAxis, by: Sequence[str] = ()
) -> Line:
    """A dashed line that falls as 1 / M from the highest median at the first M.

    That is the rate at which KL(q‖p) of importance sampling falls once M is large (Maddison and
    others 2017; Domke and Sheldon 2018).

    Args:
        ms: M along the axis (X,).
        medians: of each line (..., X), leading axes over the sliders `by`.
        nats: the panel's axis.
        by: names of the sliders.
    """
    m = np.asarray(ms, float)
    starts = np.stack([np.where(np.isfinite(line[..., 0]), line[..., 0], 0.0) for line in medians])
    fall = starts.max(0)[..., None] * m[0] / m
    drawn = nats.within(np.where(fall > 0, fall, np.nan))
    at = over(drawn, *by) if by else drawn
    return Line(np.log10(m), at, color=NULL, dash="6 4", width=1.2, label=GUIDE[0])


def log_axis(places: ArrayLike, label: str) -> Axis:
    """A logarithmic axis of iterations or of M."""
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
    """Positions of the points of one line among several, shifted so that intervals do not overlap.

    Args:
        x: the axis.
        places: positions (P,) before the shift.
        j: index of the line.
        count: number of lines.
    """
    step = _APART * (x.limits[1] - x.limits[0])
    return np.asarray(np.log10(np.asarray(places, float)) + step * (j - (count - 1) / 2))


class DrawnLine(NamedTuple):
    """One line with its estimates."""

    label: str
    look: MethodStyle
    numbers: TermSummary
    """(..., X), leading axes over sliders."""
    gap: NDArray[np.bool_]
    """Positions with a run but no estimate (..., X)."""
    texts: Sequence[str] = ()
    """Hover text at each position (X,)."""
    bare: bool = False
    """Medians alone, without intervals and means: for a line among many."""


class _PointOptions(TypedDict, total=False):
    color: str
    label: str
    hover: str
    texts: Sequence[str]


def marks(x: Array, line: DrawnLine, nats: NatsAxis, by: Sequence[str] = ()) -> Iterator[Mark]:
    """Marks of a line with points at x (X,), over the sliders of these names."""

    def at(values: Array) -> Number:
        return over(values, *by) if by else values

    numbers, color = line.numbers, line.look.color
    # The browser writes every label; plotly's legend hides marks by theirs.
    own = "" if by else line.label
    points: _PointOptions = {"color": color, "label": own}
    if line.texts:
        points |= {"hover": "%{text}", "texts": line.texts}
    middle, low, high = (at(nats.within(end)) for end in numbers.medians)
    yield Line(x, middle, color=color, dash=line.look.dash, width=1.8, label=line.label)
    symbol = line.look.symbol
    if line.bare:
        yield Points(x, middle, symbol=symbol, size=4.5, **points)
    else:
        mean = at(nats.within(numbers.mean))
        yield Points(x, mean, symbol="ring", size=6.5, opacity=0.8, **points)
        yield Points(x, middle, low=low, high=high, symbol=symbol, size=6, **points)
    drawn = (numbers.median,) if line.bare else (numbers.mean, *numbers.medians)
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
    """Arrow tips where values lie beyond an edge: x (4X,), y (..., 4X)."""
    half = _HALF * max(float(np.ptp(x)), 1.0)
    across = np.stack([x - half, x, x + half, x], -1)
    y = np.where(there[..., None], [foot, tip, foot, np.nan], np.nan)
    return across.ravel(), y.reshape(*y.shape[:-2], -1)
