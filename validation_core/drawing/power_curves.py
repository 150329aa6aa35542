"""Rejection rates of tests with Wilson intervals, over the level, on one axis.

Where q is correct a rate is the test's type I error, elsewhere its power. The caller puts marks
together, after a level line:

    Panel(
        [level_line(0.05), *rate_curve(gammas, Rates.of(rejections, trials), method_look("c2st"))],
        x=places_axis(gammas, "gamma"),
        y=rejection_axis(),
        legend=curve_keys({"C2ST": method_look("c2st")}),
    )
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from validation_core import statistics
from validation_core.drawing import live, style
from validation_core.drawing.marks import Axis, Band, HLine, Key, Line, Mark, Number, Points, over
from validation_core.types import Array, MethodStyle

REJECTED = "trials that reject q"
"""The label of every axis of rejection rates: a trial is a table, a sample or a batch."""


class Rates(NamedTuple):
    """Rejection rates with their 95% Wilson intervals: three arrays (...)."""

    rate: Array
    low: Array
    high: Array

    @classmethod
    def of(cls, rejections: ArrayLike, trials: ArrayLike) -> Rates:
        """Rates of rejections (...) in trials (...); NaN where there is no trial."""
        counts, run = np.broadcast_arrays(np.asarray(rejections, float), np.asarray(trials, float))
        some = np.where(run > 0, run, 1.0)
        unknown = np.where(run > 0, 0.0, np.nan)
        low, high = statistics.wilson(counts, some)
        return cls(counts / some + unknown, low + unknown, high + unknown)


def rejection_axis(top: float = 1) -> Axis:
    """Axis of rates from 0 to `top` in percent, with room for points at both ends."""
    return Axis((-0.03 * top, 1.04 * top), REJECTED, percent=True)


def places_axis(
    places: ArrayLike,
    label: str,
    *,
    at: ArrayLike | None = None,
    names: Sequence[str] | None = None,
) -> Axis:
    """Axis with a tick at each place (G,) of the trials.

    Args:
        places: their values, which name the ticks.
        at: where they are drawn, if not at their values: logarithms, or even steps.
        names: other names of the ticks.
    """
    values = np.asarray(places, float)
    where = values if at is None else np.asarray(at, float)
    room = 0.03 * float(np.ptp(where)) or 0.5
    ends = float(where.min()) - room, float(where.max()) + room
    return Axis(ends, label, ticks=where, names=names or [f"{value:g}" for value in values])


def level_line(alpha: float) -> HLine:
    """Line at the level, the rate of an exact test when q is correct."""
    return HLine(alpha, color=style.NULL, dash="6 4", label="level")


LEVEL_KEY: Key = "level", style.NULL, "6 4"
"""Legend key of the level line, which is then not named where curves end."""


def method_look(method: str) -> MethodStyle:
    """A method's colour, dash and symbol in the browser's terms."""
    return live.browser_style(style.method_style(method))


def rate_line(
    x: ArrayLike,
    rate: ArrayLike,
    look: MethodStyle,
    *sliders: str,
    coarse: bool = False,
    label: str = "",
    width: float = 2,
) -> Line:
    """Line of rates (..., G) along x (G,).

    Args:
        sliders: sliders that the leading axes of the rates run over.
        coarse: send them to the browser in half the bytes.
        label: the name where the line ends.
    """
    values = _over(rate, sliders, coarse)
    return Line(x, values, color=look.color, dash=look.dash, label=label, width=width)


def rate_band(
    x: ArrayLike,
    rates: Rates,
    look: MethodStyle,
    *sliders: str,
    coarse: bool = False,
    opacity: float = 0.13,
) -> Band:
    """Band of the intervals of rates.

    Args:
        x: positions (G,).
        rates: rates with intervals (..., G).
        look: colour.
        sliders: sliders that the leading axes of the rates run over.
        coarse: send them to the browser in half the bytes.
        opacity: of the band.
    """
    low, high = (_over(end, sliders, coarse) for end in rates[1:])
    return Band(x, low, high, color=look.color, opacity=opacity)


def rate_points(
    x: Number, rates: Rates, look: MethodStyle, *sliders: str, size: float = 7
) -> Points:
    """Points of rates, each with its interval as a bar.

    Args:
        x: positions (G,).
        rates: rates with intervals (..., G).
        look: colour and symbol.
        sliders: sliders that the leading axes of the rates run over.
        size: of a symbol, in pixels.
    """
    rate, low, high = (_over(part, sliders) for part in rates)
    return Points(x, rate, low=low, high=high, color=look.color, symbol=look.symbol, size=size)


def rate_curve(
    x: ArrayLike, rates: Rates, look: MethodStyle, *, opacity: float = 0.13
) -> list[Mark]:
    """Marks of rates (G,) along x (G,): band, line and points."""
    return [
        rate_band(x, rates, look, opacity=opacity),
        rate_line(x, rates.rate, look),
        Points(x, rates.rate, color=look.color, symbol=look.symbol, size=6),
    ]


def rate_bars(
    x: ArrayLike, rates: Rates, look: MethodStyle, *sliders: str, line: ArrayLike | None = None
) -> list[Mark]:
    """Rates (..., G) along x (G,), each with its interval as a bar, over a line.

    Args:
        sliders: sliders that the leading axes of the rates run over.
        line: values of the line (..., G), for example a law; by default the rates themselves.
    """
    along = rates.rate if line is None else line
    return [rate_line(x, along, look, *sliders, width=1.6), rate_points(x, rates, look, *sliders)]


def point_key(words: str, look: MethodStyle) -> Key:
    """Legend key of a curve with points."""
    return words, look.color, look.symbol


def line_key(words: str, look: MethodStyle) -> Key:
    """Legend key of a curve without points."""
    return words, look.color, look.dash or "line"


def curve_keys(looks: Mapping[str, MethodStyle]) -> list[Key]:
    """Legend of curves with points, by name, and of the level."""
    return [*(point_key(words, look) for words, look in looks.items()), LEVEL_KEY]


def _over(values: ArrayLike, sliders: Sequence[str], coarse: bool = False) -> Number:
    return over(values, *sliders, coarse=coarse) if sliders else np.asarray(values)
