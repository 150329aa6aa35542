"""Are conformal ranks uniform? Their histogram, and the ECDF's distance from the diagonal."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import plotly.graph_objects as go
from scipy.stats import binom

from validation_core import statistics
from validation_core.figures import style
from validation_core.types import Array


def rank_histogram(
    u: Array, bins: int = 20, *, level: float = 0.95, height: int = style.HEIGHT
) -> go.Figure:
    """Counts of ranks in [0, 1], over the grey room that all bins together keep to by chance."""
    if u.size == 0:
        return style.empty("No ranks yet", height=height)
    counts, edges = np.histogram(u, bins, (0.0, 1.0))
    low, high = histogram_band(u.size, bins, level)
    top = 1.12 * max(float(counts.max()), high)
    expected = u.size / bins
    return style.figure(
        [style.bars(edges, counts, style.Q, hover="rank %{x:.3f}: %{y}")],
        x=style.Axis("rank", (0, 1)), y=style.Axis("count", (0, top)), height=height,
        shapes=[style.room(low, high), style.level(expected)], right=62,
        notes=[style.note("if q = p", 1, expected, style.NULL, shift=4)],
    )  # fmt: skip


@lru_cache(maxsize=256)
def histogram_band(n: int, bins: int, level: float = 0.95) -> tuple[float, float]:
    """Counts that every one of the bins keeps to with at least this chance (Bonferroni)."""
    tail = (1 - level) / bins / 2
    return float(binom.ppf(tail, n, 1 / bins)), float(binom.isf(tail, n, 1 / bins))


def ecdf_difference(
    u: Array, level: float = 0.95, *, points: int = 101, height: int = style.HEIGHT
) -> go.Figure:
    """F_n(u) - u, over the grey room it keeps to as a whole with this chance when q = p."""
    if u.size == 0:
        return style.empty("No ranks yet", height=height)
    grid = np.linspace(0, 1, points)
    difference = statistics.ecdf_difference(u, grid)
    low, high = statistics.ecdf_band(u.size, level, grid)
    reach = 1.15 * max(float(np.abs(difference).max()), float(high.max()), float(-low.min()))
    where = int(np.abs(difference).argmax())
    return style.figure(
        [
            style.area(grid, low, high, style.NULL, 0.25),
            style.line(grid, difference, style.Q, hover="u = %{x:.2f}: %{y:+.3f}"),
        ],
        x=style.Axis("u", (0, 1)), y=style.Axis("F(u) − u", (-reach, reach)),
        height=height, shapes=[style.level(0)],
        notes=[style.note(f"{difference[where]:+.3f}", grid[where],
                          difference[where] + 0.07 * reach * np.sign(difference[where]),
                          style.Q, anchor="center")],
    )  # fmt: skip
