"""The distance of theta from the reference point at x: what TARP ranks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from validation_core.hashing import Words, again, hashed, occurrences
from validation_core.types import Array, Draws, TableScores

Metric = Literal["euclidean", "manhattan"]
Float = NDArray[np.float64]

_NUMBERS = 1 << 16  # of theta measured at a time, so that they stay in the cache


def distances(theta: Array, references: Array, metric: Metric) -> Float:
    """How far points theta (n, R, D) are from references (n, D): (n, R), euclidean ones squared.

    One point has one distance to the bit, wherever it stands: a draw that is the truth ties.
    """
    apart = np.subtract(theta, references[:, None], dtype=np.float64)
    with np.errstate(over="ignore"):  # farther than a double tells is infinitely far
        apart = np.abs(apart, out=apart) if metric == "manhattan" else np.square(apart, out=apart)
        return apart.sum(axis=-1)


@dataclass(frozen=True, eq=False)
class Distance:
    """Distances in the unit box of theta from a point that depends on x alone.

    Given x, the truth and q's draws are measured from one and the same point, which saw neither:
    if q is right they are exchangeable, and the truth's rank is exactly uniform. Where x repeats
    within a table (a constant x, counts, or no columns at all), each further row of it gets
    another point by its place, so that such a table too is looked at from many sides.
    """

    low: Float  # (D,)
    width: Float  # (D,)
    metric: Metric
    salt: Words  # (1,)
    place: Callable[[Array, Words], Float]
    """Reference points (n, D) in the unit box, of x (n, M) and a word (n,) for each row."""

    def __call__(self, theta: Array, x: Array) -> Float:
        """Distances (n,) of rows theta (n, D), x (n, M); equal x have one reference."""
        points = self.place(x, hashed(x, self.salt))
        return distances(self._unit(theta[:, None]), points, self.metric)[:, 0]

    def table(self, draws: Draws) -> TableScores:
        """Distances of the truth (1, n) and of q's draws (1, n, K)."""
        n, k, d = draws.q.shape
        points = self.unit_points(draws.x)
        truth, drawn = np.empty((1, n)), np.empty((1, n, k))
        step = max(1, _NUMBERS // ((k + 1) * d))
        for first in range(0, n, step):
            part = slice(first, first + step)
            together = np.concatenate([draws.theta[part, None], draws.q[part]], axis=1)
            found = distances(self._unit(together), points[part], self.metric)
            truth[0, part], drawn[0, part] = found[:, 0], found[:, 1:]
        return TableScores(truth, drawn)

    def unit_points(self, x: Array) -> Float:
        """The reference points of a table's rows, in the unit box: (n, M) to (n, D)."""
        words = hashed(x, self.salt)
        return self.place(x, again(words, occurrences(words)))

    def points(self, x: Array) -> Float:
        """The reference points of a table's rows, in the parameters' units: (n, M) to (n, D)."""
        return self.low + self.width * self.unit_points(x)

    def _unit(self, theta: Array) -> Float:
        out = np.subtract(theta, self.low, dtype=np.float64)
        out /= self.width
        return out
