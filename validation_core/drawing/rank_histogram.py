"""Histograms of ranks in [0, 1], over the simultaneous band of all bins under uniformity."""

from __future__ import annotations

import numpy as np

from validation_core import statistics
from validation_core.drawing import style
from validation_core.drawing.marks import (
    Axis,
    Band,
    Bars,
    HBand,
    HLine,
    Number,
    Panel,
    Words,
    empty,
    over,
    values_and_sliders,
)
from validation_core.types import Array


def rank_histogram(
    u: Array,
    bins: int = 20,
    *,
    k: int | None = None,
    level: float = 0.95,
    words: tuple[str, str, str] = ("rank", "count", "if q = p"),
    height: int = style.HEIGHT,
) -> Panel:
    """Plot the histogram of ranks, with its band under uniformity.

    Args:
        u: ranks (n,) in [0, 1].
        bins: number of bins.
        k: if given, the axis shows ranks 0 to k among k draws.
        level: chance that all bins together stay within the band when q = p.
        words: labels of x and y, and of the expected height.
        height: of the panel, in pixels.
    """
    if u.size == 0:
        return empty("No ranks yet", height=height)
    ends, ticks = ((0.0, 1.0), None) if k is None else ((-0.5, k + 0.5), sorted({0, k // 2, k}))
    along, up, expected = words
    return rank_counts(
        statistics.histogram(u.ravel(), bins),
        u.size,
        Axis(ends, along, ticks=ticks),
        up,
        level=level,
        expected=expected,
        hover="rank %{x:.3f}: %{y}" if k is None else "rank %{x:.0f}: %{y}",
        height=height,
    )


def rank_counts(
    counts: Number,
    n: int,
    x: Axis,
    up: str,
    *,
    color: str = style.Q,
    level: float = 0.95,
    expected: str = "if q = p",
    shown: float = 1,
    hover: str = "",
    title: Words = "",
    caption: Words = "",
    height: int = style.HEIGHT,
) -> Panel:
    """Plot a histogram of n ranks given as counts, possibly over sliders.

    Args:
        counts: in equal bins from end to end of the axis x (..., B).
        n: ranks in each histogram.
        x: the axis of the ranks.
        up: name of the counts.
        color: of the bars.
        level: chance that all bins together keep to the band.
        expected: label of the expected height.
        shown: share of the histograms that fit the axis; taller bars of the others are cut.
        hover: hover text of a bar.
    """
    values = values_and_sliders(counts)[0]
    bins = values.shape[-1]
    low, high = statistics.histogram_band(n, bins, level)
    top = 1.12 * max(float(np.quantile(values.max(-1), shown)), high)
    return Panel(
        [
            HBand(low, high),
            Bars(np.linspace(*x.limits, bins + 1), counts, color=color, hover=hover),
            HLine(n / bins, label=expected),
        ],
        x=x,
        y=Axis((0, top), up),
        title=title,
        caption=caption,
        height=height,
    )


def growing_band(
    most: int, bins: int, slider: str, ends: tuple[float, float] = (0, 1)
) -> tuple[Band, HLine]:
    """Band and expected height of a histogram while a slider counts its ranks.

    Args:
        most: largest number of ranks.
        bins: bins of the histogram.
        slider: the slider of the number of ranks, over 0 to `most`.
        ends: ends of the band on x.
    """
    bands = np.array([(0, 0), *(statistics.histogram_band(n, bins) for n in range(1, most + 1))])
    low, high = (over(np.repeat(side[:, None], 2, axis=1), slider) for side in bands.T)
    even = HLine(over(np.arange(most + 1) / bins, slider), label="if q = p")
    return Band(ends, low, high), even
