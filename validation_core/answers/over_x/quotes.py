"""How much a feature is off in a stretch of x, with intervals, and its smoothed course."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from validation_core.answers.over_x.scan import z
from validation_core.answers.over_x.windows import Windows
from validation_core.maps import over_x as smoothing
from validation_core.types import Array

FEWEST = 5
"""Rows below which nothing is quoted."""
_LEVEL = 0.95


def quote(kind: str, w: Array) -> dict[str, Any]:
    """Size of a feature among rows with scores w (m,), its 95% interval and the rows.

    shift and learned: the mean, by Student's t. width: the sd, which is 1 if q is right; its
    logarithm is about normal, with a variance by the fourth moment.
    """
    m = len(w)
    if m < FEWEST:
        return {"n": m, "value": None, "low": None, "high": None}
    reach = float(stdtrit(m - 1, (1 + _LEVEL) / 2))
    mean, sd = float(w.mean()), float(w.std(ddof=1))
    if kind != "width":
        half = reach * sd / m**0.5
        return {"n": m, "value": mean, "low": mean - half, "high": mean + half}
    if sd == 0:
        return {"n": m, "value": 0.0, "low": 0.0, "high": None}
    fourth = float(((w - mean) ** 4).mean() / w.var() ** 2)
    half = reach * (max(fourth - 1, 2 / m) / (4 * m)) ** 0.5
    return {"n": m, "value": sd, "low": sd / math.exp(half), "high": sd * math.exp(half)}


def place(
    over: Windows, feature: NDArray[np.float32], coordinate: int, choose: NDArray[np.bool_]
) -> tuple[dict[str, Any], NDArray[np.bool_]]:
    """The stretch of a coordinate in which the chosen rows are off most, and its rows (n,).

    A stretch and what is outside it differ equally from one another: of the two, the one told of
    is farther from 0, which is where all features are if q is right.

    Args:
        over: the stretches of all rows.
        feature: (n,).
        coordinate: which; one more than there are means the discs.
        choose: (n,) the rows that choose.
    """
    part = _only(over, choose)
    few = feature[choose]
    sd = float(few.std())
    off = ((few - few.mean()) / (sd if sd > 0 else np.inf)).astype(np.float32)
    strength = z(off[None], part)
    if coordinate < len(over.edges):
        best = int(np.abs(strength[0][0, coordinate]).argmax())
        first, last = int(over.first[best]), int(over.last[best])
        low, high = over.edges[coordinate, [first, last]]
        g = over.edges.shape[1] - 1
        inside = over.blocks[:, coordinate * g + first : coordinate * g + last].sum(axis=1) > 0
        ends: dict[str, Any] = {"low": _finite(low), "high": _finite(high)}
        return _farther(ends, inside, feature, choose)
    best = int(np.abs(strength[1][0, 0]).argmax())
    at = over.centres[best]
    across = over.radii[best] * over.scale
    disc = {"centre": [float(one) for one in at], "radius": [float(one) for one in across]}
    return _farther(disc, over.discs[:, best] > 0, feature, choose)


def _farther(
    where: dict[str, Any], inside: NDArray[np.bool_], feature: NDArray[np.float32],
    choose: NDArray[np.bool_],
) -> tuple[dict[str, Any], NDArray[np.bool_]]:  # fmt: skip
    """The stretch, or all outside it where that is farther from 0 by the rows that choose."""
    within, without = feature[inside & choose], feature[~inside & choose]
    if not len(within) or not len(without) or abs(without.mean()) <= abs(within.mean()):
        return {**where, "outside_of": False}, inside
    if "low" in where and (where["low"] is None or where["high"] is None):
        return {"low": where["high"], "high": where["low"], "outside_of": False}, ~inside
    return {**where, "outside_of": True}, ~inside


def course(kind: str, w: Array, weights: Array) -> Array:
    """Smoothed size of a feature (4, G): value, low, high, and half the room of a right q.

    Intervals are pointwise, normal, by the effective number of neighbours; for width all are
    ratios, and the room is a factor's logarithm.
    """
    total, effective = smoothing.totals(weights)
    shares = weights / np.where(total > 0, total, 1.0)[:, None]
    w = np.asarray(w, np.float64)
    mean = shares @ w
    variance = np.maximum(shares @ w**2 - mean**2, 0.0)
    root = np.sqrt(np.maximum(effective, 1.0))
    if kind != "width":
        half = 1.96 * np.sqrt(variance) / root
        return np.stack([mean, mean - half, mean + half, 1.96 / root])
    sd = np.sqrt(variance)
    fourth = shares @ w**4 - 4 * mean * (shares @ w**3) + 6 * mean**2 * (shares @ w**2)
    fourth = fourth - 3 * mean**4
    kurtosis = fourth / np.where(variance > 0, variance, 1.0) ** 2
    half = 1.96 * np.sqrt(np.maximum(kurtosis - 1, 0.1)) / (2 * root)
    return np.stack([sd, sd * np.exp(-half), sd * np.exp(half), 1.96 / (root * 2**0.5)])


def _only(over: Windows, rows: NDArray[np.bool_]) -> Windows:
    """The same stretches of some of the rows."""
    blocks = over.blocks[rows]
    c, g = len(over.edges), over.edges.shape[1] - 1
    below = np.zeros((c, g + 1))
    below[:, 1:] = blocks.sum(0, dtype=np.float64).reshape(c, g).cumsum(1)
    counts = below[:, over.last] - below[:, over.first]
    return over._replace(blocks=blocks, counts=counts, discs=over.discs[rows])


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
