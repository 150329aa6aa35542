"""Conformal ranks of the playground."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from validation_core import statistics
from validation_core.drawing import style
from validation_core.drawing.marks import (
    Axis,
    Band,
    Bars,
    HLine,
    Line,
    Panel,
    over,
    sentence,
    written,
)
from validation_core.explorers.playground import POINTS, Ranks
from validation_core.explorers.playground_view import PANEL_HEIGHT, SHOWN_BINS
from validation_core.statistics.histograms import histogram_band
from validation_core.text import equals


def rank_histogram_panel(ranks: Ranks) -> Panel:
    counts = _counted(ranks)
    low, high = histogram_band(POINTS, SHOWN_BINS)
    return Panel(
        [
            Band([0, 1], [low, low], [high, high]),
            Bars(
                np.linspace(0, 1, SHOWN_BINS + 1),
                over(counts.astype(np.int8), "sample", "gamma", "beta"),
                color=style.Q,
            ),
            HLine(POINTS / SHOWN_BINS, label="if q = p"),
        ],
        title="Conformal p-values of q's draws",
        x=Axis((0, 1), "p-value: low where the draw looks unlike p"),
        y=Axis((0, 1.1 * max(float(np.quantile(counts.max(-1), 0.99)), high)), "draws of q"),
        caption=f"Each of {POINTS} draws ranks by its score among 50 draws of p. If q were "
        "correct, "
        "bars would be flat, and all inside the grey band in 95% of samples.",
        height=PANEL_HEIGHT,
    )


def _counted(ranks: Ranks) -> NDArray[np.int64]:
    """Ranks in the bins that are drawn: (S, G, B, bins), at most POINTS in one, so a byte each."""
    return ranks.counts.reshape(*ranks.counts.shape[:-1], SHOWN_BINS, -1).sum(-1, dtype=int)


def rank_difference_panel(ranks: Ranks) -> Panel:
    grid = np.linspace(0, 1, SHOWN_BINS + 1)
    cumulated = np.cumsum(_counted(ranks), axis=-1) / POINTS
    difference = np.concatenate([np.zeros((*cumulated.shape[:-1], 1)), cumulated], -1) - grid
    low, high = statistics.ecdf_band(POINTS, 0.95, grid[1:-1])
    band = (np.concatenate([[0], side, [0]]) for side in (low, high))
    reach = 1.08 * float(np.abs(difference).max())
    caption = sentence(
        "Kolmogorov-Smirnov p-value {p}. If q were correct, the line would stay inside the "
        "grey band in 95 of 100 samples.",
        p=over(written(ranks.pvalues, equals), "sample", "gamma", "beta"),
    )
    return Panel(
        [
            Band(grid, *band),
            HLine(0),
            Line(grid, over(difference, "sample", "gamma", "beta", coarse=True), color=style.Q),
        ],
        title="Are they uniform? ECDF less the diagonal",
        x=Axis((0, 1), "u"),
        y=Axis((-reach, reach), "share up to u, less u"),
        caption=caption,
        height=PANEL_HEIGHT,
    )
