"""Normal scores of ranks, and the parameters whose ranks are farthest from uniform."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from validation_core.types import Array, Integers

MOST = 50
"""Largest number of tested parameters; of more, rows set aside for that choose them."""
EDGE = 1e-6
"""Distance from 0 and 1 that ranks keep at least, so that scores are finite."""


def normal_scores(u: Array) -> Array:
    """Normal scores of ranks in (0, 1), in single precision."""
    return np.asarray(ndtri(u), np.float32)


def width_scores(u: Array, edge: float = EDGE) -> Array:
    """Normal scores of |2 u - 1|: above 0 where u is farther out than half of all are."""
    return normal_scores(np.clip(np.abs(2 * u - 1), edge, 1 - edge))


def misfit(u: Array, edge: float = EDGE) -> Array:
    """Distance (D,) of ranks u (D, n) from uniform ones, in their place or their width."""
    wide = ndtri(np.clip(np.abs(2 * u - 1), edge, 1 - edge))
    return np.asarray(np.maximum(np.abs(ndtri(u).mean(1)), np.abs(wide.mean(1))))


def largest_misfits(misfits: Array) -> Integers:
    """The parameters with the largest misfits (D,), in their own order: (MOST,) at most."""
    return np.sort(np.argsort(-misfits, kind="stable")[:MOST])
