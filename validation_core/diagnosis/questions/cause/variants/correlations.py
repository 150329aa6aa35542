"""Shapes of a wrong correlation: along one direction, or between all parameters."""

from __future__ import annotations

import numpy as np

from validation_core.diagnosis.injections.draw_pool import DrawIndices, DrawPool, transform_rows
from validation_core.diagnosis.injections.moves import (
    linear_coefficients,
    random_signs,
    unit_directions,
)
from validation_core.types import Array


def along_one(pool: DrawPool, which: DrawIndices, s: float, rng: np.random.Generator) -> Array:
    """s times too wide along one whitened direction of all rows."""
    z = pool.white(pool.take(which))
    return pool.coloured(_narrowed(z, unit_directions(pool, which, rng), 1 / s))


def along_turning(pool: DrawPool, which: DrawIndices, s: float, rng: np.random.Generator) -> Array:
    """Along a whitened direction that turns with x."""
    z, x = pool.white(pool.take(which)), pool.followed
    t, _, d = z.shape
    turn = linear_coefficients(pool, d, rng, t)
    along = rng.standard_normal((t, 1, d)) + rng.uniform(0.2, 1.5, (t, 1, 1)) * (x @ turn)
    return pool.coloured(_narrowed(z, along, 1 / s))


def along_own(pool: DrawPool, which: DrawIndices, s: float, rng: np.random.Generator) -> Array:
    """Along one of each row's own axes, from the narrowest to the widest."""
    z = pool.white(pool.take(which))
    axes = np.linalg.eigh(_correlations(pool))[1]  # (n, D, D)
    along = np.moveaxis(axes[..., rng.integers(z.shape[2], size=len(which))], 2, 0)
    return pool.coloured(_narrowed(z, transform_rows(pool.inverse, along), 1 / s))


def by_fixed_noise(
    pool: DrawPool, which: DrawIndices, s: float, rng: np.random.Generator
) -> Array:
    """Noise added along one direction v of theta: q's covariance is the truth's + g v v'.

    In most trials v is an axis of the average correlation; s is how many times too wide q is
    along it in the middle row.
    """
    z, d = pool.white(pool.take(which)), pool.q.shape[2]
    axes = np.linalg.eigh(_correlations(pool).mean(0))[1].T  # rows
    axis = axes[rng.integers(d, size=len(which))]
    own = rng.random((len(which), 1)) < 0.7
    v = np.where(own, axis, unit_directions(pool, which, rng)[:, 0]) * np.median(pool.sd, axis=0)
    along = transform_rows(pool.inverse, v[:, None] / pool.sd)
    length = np.square(along).sum(2, keepdims=True)
    share = (1 - s**-2) * length / np.median(length, axis=1, keepdims=True)
    return pool.coloured(_narrowed(z, along, np.sqrt(1 - np.minimum(share, 0.995))))


def _narrowed(z: Array, along: Array, factor: float | Array) -> Array:
    """Whitened coordinates with those along a direction times a factor."""
    unit = along / np.maximum(np.linalg.norm(along, axis=2, keepdims=True), 1e-12)
    return z - (1 - factor) * (z * unit).sum(2, keepdims=True) * unit


def flipped(pool: DrawPool, which: DrawIndices, s: float, rng: np.random.Generator) -> Array:
    """Correlations between two sets of parameters run from q's own (0) to their opposite (1)."""
    d, r = pool.q.shape[2], _correlations(pool)
    z = pool.white(pool.take(which))
    for t in range(len(which)):
        side = np.where(rng.permutation(d) < rng.integers(1, d), 1.0, -1.0)
        across = np.where(side[:, None] * side > 0, 1.0, 1 - 2 * s)
        z[t] = transform_rows(_factor(r * across), z[t : t + 1])[0]
    return pool.mean + pool.sd * z


def independent(pool: DrawPool, which: DrawIndices, s: float, rng: np.random.Generator) -> Array:
    """Correlations run by a share s from q's own to none, or to one between all parameters."""
    d, r = pool.q.shape[2], _correlations(pool)
    z = pool.white(pool.take(which))
    side = np.ones(d) if rng.random() < 0.5 else random_signs((d,), rng)
    much = rng.uniform(0.3, 0.97) * (rng.random() < 0.6)
    other = (1 - much) * np.eye(d) + much * np.outer(side, side)
    return pool.mean + pool.sd * transform_rows(_factor((1 - s) * r + s * other), z)


def _correlations(pool: DrawPool) -> Array:
    """q's own: (n, D, D)."""
    return np.asarray(pool.chol @ np.swapaxes(pool.chol, 1, 2))


def _factor(r: Array) -> Array:
    """Lower factors of mixtures of correlation matrices, which are positive semidefinite."""
    return np.linalg.cholesky(r + 1e-9 * np.eye(r.shape[-1]))
