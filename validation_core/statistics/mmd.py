"""MMD-FUSE: how far two samples are apart under twenty kernels, in one number and its null.

Kernels and their bandwidths come from the pooled points, whoever they belong to, so that
relabelling the points gives the exact null; no part of the sample is set aside for them.

References:
    MMD-FUSE, Biggs, Schrab & Gretton (2023): its statistic with normalised kernels.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from validation_core.types import Array, Float

BANDWIDTHS = 10
"""Of each family: Laplace kernels of L1 distances first, Gaussian ones of L2 distances then."""

LARGEST = 12_000
"""Pooled points: their distances then take 0.6 GB."""

_ROWS = 64  # of a strip: few enough that little below the diagonal is computed in vain
_FAR = 1e12  # spreads: farther points would overflow float32 when squared


class _DistanceStrip(NamedTuple):
    """Distances of some points from all that do not come before them: (rows, N - first)."""

    first: int
    l1: Array
    l2_squared: Array


class _PooledDistances(NamedTuple):
    """Distances of N pooled points, in strips that hold each pair once."""

    size: int
    """N."""
    strips: tuple[_DistanceStrip, ...]
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


def distances(p: ArrayLike, q: ArrayLike, dtype: DTypeLike = np.float32) -> _PooledDistances:
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
    return _PooledDistances(size, strips, np.stack(bandwidths))


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


def _strip(columns: Array, first: int) -> _DistanceStrip:
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
    return _DistanceStrip(first, absolute, squared)


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


# ---- MMD^2 under many kernels for many relabelings at once, and one number from all kernels ----


Labels = NDArray[np.int8]
Scaling = Literal["package", "paper"]

MEMORY = 256 << 20
"""Bytes of work arrays, beside the distances and the labels themselves."""

_TIE = 1e-4  # of 1/n, the scale of the statistics: above float32's rounding, below any meaning


class _Kernels(NamedTuple):
    """MMD^2 (kernels, B) of B relabelings under each kernel, and its normaliser (kernels,)."""

    mmd2: Float
    normaliser: Float

    @property
    def normalised(self) -> Float:
        """MMD^2 over the root of the normaliser: (kernels, B)."""
        scale = np.sqrt(self.normaliser)[:, None]
        return np.divide(self.mmd2, scale, out=np.zeros_like(self.mmd2), where=scale > 0)


class _Sums(NamedTuple):
    """Sums over a kernel matrix K without its diagonal, with labels s of 1 and -1."""

    signed: Float
    """s'Ks (kernels, B)."""
    linear: Float
    """s'K1 (kernels, B)."""
    total: Float
    """1'K1 (kernels,)."""
    squares: Float
    """Sum of squares (kernels,)."""


def relabelings(n_p: int, n_q: int, count: int, rng: np.random.Generator) -> Labels:
    """Labels (count + 1, n_p + n_q), 1 for p and -1 for q: random ones and, last, the true."""
    labels = np.ones((count + 1, n_p + n_q), dtype=np.int8)
    labels[:, n_p:] = -1
    rng.permuted(labels[:-1], axis=1, out=labels[:-1])
    return labels


def kernels(found: _PooledDistances, labels: Labels, memory: int = MEMORY) -> _Kernels:
    """Unbiased MMD^2 of every relabeling (B, N) under every kernel, and normalisers.

    The normaliser is a kernel's sum of squares over all pairs of pooled points, per pair of points
    of the smaller sample: no relabeling changes it.

    Args:
        found: what `distances` gives; its precision is that of the products.
        labels: 1 for the first sample, -1 for the other; every relabeling has as many of each.
        memory: bytes of work arrays; more relabelings than fit are taken in turn.

    Raises:
        ValueError: if labels do not fit the points, or a side has fewer than two or changes size.
    """
    sizes = (np.asarray(labels) > 0).sum(axis=1)
    n = int(sizes[0])
    m = found.size - n
    if labels.shape[1] != found.size or min(n, m) < 2 or (sizes != n).any():
        raise ValueError(
            f"relabelings of {found.size} points keep the size of both sides, two or more; got "
            f"labels {labels.shape} with {sizes.min()} to {sizes.max()} points on the first side"
        )
    step = _at_once(found, memory)
    parts = [_sums(found, labels[at : at + step]) for at in range(0, len(labels), step)]
    signed = np.concatenate([part.signed for part in parts], axis=1)
    linear = np.concatenate([part.linear for part in parts], axis=1)
    total = parts[0].total[:, None]
    # Sums over the pairs within either side, and over the pairs across.
    within, across = (total + signed) / 2, (total - signed) / 2
    first, second = (within + linear) / 2, (within - linear) / 2
    mmd2 = first / (n * (n - 1)) + second / (m * (m - 1)) - across / (n * m)
    return _Kernels(mmd2, parts[0].squares / (min(n, m) * (min(n, m) - 1)))


def fused(normalised: ArrayLike, n: int, scaling: Scaling = "package") -> Float:
    """The soft maximum over kernels (kernels, ...): log mean exp(lambda s) / lambda.

    Args:
        normalised: MMD^2 over the root of its kernel's normaliser.
        n: size of the smaller sample.
        scaling: lambda, n (n - 1) as the authors' package computes, which is near the maximum, or
            its root as the paper writes, near the mean.
    """
    values = np.asarray(normalised, dtype=np.float64)
    weight = float(n * (n - 1)) ** (1.0 if scaling == "package" else 0.5)
    top = values.max(axis=0)
    return top + np.log(np.exp(weight * (values - top)).mean(axis=0)) / weight


def pvalues(statistics: ArrayLike, n: int) -> Float:
    """Share of the statistics (..., B + 1) not below the last one, itself among them: (...).

    Equal ones differ by a rounding, hence a tolerance; it can only raise a p-value.
    """
    values = np.asarray(statistics, dtype=np.float64)
    return (values >= values[..., -1:] - _TIE / n).mean(axis=-1)


def _at_once(found: _PooledDistances, memory: int) -> int:
    """Relabelings for which a strip's kernels, their products and all labels fit into memory."""
    strip = found.strips[0].l1
    rows = found.bandwidths.size * len(strip)
    left = memory // strip.itemsize - rows * found.size
    return max(1, left // (found.size + rows))


def _sums(found: _PooledDistances, labels: Labels) -> _Sums:
    """Strip by strip, added up in float64."""
    signs = np.ascontiguousarray(labels.T, dtype=found.strips[0].l1.dtype)  # (N, B)
    parts = (_of_strip(strip, found.bandwidths, signs) for strip in found.strips)
    return reduce(lambda a, b: _Sums(*(x + y for x, y in zip(a, b, strict=True))), parts)


def _of_strip(strip: _DistanceStrip, bandwidths: Float, signs: Array) -> _Sums:
    """With U the part of K above its diagonal, s'Us, 1'Us and U1 say all: one product U s.

    Signs cancel in it, so that float32 loses little.
    """
    values = _above_diagonal(strip, bandwidths)  # (kernels, rows, columns)
    count, rows, columns = values.shape
    own, mine = values.sum(axis=2), signs[strip.first : strip.first + rows]
    squares = np.einsum("kij,kij->ki", values, values).sum(axis=1, dtype=np.float64)
    # All kernels in one product: the more rows, the nearer BLAS comes to its best.
    product = (values.reshape(-1, columns) @ signs[strip.first :]).reshape(count, rows, -1)
    linear = product.sum(axis=1) + own @ mine
    product *= mine
    signed = product.sum(axis=1).astype(np.float64)
    total = own.sum(axis=1, dtype=np.float64)
    return _Sums(2 * signed, linear.astype(np.float64), 2 * total, 2 * squares)


def _above_diagonal(strip: _DistanceStrip, bandwidths: Float) -> Array:
    """All kernels (kernels, rows, columns) of a strip, 0 on the diagonal and below it."""
    rows, columns = strip.l1.shape
    values = np.empty((2, BANDWIDTHS, rows, columns), strip.l1.dtype)
    # A bandwidth of 0, where most points are equal, leaves the kernel that tells equal from not.
    with np.errstate(divide="ignore", over="ignore"):
        laplace = np.minimum(2**0.5 / bandwidths[0], 1e30)[:, None, None]
        gauss = np.minimum(0.5 / bandwidths[1] ** 2, 1e30)[:, None, None]
        np.multiply(strip.l1, -laplace.astype(values.dtype), out=values[0])
        np.multiply(strip.l2_squared, -gauss.astype(values.dtype), out=values[1])
    np.exp(values, out=values)
    values[..., :rows] *= np.triu(np.ones((rows, rows), values.dtype), 1)
    return values.reshape(-1, rows, columns)
