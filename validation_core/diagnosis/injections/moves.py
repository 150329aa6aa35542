"""Defects of a q that a moved truth shows: how a draw that plays the truth is moved."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtr, chdtri, fdtr, fdtri

from validation_core.diagnosis.injections.draw_pool import DrawIndices, DrawPool, transform_rows
from validation_core.diagnosis.injections.injection import Apply
from validation_core.relabelling.played_truths import pick_slots
from validation_core.types import Array

_LOOKED = 20_000  # draws of q whose quantiles tell where a share of its mass ends
_TRIES = 40  # at most .4 of the mass is refused, and .4^40 is nothing
FAR_MODE = 6.0  # sd between q's mode and the one it misses


def random_signs(shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Plus and minus one, evenly."""
    return rng.choice([-1.0, 1.0], shape)


def unit_directions(pool: DrawPool, which: DrawIndices, rng: np.random.Generator) -> Array:
    """Unit vectors, one for each trial or one for all: (T, 1, D) or (1, 1, D).

    A parameter that is fixed at every x stays so.
    """
    count, own = pool.directions(which, rng)
    drawn = own.standard_normal((count, 1, pool.q.shape[2]))
    vectors = np.zeros_like(drawn)
    vectors[..., pool.moving] = drawn[..., pool.moving]
    return vectors / np.linalg.norm(vectors, axis=2, keepdims=True)


def linear_coefficients(
    pool: DrawPool, many: int, rng: np.random.Generator, *trials: int
) -> Array:
    """Coefficients (..., M, many) of random linear functions of x, of variance 1."""
    m = pool.followed.shape[1]
    return rng.standard_normal((*trials, m, many)) / np.sqrt(max(m, 1))


def in_one_parameter(apply: Apply) -> Apply:
    """The injection in one parameter: drawn anew in each trial, or the one of all trials."""

    def alone(
        pool: DrawPool, which: DrawIndices, strength: float, rng: np.random.Generator
    ) -> Array:
        count, own = pool.directions(which, rng)
        chosen = pool.moving[own.integers(len(pool.moving), size=count)]
        mark = np.eye(pool.q.shape[2], dtype=bool)[chosen][:, None]  # (T or 1, 1, D)
        return np.where(mark, apply(pool, which, strength, rng), pool.take(which))

    return alone


def bias_all(
    pool: DrawPool, which: DrawIndices, strength: float, rng: np.random.Generator
) -> Array:
    """Every parameter's mean is off by so many posterior sd, up or down."""
    count, own = pool.directions(which, rng)
    way = random_signs((count, 1, pool.q.shape[2]), own)
    return pool.take(which) - strength * way * pool.width


def too_wide(
    pool: DrawPool, which: DrawIndices, strength: float, rng: np.random.Generator
) -> Array:
    """q is so many times too wide: true values are drawn in towards its mean."""
    del rng
    return pool.mean + (pool.take(which) - pool.mean) / strength


def too_narrow(
    pool: DrawPool, which: DrawIndices, strength: float, rng: np.random.Generator
) -> Array:
    """q is so many times too narrow: true values are pushed away from its mean."""
    return too_wide(pool, which, 1 / strength, rng)


def wrong_correlation(
    pool: DrawPool, which: DrawIndices, strength: float, rng: np.random.Generator
) -> Array:
    """So many times too wide along a direction, and widened elsewhere until the marginals fit."""
    along = unit_directions(pool, which, rng)
    return _with_marginals(pool, which, along, strength)


def _with_marginals(pool: DrawPool, which: DrawIndices, along: Array, strength: float) -> Array:
    """Narrowed along whitened directions (T, 1, D) or (T, n, D), marginal variances kept."""
    z = pool.white(pool.take(which))
    u = transform_rows(
        pool.chol, z - (1 - 1 / strength) * (z * along).sum(2, keepdims=True) * along
    )
    pulled = transform_rows(pool.chol, np.broadcast_to(along, z.shape))  # C b; (T, n, D)
    left = 1 - (1 - strength**-2) * np.square(pulled)
    return pool.mean + pool.sd * u / np.sqrt(np.maximum(left, 1e-6))


def heavy_tails(
    pool: DrawPool, which: DrawIndices, strength: float, rng: np.random.Generator
) -> Array:
    """Truths normal beside a q that is Student's t about the same scale matrix."""
    del rng
    return map_radii(pool, which, strength, heavy=True)


def light_tails(
    pool: DrawPool, which: DrawIndices, strength: float, rng: np.random.Generator
) -> Array:
    """Truths of Student's t beside a normal q about the same scale matrix."""
    del rng
    return map_radii(pool, which, strength, heavy=False)


def map_radii(
    pool: DrawPool, which: DrawIndices, strength: float, *, heavy: bool, wider: float = 1.0
) -> Array:
    """Whitened radii mapped from t's law with 1 / strength degrees of freedom to the normal's.

    Args:
        heavy: that way (q's tails are too heavy), or back (too light).
        wider: how many times the scale of the normal is that of t.
    """
    z, d, nu = pool.white(pool.take(which)), pool.q.shape[2], 1 / strength
    r = np.linalg.norm(z, axis=2, keepdims=True)
    start = np.sqrt(d * fdtri(d, nu, 0.5)) if heavy else np.sqrt(chdtri(d, 0.5))
    median = np.median(r)
    r = r * start / (median if median > 0 else 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        if heavy:
            new = np.sqrt(chdtri(d, np.maximum(1 - fdtr(d, nu, r**2 / d), 1e-300)))
        else:
            below = np.minimum(chdtr(d, r**2), 1 - 1e-15)
            new = np.sqrt(d * fdtri(d, nu, below))
        factor = np.where(r > 0, new / r, 1.0)
    return pool.coloured(z * factor * (wider if heavy else 1 / wider))


def median_matching_scale(d: int, nu: float) -> float:
    """Factor by which a normal in d dimensions is widened to have the median radius of t."""
    return float(np.sqrt(d * fdtri(d, nu, 0.5) / chdtri(d, 0.5)))


def variance_matching_scale(nu: float) -> float:
    """Factor by which a normal is widened to have the variance of t: nu above 2."""
    return float(np.sqrt(nu / (nu - 2)))


def missing_mode(
    pool: DrawPool, which: DrawIndices, strength: float, rng: np.random.Generator
) -> Array:
    """A share of truths lies 6 posterior sd off, always on the same side."""
    theta = pool.take(which)
    away = FAR_MODE * unit_directions(pool, which, rng)
    moved = pool.coloured(pool.white(theta) + away)
    return np.where(rng.random(which.shape)[..., None] < strength, moved, theta)


def outside_spurious_mode(
    pool: DrawPool, which: DrawIndices, strength: float, rng: np.random.Generator
) -> DrawIndices:
    """The share of q's mass that lies farthest in a direction never holds the truth."""
    along = unit_directions(pool, which, rng)
    white = pool.white(pool.take(_looked(pool, rng))).reshape(-1, along.shape[2])
    edge = np.quantile(white @ along[:, 0].T, 1 - strength, axis=0)[:, None]
    return allowed_places(
        pool, which, lambda theta: (pool.white(theta) * along).sum(2) <= edge, rng
    )


def _looked(pool: DrawPool, rng: np.random.Generator) -> DrawIndices:
    """Places (t, n) of about 20,000 draws."""
    n, k = pool.q.shape[:2]
    return pick_slots(max(1, min(k, _LOOKED // n)), n, k, rng)


def spurious_mode(
    pool: DrawPool, which: DrawIndices, strength: float, rng: np.random.Generator
) -> Array:
    """The truths themselves (T, n, D) of `outside_spurious_mode`."""
    return pool.take(outside_spurious_mode(pool, which, strength, rng))


def redraw_allowed(
    pool: DrawPool,
    which: DrawIndices,
    allowed: Callable[[Array], NDArray[np.bool_]],
    rng: np.random.Generator,
) -> Array:
    """The draws themselves (T, n, D) of `allowed_places`."""
    return pool.take(allowed_places(pool, which, allowed, rng))


def allowed_places(
    pool: DrawPool,
    which: DrawIndices,
    allowed: Callable[[Array], NDArray[np.bool_]],
    rng: np.random.Generator,
) -> DrawIndices:
    """Places (T, n) of draws that are allowed: others of the row for those that are not.

    A row none of whose draws is found allowed keeps the first.
    """
    trials, n = which.shape
    places, good = which.copy(), allowed(pool.take(which))
    for _ in range(_TRIES):
        if good.all():
            break
        again = pick_slots(trials, n, pool.q.shape[1], rng)
        fits = allowed(pool.take(again)) & ~good
        places[fits], good = again[fits], good | fits
    return places


def ignores_x(
    pool: DrawPool, which: DrawIndices, strength: float, rng: np.random.Generator
) -> Array:
    """The truth's whitened residuals follow linear functions of x, with this correlation.

    Residuals are handed on between rows, so that each coordinate's law over all rows is kept.
    """
    z, x = pool.white(pool.take(which)), pool.followed
    trials, n, d = z.shape
    for t in range(trials):
        _, own = pool.directions(which, rng)
        turn = np.linalg.qr(own.standard_normal((d, d)))[0]
        mixed = np.linalg.qr(own.standard_normal((x.shape[1], x.shape[1])))[0]
        target = (x @ mixed)[:, :d]
        used = target.shape[1]
        noise = rng.standard_normal((n, used))
        order = (strength * target + np.sqrt(1 - strength**2) * noise).argsort(0)
        turned = z[t] @ turn
        sorted_ = np.sort(turned[:, :used], axis=0)
        np.put_along_axis(turned[:, :used], order, sorted_, axis=0)
        z[t] = turned @ turn.T
    return pool.coloured(z)


def support_leak(
    pool: DrawPool, which: DrawIndices, strength: float, rng: np.random.Generator
) -> Array:
    """The outermost share of q's mass, over all rows, lies where the truth never is."""
    low, high = _box(pool, strength, rng)
    return np.clip(pool.take(_inside(pool, which, low, high, rng)), low, high)


def inside_support(
    pool: DrawPool, which: DrawIndices, strength: float, rng: np.random.Generator
) -> DrawIndices:
    """The same, by draws (T, n) that lie where the truth may be."""
    return _inside(pool, which, *_box(pool, strength, rng), rng)


def _box(pool: DrawPool, strength: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """Ends (D,) of what holds all but this share of q's mass."""
    draws = pool.take(_looked(pool, rng)).reshape(-1, pool.q.shape[2])
    each = strength / (2 * draws.shape[1])
    low, high = np.quantile(draws, [each, 1 - each], axis=0)
    return low, high


def _inside(
    pool: DrawPool, which: DrawIndices, low: Array, high: Array, rng: np.random.Generator
) -> DrawIndices:
    def allowed(theta: Array) -> NDArray[np.bool_]:
        return np.asarray(((theta >= low) & (theta <= high)).all(2))

    return allowed_places(pool, which, allowed, rng)
