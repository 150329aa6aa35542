"""Two pictures of a test's ranks, with how to read them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from validation_core.drawing.drawn import Drawn
from validation_core.drawing.ecdf_difference import ecdf_difference
from validation_core.drawing.rank_histogram import rank_histogram
from validation_core.types import Array


def rank_figures(arrays: Mapping[str, Array]) -> list[Drawn]:
    """Histogram and ECDF difference of conformal ranks."""
    u = np.asarray(arrays.get("u", np.zeros(0)))
    return [
        Drawn(
            "Ranks",
            rank_histogram(u),
            "Each bar counts ranks; all bars together stay within the grey band in 95 of 100 "
            "tables if q is correct.",
        ),
        Drawn(
            "Distance from uniform",
            ecdf_difference(u),
            "The ECDF of the ranks less the diagonal; it stays within the grey band as a "
            "whole in 95 of 100 tables if q is correct.",
        ),
    ]


def rank_figures_of(u: Array, meaning: str) -> tuple[Drawn, ...]:
    """Histogram and ECDF difference of ranks u (n,); `meaning` explains an excess of them."""
    return (
        Drawn(
            "Ranks",
            rank_histogram(u),
            f"If q were correct, all bars would stay in the grey band. {meaning}",
        ),
        Drawn(
            "Ranks, cumulated",
            ecdf_difference(u),
            "If q were correct, the line would stay in the grey band as a whole in 95 of 100 "
            "tables; where it leaves, too many or too few ranks lie below.",
        ),
    )
