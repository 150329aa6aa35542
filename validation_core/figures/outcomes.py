"""The figures of one test, whichever method it is: a line for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from validation_core.figures import automl, dc, lc2st, mmd_fuse, sbc, tarp
from validation_core.figures.outcome import Drawn
from validation_core.figures.ranks import ecdf_difference, rank_histogram
from validation_core.types import Array

_NONE = np.zeros((0, 0, 0))
_NOTHING: Mapping[str, float] = MappingProxyType({})
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
    "lc2st": lc2st.outcome,
}  # fmt: skip


def figures(
    name: str, arrays: Mapping[str, Array], names: Sequence[str] = (), theta: Array = _NONE,
    learned: Mapping[str, float] = _NOTHING,
) -> list[Drawn]:  # fmt: skip
    """The figures of a method's outcome, in reading order; none for one that has only numbers.

    Args:
        name: the method's.
        arrays: its outcome's, no leading axes.
        names: of the parameters.
        theta: q's draws (n, K, D) at the observations a local test looked at, to be coloured.
        learned: what the training of its network said of it.
    """
    drawn = _FIGURES[name](arrays, names) if name in _FIGURES else []
    if name == "automl" and learned:
        drawn.append(
            Drawn(
                "What the witness is made of", automl.members(learned),
                "Each member's weight, chosen on held-out folds. Were q right, none of them "
                "would explain held-out labels (R² near 0).",
            )
        )  # fmt: skip
    if name == "lc2st" and theta.size:
        drawn += lc2st.maps(arrays, theta, names)
    return drawn
