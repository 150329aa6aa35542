"""Shapes of missing, spurious and blurred modes, and of leaks on one side."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from validation_core.answers.injections import (
    INJECTIONS,
    Apply,
    Pool,
    Which,
    by_row,
    directions,
    redrawn,
)
from validation_core.types import Array

_CLOSE, _BLOCK = 0.08, 64  # share of a row's draws that are a draw's neighbours; rows at a time
_NEAR, _FAR = 3.5, 12.0  # sd between q's mode and the one it misses


def offset(pool: Pool, which: Which, s: float, rng: np.random.Generator) -> Array:
    """A share s of truths lies some posterior sd off, always on the same side."""
    far = np.exp(rng.uniform(np.log(_NEAR), np.log(_FAR), (len(which), 1, 1)))
    theta = pool.take(which)
    away = pool.white(theta) + far * directions(pool, which, rng)
    return _some(theta, pool.coloured(away), s, rng)


def mirrored(pool: Pool, which: Which, s: float, rng: np.random.Generator) -> Array:
    """A share s lies as far on the other side of a point near q's overall mean."""
    theta, spread = pool.take(which), pool.mean.std(0)
    centre = pool.mean.mean(0) + rng.normal(0, 0.5, (len(which), 1, theta.shape[2])) * spread
    return _some(theta, theta - 2 * (pool.mean - centre), s, rng)


def elsewhere(pool: Pool, which: Which, s: float, rng: np.random.Generator) -> Array:
    """A share s lies where q has its draws at another x."""
    theta = pool.take(which)
    return _some(theta, theta[:, rng.permutation(theta.shape[1])], s, rng)


def without(second: Callable[[Array, Array], NDArray[np.bool_]]) -> Apply:
    """A share s of the mass that q has in the smaller of two modes never holds the truth."""

    def apply(pool: Pool, which: Which, s: float, rng: np.random.Generator) -> Array:
        chance, kept = rng.random(which.shape), rng.random(which.shape) > s

        def allowed(theta: Array) -> NDArray[np.bool_]:
            return np.asarray(np.logical_not(second(theta, chance)) | kept, dtype=np.bool_)

        return redrawn(pool, which, allowed, rng)

    return apply


def bridge(pool: Pool, which: Which, s: float, rng: np.random.Generator) -> Array:
    """A share s of q's mass joins two modes: in the middle along an axis the truth never is.

    The axis is each row's widest, or one whitened direction of all rows.
    """
    widest = np.linalg.eigh(pool.chol @ np.swapaxes(pool.chol, 1, 2))[1][..., -1]  # (n, D)
    own = by_row(pool.inverse, widest[None])
    own = own / np.linalg.norm(own, axis=2, keepdims=True)
    along = np.where(rng.random((len(which), 1, 1)) < 0.6, own, directions(pool, which, rng))
    off = np.abs((pool.white(pool.take(which)) * along).sum(2))
    edge = np.quantile(off, s, axis=1)[:, None]

    def allowed(theta: Array) -> NDArray[np.bool_]:
        return np.asarray(np.abs((pool.white(theta) * along).sum(2)) >= edge)

    return redrawn(pool, which, allowed, rng)


def sharpened(pool: Pool) -> Apply:
    """q blurs what is fine: truths lie nearer by a share s to the mean of the draws about them."""
    n, k, d = pool.q.shape
    many = max(4, round(_CLOSE * k))
    means = np.empty((n, k, d))

    def fill() -> None:
        for start in range(0, n, _BLOCK):
            rows = slice(start, start + _BLOCK)
            z = (pool.q[rows] - pool.mean[rows, None]) / pool.sd[rows, None]
            z = z @ np.swapaxes(pool.inverse[rows], 1, 2)
            length = np.square(z).sum(2)
            apart = length[:, None] - 2 * z @ np.swapaxes(z, 1, 2)  # up to each draw's own length
            near = np.argpartition(apart, many, axis=2)[..., :many]
            shift = pool.q[rows][np.arange(len(z))[:, None, None], near].mean(2) - pool.q[rows]
            length = np.linalg.norm(shift / pool.sd[rows, None], axis=2, keepdims=True)
            most = np.median(length, axis=1, keepdims=True)  # draws far off stay so: no tails
            means[rows] = pool.q[rows] + shift * np.minimum(1, most / np.maximum(length, 1e-12))

    filled = False

    def apply(pool: Pool, which: Which, s: float, rng: np.random.Generator) -> Array:
        nonlocal filled
        del rng
        if not filled:
            fill()
            filled = True
        theta = pool.take(which)
        return theta + s * (means[np.arange(n), which] - theta)

    return apply


def box(pool: Pool, which: Which, s: float, rng: np.random.Generator) -> Array:
    """The outermost share s of every parameter, half on either side, never holds the truth."""
    return INJECTIONS["support_leak"].apply(pool, which, s * pool.q.shape[2], rng)


def one_sided(pool: Pool, which: Which, s: float, rng: np.random.Generator) -> Array:
    """The outermost share s of one parameter, on one side, lies where the truth never is."""
    d = pool.q.shape[2]
    looked = pool.q[:, :: max(1, pool.q.shape[1] // 50)].reshape(-1, d)
    low, high = np.full((2, len(which), 1, d), [[[[-np.inf]]], [[[np.inf]]]])
    for t, j in enumerate(rng.integers(d, size=len(which))):
        if rng.random() < 0.5:
            low[t, 0, j] = np.quantile(looked[:, j], s)
        else:
            high[t, 0, j] = np.quantile(looked[:, j], 1 - s)

    def allowed(theta: Array) -> NDArray[np.bool_]:
        return np.asarray(((theta >= low) & (theta <= high)).all(2))

    inside = redrawn(pool, which, allowed, rng)
    return np.clip(inside, low, high)


def _some(theta: Array, other: Array, share: float, rng: np.random.Generator) -> Array:
    return np.where(rng.random(theta.shape[:2])[..., None] < share, other, theta)
