"""Shapes of misplaced mass: true values where q has none, and mass of q that holds none."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from validation_core.diagnosis.injections import INJECTIONS
from validation_core.diagnosis.injections.draw_pool import DrawIndices, DrawPool, transform_rows
from validation_core.diagnosis.injections.injection import Apply
from validation_core.diagnosis.injections.moves import redraw_allowed, unit_directions
from validation_core.types import Array

_NEAR, _FAR = 3.5, 12.0  # sd between q's mode and the one it misses


def offset(pool: DrawPool, which: DrawIndices, s: float, rng: np.random.Generator) -> Array:
    """A share s of truths lies some posterior sd off, always on the same side."""
    far = np.exp(rng.uniform(np.log(_NEAR), np.log(_FAR), (len(which), 1, 1)))
    theta = pool.take(which)
    away = pool.white(theta) + far * unit_directions(pool, which, rng)
    return _some(theta, pool.coloured(away), s, rng)


def mirrored(pool: DrawPool, which: DrawIndices, s: float, rng: np.random.Generator) -> Array:
    """A share s lies as far on the other side of a point near q's overall mean."""
    theta, spread = pool.take(which), pool.mean.std(0)
    centre = pool.mean.mean(0) + rng.normal(0, 0.5, (len(which), 1, theta.shape[2])) * spread
    return _some(theta, theta - 2 * (pool.mean - centre), s, rng)


def elsewhere(pool: DrawPool, which: DrawIndices, s: float, rng: np.random.Generator) -> Array:
    """A share s lies where q has its draws at another x."""
    theta = pool.take(which)
    return _some(theta, theta[:, rng.permutation(theta.shape[1])], s, rng)


def _some(theta: Array, other: Array, share: float, rng: np.random.Generator) -> Array:
    return np.where(rng.random(theta.shape[:2])[..., None] < share, other, theta)


def of_proposal(pool: DrawPool, which: DrawIndices, s: float, rng: np.random.Generator) -> Array:
    """True values of a proposal that is s times as wide as all draws: q's draws chosen by it."""
    n, k, d = pool.q.shape
    draws = pool.q.reshape(-1, d)
    middle, spread = draws.mean(0), np.maximum(draws.std(0), 1e-300)
    theta = pool.take(which)
    for t in range(len(which)):
        centre = middle + 0.4 * rng.standard_normal(d) * spread
        log_weight = -0.5 * np.square((pool.q - centre) / spread).sum(2) * (s**-2 - 1)
        place = (log_weight + rng.gumbel(size=(n, k))).argmax(1)
        theta[t] = pool.q[np.arange(n), place]
    return theta


def without_mode(second: Callable[[Array, Array], NDArray[np.bool_]]) -> Apply:
    """A share s of the mass that q has in the smaller of two modes never holds the truth."""

    def apply(pool: DrawPool, which: DrawIndices, s: float, rng: np.random.Generator) -> Array:
        chance, spared = rng.random(which.shape), rng.random(which.shape) > s

        def allowed(theta: Array) -> NDArray[np.bool_]:
            return np.asarray(np.logical_not(second(theta, chance)) | spared, dtype=np.bool_)

        return redraw_allowed(pool, which, allowed, rng)

    return apply


def bridge(pool: DrawPool, which: DrawIndices, s: float, rng: np.random.Generator) -> Array:
    """A share s of q's mass joins two modes: in the middle along an axis the truth never is.

    The axis is each row's widest, or one whitened direction of all rows.
    """
    widest = np.linalg.eigh(pool.chol @ np.swapaxes(pool.chol, 1, 2))[1][..., -1]  # (n, D)
    own = transform_rows(pool.inverse, widest[None])
    own = own / np.linalg.norm(own, axis=2, keepdims=True)
    along = np.where(rng.random((len(which), 1, 1)) < 0.6, own, unit_directions(pool, which, rng))
    off = np.abs((pool.white(pool.take(which)) * along).sum(2))
    edge = np.quantile(off, s, axis=1)[:, None]

    def allowed(theta: Array) -> NDArray[np.bool_]:
        return np.asarray(np.abs((pool.white(theta) * along).sum(2)) >= edge)

    return redraw_allowed(pool, which, allowed, rng)


def box(pool: DrawPool, which: DrawIndices, s: float, rng: np.random.Generator) -> Array:
    """The outermost share s of every parameter, half on either side, never holds the truth."""
    return INJECTIONS["support_leak"].apply(pool, which, s * pool.q.shape[2], rng)


def side(pool: DrawPool, which: DrawIndices, s: float, rng: np.random.Generator) -> Array:
    """The outermost share s of one parameter, on one side, lies where the truth never is."""
    d = pool.q.shape[2]
    draws = pool.q[:, :: max(1, pool.q.shape[1] // 50)].reshape(-1, d)
    low, high = np.full((2, len(which), 1, d), [[[[-np.inf]]], [[[np.inf]]]])
    for t, j in enumerate(rng.integers(d, size=len(which))):
        if rng.random() < 0.5:
            low[t, 0, j] = np.quantile(draws[:, j], s)
        else:
            high[t, 0, j] = np.quantile(draws[:, j], 1 - s)

    def allowed(theta: Array) -> NDArray[np.bool_]:
        return np.asarray(((theta >= low) & (theta <= high)).all(2))

    inside = redraw_allowed(pool, which, allowed, rng)
    return np.clip(inside, low, high)
