"""How wrong each marginal of q is, from the truth's randomised ranks: coverage, bias and width.

Ranks u (..., n) are exactly uniform if q is right, whatever its shape and however few draws, so
that their normal scores are exactly standard normal. Their mean and their spread become a bias in
q's own posterior sd and a ratio of widths once the noise of having K draws only is taken out.
"""

from __future__ import annotations

from functools import lru_cache
from math import comb
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtr, bdtrc, chdtr, chdtrc, chdtri, gammaln, ndtr, ndtri, stdtrit

from validation_core.pieces import slices
from validation_core.shared_arrays import read_only
from validation_core.statistics.intervals import clopper_pearson
from validation_core.statistics.uniformity import ks
from validation_core.types import Float

LEVELS = (0.5, 0.8, 0.95)
"""Nominal levels whose true coverage is reported."""
WIDEST = 20.0
"""Ratios of widths are estimated between 1 / 20 and 20: ranks do not separate others."""
BEYOND = 0.15
"""Share of truths beyond all draws on one side, above that of a right q, from which on a bias is
reported as a bound."""
OUTSIDE = 0.5
"""Share of truths outside all draws, above that of a right q, from which on ranks are saturated:
bias and width are then estimated from q's mean and sd."""
_BY_CHANCE = 0.1  # of as many truths beyond the other end, if q is right there
_SHAPED = 20  # ranks from which on their skew and tails are reported
_ALIKE = 1e-12  # variance of normal scores below which all are one, and have no shape
_MOMENTS = 4  # draws from which on z-scores have a known spread
_ENDS = 2.0**-54  # a rank of exactly 0 or 1 is rounding: U is continuous
_REACH, _CELLS = 8.0, 801  # of q's standardised truths, in sd: where the rank's law is tabulated
_ORDERS = 8  # of a normal score's moments
_NODES = np.linspace(-5.0, 5.0, 201)
_WEIGHTS = np.exp(-(_NODES**2) / 2) / np.exp(-(_NODES**2) / 2).sum()
_NUMBERS = 1 << 20  # of the table of binomial laws, held at a time
_STEPS = 60


class IntervalEstimate(NamedTuple):
    """An estimate and its interval: (...) each."""

    estimate: Float
    low: Float
    high: Float


class _Misfit(NamedTuple):
    """Bias and width of q: (...) each; NaN where ranks do not determine them."""

    bias: IntervalEstimate
    """How far q sits too high, in q's own posterior sd; negative: too low."""
    ratio: IntervalEstimate
    """q's width by the width it needs: above 1 it is under-confident, below over-confident."""


class _Sizes(NamedTuple):
    """Bias and width of q as far as K draws determine them: (...) each."""

    bias: IntervalEstimate
    """An end is infinite where it is open."""
    ratio: IntervalEstimate
    """NaN where the width is not determined."""
    open: NDArray[np.bool_]
    """Whether the bias is a bound: many truths lie beyond all draws on one side."""
    by_moments: NDArray[np.bool_]
    """Whether q's mean and sd tell both, since most truths lie outside all draws."""


def covered(u: ArrayLike, levels: ArrayLike = LEVELS, level: float = 0.95) -> IntervalEstimate:
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
    return rate_estimate(inside, ranks.shape[-1], level)


def lower_half(u: ArrayLike) -> IntervalEstimate:
    """Share of truths below q's median: (...). Above 1/2, q sits too high."""
    ranks = np.asarray(u, dtype=np.float64)
    return rate_estimate((ranks <= 0.5).sum(-1), ranks.shape[-1])


def rate_estimate(count: ArrayLike, n: int, level: float = 0.95) -> IntervalEstimate:
    """Rates (...) of counts (...) in n trials, with Clopper-Pearson intervals."""
    count = np.asarray(count)
    return IntervalEstimate(count / n, *clopper_pearson(count, np.full(np.shape(count), n), level))


def excess(rates: IntervalEstimate, nominal: ArrayLike) -> Float:
    """Distance (...) of a nominal rate from the interval of the true one; 0 inside.

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
    """Bias and ratio of widths of q, estimated from ranks.

    If the truth, standardised by q, is normal with mean mu and sd sigma, the bias is -mu and the
    ratio 1 / sigma; the mean and sd of the normal scores are those that k draws of such a q
    would give. Errors that vary with x count as width that q lacks. One draw's rank does not
    depend on a width, so that k = 1 has no ratio.

    Intervals: Student's for the mean of the normal scores; for their sd the chi-square one with
    degrees of freedom lowered where their tails are heavier than normal.

    Args:
        u: randomised ranks (..., n) of the truth among k draws.
        k: draws of q at each x.
        level: coverage of the intervals.

    Returns:
        Bias in sds of q and ratio of widths q / truth, with intervals, (...) each.

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
    bias = IntervalEstimate(
        -place[0], np.minimum(-place[2], -place[0]), np.maximum(-place[1], -place[0])
    )
    if k == 1:
        unknown = np.full(bias.estimate.shape, np.nan)
        return _Misfit(bias, IntervalEstimate(unknown, unknown, unknown))
    return _Misfit(bias, IntervalEstimate(1 / width[0], 1 / width[4], 1 / width[3]))


def by_moments(z: ArrayLike, k: int, level: float = 0.95) -> _Misfit:
    """Bias and ratio of widths from z-scores (mean of q's draws - truth) / their sd: (..., n).

    For where most truths lie outside all k draws and ranks say no more than that. A sample sd
    in the denominator makes z-scores too large; for normal draws this is taken out exactly.
    Rows without a finite z-score are left out; NaN with fewer than two of them, or fewer than 4
    draws.
    """
    values = np.asarray(z, dtype=np.float64)
    if k < _MOMENTS:
        nothing = IntervalEstimate(*(np.full(values.shape[:-1], np.nan) for _ in range(3)))
        return _Misfit(nothing, nothing)
    mean, spread = _intervals(np.where(np.isfinite(values), values, np.nan), level)
    # 1 / sd of k normal draws is on average `inverse` / sigma, its square `square` / sigma^2.
    inverse = np.sqrt((k - 1) / 2) * np.exp(gammaln(k / 2 - 1) - gammaln((k - 1) / 2))
    square = (k - 1) / (k - 3)
    bias = IntervalEstimate(*(end / inverse for end in mean))
    wobble = bias.estimate**2 * (square - inverse**2)  # of a bias, by the noise of the sd
    low, high = (np.sqrt(np.maximum(end**2 - wobble, 0.0) / square) for end in spread[1:])
    middle = np.sqrt(np.maximum(spread.estimate**2 - wobble, 0.0) / square)
    with np.errstate(divide="ignore"):
        return _Misfit(bias, IntervalEstimate(1 / middle, 1 / high, 1 / low))


def one_sided(u: ArrayLike, k: int) -> NDArray[np.bool_]:
    """Whether ranks (..., n) among k draws pile up beyond all of them, at one end alone: (...).

    Both ends together indicate a q that is too narrow, which the ranks of widths show.
    """
    ranks = np.asarray(u, dtype=np.float64)
    n, usual = ranks.shape[-1], 1 / (k + 1)
    ends = np.stack([(ranks < usual).sum(-1), (ranks > 1 - usual).sum(-1)])
    far, near = ends.max(0), ends.min(0)
    chance = np.where(near > 0, bdtrc(np.maximum(near - 1, 0), n, usual), 1.0)
    many = (far / max(n, 1) - usual) / (1 - usual) > BEYOND
    return np.asarray(many & (chance > _BY_CHANCE))


def sizes(u: ArrayLike, z: ArrayLike, k: int, level: float = 0.95) -> _Sizes:
    """Bias and width behind ranks u (..., n) among k draws and their z-scores (..., n).

    By ranks, as `misfit`, as far as these reach. Where truths pile up beyond all draws at one
    end, how far they lie is not in the ranks, and in z-scores only as far as q's sd is its scale:
    the bias is then at least the mean of the normal scores, which no truth's score exceeds on
    average (k draws attenuate it), its other end is open, its estimate that of z-scores, and
    the width is unknown. Where most truths lie outside at both ends, both are
    estimated from q's mean and sd; with fewer than 4 draws ends that ranks cannot bound are open.
    """
    ranks = np.asarray(u, dtype=np.float64)
    usual = 1 / (k + 1)
    ranked, moments = misfit(ranks, k, level), by_moments(z, k, level)
    outside = ((ranks < usual) | (ranks > 1 - usual)).mean(-1)
    saturated = outside - 2 * usual > OUTSIDE * (1 - 2 * usual)
    one_end = one_sided(ranks, k)
    measured = saturated & ~one_end & np.isfinite(moments.ratio.estimate)
    narrow = saturated & ~one_end & ~measured
    bias = IntervalEstimate(
        *(np.where(measured, *ends) for ends in zip(moments.bias, ranked.bias, strict=True))
    )
    ratio = IntervalEstimate(
        *(np.where(measured, *ends) for ends in zip(moments.ratio, ranked.ratio, strict=True))
    )
    scored = _intervals(_scores(ranks), level)[0]
    least = IntervalEstimate(-scored.estimate, -scored.high, -scored.low)
    opened = _opened(least, moments.bias.estimate)
    bias = IntervalEstimate(
        *(np.where(one_end | narrow, *ends) for ends in zip(opened, bias, strict=True))
    )
    ratio = IntervalEstimate(
        np.where(one_end, np.nan, ratio.estimate),
        np.where(one_end, np.nan, np.where(narrow, 0.0, ratio.low)),
        np.where(one_end, np.nan, ratio.high),
    )
    return _Sizes(bias, ratio, one_end | narrow, measured)


def _opened(least: IntervalEstimate, estimate: Float) -> IntervalEstimate:
    """A bias that is at least that of an interval: its bound, without an end on the other side.

    NaN where the interval does not even tell its sign.
    """
    high = least.estimate >= 0
    bound = np.where(high, least.low, least.high)
    told = np.where(np.isfinite(estimate), estimate, bound)
    told = np.where(high, np.maximum(told, bound), np.minimum(told, bound))
    ends = told, np.where(high, bound, -np.inf), np.where(high, np.inf, bound)
    signed = np.where(high, bound > 0, bound < 0)
    return IntervalEstimate(*(np.where(signed, end, np.nan) for end in ends))


class _Shape(NamedTuple):
    """Skew and tails of the truths against q's draws, beyond bias and width: (...) each."""

    skew: Float
    """Above 0 truths reach farther up than q's draws, below 0 farther down."""
    skew_pvalue: Float
    tails: Float
    """1 where q's tails look too light, -1 where too heavy."""
    tails_pvalue: Float


def shape(u: ArrayLike, k: int) -> _Shape:
    """Skewness and kurtosis of the normal scores less those of a truth that is normal beside q.

    That truth has the bias and the width of `misfit`, so that neither counts as shape, and its
    scores are attenuated alike; a rank counts by the mean score of its cell, so that no truth
    outside all draws is far out by chance. Tails are judged by the truths outside all draws as
    well, against as many as that truth would have: p is twice the smaller. p-values by the
    skewness's and the kurtosis's own laws in normal samples, scaled by the influence functions of
    both. NaN of fewer than 20 ranks or one draw, and where most ranks lie outside all draws.

    References:
        Transformation to normality of the null distribution of g1, D'Agostino (1970).
        Distribution of the kurtosis statistic b2 for normal samples, Anscombe & Glynn (1983).
    """
    ranks = np.asarray(u, dtype=np.float64)
    n = ranks.shape[-1]
    if n < _SHAPED or k < 2:
        unknown = np.full(ranks.shape[:-1], np.nan)
        return _Shape(unknown, unknown, unknown, unknown)
    z = _scores(ranks)
    cell = np.clip((ranks * (k + 1)).astype(np.int64), 0, k)
    scored = _cells(k)[1][cell]
    place, width = _behind(z.mean(-1), z.std(-1, ddof=1), k)
    at = place[..., None] + width[..., None] * _NODES
    own = _standard_moments([(scored**order).mean(-1) for order in range(1, 5)])
    model = _standard_moments([powers @ _WEIGHTS for powers in _read(_powers(k), at)])
    skew, heavy = own[2] - model[2], own[3] - model[3]
    noise = _noise(model)
    # Heavy tails alone make a sample's skewness vary: its own noise counts where that is larger.
    skew_p = _skew_pvalue(skew * np.minimum(noise[0], _skew_noise(scored, own)), n)
    heavy_p = _kurtosis_pvalue(3 + heavy * noise[1], n)
    # Far ranks are the clearest where q ends: they pile up, and hardly add to a fourth moment.
    outside = ((cell == 0) | (cell == k)).sum(-1)
    usual = (ndtr(at) ** k + ndtr(-at) ** k) @ _WEIGHTS
    more = np.where(outside > 0, bdtrc(np.maximum(outside - 1, 0), n, usual), 1.0)
    count_p = np.minimum(1.0, 2 * np.minimum(more, bdtr(outside, n, usual)))
    tails = np.sign(np.where(count_p < heavy_p, outside / n - usual, heavy))
    tails_p = np.minimum(1.0, 2 * np.minimum(heavy_p, count_p))
    beyond = outside / n - 2 / (k + 1)
    seen = (beyond < OUTSIDE * (1 - 2 / (k + 1))) & (np.ptp(scored, axis=-1) > 0)
    return _Shape(*(np.where(seen, one, np.nan) for one in (skew, skew_p, tails, tails_p)))


def _standard_moments(raw: list[Float]) -> list[Float]:
    """Moments of orders 1 to len(raw) of the standardised quantity, from those about 0."""
    every = [np.ones_like(raw[0]), *raw]
    mean = raw[0]
    sd = np.sqrt(np.maximum(raw[1] - mean**2, _ALIKE))
    return [
        np.asarray(
            sum(comb(order, i) * every[i] * (-mean) ** (order - i) for i in range(order + 1))
            / sd**order
        )
        for order in range(1, len(raw) + 1)
    ]


def _noise(model: list[Float]) -> tuple[Float, Float]:
    """The sd of a normal sample's skewness and kurtosis by that of these scores, at most 1.

    Influence functions of both, by the moments of orders 1 to 8 of the standardised scores.
    """
    _, _, m3, m4, m5, m6, _, m8 = model
    skew = m6 - m3**2 + 9 + 9 / 4 * m3**2 * (m4 - 1) - 6 * m4 - 3 * m3 * (m5 - m3) + 9 * m3**2
    heavy = m8 - m4**2 + 16 * m3**2 + 4 * m4**2 * (m4 - 1) - 8 * m3 * m5 - 4 * m4 * (m6 - m4)
    heavy = heavy + 16 * m3**2 * m4
    ratios = (np.sqrt(usual / np.maximum(own, usual)) for usual, own in ((6, skew), (24, heavy)))
    first, second = ratios
    return np.asarray(first), np.asarray(second)


def _skew_noise(scored: Float, own: list[Float]) -> Float:
    """The sd of a normal sample's skewness by that of these scores (..., n), by their own law."""
    spread = np.maximum(scored.std(-1), np.finfo(np.float64).tiny)
    y = (scored - scored.mean(-1, keepdims=True)) / spread[..., None]
    skew = own[2][..., None]
    influence = y**3 - skew - 3 * y - 1.5 * skew * (y**2 - 1)
    return np.asarray(np.sqrt(6 / np.maximum(influence.var(-1), 6)))


def _skew_pvalue(skew: Float, n: int) -> Float:
    y = skew * np.sqrt((n + 1) * (n + 3) / (6 * (n - 2)))
    heavy = 3 * (n**2 + 27 * n - 70) * (n + 1) * (n + 3) / ((n - 2) * (n + 5) * (n + 7) * (n + 9))
    w2 = np.sqrt(2 * (heavy - 1)) - 1
    standard = np.arcsinh(y / np.sqrt(2 / (w2 - 1))) / np.sqrt(np.log(w2) / 2)
    return np.asarray(2 * ndtr(-np.abs(standard)))


def _kurtosis_pvalue(kurtosis: Float, n: int) -> Float:
    mean = 3 * (n - 1) / (n + 1)
    variance = 24 * n * (n - 2) * (n - 3) / ((n + 1) ** 2 * (n + 3) * (n + 5))
    x = (kurtosis - mean) / np.sqrt(variance)
    third = 6 * (n**2 - 5 * n + 2) / ((n + 7) * (n + 9))
    third *= np.sqrt(6 * (n + 3) * (n + 5) / (n * (n - 2) * (n - 3)))
    freedom = 6 + 8 / third * (2 / third + np.sqrt(1 + 4 / third**2))
    ratio = (1 - 2 / freedom) / np.maximum(1 + x * np.sqrt(2 / (freedom - 4)), 1e-12)
    standard = (1 - 2 / (9 * freedom) - np.cbrt(ratio)) / np.sqrt(2 / (9 * freedom))
    return np.asarray(2 * ndtr(-np.abs(standard)))


def _intervals(z: Float, level: float) -> tuple[IntervalEstimate, IntervalEstimate]:
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
        IntervalEstimate(*(np.where(n >= 2, end, np.nan) for end in interval))
        for interval in intervals
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
        first, second = _read(_tables(k), at)
        # Of E f(mu + sigma e): by mu E[f e] / sigma, by log sigma E[f (e^2 - 1)].
        a, b = first @ _WEIGHTS, second @ _WEIGHTS
        a_mu, b_mu = (f @ (_WEIGHTS * _NODES) / width for f in (first, second))
        a_w, b_w = (f @ (_WEIGHTS * (_NODES**2 - 1)) for f in (first, second))
        gap, miss = m - a, wanted - (b - a**2)
        v_mu, v_w = b_mu - 2 * a * a_mu, b_w - 2 * a * a_w
        if k == 1:  # the width is not seen: take it as right
            step, turn = gap / np.maximum(a_mu, 1e-3), np.zeros_like(gap)
        else:
            # Coordinate by coordinate where the two are not identified separately.
            det = a_mu * v_w - a_w * v_mu
            sound = det > 1e-6
            safe = np.where(sound, det, 1.0)
            step = np.where(sound, (gap * v_w - miss * a_w) / safe, gap)
            turn = np.where(sound, (miss * a_mu - gap * v_mu) / safe, np.sign(miss))
        before = place, log_width
        place = np.clip(place + np.clip(step, -0.5 - width, 0.5 + width), -WIDEST, WIDEST)
        log_width = np.clip(log_width + np.clip(turn, -0.5, 0.5), -limit, limit)
        if max(np.abs(step).max(initial=0), np.abs(turn).max(initial=0)) < 1e-8:
            break
        moved = np.abs(place - before[0]) + np.abs(log_width - before[1])
        if moved.max(initial=0) < 1e-12:  # some are held at a limit
            break
    return place, np.exp(log_width)


def _read(tables: Float, at: Float) -> Float:
    """Tables (..., 801) over [-8, 8] at any points, constant beyond: (..., of the points)."""
    cell = np.clip((at + _REACH) * ((_CELLS - 1) / (2 * _REACH)), 0, _CELLS - 1 - 1e-9)
    left = cell.astype(np.int64)
    share = cell - left
    return tables.take(left, -1) * (1 - share) + tables.take(left + 1, -1) * share


@lru_cache(maxsize=8)
@read_only
def _tables(k: int) -> Float:
    """Mean and mean square of the normal score of a truth at each standardised place: (2, 801).

    Its number of draws below is binomial; given that number, the randomised rank is uniform on
    a cell of width 1 / (k + 1).
    """
    edges, mean = _cells(k)
    moment = np.where(np.isfinite(edges), edges, 0.0) * _density(edges)
    return _averaged(np.stack([mean, 1 - (k + 1) * np.diff(moment)]), k)


@lru_cache(maxsize=8)
@read_only
def _powers(k: int) -> Float:
    """Mean powers, of orders 1 to 8, of the mean score of a truth's cell: (8, 801)."""
    _, mean = _cells(k)
    return _averaged(mean ** np.arange(1, _ORDERS + 1)[:, None], k)


def _cells(k: int) -> tuple[Float, Float]:
    """Normal scores at the edges of the k + 1 cells of ranks, and on average in each."""
    edges = ndtri(np.arange(k + 2) / (k + 1))
    return edges, -(k + 1) * np.diff(_density(edges))


def _density(at: Float) -> Float:
    return np.asarray(np.exp(-(at**2) / 2) / np.sqrt(2 * np.pi))


def _averaged(cells: Float, k: int) -> Float:
    """Means of numbers of the cells (F, k + 1) at each standardised place of a truth: (F, 801)."""
    places = np.linspace(-_REACH, _REACH, _CELLS)
    j = np.arange(k + 1)
    ways = gammaln(k + 1) - gammaln(j + 1) - gammaln(k - j + 1)
    out = np.empty((len(cells), _CELLS))
    step = max(1, _NUMBERS // (k + 1))
    for part in slices(_CELLS, step):
        below, above = np.log(ndtr(places[part])), np.log(ndtr(-places[part]))
        law = np.exp(ways + j * below[:, None] + (k - j) * above[:, None])
        out[:, part] = (law @ cells.T).T
    return out
