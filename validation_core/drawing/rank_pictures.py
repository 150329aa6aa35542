"""Two pictures of a test's ranks, with how to read them."""

from __future__ import annotations

from validation_core.drawing.drawn import Drawn
from validation_core.drawing.ecdf_difference import ecdf_difference
from validation_core.drawing.rank_histogram import rank_histogram
from validation_core.types import Array


def rank_figures(u: Array, meaning: str) -> tuple[Drawn, ...]:
    """Histogram and ECDF difference of ranks u (n,); `meaning`, if any, explains their excess."""
    return (
        Drawn(
            "Ranks",
            rank_histogram(u),
            f"If q were correct, all bars would stay in the grey band. {meaning}".rstrip(),
        ),
        Drawn(
            "Ranks, cumulated",
            ecdf_difference(u),
            "If q were correct, the line would stay in the grey band as a whole in 95 of 100 "
            "tables; where it leaves, too many or too few ranks lie below.",
        ),
    )
