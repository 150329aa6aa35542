"""Shapes of every cause, as they are injected into a table's own draws.

A defect of one name comes in several shapes: biases lie along whitened directions, with q's mean,
with x, or as if x were misread; correlations are wrong along one direction or altogether; modes
are missing, spurious or blurred.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from validation_core.diagnosis.injections import INJECTIONS
from validation_core.diagnosis.injections.draw_pool import DrawIndices, DrawPool, transform_rows
from validation_core.diagnosis.injections.injection import Apply
from validation_core.diagnosis.injections.moves import (
    map_radii,
    median_matching_scale,
    random_signs,
    redraw_allowed,
    unit_directions,
    variance_matching_scale,
)
from validation_core.diagnosis.questions.cause.ranked_rows import RankedRows
from validation_core.pieces import slices
from validation_core.rng import stream
from validation_core.types import Array

_WAVES = 120  # of the smooth function of x that q's mean is taken for
_WAVE_RIDGE = 1e-3
_LONGEST = 1.5  # step in standardised x: beyond, the smooth function is not to be trusted
_CLOSE = 0.08  # share of a row's draws that are a draw's neighbours
_PAIRS = 1 << 19  # of draws, compared at a time
_NEAR, _FAR = 3.5, 12.0  # sd between q's mode and the one it misses


@dataclass(frozen=True, kw_only=True)
class Variant:
    """One shape of a cause, injected at strengths between two."""

    cause: str
    name: str
    low: float
    high: float
    apply: Apply
    unit: str
    """What the strength counts: a key of the words for it."""
    nothing: float = 0.0
    """The strength at which nothing happens: 1 for factors."""
    least_dims: int = 1
    needs_x: bool = False
    needs_blindness: bool = False
    """Whether a q that follows x cannot have it."""

    def strengths(self, places: Array) -> Array:
        """Strengths at places of the logarithm of what they exceed `nothing` by; 0 to 1 inside."""
        low, high = np.log(self.low - self.nothing), np.log(self.high - self.nothing)
        return self.nothing + np.exp(np.minimum(low + (high - low) * places, high))

    def place(self, strengths: Array) -> Array:
        """The way back."""
        low, high = np.log(self.low - self.nothing), np.log(self.high - self.nothing)
        return np.asarray((np.log(strengths - self.nothing) - low) / (high - low))


def injectable_variants(ranked: RankedRows, pool: DrawPool) -> tuple[Variant, ...]:
    """All that can be injected into this table."""
    groups = ranked.groups
    likely = 1 / (1 + np.exp(-(groups.apart - 1.5) / 0.15))  # that two groups are two modes

    def second(theta: Array, chance: Array) -> NDArray[np.bool_]:
        return np.asarray(ranked.minor(theta) & (chance < likely))

    shapes = (
        *_unconditional_variants(),
        *_in_groups(second, groups.clear),
        _variant("too_wide", "blurred", 0.1, 1.0, _sharpened(pool), "share of the spread"),
    )
    d, followed = pool.q.shape[2], pool.followed.shape[1] > 0
    return tuple(v for v in shapes if v.least_dims <= d and (followed or not v.needs_x))


def _in_groups(
    second: Callable[[Array, Array], NDArray[np.bool_]], clear: NDArray[np.bool_]
) -> tuple[Variant, ...]:
    if clear.mean() <= 0.02:
        return ()
    apply = _without(second)
    return (_variant("spurious_mode", "group", 0.2, 1.0, apply, "share of the mode"),)


def _variant(
    cause: str,
    name: str,
    low: float,
    high: float,
    apply: Apply,
    unit: str,
    *,
    least: int = 1,
    x: bool = False,
    blind: bool = False,
) -> Variant:
    return Variant(
        cause=cause,
        name=name,
        low=low,
        high=high,
        apply=apply,
        unit=unit,
        least_dims=least,
        needs_x=x,
        needs_blindness=blind,
        nothing=float(unit in ("times", "along", "across")),
    )


def _unconditional_variants() -> tuple[Variant, ...]:
    own = {name: injection.apply for name, injection in INJECTIONS.items()}
    bias, corr = "bias", "wrong_correlation"
    sd, along, part = "sd", "along", "correlation"
    return (
        _variant(bias, "all", 0.05, 2, own["bias_all"], sd),
        _variant(bias, "one", 0.1, 2, own["bias"], sd, least=2),
        _variant(bias, "white", 0.05, 3, _biased_white, sd, least=2),
        _variant(bias, "mean", 0.05, 2, _proportional, sd),
        _variant(bias, "x", 0.05, 2, _following, sd, x=True),
        _variant(bias, "smooth", 0.05, 2, _smoothly, sd, x=True),
        _variant("ignores_x", "shuffled", 0.6, 1.0, _elsewhere, "share of rows"),
        _variant("ignores_x", "unread", 0.1, 0.99, _unread, "follows", x=True),
        _variant(bias, "misread", 0.05, 2, _misread, sd, x=True),
        _variant(bias, "part", 0.2, 5, _in_part(_shifted_by), sd, x=True),
        _variant("too_wide", "all", 1.03, 3, own["too_wide"], "times"),
        _variant("too_wide", "one", 1.05, 3, own["too_wide_one"], "times", least=2),
        _variant("too_wide", "uneven", 1.05, 2, _uneven, "times", x=True),
        _variant("too_wide", "wide_part", 1.1, 3, _in_part(own["too_wide"]), "times", x=True),
        _variant("too_narrow", "all", 1.03, 3, own["too_narrow"], "times"),
        _variant("too_narrow", "one", 1.05, 3, own["too_narrow_one"], "times", least=2),
        _variant("too_narrow", "uneven", 1.05, 2, _inverse(_uneven), "times", x=True),
        _variant(
            "too_narrow", "narrow_part", 1.1, 3, _in_part(own["too_narrow"]), "times", x=True
        ),
        _variant(corr, "marginals", 1.1, 5, own[corr], along, least=2),
        _variant(corr, "white", 1.1, 5, _wide_white, along, least=2),
        _variant(corr, "turning", 1.1, 8, _turning, along, least=2, x=True),
        _variant(corr, "own", 1.1, 8, _own_axis, along, least=2),
        _variant(corr, "fixed", 1.1, 8, _fixed, along, least=2),
        _variant(corr, "narrow", 1.1, 3, _inverse(_wide_white), "across", least=2),
        _variant(corr, "sign", 0.05, 1, _flipped, part, least=2),
        _variant(corr, "independent", 0.05, 0.95, _independent, part, least=2),
        _variant("heavy_tails", "radius", 0.03, 1, _tails(heavy=True), "degrees"),
        _variant("light_tails", "radius", 0.03, 0.7, _tails(heavy=False), "degrees"),
        _variant("heavy_tails", "heavy_even", 0.03, 0.42, _even_tails(heavy=True), "degrees"),
        _variant("light_tails", "light_even", 0.03, 0.42, _even_tails(heavy=False), "degrees"),
        _variant("heavy_tails", "one", 0.03, 0.42, _one_tail(heavy=True), "degrees"),
        _variant("light_tails", "one", 0.03, 0.42, _one_tail(heavy=False), "degrees"),
        _variant("wrong_skew", "all", 0.05, 1, _skewed, "skew"),
        _variant("wrong_skew", "one", 0.05, 1, _in_one(_skewed), "skew", least=2),
        _variant("proposal", "tilted", 0.2, 0.9, _from_proposal, "share of the prior"),
        _variant("missing_mode", "offset", 0.01, 0.6, _offset, "share of the truth"),
        _variant("missing_mode", "mirrored", 0.01, 0.6, _mirrored, "share of the truth"),
        _variant("missing_mode", "elsewhere", 0.01, 0.6, _elsewhere, "share of the truth"),
        _variant("spurious_mode", "halfspace", 0.01, 0.4, own["spurious_mode"], "share of q"),
        _variant("spurious_mode", "bridge", 0.05, 0.5, _bridge, "share of q"),
        _variant("support_leak", "box", 0.003, 0.3, _box, "share of q"),
        _variant("support_leak", "side", 0.01, 0.3, _one_sided, "share of q"),
        _variant(
            "ignores_x", "follows", 0.1, 0.99, own["ignores_x"], "follows", x=True, blind=True
        ),
    )


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
    way = rng.standard_normal((t, 1, d)) + x @ (
        rng.standard_normal((t, x.shape[1], d)) / np.sqrt(max(x.shape[1], 1))
    )
    return pool.coloured(z - much * size * way / np.sqrt(2))


def _inverse(apply: Apply) -> Apply:
    """Too wide by s is too narrow by 1 / s."""

    def back(pool: DrawPool, which: DrawIndices, s: float, rng: np.random.Generator) -> Array:
        return apply(pool, which, 1 / s, rng)

    return back


def _uneven(pool: DrawPool, which: DrawIndices, s: float, rng: np.random.Generator) -> Array:
    """Too wide by a factor that varies with x about s."""
    theta, x = pool.take(which), pool.followed
    a = rng.standard_normal((len(which), x.shape[1], 1)) / np.sqrt(max(x.shape[1], 1))
    factor = np.exp(np.log(s) * (1 + 0.5 * np.clip(x @ a, -2, 2)))
    return pool.mean + (theta - pool.mean) / factor


def _tails(*, heavy: bool) -> Apply:
    """Anything between keeping the scale matrix and keeping the median radius."""

    def apply(pool: DrawPool, which: DrawIndices, s: float, rng: np.random.Generator) -> Array:
        wider = median_matching_scale(pool.q.shape[2], 1 / s) ** rng.random()
        return map_radii(pool, which, s, heavy=heavy, wider=wider)

    return apply


def _even_tails(*, heavy: bool) -> Apply:
    """At the right variance: a t that is too heavy is too narrow in its middle as well."""

    def apply(pool: DrawPool, which: DrawIndices, s: float, rng: np.random.Generator) -> Array:
        del rng
        return map_radii(pool, which, s, heavy=heavy, wider=variance_matching_scale(1 / s))

    return apply


def _in_one(apply: Apply) -> Apply:
    """In one parameter of each trial."""

    def one(pool: DrawPool, which: DrawIndices, s: float, rng: np.random.Generator) -> Array:
        mark = np.eye(pool.q.shape[2], dtype=bool)[rng.integers(pool.q.shape[2], size=len(which))]
        return np.where(mark[:, None], apply(pool, which, s, rng), pool.take(which))

    return one


def _in_part(apply: Apply) -> Apply:
    """At the rows beyond a quantile of a direction of x alone: a tenth to six tenths of them."""

    def part(pool: DrawPool, which: DrawIndices, s: float, rng: np.random.Generator) -> Array:
        x, theta = pool.followed, pool.take(which)
        moved = apply(pool, which, s, rng)
        for t in range(len(which)):
            along = x @ (
                np.eye(x.shape[1])[rng.integers(x.shape[1])]
                if rng.random() < 0.5
                else rng.standard_normal(x.shape[1])
            )
            here = along * rng.choice([-1.0, 1.0]) > np.quantile(along, 1 - rng.uniform(0.1, 0.6))
            theta[t, here] = moved[t, here]
        return theta

    return part


def _shifted_by(pool: DrawPool, which: DrawIndices, s: float, rng: np.random.Generator) -> Array:
    """By s sd in one parameter, or along one whitened direction."""
    every = INJECTIONS["bias_all"].apply
    return (_in_one(every) if rng.random() < 0.5 else _biased_white)(pool, which, s, rng)


def _skewed(pool: DrawPool, which: DrawIndices, s: float, rng: np.random.Generator) -> Array:
    """Each parameter's errors as of a log-normal of log sd s, of their own mean and variance."""
    u = pool.standard(pool.take(which))
    way = random_signs((len(which), 1, u.shape[2]), rng)
    grown, square = np.exp(s * np.clip(way * u, -6, 6)), np.exp(s * s)
    return pool.mean + pool.sd * way * (grown - np.sqrt(square)) / np.sqrt((square - 1) * square)


def _one_tail(*, heavy: bool) -> Apply:
    """One parameter's errors as a normal's beside Student's t, or the reverse."""

    def apply(pool: DrawPool, which: DrawIndices, s: float, rng: np.random.Generator) -> Array:
        u, nu = pool.standard(pool.take(which)), 1 / s
        wider = variance_matching_scale(nu) ** rng.uniform(0.3, 1)
        if heavy:
            new = ndtri(np.clip(stdtr(nu, u), 1e-12, 1 - 1e-12)) * wider
        else:
            new = stdtrit(nu, np.clip(ndtr(u), 1e-12, 1 - 1e-12)) / wider
        return pool.mean + pool.sd * new

    return _in_one(apply)


def _from_proposal(
    pool: DrawPool, which: DrawIndices, s: float, rng: np.random.Generator
) -> Array:
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


def _biased_white(pool: DrawPool, which: DrawIndices, s: float, rng: np.random.Generator) -> Array:
    """By s along one whitened direction."""
    z = pool.white(pool.take(which))
    return pool.coloured(z - s * unit_directions(pool, which, rng))


def _proportional(pool: DrawPool, which: DrawIndices, s: float, rng: np.random.Generator) -> Array:
    """In proportion to q's mean, about a point near its overall mean; s sd on average."""
    spread = pool.mean.std(0)
    off = rng.standard_normal((len(which), 1, pool.q.shape[2])) * spread
    shift = pool.mean - pool.mean.mean(0) + off
    size = np.sqrt(np.mean(np.square(shift / pool.sd), axis=(1, 2), keepdims=True))
    way = random_signs((len(which), 1, 1), rng)
    return pool.take(which) - way * s / np.maximum(size, 1e-9) * shift


def _following(pool: DrawPool, which: DrawIndices, s: float, rng: np.random.Generator) -> Array:
    """Along whitened directions, by linear functions of x; s sd on average."""
    z, x = pool.white(pool.take(which)), pool.followed
    a = rng.standard_normal((len(which), x.shape[1], z.shape[2])) / np.sqrt(max(x.shape[1], 1))
    return pool.coloured(z - s * (x @ a))


def _smoothly(pool: DrawPool, which: DrawIndices, s: float, rng: np.random.Generator) -> Array:
    """Along whitened directions, by smooth functions of x; s sd on average."""
    z = pool.white(pool.take(which))
    return pool.coloured(z - s * np.stack([_functions(pool, z.shape[2], rng) for _ in which]))


def _unread(pool: DrawPool, which: DrawIndices, s: float, rng: np.random.Generator) -> Array:
    """q reads x only in part: residuals follow functions of x with correlation s.

    Linear functions mixed with smooth ones; the residuals' total variance is kept.
    """
    z, x = pool.white(pool.take(which)), pool.followed
    d = z.shape[2]
    for t in range(len(z)):
        turn = rng.standard_normal((x.shape[1], d)) / np.sqrt(max(x.shape[1], 1))
        part = rng.random()
        follow = np.sqrt(part) * (x @ turn) + np.sqrt(1 - part) * _functions(pool, d, rng)
        z[t] = np.sqrt(1 - s**2) * z[t] + s * follow
    return pool.coloured(z)


def _functions(pool: DrawPool, many: int, rng: np.random.Generator) -> Array:
    """Smooth functions of x, uncorrelated where x has room for that many: (n, many)."""
    x = pool.followed
    slow = rng.standard_normal((x.shape[1], 3 * many)) / np.sqrt(max(x.shape[1], 1))
    waves = np.sin(x @ slow * rng.uniform(0.5, 1.5) + rng.uniform(0, 2 * np.pi, 3 * many))
    mixed = waves @ rng.standard_normal((3 * many, many))
    mixed -= mixed.mean(0)
    left, size, right = np.linalg.svd(mixed, full_matrices=False)
    even = left * (size > 1e-3 * max(size[0], 1e-12)) @ right * np.sqrt(len(x))
    return np.asarray(even / np.maximum(even.std(0), 1e-9))


def _misread(pool: DrawPool, which: DrawIndices, s: float, rng: np.random.Generator) -> Array:
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
    turn = own.standard_normal((x.shape[1], _WAVES)) / np.sqrt(max(x.shape[1], 1))
    phase = own.uniform(0, 2 * np.pi, _WAVES)
    basis = np.sin(x @ turn + phase)
    gram = basis.T @ basis + _WAVE_RIDGE * len(x) * np.eye(_WAVES)
    return turn, phase, np.linalg.solve(gram, basis.T @ (pool.mean - pool.mean.mean(0)))


def _wide_white(pool: DrawPool, which: DrawIndices, s: float, rng: np.random.Generator) -> Array:
    """s times too wide along one whitened direction of all rows."""
    z = pool.white(pool.take(which))
    return pool.coloured(_narrowed(z, unit_directions(pool, which, rng), 1 / s))


def _turning(pool: DrawPool, which: DrawIndices, s: float, rng: np.random.Generator) -> Array:
    """Along a whitened direction that turns with x."""
    z, x = pool.white(pool.take(which)), pool.followed
    t, _, d = z.shape
    turn = rng.standard_normal((t, x.shape[1], d)) / np.sqrt(max(x.shape[1], 1))
    along = rng.standard_normal((t, 1, d)) + rng.uniform(0.2, 1.5, (t, 1, 1)) * (x @ turn)
    return pool.coloured(_narrowed(z, along, 1 / s))


def _own_axis(pool: DrawPool, which: DrawIndices, s: float, rng: np.random.Generator) -> Array:
    """Along one of each row's own axes, from the narrowest to the widest."""
    z = pool.white(pool.take(which))
    axes = np.linalg.eigh(_correlations(pool))[1]  # (n, D, D)
    along = np.moveaxis(axes[..., rng.integers(z.shape[2], size=len(which))], 2, 0)
    return pool.coloured(_narrowed(z, transform_rows(pool.inverse, along), 1 / s))


def _fixed(pool: DrawPool, which: DrawIndices, s: float, rng: np.random.Generator) -> Array:
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


def _flipped(pool: DrawPool, which: DrawIndices, s: float, rng: np.random.Generator) -> Array:
    """Correlations between two sets of parameters run from q's own (0) to their opposite (1)."""
    d, r = pool.q.shape[2], _correlations(pool)
    z = pool.white(pool.take(which))
    for t in range(len(which)):
        side = np.where(rng.permutation(d) < rng.integers(1, d), 1.0, -1.0)
        across = np.where(side[:, None] * side > 0, 1.0, 1 - 2 * s)
        z[t] = transform_rows(_factor(r * across), z[t : t + 1])[0]
    return pool.mean + pool.sd * z


def _independent(pool: DrawPool, which: DrawIndices, s: float, rng: np.random.Generator) -> Array:
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


def _narrowed(z: Array, along: Array, factor: float | Array) -> Array:
    """Whitened coordinates with those along a direction times a factor."""
    unit = along / np.maximum(np.linalg.norm(along, axis=2, keepdims=True), 1e-12)
    return z - (1 - factor) * (z * unit).sum(2, keepdims=True) * unit


def _offset(pool: DrawPool, which: DrawIndices, s: float, rng: np.random.Generator) -> Array:
    """A share s of truths lies some posterior sd off, always on the same side."""
    far = np.exp(rng.uniform(np.log(_NEAR), np.log(_FAR), (len(which), 1, 1)))
    theta = pool.take(which)
    away = pool.white(theta) + far * unit_directions(pool, which, rng)
    return _some(theta, pool.coloured(away), s, rng)


def _mirrored(pool: DrawPool, which: DrawIndices, s: float, rng: np.random.Generator) -> Array:
    """A share s lies as far on the other side of a point near q's overall mean."""
    theta, spread = pool.take(which), pool.mean.std(0)
    centre = pool.mean.mean(0) + rng.normal(0, 0.5, (len(which), 1, theta.shape[2])) * spread
    return _some(theta, theta - 2 * (pool.mean - centre), s, rng)


def _elsewhere(pool: DrawPool, which: DrawIndices, s: float, rng: np.random.Generator) -> Array:
    """A share s lies where q has its draws at another x."""
    theta = pool.take(which)
    return _some(theta, theta[:, rng.permutation(theta.shape[1])], s, rng)


def _without(second: Callable[[Array, Array], NDArray[np.bool_]]) -> Apply:
    """A share s of the mass that q has in the smaller of two modes never holds the truth."""

    def apply(pool: DrawPool, which: DrawIndices, s: float, rng: np.random.Generator) -> Array:
        chance, spared = rng.random(which.shape), rng.random(which.shape) > s

        def allowed(theta: Array) -> NDArray[np.bool_]:
            return np.asarray(np.logical_not(second(theta, chance)) | spared, dtype=np.bool_)

        return redraw_allowed(pool, which, allowed, rng)

    return apply


def _bridge(pool: DrawPool, which: DrawIndices, s: float, rng: np.random.Generator) -> Array:
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


def _sharpened(pool: DrawPool) -> Apply:
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


def _box(pool: DrawPool, which: DrawIndices, s: float, rng: np.random.Generator) -> Array:
    """The outermost share s of every parameter, half on either side, never holds the truth."""
    return INJECTIONS["support_leak"].apply(pool, which, s * pool.q.shape[2], rng)


def _one_sided(pool: DrawPool, which: DrawIndices, s: float, rng: np.random.Generator) -> Array:
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


def _some(theta: Array, other: Array, share: float, rng: np.random.Generator) -> Array:
    return np.where(rng.random(theta.shape[:2])[..., None] < share, other, theta)
