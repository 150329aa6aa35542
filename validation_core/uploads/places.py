"""Where each row of a long table goes: its simulation, and its place among the draws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Places(NamedTuple):
    """Where each row of a long table goes."""

    n: int
    k: int
    sim: NDArray[np.intp]
    draw: NDArray[np.intp]
    """Place of a row among the draws of its simulation; -1 for the truth."""


def same_x(batch: Sequence[NDArray[Any]], sim: NDArray[np.intp]) -> None:
    """Refuse neighbouring rows of one simulation that tell different data."""
    same = sim[1:] == sim[:-1]
    for column in batch:
        known = np.isfinite(column[1:]) & np.isfinite(column[:-1])
        if (same & known & (column[1:] != column[:-1])).any():
            raise ValueError(
                "x must be the same in all rows of a simulation; got rows of one sim with "
                "different x. Repeat the truth's x in the rows of the draws, or leave it empty "
                "there."
            )


def places(sim: NDArray[np.float64], draw: NDArray[np.float64]) -> Places:
    """Where each row of a long table goes, from its simulation and its number among the draws.

    Raises:
        ValueError: for numbers that are not whole, a truth that is missing or twice, or numbers
            of draws that differ.
    """
    whole = np.isfinite(sim).all() and np.isfinite(draw).all()
    if not (whole and (sim == np.floor(sim)).all() and (draw == np.floor(draw)).all()):
        raise ValueError(
            "The columns sim and draw must hold whole numbers; got others. Number the simulations "
            "0, 1, ... and the draws 0, 1, ..., with -1 for the truth."
        )
    if not len(sim) or draw.min() < -1:
        raise ValueError(
            f"The column draw must hold -1 for the truth and 0, 1, ... for the draws; got "
            f"{f'{draw.min():g}' if len(sim) else 'no rows'}. Number them anew."
        )
    by_sim, place = np.unique(sim, return_inverse=True)
    n = len(by_sim)
    truths = np.bincount(place[draw < 0], minlength=n)
    if (truths != 1).any():
        odd = int(np.flatnonzero(truths != 1)[0])
        raise ValueError(
            f"Every simulation must have one row with draw = -1, its truth; got {truths[odd]} for "
            f"sim {by_sim[odd]:.0f}, and others than one for {int((truths != 1).sum()):,} of "
            f"{n:,}. Add or remove rows."
        )
    counts = np.bincount(place[draw >= 0], minlength=n)
    k = int(counts[0])
    if k == 0 or (counts != k).any():
        raise ValueError(
            f"Every simulation must have the same number of draws, at least one; got "
            f"{counts.min():,} (sim {by_sim[counts.argmin()]:.0f}) to {counts.max():,} (sim "
            f"{by_sim[counts.argmax()]:.0f}). Keep as many draws as the shortest has."
        )
    return Places(n, k, place, _ranked(place, draw, n, k))


def _ranked(
    place: NDArray[np.intp], draw: NDArray[np.float64], n: int, k: int
) -> NDArray[np.intp]:
    """The place of every draw among those of its simulation, in the order of their numbers."""
    order = np.lexsort((draw, place))  # the truth comes first in each simulation
    sorted_draw = draw[order].reshape(n, k + 1)
    if (np.diff(sorted_draw, axis=1) == 0).any():
        raise ValueError(
            "Each draw of a simulation must have its own number; got some twice. Number the draws "
            "of each simulation 0, 1, ..."
        )
    ranked = np.empty(len(draw), np.intp)
    ranked[order] = np.tile(np.arange(-1, k), n)
    return ranked
