"""Along what x is looked at: its columns, and what q makes of it where there are many.

q's means come from draws that no truth is ranked among: given x they are independent of the
ranks, whether q is right or wrong. With means of the ranked draws, ranks would depend on x even
if q were right.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core.types import Array

COLUMNS = 20
"""Columns of x up to which each is a coordinate."""
CHOSEN = 10
"""Columns that are kept of more: those that q's means follow most."""
COMPONENTS = 5
MEANS = 10
ASIDE = 50
"""Draws of q that means are taken from, at most: a quarter of those there are."""
_FEWEST_ASIDE = 5
_AT_ONCE = 2_000_000  # numbers of x worked on at a time


class Coordinates(NamedTuple):
    """C coordinates of n rows."""

    values: Array
    """(n, C)."""
    kinds: tuple[str, ...]
    """(C,) x: a column; component: a principal component of x; mean: q's mean of a parameter."""
    which: tuple[int, ...]
    """(C,) which column, component or parameter, from 0."""


def aside(k: int, columns: int) -> int:
    """How many of k draws are kept from the ranks to give q's means; 0: means are not read."""
    few = min(ASIDE, k // 4)
    return few if columns > 2 and few >= _FEWEST_ASIDE else 0


def coordinates(x: Array, means: Array, spread: Array) -> Coordinates:
    """What rows x (n, M) are ordered along; columns that never vary are left out.

    One or two columns: these. Up to COLUMNS: these, and q's mean of up to MEANS parameters.
    More: CHOSEN columns, COMPONENTS principal components of the standardised columns, and q's
    means. Where x never varies its first column stands for it.

    Args:
        x: data (n, M).
        means: what q makes of each x (n, D); (n, 0) where they are not read.
        spread: q's variances (n, D).
    """
    n, m = x.shape
    columns, projected = (
        (np.arange(m), np.zeros((n, 0)))
        if m <= COLUMNS
        else _many(x, means[:, _told(means, spread)])
    )
    parts: list[tuple[str, NDArray[np.int64], Array]] = [
        ("x", columns, np.asarray(x[:, columns], np.float64)),
        ("component", np.arange(projected.shape[1]), projected),
    ]
    if m > 2 and means.shape[1]:
        parameters = _told(means, spread)
        parts.append(("mean", parameters, means[:, parameters]))
    values = np.concatenate([part[2] for part in parts], axis=1)
    kinds = [kind for kind, which, _ in parts for _ in which]
    which = [int(place) for _, places, _ in parts for place in places]
    varies = np.flatnonzero(np.ptp(values, axis=0) > 0)
    varies = varies if len(varies) else np.zeros(1, int)
    return Coordinates(
        values[:, varies], tuple(kinds[i] for i in varies), tuple(which[i] for i in varies)
    )


def moments(draws: Array) -> tuple[Array, Array]:
    """Mean and variance (n, D) of draws (n, A, D); (n, 0) of none."""
    if not draws.shape[1]:
        nothing = np.zeros((len(draws), 0))
        return nothing, nothing
    return draws.mean(axis=1, dtype=np.float64), draws.var(axis=1, dtype=np.float64)


def _told(means: Array, spread: Array) -> NDArray[np.int64]:
    """Up to MEANS parameters, those that x says most of first chosen, in their own order."""
    if means.shape[1] <= MEANS:
        return np.arange(means.shape[1])
    inside = spread.mean(0)
    ratio = means.var(0) / np.where(inside > 0, inside, np.inf)
    return np.sort(np.argsort(-ratio, kind="stable")[:MEANS])


def _many(x: Array, means: Array) -> tuple[NDArray[np.int64], Array]:
    """CHOSEN columns that the means follow most (without means, evenly spaced); components (n, C).

    The n x n Gram matrix has the components of any number of columns; x is read in pieces.
    """
    n, m = x.shape
    follow = _standard(means)
    gram, closest = np.zeros((n, n)), np.zeros(m)
    step = max(1, _AT_ONCE // n)
    for first in range(0, m, step):
        part = _standard(np.asarray(x[:, first : first + step], np.float64))
        gram += part @ part.T
        if follow.size:
            closest[first : first + step] = np.abs(part.T @ follow).max(axis=1)
    value, vector = np.linalg.eigh(gram)
    some = np.flatnonzero(value > 1e-9 * max(value[-1], 1e-300))[::-1][:COMPONENTS]
    projected = vector[:, some] * np.sqrt(value[some])
    projected = projected * np.sign(projected[np.abs(projected).argmax(0), range(len(some))])
    if not follow.size:
        return np.linspace(0, m - 1, CHOSEN).astype(int), projected
    return np.sort(np.argsort(-closest, kind="stable")[:CHOSEN]), projected


def _standard(values: Array) -> Array:
    off = values - values.mean(0)
    scale = off.std(0)
    return off / np.where(scale > 0, scale, np.inf)
