"""Whether a row's draws fall into two groups: two means, how far apart, how large the smaller."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core.types import Array

_ROUNDS = 8
_START = 0.97  # share of points nearer to the middle one than the second centre's start
CLEAR = 2.0
"""Distance of the centres, in sums of both groups' sd along it, that makes two modes."""
LEAST = 0.05
"""Share of points that makes a group of them a mode."""


class Groups(NamedTuple):
    """Of n rows; the smaller group comes second."""

    centres: Array
    """(n, 2, D)."""
    apart: Array
    """Distance of the centres by the groups' sd along it: (n,)."""
    share: Array
    """Of the smaller: (n,)."""

    @property
    def clear(self) -> NDArray[np.bool_]:
        """Rows with two modes: (n,)."""
        return (self.apart > CLEAR) & (self.share >= LEAST)


def groups(points: Array) -> Groups:
    """Two means of each row's points (n, K, D), from the most central one and one far from it."""
    n, k, _ = points.shape
    row = np.arange(n)
    near = points[row, np.square(points).sum(2).argmin(1)]
    order = np.square(points - near[:, None]).sum(2).argsort(1)
    centres = np.stack([near, points[row, order[:, int(_START * (k - 1))]]], axis=1)
    for _ in range(_ROUNDS):
        far = second(points, centres)
        for g, mask in enumerate((~far, far)):
            mean = (points * mask[..., None]).sum(1) / np.maximum(mask.sum(1), 1)[:, None]
            centres[:, g] = np.where(np.any(mask, axis=1, keepdims=True), mean, centres[:, g])
    larger = np.asarray(second(points, centres).mean(1) > 0.5)
    centres[larger] = centres[larger][:, ::-1]
    far = second(points, centres)
    line = centres[:, 1] - centres[:, 0]
    length = np.maximum(np.linalg.norm(line, axis=1), 1e-12)
    along = np.einsum("nkd,nd->nk", points, line / length[:, None])
    apart = length / np.maximum(_sd(along, ~far) + _sd(along, far), 1e-6)
    return Groups(centres, apart, far.mean(1))


def second(points: Array, centres: Array) -> NDArray[np.bool_]:
    """Whether points (n, k, D) are nearer to their row's second centre (n, 2, D): (n, k)."""
    to_first, to_second = (np.square(points - centres[:, None, g]).sum(2) for g in (0, 1))
    return np.asarray(to_second < to_first)


def _sd(values: Array, mask: NDArray[np.bool_]) -> Array:
    """Of the marked values of each row: (n,) of (n, k)."""
    count = np.maximum(mask.sum(1), 1)
    mean = (values * mask).sum(1) / count
    return np.sqrt((np.square(values - mean[:, None]) * mask).sum(1) / count)
