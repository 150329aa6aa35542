"""Scores that nothing learns: a linear boundary, and whole rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from validation_core.types import Array


@dataclass(frozen=True, kw_only=True)
class LinearBoundary:
    """s = -((theta - 1/4 - offset) cos(angle) + x sin(angle)), for one theta and one x.

    Bansal, Chen, Scott, Fig. 1. At offset 0 and angle 0 the Bayes classifier for
    p = N(0, I), q = N((1/2, 0), I); `angle` in radians.
    """

    offset: float = 0.0
    angle: float = 0.0

    def __call__(self, theta: Array, x: Array) -> Array:
        along, across = np.cos(self.angle), np.sin(self.angle)
        return -((theta[:, 0] - 0.25 - self.offset) * along + x[:, 0] * across)


class Rows:
    """theta (n, D), x (n, M) -> (D + M, n): every number of a row, nothing learnt."""

    def __call__(self, theta: Array, x: Array) -> Array:
        return np.ascontiguousarray(np.concatenate([theta, x], axis=1).T)
