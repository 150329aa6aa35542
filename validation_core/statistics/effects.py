"""How wrong each marginal of q is, from the truth's randomised ranks: coverage, bias and width.

Ranks u (..., n) are exactly uniform if q is right, whatever its shape and however few draws, so
that their normal scores are exactly standard normal. Their mean and their spread become a bias in
q's own posterior sd and a ratio of widths once the noise of having K draws only is taken out."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtr, chdtrc, chdtri, gammaln, ndtr, ndtri, stdtrit

from validation_core.statistics.intervals import clopper_pearson
from validation_core.statistics.uniformity import ks
from validation_core.types import Array, Float

LEVELS = (0.5, 0.8, 0.95)
"""Nominal levels whose true coverage is told."""

WIDEST = 20.0
"""Ratios of widths are told between 1 / 20 and 20: beyond, ranks do not tell them apart."""

_ENDS = 2.0**-54  # a rank of exactly 0 or 1 is rounding: U is continuous
_REACH, _CELLS = 8.0, 801  # of q's standardised truths, in sd: where the rank's law is tabulated
_NODES = np.linspace(-5.0, 5.0, 201)
_WEIGHTS = np.exp(-(_NODES**2) / 2) / np.exp(-(_NODES**2) / 2).sum()
_NUMBERS = 1 << 20  # of the table of binomial laws, held at a time
_STEPS = 60


class _Rate(NamedTuple):
    """A rate and its exact interval: (...) each."""

    estimate: Float
    low: Float
    high: Float


class _Misfit(NamedTuple):
    """Bias and width of q: (...) each; NaN where ranks cannot tell."""

    bias: _Rate
    """How far q sits too high, in q's own posterior sd; negative: too low."""
    ratio: _Rate
    """q's width by the width it needs: above 1 it is under-confident, below over-confident."""


def covered(u: ArrayLike, levels: ArrayLike = LEVELS, level: float = 0.95) -> _Rate:
    """Share of truths in q's central intervals of nominal levels (L,): (..., L).

    The interval of mass l holds the truth when its randomised rank is within l / 2 of 1/2, so
    that a right q covers exactly l at any number of draws. Intervals: Clopper and Pearson.

    Args:
        u: randomised ranks (..., n).
        levels: nominal levels (L,).
        level: of the intervals.
    """
    ranks = np.asarray(u, dtype=np.float64)
    off = np.abs(ranks - 0.5)
    inside = np.stack(
        [(off <= nominal / 2).sum(-1) for nominal in np.asarray(levels, float)], axis=-1
    )
    return _rate(inside, ranks.shape[-1], level)


def lower_half(u: ArrayLike, level: float = 0.95) -> _Rate:
    """Share of truths below q's median: (...). Above 1/2, q sits too high."""
    ranks = np.asarray(u, dtype=np.float64)
    return _rate((ranks <= 0.5).sum(-1), ranks.shape[-1], level)


def _rate(count: ArrayLike, n: int, level: float = 0.95) -> _Rate:
    """Share of n and its Clopper-Pearson interval, of counts (...)."""
    count = np.asarray(count)
    return _Rate(count / n, *clopper_pearson(count, np.full(np.shape(count), n), level))


def excess(rates: _Rate, nominal: ArrayLike) -> Float:
    """How far a nominal rate lies outside the interval of the true one: (...).

    Negative where it lies inside, by its distance from the nearer end.
    """
    wanted = np.asarray(nominal, dtype=np.float64)
    return np.maximum(rates.low - wanted, wanted - rates.high)


def _scores(u: ArrayLike) -> Float:
    """Normal scores of randomised ranks: exactly independent N(0, 1) if q is right."""
    normal_scores: Float = ndtri(np.clip(np.asarray(u, dtype=np.float64), _ENDS, 1 - 2 * _ENDS))
    return normal_scores


def off_pvalue(u: ArrayLike) -> Float:
    """Is a marginal off in place, in width, or in any other way? (...)

    Three exact tests and Bonferroni: the mean of the normal scores, their variance, and
    Kolmogorov-Smirnov on the ranks. Never 0.

    Raises:
        ValueError: if there are fewer than two ranks or one lies outside [0, 1].
    """
    z = _scores(u)
    n = z.shape[-1]
    place = 2 * ndtr(-np.abs(z.mean(-1)) * np.sqrt(n))
    squares = n * z.var(-1)
    width = 2 * np.minimum(chdtr(n - 1, squares), chdtrc(n - 1, squares))
    least = np.minimum(np.minimum(place, width), ks(u).pvalue)
    return np.clip(3 * least, np.finfo(np.float64).tiny, 1.0)


def misfit(u: ArrayLike, k: int, level: float = 0.95) -> _Misfit:
    """Bias and ratio of widths of q behind randomised ranks u (..., n) among k draws.

    If the truth, standardised by q, is normal with mean mu and sd sigma, the bias is -mu and the
    ratio 1 / sigma; the mean and sd of the normal scores are those that k draws of such a q
    would give. Errors that vary with x count as width that q lacks. One draw's rank does not
    depend on a width, so that k = 1 has no ratio.

    Intervals: Student's for the mean of the normal scores; for their sd the chi-square one with
    degrees of freedom lowered where their tails are heavier than normal.

    Raises:
        ValueError: if there are fewer than two ranks or no draw.

    References:
        Better confidence intervals for the variance in a random sample, Hummel, Banga &
        Hettmansperger (2005).
    """
    z = _scores(u)
    n = z.shape[-1]
    if n < 2 or k < 1:
        raise ValueError(
            f"a bias and a width are read off at least two ranks among k >= 1 draws; got {n} "
            f"ranks, k = {k}; bring more simulations"
        )
    mean, spread = _intervals(z, level)
    m = np.stack([mean.estimate, mean.low, mean.high, mean.estimate, mean.estimate])
    s = np.stack([spread.estimate, spread.estimate, spread.estimate, spread.low, spread.high])
    place, width = _behind(m, s, k)
    bias = _Rate(-place[0], -place[2], -place[1])
    if k == 1:
        unknown = np.full(bias.estimate.shape, np.nan)
        return _Misfit(bias, _Rate(unknown, unknown, unknown))
    return _Misfit(bias, _Rate(1 / width[0], 1 / width[4], 1 / width[3]))


def by_moments(z: ArrayLike, k: int, level: float = 0.95) -> _Misfit:
    """Bias and ratio of widths from z-scores (mean of q's draws - truth) / their sd: (..., n).

    For where most truths lie outside all k draws and ranks say no more than that. A sample sd
    in the denominator makes z-scores too large; for normal draws this is taken out exactly.
    Rows without a finite z-score are left out; NaN with fewer than two of them, or fewer than 4
    draws.
    """
    values = np.asarray(z, dtype=np.float64)
    if k < 4:
        nothing = _Rate(*(np.full(values.shape[:-1], np.nan) for _ in range(3)))
        return _Misfit(nothing, nothing)
    mean, spread = _intervals(np.where(np.isfinite(values), values, np.nan), level)
    # 1 / sd of k normal draws is on average `inverse` / sigma, its square `square` / sigma^2.
    inverse = np.sqrt((k - 1) / 2) * np.exp(gammaln(k / 2 - 1) - gammaln((k - 1) / 2))
    square = (k - 1) / (k - 3)
    bias = _Rate(*(end / inverse for end in mean))
    wobble = bias.estimate**2 * (square - inverse**2)  # of a bias, by the noise of the sd
    low, high = (np.sqrt(np.maximum(end**2 - wobble, 0.0) / square) for end in spread[1:])
    middle = np.sqrt(np.maximum(spread.estimate**2 - wobble, 0.0) / square)
    with np.errstate(divide="ignore"):
        return _Misfit(bias, _Rate(1 / middle, 1 / high, 1 / low))


def _intervals(z: Float, level: float) -> tuple[_Rate, _Rate]:
    """Mean and sd of the numbers there are among z (..., n), with intervals."""
    there = ~np.isnan(z)
    n = there.sum(-1)
    counts = np.maximum(n, 2)
    mean = np.where(there, z, 0.0).sum(-1) / counts
    off = np.where(there, z - mean[..., None], 0.0)
    variance = (off**2).sum(-1) / (counts - 1)
    fourth = (off**4).sum(-1) / counts
    with np.errstate(divide="ignore", invalid="ignore"):
        heavy = np.nan_to_num(fourth / variance**2 - 3)
    # Lighter than normal only where that is more than the noise of a fourth moment.
    heavy = np.maximum(heavy, 0.0) + np.minimum(heavy + 3 * np.sqrt(24 / counts), 0.0)
    freedom = (counts - 1) / (1 + heavy / 2)
    tail = (1 - level) / 2
    half = -stdtrit(counts - 1, tail) * np.sqrt(variance / counts)
    low, high = (np.sqrt(freedom * variance / chdtri(freedom, p)) for p in (tail, 1 - tail))
    intervals = (mean, mean - half, mean + half), (np.sqrt(variance), low, high)
    place, spread = (
        _Rate(*(np.where(n >= 2, end, np.nan) for end in interval)) for interval in intervals
    )
    return place, spread


def _behind(m: Float, s: Float, k: int) -> tuple[Float, Float]:
    """(mu, sigma) of the standardised truth whose normal scores have mean m and sd s.

    Newton's steps, held within what ranks can tell; derivatives by the normal law's own scores.
    """
    place, log_width = m.copy(), np.zeros_like(s)
    wanted, limit = s**2, np.log(WIDEST)
    for _ in range(_STEPS):
        width = np.exp(log_width)
        at = place[..., None] + width[..., None] * _NODES
        first, second = (_read(table, at) for table in _tables(k))
        # Of E f(mu + sigma e): by mu E[f e] / sigma, by log sigma E[f (e^2 - 1)].
        a, b = first @ _WEIGHTS, second @ _WEIGHTS
        a_mu, b_mu = (f @ (_WEIGHTS * _NODES) / width for f in (first, second))
        a_w, b_w = (f @ (_WEIGHTS * (_NODES**2 - 1)) for f in (first, second))
        gap, miss = m - a, wanted - (b - a**2)
        v_mu, v_w = b_mu - 2 * a * a_mu, b_w - 2 * a * a_w
        if k == 1:  # the width is not seen: take it as right
            step, turn = gap / np.maximum(a_mu, 1e-3), np.zeros_like(gap)
        else:
            # Coordinate by coordinate where the two are not told apart.
            det = a_mu * v_w - a_w * v_mu
            sound = det > 1e-6
            safe = np.where(sound, det, 1.0)
            step = np.where(sound, (gap * v_w - miss * a_w) / safe, gap)
            turn = np.where(sound, (miss * a_mu - gap * v_mu) / safe, np.sign(miss))
        place = np.clip(place + np.clip(step, -0.5 - width, 0.5 + width), -WIDEST, WIDEST)
        log_width = np.clip(log_width + np.clip(turn, -0.5, 0.5), -limit, limit)
        if max(np.abs(step).max(initial=0), np.abs(turn).max(initial=0)) < 1e-8:
            break
    return place, np.exp(log_width)


def _read(table: Float, at: Float) -> Float:
    """A table over [-8, 8] at any point, constant beyond."""
    cell = np.clip((at + _REACH) * ((_CELLS - 1) / (2 * _REACH)), 0, _CELLS - 1 - 1e-9)
    left = cell.astype(np.int64)
    share = cell - left
    return table[left] * (1 - share) + table[left + 1] * share


@lru_cache(maxsize=8)
def _tables(k: int) -> tuple[Float, Float]:
    """Mean and mean square of the normal score of a truth at each standardised place: (801,).

    Its number of draws below is binomial; given that number, the randomised rank is uniform on
    a cell of width 1 / (k + 1).
    """
    edges = ndtri(np.arange(k + 2) / (k + 1))
    density = np.exp(-(edges**2) / 2) / np.sqrt(2 * np.pi)
    moment = np.where(np.isfinite(edges), edges, 0.0) * density
    mean, square = -(k + 1) * np.diff(density), 1 - (k + 1) * np.diff(moment)
    places = np.linspace(-_REACH, _REACH, _CELLS)
    j = np.arange(k + 1)
    ways = gammaln(k + 1) - gammaln(j + 1) - gammaln(k - j + 1)
    first, second = np.empty(_CELLS), np.empty(_CELLS)
    step = max(1, _NUMBERS // (k + 1))
    for start in range(0, _CELLS, step):
        part = slice(start, start + step)
        below, above = np.log(ndtr(places[part])), np.log(ndtr(-places[part]))
        law = np.exp(ways + j * below[:, None] + (k - j) * above[:, None])
        first[part], second[part] = law @ mean, law @ square
    return first, second


# ---- What q makes of the prior: its draws' means and variances, contraction, and z-scores ----


_DRAWS = 1 << 19  # draws in float64 at a time: the table itself is never copied


class _Moments(NamedTuple):
    """Of q's draws at each x: (n, D) each."""

    mean: Float
    variance: Float
    """Unbiased; NaN where there is one draw only."""


def moments(draws: Array) -> _Moments:
    """Mean and variance of q's draws (n, K, D) at each x, in float64, a few rows at a time.

    Draws that are all the same have a variance of exactly 0.
    """
    n, k, d = draws.shape
    mean, variance = np.empty((n, d)), np.full((n, d), np.nan)
    step = max(1, _DRAWS // max(k * d, 1))
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range(0, n, step):
            part = slice(start, start + step)
            off = draws[part].astype(np.float64)
            first = off[:, :1].copy()
            off -= first
            middle = off.mean(axis=1, keepdims=True)
            mean[part] = (first + middle)[:, 0]
            if k > 1:
                off -= middle
                variance[part] = np.einsum("nkd,nkd->nd", off, off) / (k - 1)
    return _Moments(mean, variance)


def zscores(found: _Moments, truth: ArrayLike) -> Float:
    """(Mean of q's draws - truth) / their sd: (n, D); positive where q sits too high.

    NaN where the draws at an x do not differ.
    """
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        z = (found.mean - np.asarray(truth, dtype=np.float64)) / np.sqrt(found.variance)
    return np.where((found.variance > 0) & np.isfinite(z), z, np.nan)


def contraction(found: _Moments, truth: ArrayLike, level: float = 0.95) -> _Rate:
    """1 - mean variance of q / variance of the truths: (D,), which is not cut off at 0.

    0 is as wide as the prior, negative is wider, 1 is a point. The interval takes the log of the
    ratio as normal, with the sd that its linear expansion has over simulations. NaN where a
    truth never varies or q has one draw at each x.
    """
    theta = np.asarray(truth, dtype=np.float64)
    n = len(theta)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        squares = (theta - theta.mean(0)) ** 2
        prior, own = squares.sum(0) / max(n - 1, 1), found.variance.mean(0)
        ratio = np.where(prior > 0, own / prior, np.nan)
        each = found.variance / own - squares / prior
        reach = -stdtrit(max(n - 1, 1), (1 - level) / 2) * each.std(0, ddof=1) / np.sqrt(n)
        # Draws that never vary have a ratio of exactly 0.
        wide = np.where(own > 0, np.exp(reach), 1.0)
        return _Rate(1 - ratio, 1 - ratio * wide, 1 - ratio / wide)


# ---- Quantiles of the binomial law and of Kolmogorov's, as scipy.stats has them ----
