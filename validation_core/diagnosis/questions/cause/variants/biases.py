"""Shapes of a bias: along whitened directions, with q's mean, with x, or as if x were misread."""

from __future__ import annotations

import numpy as np

from validation_core.diagnosis.injections import INJECTIONS
from validation_core.diagnosis.injections.draw_pool import DrawIndices, DrawPool
from validation_core.diagnosis.injections.moves import (
    linear_coefficients,
    random_signs,
    unit_directions,
)
from validation_core.diagnosis.questions.cause.variants.modifiers import in_one
from validation_core.rng import stream
from validation_core.types import Array

_WAVES = 120  # of the smooth function of x that q's mean is taken for
_WAVE_RIDGE = 1e-3
_LONGEST = 1.5  # step in standardised x: beyond, the smooth function is not to be trusted


def along_one(pool: DrawPool, which: DrawIndices, s: float, rng: np.random.Generator) -> Array:
    """By s along one whitened direction."""
    z = pool.white(pool.take(which))
    return pool.coloured(z - s * unit_directions(pool, which, rng))


def in_one_or_along(
    pool: DrawPool, which: DrawIndices, s: float, rng: np.random.Generator
) -> Array:
    """By s sd in one parameter, or along one whitened direction."""
    every = INJECTIONS["bias_all"].apply
    return (in_one(every) if rng.random() < 0.5 else along_one)(pool, which, s, rng)


def with_mean(pool: DrawPool, which: DrawIndices, s: float, rng: np.random.Generator) -> Array:
    """In proportion to q's mean, about a point near its overall mean; s sd on average."""
    spread = pool.mean.std(0)
    off = rng.standard_normal((len(which), 1, pool.q.shape[2])) * spread
    shift = pool.mean - pool.mean.mean(0) + off
    size = np.sqrt(np.mean(np.square(shift / pool.sd), axis=(1, 2), keepdims=True))
    way = random_signs((len(which), 1, 1), rng)
    return pool.take(which) - way * s / np.maximum(size, 1e-9) * shift


def with_x(pool: DrawPool, which: DrawIndices, s: float, rng: np.random.Generator) -> Array:
    """Along whitened directions, by linear functions of x; s sd on average."""
    z, x = pool.white(pool.take(which)), pool.followed
    a = linear_coefficients(pool, z.shape[2], rng, len(which))
    return pool.coloured(z - s * (x @ a))


def smoothly_with_x(
    pool: DrawPool, which: DrawIndices, s: float, rng: np.random.Generator
) -> Array:
    """Along whitened directions, by smooth functions of x; s sd on average."""
    z = pool.white(pool.take(which))
    return pool.coloured(z - s * np.stack([_functions(pool, z.shape[2], rng) for _ in which]))


def of_misread_x(pool: DrawPool, which: DrawIndices, s: float, rng: np.random.Generator) -> Array:
    """As if q had read an x that is stretched or moved; s sd on average.

    q's mean elsewhere is read off a smooth function of x that was fitted to its means.
    """
    x, (turn, phase, weights) = pool.followed, _smooth(pool)
    here = np.sin(x @ turn + phase)
    shifts = np.empty((len(which), *pool.mean.shape))
    for t in range(len(which)):
        way = rng.random() * rng.standard_normal(x.shape[1]) + random_signs((1,), rng) * x
        step = s
        for _ in range(2):  # the step whose shift has this size, by two secants
            shifts[t] = (np.sin((x + step * way) @ turn + phase) - here) @ weights
            size = np.sqrt(np.mean(np.square(shifts[t] / pool.sd)))
            step = min(step * s / max(size, 1e-6), _LONGEST)
    return pool.take(which) - shifts


def _smooth(pool: DrawPool) -> tuple[Array, Array, Array]:
    """q's mean about its average as sin(x turn + phase) weights, by ridge regression."""
    x, own = pool.followed, stream(0, "cause", "smooth")
    turn = linear_coefficients(pool, _WAVES, own)
    phase = own.uniform(0, 2 * np.pi, _WAVES)
    basis = np.sin(x @ turn + phase)
    gram = basis.T @ basis + _WAVE_RIDGE * len(x) * np.eye(_WAVES)
    return turn, phase, np.linalg.solve(gram, basis.T @ (pool.mean - pool.mean.mean(0)))


def of_unread_x(pool: DrawPool, which: DrawIndices, s: float, rng: np.random.Generator) -> Array:
    """q reads x only in part: residuals follow functions of x with correlation s.

    Linear functions mixed with smooth ones; the residuals' total variance is kept.
    """
    z, x = pool.white(pool.take(which)), pool.followed
    d = z.shape[2]
    for t in range(len(z)):
        turn = linear_coefficients(pool, d, rng)
        part = rng.random()
        follow = np.sqrt(part) * (x @ turn) + np.sqrt(1 - part) * _functions(pool, d, rng)
        z[t] = np.sqrt(1 - s**2) * z[t] + s * follow
    return pool.coloured(z)


def _functions(pool: DrawPool, many: int, rng: np.random.Generator) -> Array:
    """Smooth functions of x, uncorrelated where x has room for that many: (n, many)."""
    x = pool.followed
    slow = linear_coefficients(pool, 3 * many, rng)
    waves = np.sin(x @ slow * rng.uniform(0.5, 1.5) + rng.uniform(0, 2 * np.pi, 3 * many))
    mixed = waves @ rng.standard_normal((3 * many, many))
    mixed -= mixed.mean(0)
    left, size, right = np.linalg.svd(mixed, full_matrices=False)
    even = left * (size > 1e-3 * max(size[0], 1e-12)) @ right * np.sqrt(len(x))
    return np.asarray(even / np.maximum(even.std(0), 1e-9))


def disturbed(pool: DrawPool, which: DrawIndices, theta: Array, rng: np.random.Generator) -> Array:
    """Truths with a small bias besides: real defects seldom come alone.

    In every other trial a bias, in part constant, in part following x, of up to a third of the
    size of what the injection did.
    """
    z, x = pool.white(theta), pool.followed
    t, _, d = z.shape
    moved = np.minimum(np.square(z - pool.white(pool.take(which))), 9)
    size = np.sqrt(moved.mean((1, 2), keepdims=True))
    much = rng.uniform(0, 0.35, (t, 1, 1)) * (rng.random((t, 1, 1)) < 0.5)
    way = rng.standard_normal((t, 1, d)) + x @ linear_coefficients(pool, d, rng, t)
    return pool.coloured(z - much * size * way / np.sqrt(2))
