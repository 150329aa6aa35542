"""Rows of x in another order than those of theta_q: the draws vary, but not with x."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from validation_core.types import Array

_COLUMNS_RANKED = 50  # of x, evenly spaced, and of theta
_NEIGHBOUR_ROWS = 1000  # looked at for neighbours
_NEIGHBOUR_BLOCK = 100  # rows whose neighbours are looked for together
_FEWEST_ROWS = 50  # rows from which a correlation that is there would be seen
_NOTHING = 3.0  # standard errors of a correlation that is not there


def mixed_order_warning(
    x: Array, halves: tuple[Array, Array], moving: NDArray[np.intp]
) -> Iterator[str]:
    """A warning where q's means vary over rows, but are alike neither along x nor near in x.

    Args:
        x: data (N, M).
        halves: q's means (N, D) of the first and of the second half of the draws at each x.
        moving: parameters whose truths vary.
    """
    columns = x[:, np.linspace(0, x.shape[1] - 1, min(_COLUMNS_RANKED, x.shape[1])).astype(int)]
    x_ranks = _standard(columns[:, np.ptp(columns, axis=0) > 0])
    first, second = (_standard(half[:, moving[:_COLUMNS_RANKED]]) for half in halves)
    n = len(x)
    # Means that are all chance have halves that agree by chance alone.
    real = (first * second).mean(0) > 2 * _NOTHING / np.sqrt(n)
    if n < _FEWEST_ROWS or not x_ranks.size or not real.any():
        return
    means = _standard((first + second)[:, real])
    along = float(np.abs(means.T @ x_ranks).max()) / n
    pairs = means.shape[1] * x_ranks.shape[1]
    near = _neighbours(means[:_NEIGHBOUR_ROWS], x_ranks[:_NEIGHBOUR_ROWS])
    chance = np.sqrt(2 * np.log(2 * pairs)) + 1
    if along * np.sqrt(n) < chance and near * np.sqrt(min(n, _NEIGHBOUR_ROWS)) < _NOTHING:
        yield (
            "q's draws change from row to row, but nothing ties them to x: their means have "
            f"rank correlations of at most {along:.2f} with x, and of {max(near, 0.0):.2f} "
            "between rows that are neighbours in x. Are the rows of x in the order of theta "
            "and theta_q? No comparison of a true value with the draws of its own row would "
            "show it."
        )


def _neighbours(means: Array, seen: Array) -> float:
    """The largest correlation of means (n, D) with those of the nearest row in x (n, M)."""
    squares = np.square(seen).sum(1)
    nearest = np.empty(len(seen), np.intp)
    for start in range(0, len(seen), _NEIGHBOUR_BLOCK):
        rows = np.arange(start, min(start + _NEIGHBOUR_BLOCK, len(seen)))
        far = squares - 2 * seen[rows] @ seen.T
        far[rows - start, rows] = np.inf
        nearest[rows] = far.argmin(1)
    there = means[nearest]
    return float(
        max(
            np.corrcoef(a, b)[0, 1] if np.ptp(b) else 0.0
            for a, b in zip(means.T, there.T, strict=True)
        )
    )


def _standard(columns: Array) -> Array:
    """Ranks (N, C) with mean 0 and variance 1; ties share a rank; 0 where nothing varies."""
    ranks = (
        np.stack(
            [np.unique(column, return_inverse=True)[1].reshape(-1) for column in columns.T], axis=1
        ).astype(np.float64)
        if columns.size
        else np.zeros(columns.shape)
    )
    ranks -= ranks.mean(0)
    spread = ranks.std(0)
    return np.asarray(ranks / np.where(spread > 0, spread, 1.0))
