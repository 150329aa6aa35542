"""MMD-FUSE: how far two samples are apart under twenty kernels, in one number and its null.

Kernels and their bandwidths come from the pooled points, whoever they belong to, so that
relabelling the points gives the exact null; no part of the sample is set aside for them.

References:
    MMD-FUSE, Biggs, Schrab & Gretton (2023): its statistic with normalised kernels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from validation_core.types import Array, Float

BANDWIDTHS = 10
"""Of each family: Laplace kernels of L1 distances first, Gaussian ones of L2 distances then."""
LARGEST = 12_000
"""Pooled points: their distances then take 0.6 GB."""
_ROWS = 64  # of a strip: few enough that little below the diagonal is computed in vain
_FAR = 1e12  # spreads: farther points would overflow float32 when squared


class DistanceStrip(NamedTuple):
    """Distances of some points from all that do not come before them: (rows, N - first)."""

    first: int
    l1: Array
    l2_squared: Array


class PooledDistances(NamedTuple):
    """Distances of N pooled points, in strips that hold each pair once."""

    size: int
    """N."""
    strips: tuple[DistanceStrip, ...]
    bandwidths: Float
    """(2, BANDWIDTHS): of L1 distances, of L2 distances."""


def standardised(p: ArrayLike, q: ArrayLike) -> tuple[Float, Float]:
    """Points p (n_p, D), q (n_q, D), every coordinate in units of its pooled spread.

    The interquartile range, because heavy tails blow up a standard deviation and so hide the
    coordinate; the standard deviation where half of the values are one. Pooled: it knows nothing
    of whose the points are.

    Raises:
        ValueError: if a side has fewer than two points, or the sides cannot be compared.
    """
    sides = _points(p, q)
    pooled = np.concatenate(sides)
    low, middle, high = np.quantile(pooled, [0.25, 0.5, 0.75], axis=0)
    with np.errstate(over="ignore"):  # of squares: infinitely wide, and used by few coordinates
        deviation = pooled.std(axis=0)
    spread = np.where(high > low, high - low, deviation)
    # A constant's standard deviation is a rounding: dividing by it would make a meaning of it.
    spread = np.where(pooled.min(axis=0) < pooled.max(axis=0), spread, 1.0)
    first, second = (np.clip((side - middle) / spread, -_FAR, _FAR) for side in sides)
    return first, second


def distances(p: ArrayLike, q: ArrayLike, dtype: DTypeLike = np.float32) -> PooledDistances:
    """Distances of the pooled points p (n_p, D), q (n_q, D), and the bandwidths they suggest.

    Bandwidths are evenly spaced from half the 5% quantile to twice the 95% quantile of all
    distances, those of points from themselves among them; zeros count as the median.

    Raises:
        ValueError: if a side has fewer than two points, the sides cannot be compared, or they
            have more than LARGEST points together.
    """
    columns = np.ascontiguousarray(np.concatenate(_points(p, q)).T, dtype=dtype)
    size = columns.shape[1]
    if size > LARGEST:
        raise ValueError(
            f"all distances of at most {LARGEST} points fit into memory; got {size}; compare "
            f"{LARGEST // 2} points of each side"
        )
    strips = tuple(_strip(columns, first) for first in range(0, size, _ROWS))
    # One family after the other: each needs a copy of half of its distances.
    bandwidths = [_bandwidths(_pairs([strip.l1 for strip in strips]))]
    bandwidths += [_bandwidths(np.sqrt(_pairs([strip.l2_squared for strip in strips])))]
    return PooledDistances(size, strips, np.stack(bandwidths))


def _points(p: ArrayLike, q: ArrayLike) -> tuple[Float, Float]:
    first, second = np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64)
    shapes = first.shape, second.shape
    if {len(s) for s in shapes} != {2} or shapes[0][1] != shapes[1][1] or min(shapes)[0] < 2:
        raise ValueError(
            "two samples of at least two points each, in the same D coordinates, are compared; "
            f"got shapes {shapes[0]} and {shapes[1]}; give (n_p, D) and (n_q, D)"
        )
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        raise ValueError("distances need finite coordinates; got NaN or infinity; drop those rows")
    return first, second


def _strip(columns: Array, first: int) -> DistanceStrip:
    """Distances of _ROWS points from `first` on, given the coordinates of all (D, N)."""
    mine, all_later = columns[:, first : first + _ROWS, None], columns[:, None, first:]
    shape = (mine.shape[1], all_later.shape[2])
    absolute, squared = np.zeros(shape, columns.dtype), np.zeros(shape, columns.dtype)
    difference = np.empty(shape, columns.dtype)
    # Coordinate by coordinate, not from inner products: equal points must have distance 0.
    for row, column in zip(mine, all_later, strict=True):
        np.subtract(row, column, out=difference)
        np.abs(difference, out=difference)
        absolute += difference
        np.square(difference, out=difference)
        squared += difference
    return DistanceStrip(first, absolute, squared)


def _pairs(blocks: Sequence[Array]) -> Array:
    """Each pair's entry once, every point with itself included: (N (N + 1) / 2,)."""
    triangles = [block[:, : len(block)][np.triu_indices(len(block))] for block in blocks]
    beyond = [block[:, len(block) :].ravel() for block in blocks]
    return np.concatenate([*triangles, *beyond])


def _bandwidths(pairs: Array) -> Float:
    """Evenly spaced over what distances (pairs,) there are; overwrites them."""
    half = pairs.size // 2
    pairs.partition([pairs.size - half - 1, half])
    pairs[pairs == 0] = (pairs[pairs.size - half - 1] + pairs[half]) / 2
    # Order statistics, not interpolated quantiles: the package's own numbers.
    low, high = int(pairs.size * 0.05), int(pairs.size * 0.95)
    pairs.partition([low, high])
    return np.linspace(float(pairs[low]) / 2, float(pairs[high]) * 2, BANDWIDTHS)
