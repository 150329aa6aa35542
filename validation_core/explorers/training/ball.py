"""The ball in which two posteriors differ most, found with draws of both at hand.

CoLT looks for such balls without draws of p. Where p can be drawn from, half of the draws choose
the ball and the other half says what it holds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

from validation_core.types import Array


class Balls(NamedTuple):
    """A ball at each of V places, its axes scaled by the sds of p's draws there."""

    centre: Array
    """(V, 2)"""
    reach: Array
    """(V, 2) half widths."""
    p: Array
    """(V,) share of p's further draws in it."""
    q: Array
    """(V,)"""


def largest_balls(p: Array, q: Array) -> Balls:
    """Balls about a draw of p (V, S, 2) or q (V, T, 2) with the largest difference in mass."""
    each = [_largest(*both) for both in zip(p, q, strict=True)]
    return Balls(*(np.asarray(part, np.float32) for part in zip(*each, strict=True)))


def _largest(p: Array, q: Array) -> tuple[Array, Array, float, float]:
    scale = np.maximum(p.std(0), 1e-9)
    first, last = (_split(side / scale) for side in (p, q))
    points = np.concatenate([first[0], last[0]])
    weights = np.repeat([1 / len(first[0]), -1 / len(last[0])], [len(first[0]), len(last[0])])
    far = cdist(points, points)
    order = far.argsort(axis=1)
    gaps = np.abs(weights[order].cumsum(axis=1))
    row, rank = np.unravel_index(gaps.argmax(), gaps.shape)
    centre, radius = points[row], far[row, order[row, rank]]
    inside = [
        float((np.square(side[1] - centre).sum(1) <= radius**2).mean()) for side in (first, last)
    ]
    return centre * scale, radius * scale, inside[0], inside[1]


def _split(draws: Array) -> tuple[Array, Array]:
    half = len(draws) // 2
    return draws[:half], draws[half:]
