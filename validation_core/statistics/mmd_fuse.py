"""MMD^2 under many kernels for many relabelings at once, fused into one number."""

from __future__ import annotations

from contextlib import nullcontext
from functools import reduce
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from validation_core.statistics.mmd import BANDWIDTHS, DistanceStrip, PooledDistances
from validation_core.types import Float

_Labels = NDArray[np.int8]
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


def relabelings(n_p: int, n_q: int, count: int, rng: np.random.Generator) -> _Labels:
    """Labels (count + 1, n_p + n_q), 1 for p and -1 for q: random ones and, last, the true."""
    labels = np.ones((count + 1, n_p + n_q), dtype=np.int8)
    labels[:, n_p:] = -1
    rng.permuted(labels[:-1], axis=1, out=labels[:-1])
    return labels


def kernels(
    found: PooledDistances, labels: _Labels, memory: int = MEMORY, device: str = "cpu"
) -> _Kernels:
    """Unbiased MMD^2 of every relabeling (B, N) under every kernel, and normalisers.

    The normaliser is a kernel's sum of squares over all pairs of pooled points, per pair of points
    of the smaller sample: no relabeling changes it.

    Args:
        found: what `distances` gives; its precision is that of the products.
        labels: 1 for the first sample, -1 for the other; every relabeling has as many of each.
        memory: bytes of work arrays; more relabelings than fit are taken in turn.
        device: where kernels and products are computed: by numpy on a processor, else by torch.

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
    parts = [_sums(found, labels[at : at + step], device) for at in range(0, len(labels), step)]
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


def _at_once(found: PooledDistances, memory: int) -> int:
    """Relabelings for which a strip's kernels, their products and all labels fit into memory."""
    strip = found.strips[0].l1
    rows = found.bandwidths.size * len(strip)
    left = memory // strip.itemsize - rows * found.size
    return max(1, left // (found.size + rows))


def _sums(found: PooledDistances, labels: _Labels, device: str) -> _Sums:
    """Strip by strip, added up in float64."""
    signs = np.ascontiguousarray(labels.T, dtype=found.strips[0].l1.dtype)  # (N, B)
    library, where = _library(device)
    with where:
        given = library.asarray(signs)
        parts = (_of_strip(library, strip, found.bandwidths, given) for strip in found.strips)
        return reduce(lambda a, b: _Sums(*(x + y for x, y in zip(a, b, strict=True))), parts)


def _library(device: str) -> tuple[Any, Any]:
    """numpy on a processor, else torch; and the context in which arrays are made there."""
    if device.startswith("cpu"):
        return np, nullcontext()
    import torch

    return torch, torch.device(device)


def _of_strip(library: Any, strip: DistanceStrip, bandwidths: Float, signs: Any) -> _Sums:
    """With U the part of K above its diagonal, s'Us, 1'Us and U1 say all: one product U s.

    Signs cancel in it, so that float32 loses little.
    """
    values = _above_diagonal(library, strip, bandwidths)  # (kernels, rows, columns)
    count, rows, columns = values.shape
    own, mine = values.sum(axis=2), signs[strip.first : strip.first + rows]
    squares = library.einsum("kij,kij->ki", values, values)
    # All kernels in one product: the more rows, the nearer BLAS comes to its best.
    product = (values.reshape(-1, columns) @ signs[strip.first :]).reshape(count, rows, -1)
    linear = product.sum(axis=1) + own @ mine
    product *= mine
    signed = product.sum(axis=1)
    if library is not np:  # float64, which not every device has, comes after
        signed, linear, own, squares = (a.cpu().numpy() for a in (signed, linear, own, squares))
    total, square = (a.sum(axis=1, dtype=np.float64) for a in (own, squares))
    return _Sums(2 * signed.astype(np.float64), linear.astype(np.float64), 2 * total, 2 * square)


def _above_diagonal(library: Any, strip: DistanceStrip, bandwidths: Float) -> Any:
    """All kernels (kernels, rows, columns) of a strip, 0 on the diagonal and below it."""
    rows, columns = strip.l1.shape
    l1, l2_squared = library.asarray(strip.l1), library.asarray(strip.l2_squared)
    values = library.empty((2, BANDWIDTHS, rows, columns), dtype=l1.dtype)
    # A bandwidth of 0, where most points are equal, leaves the kernel that tells equal from not.
    with np.errstate(divide="ignore", over="ignore"):
        laplace = np.minimum(2**0.5 / bandwidths[0], 1e30)[:, None, None]
        gauss = np.minimum(0.5 / bandwidths[1] ** 2, 1e30)[:, None, None]
        for distances, slopes, place in ((l1, laplace, 0), (l2_squared, gauss, 1)):
            slope = library.asarray(-slopes.astype(strip.l1.dtype))
            library.multiply(distances, slope, out=values[place])
    library.exp(values, out=values)
    values[..., :rows] *= library.triu(library.ones((rows, rows), dtype=values.dtype), 1)
    return values.reshape(-1, rows, columns)
