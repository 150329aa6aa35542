"""Rejection rates of methods along a grid: curves and a sentence."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from validation_core import statistics
from validation_core.drawing import live
from validation_core.drawing.marks import Key, Line, Mark, Over, Points, over, written
from validation_core.drawing.style import method_style
from validation_core.methods.base import Method
from validation_core.types import Array


def rejections(
    methods: Sequence[Method], rates: Array, *sliders: str
) -> tuple[str, dict[str, Over]]:
    """A part of a sentence that names each method's rate, and its {parts} over the sliders.

    Args:
        rates: (methods, ...), the sliders' axes in their order.
    """
    names = ", ".join(f"{method.label} in {{power{i}}}" for i, method in enumerate(methods))
    percents = (over(written(rate, "{:.0%}".format), *sliders) for rate in rates)
    return names, {f"power{i}": part for i, part in enumerate(percents)}


def rate_curves(
    methods: Sequence[Method],
    grid: Array,
    rejections: ArrayLike,
    trials: int,
    slider: str,
    lines: Array | None = None,
) -> tuple[list[Mark], list[Key]]:
    """Rates with 95% Wilson intervals along a grid while a slider moves, and their legend.

    Args:
        rejections: (methods, slider's values, grid) of the trials.
        lines: what lines show, of that shape: the rates themselves otherwise.
    """
    marks: list[Mark] = []
    legend: list[Key] = []
    counts = np.asarray(rejections, float)
    low, high = statistics.wilson(counts, np.full_like(counts, trials))
    rates = counts / trials
    for i, method in enumerate(methods):
        color, dash, symbol = live.browser_style(method_style(method.name))
        line = over((rates if lines is None else lines)[i], slider)
        marks += [
            Line(grid, line, color=color, dash=dash, width=1.6),
            Points(
                grid,
                over(rates[i], slider),
                color=color,
                symbol=symbol,
                size=7,
                low=over(low[i], slider),
                high=over(high[i], slider),
            ),
        ]
        legend.append((method.label, color, symbol))
    return marks, legend
