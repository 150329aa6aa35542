"""Shapes of a wrong width, tail or skewness, uneven over x, or of q's fine detail alone."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from validation_core.diagnosis.injections.draw_pool import DrawIndices, DrawPool
from validation_core.diagnosis.injections.injection import Apply
from validation_core.diagnosis.injections.moves import (
    linear_coefficients,
    map_radii,
    median_matching_scale,
    random_signs,
    variance_matching_scale,
)
from validation_core.diagnosis.questions.cause.variants.modifiers import in_one
from validation_core.pieces import slices
from validation_core.types import Array

_CLOSE = 0.08  # share of a row's draws that are a draw's neighbours
_PAIRS = 1 << 19  # of draws, compared at a time


def uneven(pool: DrawPool, which: DrawIndices, s: float, rng: np.random.Generator) -> Array:
    """Too wide by a factor that varies with x about s."""
    theta, x = pool.take(which), pool.followed
    a = linear_coefficients(pool, 1, rng, len(which))
    factor = np.exp(np.log(s) * (1 + 0.5 * np.clip(x @ a, -2, 2)))
    return pool.mean + (theta - pool.mean) / factor


def blurred(pool: DrawPool) -> Apply:
    """q blurs what is fine: truths lie nearer by a share s to the mean of the draws about them."""
    n, k, d = pool.q.shape
    many = max(4, round(_CLOSE * k))
    means = np.empty((n, k, d))

    def fill() -> None:
        for rows in slices(n, max(1, _PAIRS // k**2)):
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

    def apply(pool: DrawPool, which: DrawIndices, s: float, rng: np.random.Generator) -> Array:
        nonlocal filled
        del rng
        if not filled:
            fill()
            filled = True
        theta = pool.take(which)
        return theta + s * (means[np.arange(n), which] - theta)

    return apply


def tails(*, heavy: bool) -> Apply:
    """Anything between keeping the scale matrix and keeping the median radius."""

    def apply(pool: DrawPool, which: DrawIndices, s: float, rng: np.random.Generator) -> Array:
        wider = median_matching_scale(pool.q.shape[2], 1 / s) ** rng.random()
        return map_radii(pool, which, s, heavy=heavy, wider=wider)

    return apply


def even_tails(*, heavy: bool) -> Apply:
    """At the right variance: a t that is too heavy is too narrow in its middle as well."""

    def apply(pool: DrawPool, which: DrawIndices, s: float, rng: np.random.Generator) -> Array:
        del rng
        return map_radii(pool, which, s, heavy=heavy, wider=variance_matching_scale(1 / s))

    return apply


def one_tail(*, heavy: bool) -> Apply:
    """One parameter's errors as a normal's beside Student's t, or the reverse."""

    def apply(pool: DrawPool, which: DrawIndices, s: float, rng: np.random.Generator) -> Array:
        u, nu = pool.standard(pool.take(which)), 1 / s
        wider = variance_matching_scale(nu) ** rng.uniform(0.3, 1)
        if heavy:
            new = ndtri(np.clip(stdtr(nu, u), 1e-12, 1 - 1e-12)) * wider
        else:
            new = stdtrit(nu, np.clip(ndtr(u), 1e-12, 1 - 1e-12)) / wider
        return pool.mean + pool.sd * new

    return in_one(apply)


def skewed(pool: DrawPool, which: DrawIndices, s: float, rng: np.random.Generator) -> Array:
    """Each parameter's errors as of a log-normal of log sd s, of their own mean and variance."""
    u = pool.standard(pool.take(which))
    way = random_signs((len(which), 1, u.shape[2]), rng)
    grown, square = np.exp(s * np.clip(way * u, -6, 6)), np.exp(s * s)
    return pool.mean + pool.sd * way * (grown - np.sqrt(square)) / np.sqrt((square - 1) * square)
