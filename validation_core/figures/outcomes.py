"""The figures of one test, whichever method it is: a line for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from validation_core.figures import automl, dc, lc2st, mmd_fuse, omnibus, sbc, skl, tarp
from validation_core.figures.outcome import Drawn
from validation_core.figures.ranks import ecdf_difference, rank_histogram
from validation_core.types import Array

_NONE = np.zeros((0, 0, 0))
Figures = Callable[[Mapping[str, Array], Sequence[str]], list[Drawn]]


def ranks(arrays: Mapping[str, Array], names: Sequence[str] = ()) -> list[Drawn]:
    """What conformal ranks show."""
    del names
    u = np.asarray(arrays.get("u", np.zeros(0)))
    return [
        Drawn(
            "Ranks", rank_histogram(u),
            "Each bar counts ranks; all bars together stay within the grey room in 95 of 100 "
            "tables if q is right.",
        ),
        Drawn(
            "Distance from uniform", ecdf_difference(u),
            "The ECDF of the ranks less the diagonal; it stays within the grey room as a whole in "
            "95 of 100 tables if q is right.",
        ),
    ]  # fmt: skip


_FIGURES: dict[str, Figures] = {
    "uniform": ranks, "within_x": ranks, "colt": ranks, "sbc": sbc.outcome, "tarp": tarp.outcome,
    "dc": dc.outcome, "automl": automl.outcome, "mmd_fuse": mmd_fuse.outcome,
    "lc2st": lc2st.outcome, "skl": skl.outcome, "omnibus": omnibus.outcome,
}  # fmt: skip


def figures(
    name: str, arrays: Mapping[str, Array], names: Sequence[str] = (), theta: Array = _NONE
) -> list[Drawn]:
    """The figures of a method's outcome, in reading order; none for one that has only numbers.

    Args:
        name: the method's.
        arrays: its outcome's, no leading axes.
        names: of the parameters.
        theta: q's draws (n, K, D) at the observations a local test looked at, to be coloured.
    """
    drawn = _FIGURES[name](arrays, names) if name in _FIGURES else []
    if name == "lc2st" and theta.size:
        drawn += lc2st.maps(arrays, theta, names)
    return drawn


def learned(name: str, summary: Mapping[str, float]) -> list[Drawn]:
    """What the training of a method's network said of it, where that can be drawn."""
    if name != "automl" or not summary:
        return []
    return [
        Drawn(
            "What the witness is made of", automl.members(summary),
            "Each member's weight, chosen on held-out folds. Were q right, none of them would "
            "explain held-out labels (R² near 0).",
        )
    ]  # fmt: skip
