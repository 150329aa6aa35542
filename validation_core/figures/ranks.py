"""Are conformal ranks uniform? Their histogram, and the ECDF's distance from the diagonal."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go

from validation_core import statistics
from validation_core.figures import style
from validation_core.figures.outcome import Drawn
from validation_core.statistics.curves import histogram, histogram_band
from validation_core.types import Array


def rank_histogram(
    u: Array,
    bins: int = 20,
    *,
    k: int | None = None,
    level: float = 0.95,
    height: int = style.HEIGHT,
) -> go.Figure:
    """Counts of ranks in [0, 1], over the grey room that all bins together keep to by chance.

    Args:
        k: where given, the axis shows the ranks 0 to k among k draws: all of them, seen or not.
    """
    if u.size == 0:
        return style.empty("No ranks yet", height=height)
    counts = histogram(u.ravel(), bins)
    edges = np.linspace(0, 1, bins + 1) if k is None else np.linspace(-0.5, k + 0.5, bins + 1)
    axis = style.Axis("rank", (0, 1))
    if k is not None:
        axis = style.Axis("rank", (-0.5, k + 0.5), ticks=sorted({0, k // 2, k}))
    low, high = histogram_band(u.size, bins, level)
    top = 1.12 * max(float(counts.max()), high)
    expected = u.size / bins
    hover = "rank %{x:.3f}: %{y}" if k is None else "rank %{x:.0f}: %{y}"
    return style.figure(
        [style.bars(edges, counts, style.Q, hover=hover)],
        x=axis,
        y=style.Axis("count", (0, top)),
        height=height,
        shapes=[style.hband(low, high), style.hline(expected)],
        right=62,
        notes=[style.note("if q = p", axis.limits[1], expected, style.NULL, shift=4)],
    )


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
            style.band(grid, low, high, style.NULL, 0.25),
            style.line(grid, difference, style.Q, hover="u = %{x:.2f}: %{y:+.3f}"),
        ],
        x=style.Axis("u", (0, 1)),
        y=style.Axis("F(u) − u", (-reach, reach)),
        height=height,
        shapes=[style.hline(0)],
        notes=[
            {
                **style.note(
                    f"{difference[where]:+.3f}",
                    grid[where],
                    difference[where],
                    style.Q,
                    anchor="center",
                ),
                "yshift": 10 * float(np.sign(difference[where])),
            }
        ],
    )


def outcome(arrays: Mapping[str, Array]) -> list[Drawn]:
    """What conformal ranks show."""
    u = np.asarray(arrays.get("u", np.zeros(0)))
    return [
        Drawn(
            "Ranks",
            rank_histogram(u),
            "Each bar counts ranks; all bars together stay within the grey room in 95 of 100 "
            "tables if q is right.",
        ),
        Drawn(
            "Distance from uniform",
            ecdf_difference(u),
            "The ECDF of the ranks less the diagonal; it stays within the grey room as a whole in "
            "95 of 100 tables if q is right.",
        ),
    ]


def of_meaning(u: Array, meaning: str) -> tuple[Drawn, ...]:
    """Ranks with what a heap of them means."""
    return (
        Drawn(
            "Ranks",
            rank_histogram(u),
            f"If q were right, all bars would stay in the grey room. {meaning}",
        ),
        Drawn(
            "Ranks, cumulated",
            ecdf_difference(u),
            "If q were right, the line would stay in the grey room as a whole in 95 of 100 "
            "tables; where it leaves, too many or too few ranks lie below.",
        ),
    )
