"""What a symmetric divergence means: two normals that have it, and how far apart they are.

p is N(0, 1). Either q is as wide and its mean is off, or q has the right mean and another width.
Closed forms throughout; nats broadcast.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri

Float = NDArray[np.float64]
Width = Literal["narrow", "wide"]

GRID = np.logspace(-3, 1, 81)
"""Nats, twenty to each power of ten."""
LEVEL = 0.9
"""Of the intervals whose misses are counted; a tenth of them misses where q is right."""


class NormalPair(NamedTuple):
    """How N(0, 1) and q differ, for each divergence (...)."""

    mean: Float
    """Of q."""
    sd: Float
    """Of q."""
    auc: Float
    """Of the best classifier: how often it scores a draw of p above one of q."""
    accuracy: Float
    """Of the best classifier, on as many draws of p as of q."""
    distance: Float
    """Total variation."""
    misses: Float
    """Share of draws of p outside q's central 90% interval."""


def shifted(nats: ArrayLike) -> NormalPair:
    """q = N(delta, 1): the divergence is delta^2.

    Raises:
        ValueError: for a divergence below 0.
    """
    delta = np.sqrt(_checked(nats))
    reach = ndtri((1 + LEVEL) / 2)
    accuracy = ndtr(delta / 2)
    misses = ndtr(-reach - delta) + ndtr(-reach + delta)
    return NormalPair(
        delta, np.ones_like(delta), ndtr(delta / np.sqrt(2)), accuracy, 2 * accuracy - 1, misses
    )


def scaled(nats: ArrayLike, width: Width = "narrow") -> NormalPair:
    """q = N(0, r^2) or N(0, 1 / r^2): the divergence is (r^2 + 1 / r^2 - 2) / 2 for both.

    Raises:
        ValueError: for a divergence below 0.
    """
    ratio = np.exp(np.arcsinh(np.sqrt(_checked(nats) / 2)))
    sd = 1 / ratio if width == "narrow" else ratio
    inner = 2 * ndtr(_crossing(ratio)) - 1  # of the wider one, where the narrower is denser
    distance = 2 * ndtr(_crossing(ratio) * ratio) - 1 - inner
    misses = 2 * ndtr(-ndtri((1 + LEVEL) / 2) * sd)
    # The ratio of two such draws is Cauchy: the best score is a draw's size, or its opposite.
    auc = 2 / np.pi * np.arctan(ratio)
    return NormalPair(np.zeros_like(sd), sd, auc, (1 + distance) / 2, distance, misses)


def nearest(nats: float) -> int:
    """The place on the grid that is next to a divergence, by its logarithm; 0 for none above 0."""
    if not nats > 0:
        return 0
    return int(np.abs(np.log(GRID) - np.log(min(nats, 1e300))).argmin())


def _crossing(ratio: Float) -> Float:
    """Where the densities of N(0, 1) and of the narrower N(0, 1 / r^2) meet."""
    size = np.log(ratio)
    with np.errstate(invalid="ignore"):
        crossing = np.sqrt(2 * size / np.expm1(2 * size))
    return np.where(size > 0, crossing, 1.0)


def _checked(nats: ArrayLike) -> Float:
    values = np.asarray(nats, dtype=np.float64)
    if not (values >= 0).all():
        raise ValueError(
            f"A divergence is 0 or more nats; got {float(values.min())}. Clip an estimate's "
            f"noise at 0 first"
        )
    return values
