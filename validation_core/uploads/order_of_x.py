"""Draws that change from row to row and have nothing to do with x: its rows in another order?

No test that compares a truth with the draws of its own row can see this: both then come from the
x that was theirs, and only the x beside them is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from validation_core.types import Array

_COLUMNS = 50  # of x, evenly spaced, and of theta
_ROWS = 1000  # looked at for neighbours
_BLOCK = 100  # rows whose neighbours are looked for together
_FEWEST = 50  # rows from which a correlation that is there would be seen
_NOTHING = 3.0  # standard errors of a correlation that is not there


def sentences(x: Array, halves: tuple[Array, Array], moving: NDArray[np.intp]) -> Iterator[str]:
    """A warning where q's means vary over rows, but neither with columns of x nor near in x.

    Args:
        x: (N, M).
        halves: q's means (N, D) by the first and by the second half of the draws at each x.
        moving: parameters whose truths vary.
    """
    columns = x[:, np.linspace(0, x.shape[1] - 1, min(_COLUMNS, x.shape[1])).astype(int)]
    seen = _standard(columns[:, np.ptp(columns, axis=0) > 0])
    first, second = (_standard(half[:, moving[:_COLUMNS]]) for half in halves)
    n = len(x)
    # Means that are all chance have halves that agree by chance alone.
    real = (first * second).mean(0) > 2 * _NOTHING / np.sqrt(n)
    if n < _FEWEST or not seen.size or not real.any():
        return
    means = _standard((first + second)[:, real])
    along = float(np.abs(means.T @ seen).max()) / n
    pairs = means.shape[1] * seen.shape[1]
    near = _neighbours(means[:_ROWS], seen[:_ROWS])
    chance = np.sqrt(2 * np.log(2 * pairs)) + 1
    if along * np.sqrt(n) < chance and near * np.sqrt(min(n, _ROWS)) < _NOTHING:
        yield (
            f"q's draws change from row to row, but nothing ties them to x: their means have rank "
            f"correlations of at most {along:.2f} with x, and of {max(near, 0.0):.2f} between "
            f"rows that are neighbours in x. Are the rows of x in the order of theta and theta_q? "
            f"No comparison of a truth with the draws of its own row would show it."
        )


def _neighbours(means: Array, seen: Array) -> float:
    """The largest correlation of means (n, D) with those of the nearest other row in x (n, M)."""
    squares = np.square(seen).sum(1)
    nearest = np.empty(len(seen), np.intp)
    for start in range(0, len(seen), _BLOCK):
        rows = np.arange(start, min(start + _BLOCK, len(seen)))
        far = squares - 2 * seen[rows] @ seen.T
        far[rows - start, rows] = np.inf
        nearest[rows] = far.argmin(1)
    there = means[nearest]
    return float(max(np.corrcoef(a, b)[0, 1] if np.ptp(b) else 0.0
                     for a, b in zip(means.T, there.T, strict=True)))  # fmt: skip


def _standard(columns: Array) -> Array:
    """Ranks (N, C) with mean 0 and variance 1; ties share a rank; 0 where nothing varies."""
    ranks = np.stack(
        [np.unique(one, return_inverse=True)[1].reshape(-1) for one in columns.T], axis=1
    ).astype(np.float64) if columns.size else np.zeros(columns.shape)  # fmt: skip
    ranks -= ranks.mean(0)
    spread = ranks.std(0)
    return np.asarray(ranks / np.where(spread > 0, spread, 1.0))
