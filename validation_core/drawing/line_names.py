"""Where the names at the ends of lines stand: beside their ends, apart from one another."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import isotonic_regression

from validation_core.types import Array


def spaced(ends: ArrayLike, pitch: float, low: float, high: float) -> Array:
    """Places of names (N,), as near to the ends of their lines as `pitch` apart allows.

    They keep the order of the ends and lie from `low` to `high`, or begin at `low` where there
    is no room for all. browser/live.js does the same.
    """
    at = np.asarray(ends, float)
    order = np.argsort(at, kind="stable")
    steps = pitch * np.arange(len(at))
    places = np.empty(len(at))
    if len(at):
        fitted = isotonic_regression(at[order] - steps).x
        places[order] = np.maximum(np.minimum(fitted, high - steps[-1]), low) + steps
    return places
