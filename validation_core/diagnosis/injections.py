"""Known defects put into a table by moving or by choosing the truth: which q would have beside it.

A draw of q that plays the truth makes an exact table; moved, or chosen with unequal chances, it
makes one whose q has a named defect of a known size. The K draws themselves are never touched, so
that whatever is worked out from them is worked out once for all injections.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtr, chdtri, fdtr, fdtri

from validation_core import keys
from validation_core.rng import stream
from validation_core.types import Array

DrawIndices = NDArray[np.intp]

_LOOKED = 20_000  # draws of q whose quantiles tell where a share of its mass ends
_TRIES = 40  # at most .4 of the mass is refused, and .4^40 is nothing
_ROWS = 256  # worked on at a time
_GROUP = 0.05  # of a row's draws, that are a group
_GAP = 3.0  # times their width, between two groups far apart
_FAR = 6.0  # sd between q's mode and the one it misses


@dataclass(frozen=True, eq=False)
class DrawPool:
    """q's draws (n, K, D) and x (n, M), with each row's mean, widths and shape worked out once."""

    q: Array
    x: Array
    way: int | None = None
    """Seed of the one direction that all trials share, which a network can learn; None gives each
    trial a direction of its own."""

    def ways(
        self, which: DrawIndices, rng: np.random.Generator
    ) -> tuple[int, np.random.Generator]:
        """How many directions the trials take, and what draws them."""
        return (len(which), rng) if self.way is None else (1, stream(self.way, "way"))

    @cached_property
    def parameter(self) -> int | None:
        """The one parameter that holds what is put into one; None where trials differ in it."""
        if self.way is None:
            return None
        return int(stream(self.way, "way").integers(self.q.shape[2], size=1)[0])

    @cached_property
    def mean(self) -> Array:
        """Each row's mean: (n, D)."""
        return self._by_rows(lambda q: q.mean(1))

    @cached_property
    def sd(self) -> Array:
        """Each row's standard deviations, 1 where all draws agree: (n, D)."""
        sd = self._by_rows(lambda q: q.std(1))
        return np.where(sd > 0, sd, 1.0)

    def _by_rows(self, of: Callable[[Array], Array]) -> Array:
        """A function of some rows' draws in float64, of which there is never a whole copy."""
        parts = [self.q[start : start + _ROWS] for start in range(0, len(self.q), _ROWS)]
        return np.concatenate([of(np.asarray(part, dtype=np.float64)) for part in parts])

    @cached_property
    def width(self) -> Array:
        """Half of what holds the middle 68% of each row's draws, a posterior sd that no far draw
        moves: (n, D); 0 where all draws agree.

        Of draws in two groups far apart it is that of the groups about their own medians: the gap
        between two modes, or around an angle's wrapped ends, is no posterior sd.
        """
        return self._by_rows(_widths_within)

    @cached_property
    def chol(self) -> Array:
        """Lower factor of each row's correlation matrix: (n, D, D).

        Few draws leave it singular: off the diagonal it is shrunk by (D / K)^2, at most to half.
        """
        n, k, d = self.q.shape
        shrink = min(0.5, (d / k) ** 2) + 1e-6
        factors = np.empty((n, d, d))
        for start in range(0, n, _ROWS):
            rows = slice(start, start + _ROWS)
            u = (self.q[rows] - self.mean[rows, None]) / self.sd[rows, None]
            r = np.swapaxes(u, 1, 2) @ u * ((1 - shrink) / k)
            r[:, np.arange(d), np.arange(d)] = 1.0
            factors[rows] = np.linalg.cholesky(r)
        return factors

    @cached_property
    def inverse(self) -> Array:
        """Inverse of `chol`: (n, D, D)."""
        return np.linalg.inv(self.chol)

    @cached_property
    def followed(self) -> Array:
        """Uncorrelated standardised directions of x, at most 10: (n, r); r = 0 for constant x."""
        x = np.asarray(self.x, dtype=np.float64)[:, :1000]
        sd = x.std(0)
        x = (x - x.mean(0))[:, sd > 0] / sd[sd > 0]
        if not x.size:
            return np.zeros((len(x), 0))
        left, size, _ = np.linalg.svd(x, full_matrices=False)
        return left[:, :10][:, size[:10] > 1e-6 * size[0]] * np.sqrt(len(x))

    def take(self, which: DrawIndices) -> Array:
        """The draws that play the truth: (T, n, D) of their places (T, n)."""
        return np.asarray(self.q[np.arange(len(self.q)), which], dtype=np.float64)

    def standard(self, theta: Array) -> Array:
        """(theta - mean) / sd of each row: (T, n, D)."""
        return (theta - self.mean) / self.sd

    def white(self, theta: Array) -> Array:
        """Rows' whitened coordinates: (T, n, D) of theta (T, n, D)."""
        return transform_rows(self.inverse, self.standard(theta))

    def coloured(self, white: Array) -> Array:
        """theta (T, n, D) from whitened coordinates (T, n, D)."""
        return self.mean + self.sd * transform_rows(self.chol, white)


def _widths_within(q: Array) -> Array:
    """Half of the middle 68% of rows (n, K, D), of two groups far apart about their medians."""
    low, high = np.quantile(q, [0.16, 0.84], axis=1)
    widths = (high - low) / 2
    k = q.shape[1]
    least = max(2, round(_GROUP * k))
    if k < 2 * least + 1:
        return widths
    ordered = np.sort(q, axis=1)
    gaps = np.diff(ordered[:, least - 1 : k - least + 1], axis=1)  # enough draws on both sides
    at = gaps.argmax(1)
    wide = np.take_along_axis(gaps, at[:, None], axis=1)[:, 0]
    for i, j in zip(*np.nonzero(2 * wide > widths), strict=True):
        first, second = np.split(ordered[i, :, j], [least + at[i, j]])
        off = np.concatenate([part - np.median(part) for part in (first, second)])
        within = np.diff(np.quantile(off, [0.16, 0.84]))[0] / 2
        if wide[i, j] > _GAP * within:
            widths[i, j] = within
    return widths


def transform_rows(matrices: Array, vectors: Array) -> Array:
    """Each row's matrix (n, D, D) times its vectors (T, n, D)."""
    turned = np.swapaxes(vectors, 0, 1) @ np.swapaxes(matrices, 1, 2)
    return np.swapaxes(turned, 0, 1)


Apply = Callable[[DrawPool, DrawIndices, float, np.random.Generator], Array]
Pick = Callable[[DrawPool, DrawIndices, float, np.random.Generator], DrawIndices]
Nats = Callable[[DrawPool, float], float | None]
Spread = Literal["one", "two", "all", ""]


def _by_tables(
    pool: DrawPool, which: DrawIndices, strength: float, rng: np.random.Generator
) -> Array:
    del pool, which, strength, rng
    raise ValueError(
        "A truth that is chosen leaves other draws beside it, and is not moved; got a call for "
        "where it was moved to. Call `tables`, which says what was chosen."
    )


@dataclass(frozen=True, kw_only=True)
class Injection:
    """One defect at a size: `tables` makes the truths of T trials.

    It moves the draws that play the truth (`apply`), or has others play it (`pick`): one of both.
    """

    name: str
    cause: str
    """The cause that it is a case of: a name of `CAUSES`."""
    title: str
    """What q is, as in `q is TITLE`, or `q TITLE`: too wide; misses a mode."""
    unit: str
    """What the strength counts; `nats` for one whose strength is shown as its `nats`."""
    strengths: tuple[float, ...]
    """Growing: the first is caught by nobody, the last by everybody."""
    apply: Apply = _by_tables
    """Truths (T, n, D) from the places (T, n) of draws."""
    pick: Pick | None = None
    """Instead, other places (T, n) of draws, from the same numbers at all strengths."""
    spread: Spread = ""
    """In how many parameters it sits; empty for what sits in none, or in a direction."""
    nats: Nats | None = None
    """KL of truth from q, mean over rows, at a strength; None where it is not known."""
    exact: bool = False
    """Whether `nats` holds whatever q is; otherwise it holds if q is near normal."""
    least_dims: int = 1
    """Parameters that it needs."""

    def tables(
        self, pool: DrawPool, which: DrawIndices, strength: float, rng: np.random.Generator
    ) -> tuple[DrawIndices, Array | None]:
        """Which draws play the truth (T, n), and where they were moved (T, n, D): None for not.

        Args:
            pool: the table's draws.
            which: draws picked evenly (T, n): (T, n) of the answer too.
            strength: how much of it.
            rng: the same state at all strengths, so that they differ by the strength alone.
        """
        if self.pick is not None:
            return self.pick(pool, which, strength, rng), None
        return which, self.apply(pool, which, strength, rng)


def random_signs(shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Plus and minus one, evenly."""
    return rng.choice([-1.0, 1.0], shape)


def unit_directions(pool: DrawPool, which: DrawIndices, rng: np.random.Generator) -> Array:
    """Unit vectors, one for each trial or one for all: (T, 1, D) or (1, 1, D)."""
    count, own = pool.ways(which, rng)
    vectors = own.standard_normal((count, 1, pool.q.shape[2]))
    return vectors / np.linalg.norm(vectors, axis=2, keepdims=True)


def _one_parameter(apply: Apply) -> Apply:
    """The injection in one parameter: drawn anew in each trial, or the one of all trials."""

    def alone(
        pool: DrawPool, which: DrawIndices, strength: float, rng: np.random.Generator
    ) -> Array:
        count, own = pool.ways(which, rng)
        d = pool.q.shape[2]
        mark = np.eye(d, dtype=bool)[own.integers(d, size=count)][:, None]  # (T or 1, 1, D)
        return np.where(mark, apply(pool, which, strength, rng), pool.take(which))

    return alone


def _bias_all(
    pool: DrawPool, which: DrawIndices, strength: float, rng: np.random.Generator
) -> Array:
    """Every parameter's mean is off by so many posterior sd, up or down."""
    count, own = pool.ways(which, rng)
    way = random_signs((count, 1, pool.q.shape[2]), own)
    return pool.take(which) - strength * way * pool.width


def _too_wide(
    pool: DrawPool, which: DrawIndices, strength: float, rng: np.random.Generator
) -> Array:
    del rng
    return pool.mean + (pool.take(which) - pool.mean) / strength


def _too_narrow(
    pool: DrawPool, which: DrawIndices, strength: float, rng: np.random.Generator
) -> Array:
    return _too_wide(pool, which, 1 / strength, rng)


def _correlation(
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


def _heavy_tails(
    pool: DrawPool, which: DrawIndices, strength: float, rng: np.random.Generator
) -> Array:
    """As a normal truth looks to a q that is Student's t about the same scale matrix."""
    del rng
    return map_radii(pool, which, strength, heavy=True)


def _light_tails(
    pool: DrawPool, which: DrawIndices, strength: float, rng: np.random.Generator
) -> Array:
    """As a truth that is Student's t looks to a normal q about the same scale matrix."""
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
    """How many times wider a normal in d dimensions has the median radius of t."""
    return float(np.sqrt(d * fdtri(d, nu, 0.5) / chdtri(d, 0.5)))


def variance_matching_scale(nu: float) -> float:
    """How many times wider a normal has the variance of t: nu above 2."""
    return float(np.sqrt(nu / (nu - 2)))


def _missing_mode(
    pool: DrawPool, which: DrawIndices, strength: float, rng: np.random.Generator
) -> Array:
    """A share of truths lies 6 posterior sd off, always on the same side."""
    theta = pool.take(which)
    away = _FAR * unit_directions(pool, which, rng)
    moved = pool.coloured(pool.white(theta) + away)
    return np.where(rng.random(which.shape)[..., None] < strength, moved, theta)


def _spurious_mode(
    pool: DrawPool, which: DrawIndices, strength: float, rng: np.random.Generator
) -> Array:
    """The share of q's mass that lies farthest in a direction never holds the truth."""
    along = unit_directions(pool, which, rng)
    white = pool.white(pool.take(_looked(pool, rng))).reshape(-1, along.shape[2])
    edge = np.quantile(white @ along[:, 0].T, 1 - strength, axis=0)[:, None]
    return redraw_allowed(
        pool, which, lambda theta: (pool.white(theta) * along).sum(2) <= edge, rng
    )


def _looked(pool: DrawPool, rng: np.random.Generator) -> DrawIndices:
    """Places (t, n) of about 20,000 draws."""
    n, k = pool.q.shape[:2]
    return rng.integers(k, size=(max(1, min(k, _LOOKED // n)), n))


def redraw_allowed(
    pool: DrawPool,
    which: DrawIndices,
    allowed: Callable[[Array], NDArray[np.bool_]],
    rng: np.random.Generator,
) -> Array:
    """Draws that are allowed, others of the row in place of those that are not: (T, n, D).

    A row none of whose draws is found allowed keeps the first.
    """
    first = pool.take(which)
    theta, good = first.copy(), allowed(first)
    for _ in range(_TRIES):
        if good.all():
            break
        again = pool.take(rng.integers(pool.q.shape[1], size=which.shape))
        fits = allowed(again) & ~good
        theta[fits], good = again[fits], good | fits
    return theta


def _ignores_x(
    pool: DrawPool, which: DrawIndices, strength: float, rng: np.random.Generator
) -> Array:
    """The truth's whitened residuals follow linear functions of x, with this correlation.

    Residuals are handed on between rows, so that each coordinate's law over all rows is kept.
    """
    z, x = pool.white(pool.take(which)), pool.followed
    trials, n, d = z.shape
    for t in range(trials):
        _, own = pool.ways(which, rng)
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


def _support_leak(
    pool: DrawPool, which: DrawIndices, strength: float, rng: np.random.Generator
) -> Array:
    """The outermost share of q's mass, over all rows, lies where the truth never is."""
    draws = pool.take(_looked(pool, rng)).reshape(-1, pool.q.shape[2])
    each = strength / (2 * draws.shape[1])
    low, high = np.quantile(draws, [each, 1 - each], axis=0)
    inside = redraw_allowed(pool, which, lambda t: ((t >= low) & (t <= high)).all(2), rng)
    return np.clip(inside, low, high)


def mean_precision(pool: DrawPool) -> Array | None:
    """Diagonal (D,) of the inverse of the rows' correlation matrices, mean over rows.

    What a bias of one sd in one parameter costs beside the others, times two. None where K draws
    are too few to tell.
    """
    k, d = pool.q.shape[1:]
    if k <= d + 2:
        return None
    inverse = np.square(pool.inverse).sum(1).mean(0)  # of C C': the columns of C^-1, squared
    # The inverse of a sample's covariance is too large on average, by this factor if normal.
    return np.asarray(np.maximum(inverse * (k - d - 2) / (k - 1), 1.0))


def _in_one(pool: DrawPool) -> float | None:
    """The precision in the parameter that holds the defect, or the mean over all."""
    precisions = mean_precision(pool)
    if precisions is None:
        return None
    return float(precisions.mean() if pool.parameter is None else precisions[pool.parameter])


def _bias_one_nats(pool: DrawPool, strength: float) -> float | None:
    weight = _in_one(pool)
    return None if weight is None else strength**2 / 2 * weight


def _bias_all_nats(pool: DrawPool, strength: float) -> float | None:
    """Mean over signs, of which a pair of correlated parameters has better and worse ones."""
    precisions = mean_precision(pool)
    return None if precisions is None else strength**2 / 2 * float(precisions.sum())


def _scaled_nats(factor: float, weight: float = 1.0) -> float:
    """KL of a normal whose coordinate of this precision is so many times as wide, from it."""
    mixed = (factor**2 - 1) * weight + 2 * (factor - 1) * (1 - weight)
    return float(mixed / 2 - np.log(factor))


def _width_nats(*, single: bool, wide: bool) -> Nats:
    def nats(pool: DrawPool, strength: float) -> float | None:
        factor = 1 / strength if wide else strength
        if not single:
            return pool.q.shape[2] * _scaled_nats(factor)
        weight = _in_one(pool)
        return None if weight is None else _scaled_nats(factor, weight)

    return nats


def _missing_nats(pool: DrawPool, strength: float) -> float:
    """KL of (1 - s) N(0, 1) + s N(6, 1) from N(0, 1), by quadrature."""
    del pool
    z, step = np.linspace(-10.0, _FAR + 10.0, 4001, retstep=True)
    normal = np.exp(-np.square(z) / 2) / np.sqrt(2 * np.pi)
    log_ratio = np.logaddexp(
        np.log1p(-strength), np.log(max(strength, 1e-300)) + _FAR * z - _FAR**2 / 2
    )
    return float(step * (normal * np.exp(log_ratio) * log_ratio).sum())


def _spurious_nats(pool: DrawPool, strength: float) -> float:
    """Of q without a share of its mass, from q."""
    del pool
    return float(-np.log1p(-strength))


def _follows_nats(pool: DrawPool, strength: float) -> float:
    """Of residuals that follow x with this correlation, in as many coordinates as x has."""
    used = min(pool.q.shape[2], pool.followed.shape[1])
    return float(-used / 2 * np.log1p(-(strength**2)))


_SHARES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.4)
_SD = (0.01, 0.03, 0.06, 0.1, 0.2, 0.4, 1.0)
_TIMES = (1.01, 1.03, 1.06, 1.1, 1.2, 1.4, 2.0)
_DEGREES = (0.005, 0.02, 0.05, 0.1, 0.2, 0.4, 1.0)


def _widths(cause: str, apply: Apply, *, wide: bool) -> tuple[Injection, Injection]:
    """A width that is wrong by a factor, in one parameter and in all."""
    title = cause.replace("_", " ")
    every = Injection(
        name=cause,
        cause=cause,
        title=f"{title} in all parameters",
        unit="times",
        apply=apply,
        strengths=_TIMES,
        spread="all",
        nats=_width_nats(single=False, wide=wide),
    )
    one = replace(
        every,
        name=f"{cause}_one",
        title=f"{title} in one parameter",
        apply=_one_parameter(apply),
        spread="one",
        nats=_width_nats(single=True, wide=wide),
        least_dims=2,
    )
    return one, every


INJECTIONS: Mapping[str, Injection] = keys.by_name(
    Injection(
        name="bias",
        cause="bias",
        title="biased in one parameter",
        unit="posterior sd",
        apply=_one_parameter(_bias_all),
        strengths=_SD,
        spread="one",
        nats=_bias_one_nats,
    ),
    Injection(
        name="bias_all",
        cause="bias",
        title="biased in all parameters",
        unit="posterior sd",
        apply=_bias_all,
        strengths=_SD,
        spread="all",
        nats=_bias_all_nats,
        least_dims=2,
    ),
    *_widths("too_wide", _too_wide, wide=True),
    *_widths("too_narrow", _too_narrow, wide=False),
    Injection(
        name="wrong_correlation",
        cause="wrong_correlation",
        title="wrongly correlated",
        apply=_correlation,
        unit="times too wide along a direction",
        least_dims=2,
        strengths=(1.02, 1.05, 1.1, 1.2, 1.5, 2.0, 4.0),
    ),
    Injection(
        name="heavy_tails",
        cause="heavy_tails",
        title="too heavy in its tails",
        apply=_heavy_tails,
        unit="1 / degrees of freedom",
        strengths=_DEGREES,
        spread="all",
    ),
    Injection(
        name="light_tails",
        cause="light_tails",
        title="too light in its tails",
        apply=_light_tails,
        unit="1 / degrees of freedom",
        strengths=_DEGREES,
        spread="all",
    ),
    Injection(
        name="missing_mode",
        cause="missing_mode",
        title="missing a mode",
        unit="share of the truth's mass",
        strengths=_SHARES,
        apply=_missing_mode,
        nats=_missing_nats,
    ),
    Injection(
        name="spurious_mode",
        cause="spurious_mode",
        title="putting mass where the truth never is",
        unit="share of q's mass",
        strengths=_SHARES,
        apply=_spurious_mode,
        nats=_spurious_nats,
    ),
    Injection(
        name="ignores_x",
        cause="ignores_x",
        title="blind to x",
        unit="correlation of the truth's residuals with x",
        apply=_ignores_x,
        strengths=(0.01, 0.03, 0.06, 0.1, 0.2, 0.4, 0.9),
        nats=_follows_nats,
    ),
    Injection(
        name="support_leak",
        cause="support_leak",
        title="leaking out of the truth's support",
        unit="share of q's mass",
        strengths=_SHARES,
        apply=_support_leak,
        spread="all",
    ),
)
"""Defects that move the truth, those in one parameter before those in all."""

CAUSES: tuple[str, ...] = tuple(
    dict.fromkeys(injection.cause for injection in INJECTIONS.values())
)
"""The ten causes that can be named."""


_TAUS = (0.01, 0.03, 0.06, 0.1, 0.2, 0.4, 1.0)

Columns = tuple[int, ...]


@dataclass(frozen=True)
class TiltDirection:
    """One g: a product of standardised parameters, its sign and the parameters (one or two).

    Which draw of a row plays the truth is chosen with chance proportional to exp(tau g(theta)), g
    standardised within x. The truth is then one of q's draws, never moved, and its law differs
    from that of the others by exactly KL = mean_i sum_j pi_ij log(K pi_ij) nats, whatever q is:
    no density is needed, and no shape of q is assumed.
    """

    columns: Columns
    sign: float = 1.0

    def of(self, z: Array) -> Array:
        """g (n, K) of standardised draws (n, K, D), standardised within each row.

        A row in which g does not vary has g = 0: every draw is as likely as any other.
        """
        g = self.sign * z[..., list(self.columns)].prod(2)
        sd = g.std(1, keepdims=True)
        still = sd <= 1e-9 * np.maximum(np.abs(g).max(1, keepdims=True), 1.0)
        standard = (g - g.mean(1, keepdims=True)) / np.where(still, 1.0, sd)
        return np.asarray(np.where(still, 0.0, standard))


def _chances(g: Array, tau: float) -> Array:
    """Chances (n, K) of each draw to play the truth: exp(tau g) over its sum."""
    weight = np.exp(tau * (g - g.max(1, keepdims=True)))
    return np.asarray(weight / weight.sum(1, keepdims=True))


def _divergence(chance: Array) -> Array:
    """KL (n,) of a draw picked by these chances (n, K) from one picked evenly, in nats."""
    k = chance.shape[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(chance > 0, chance * np.log(k * chance), 0.0).sum(1))


def _blocks(pool: DrawPool, direction: TiltDirection) -> Iterator[tuple[slice, Array]]:
    """g of some rows at a time, in float64."""
    for start in range(0, len(pool.q), _ROWS):
        rows = slice(start, start + _ROWS)
        z = (np.asarray(pool.q[rows], np.float64) - pool.mean[rows, None]) / pool.sd[rows, None]
        yield rows, direction.of(z)


def choose_tilted_draws(
    pool: DrawPool, direction: TiltDirection, tau: float, uniform: Array
) -> DrawIndices:
    """Places (T, n) of draws chosen by one uniform number (T, n) each, along growing g.

    A stronger tilt moves every choice to a draw with the same or a larger g, so that the same
    numbers give powers that differ by the strength alone.
    """
    which = np.empty(uniform.shape, dtype=np.intp)
    for rows, g in _blocks(pool, direction):
        order = g.argsort(1, kind="stable")
        chance = _chances(np.take_along_axis(g, order, axis=1), tau)
        n, k = chance.shape
        up = np.cumsum(chance, axis=1)
        up[:, -1] = 1.0
        row = np.arange(n)
        # All rows at once: each one's steps from 0 to 1 stand after those of the row before.
        at = np.searchsorted((up + row[:, None]).ravel(), uniform[:, rows] + row, side="right")
        which[:, rows] = order[row, np.clip(at - row * k, 0, k - 1)]
    return which


def tilt_nats(pool: DrawPool, direction: TiltDirection, tau: float) -> float:
    """KL in nats, mean over rows."""
    return float(
        np.concatenate([_divergence(_chances(g, tau)) for _, g in _blocks(pool, direction)]).mean()
    )


def _drawn(d: int, rng: np.random.Generator) -> int:
    return int(rng.integers(d, size=1)[0])  # as `Pool.parameter` draws it


def one_parameter_direction(d: int, rng: np.random.Generator) -> TiltDirection:
    """A parameter, up or down."""
    return TiltDirection((_drawn(d, rng),), float(rng.choice([-1.0, 1.0])))


def outward_direction(d: int, rng: np.random.Generator) -> TiltDirection:
    """The square of a parameter: truths too far out, so that q is too narrow."""
    j = _drawn(d, rng)
    return TiltDirection((j, j))


def inward_direction(d: int, rng: np.random.Generator) -> TiltDirection:
    """Truths too far in, so that q is too wide."""
    j = _drawn(d, rng)
    return TiltDirection((j, j), -1.0)


def two_parameter_direction(d: int, rng: np.random.Generator) -> TiltDirection:
    """The product of two parameters, up or down."""
    i = _drawn(d, rng)
    j = (i + 1 + int(rng.integers(d - 1))) % d
    return TiltDirection((min(i, j), max(i, j)), float(rng.choice([-1.0, 1.0])))


Draw = Callable[[int, np.random.Generator], TiltDirection]


def _pick(draw: Draw) -> Pick:
    """Trials that share a direction are chosen together."""

    def pick(
        pool: DrawPool, which: DrawIndices, strength: float, rng: np.random.Generator
    ) -> DrawIndices:
        count, own = pool.ways(which, rng)
        directions = [draw(pool.q.shape[2], own) for _ in range(count)] * (len(which) // count)
        uniform, indices = rng.random(which.shape), np.empty(which.shape, np.intp)
        for direction in dict.fromkeys(directions):
            trials = [t for t, other in enumerate(directions) if other == direction]
            indices[trials] = choose_tilted_draws(pool, direction, strength, uniform[trials])
        return indices

    return pick


def _nats(draw: Draw, directions_of: Callable[[int], list[TiltDirection]]) -> Nats:
    """Of the direction that all trials share, or the mean over all that they may have."""

    def size(pool: DrawPool, strength: float) -> float:
        d = pool.q.shape[2]
        if pool.way is None:
            return float(
                np.mean([tilt_nats(pool, direction, strength) for direction in directions_of(d)])
            )
        _, own = pool.ways(np.empty((1, len(pool.q)), np.intp), np.random.default_rng(0))
        return tilt_nats(pool, draw(d, own), strength)

    return size


def _each(d: int) -> list[TiltDirection]:
    return [TiltDirection((j,), sign) for j in range(d) for sign in (-1.0, 1.0)]


def _squares(sign: float) -> Callable[[int], list[TiltDirection]]:
    return lambda d: [TiltDirection((j, j), sign) for j in range(d)]


def _pairs(d: int) -> list[TiltDirection]:
    return [
        TiltDirection((i, j), sign)
        for i in range(d)
        for j in range(i + 1, d)
        for sign in (-1.0, 1.0)
    ]


def _tilt(
    name: str,
    cause: str,
    title: str,
    draw: Draw,
    directions_of: Callable[[int], list[TiltDirection]],
    *,
    dims: int = 1,
) -> Injection:
    return Injection(
        name=name,
        cause=cause,
        title=title,
        unit="nats",
        strengths=_TAUS,
        pick=_pick(draw),
        spread="two" if dims == 2 else "one",
        nats=_nats(draw, directions_of),
        exact=True,
        least_dims=dims,
    )


TILTS: Mapping[str, Injection] = keys.by_name(
    _tilt("tilt_bias", "bias", "tilted along one parameter", one_parameter_direction, _each),
    _tilt(
        "tilt_narrow",
        "too_narrow",
        "tilted inwards in one parameter",
        outward_direction,
        _squares(1.0),
    ),
    _tilt(
        "tilt_wide",
        "too_wide",
        "tilted outwards in one parameter",
        inward_direction,
        _squares(-1.0),
    ),
    _tilt(
        "tilt_correlation",
        "wrong_correlation",
        "tilted along two parameters' product",
        two_parameter_direction,
        _pairs,
        dims=2,
    ),
)
"""Defects that choose the truth, each of exactly known nats."""

DEFECTS: Mapping[str, Injection] = {**INJECTIONS, **TILTS}
"""All that can be put into a table."""
