"""Conformal ranks of the playground."""

from __future__ import annotations

import numpy as np

from validation_core.drawing.ecdf_difference import counted_difference
from validation_core.drawing.marks import Axis, Panel, over, sentence, written
from validation_core.drawing.rank_histogram import rank_counts
from validation_core.explorers.playground.sizes import PANEL_HEIGHT, SHOWN_BINS
from validation_core.explorers.playground.study import POINTS, Ranks
from validation_core.text import said_equals
from validation_core.types import Integers


def rank_histogram_panel(ranks: Ranks) -> Panel:
    """Histogram of the conformal ranks."""
    return rank_counts(
        over(_counted(ranks).astype(np.int8), "sample", "gamma", "beta"),
        POINTS,
        Axis((0, 1), "p-value: low where the draw looks unlike p"),
        "draws of q",
        shown=0.99,
        title="Conformal p-values of q's draws",
        caption=f"Each of {POINTS} draws ranks by its score among 50 draws of p. If q were "
        "correct, bars would be flat, and all inside the grey band in 95% of samples.",
        height=PANEL_HEIGHT,
    )


def _counted(ranks: Ranks) -> Integers:
    """Counts of ranks in the drawn bins (S, G, B, bins), at most POINTS in one, so a byte each."""
    return ranks.counts.reshape(*ranks.counts.shape[:-1], SHOWN_BINS, -1).sum(-1, dtype=int)


def rank_difference_panel(ranks: Ranks) -> Panel:
    """ECDF difference of the conformal ranks."""
    grid = np.linspace(0, 1, SHOWN_BINS + 1)
    cumulated = np.cumsum(_counted(ranks), axis=-1) / POINTS
    difference = np.concatenate([np.zeros((*cumulated.shape[:-1], 1)), cumulated], -1) - grid
    caption = sentence(
        "Kolmogorov-Smirnov p-value {p}. If q were correct, the line would stay inside the "
        "grey band in 95 of 100 samples.",
        p=written(ranks.pvalues, said_equals, "sample", "gamma", "beta"),
    )
    return counted_difference(
        grid,
        over(difference, "sample", "gamma", "beta", coarse=True),
        POINTS,
        "share up to u, less u",
        title="Are they uniform? ECDF less the diagonal",
        caption=caption,
        height=PANEL_HEIGHT,
    )
