"""Null laws of two-sample tests, for sides too small for the normal limit."""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations
from math import comb

import numpy as np
from scipy.special import gammaln, ndtr

from validation_core.shared_arrays import read_only
from validation_core.statistics.permutation import share_beyond
from validation_core.statistics.ranks import midranks
from validation_core.statistics.uniformity_laws import kolmogorov_sf
from validation_core.statistics.witness_test import mean_difference_slack, permuted, relabelled
from validation_core.types import Array, Float

SMALL = 100
"""A side with fewer scores than this is tested by the law of all arrangements."""
TINY = float(np.finfo(np.float64).tiny)
"""The smallest p-value returned: one below the smallest double is still not 0."""
PERMUTATIONS = 9999
"""Relabellings of scores that tie."""
_PAIRS = 30_000  # n_p n_q up to which arrangements are counted: a second's work
_SETS = 20_000  # label sets that are gone through one by one
_ROWS = 64  # trials relabelled together: bounds what their nulls take
_CELLS = 300_000  # pairs of hits whose probabilities are added up
_RATES = 199  # at which a score may lie above the threshold


def smallest_two_sample_pvalue(n_p: int, n_q: int) -> float:
    """The smallest p-value that any test of two samples has: one arrangement of all."""
    log = gammaln(n_p + n_q + 1.0) - gammaln(n_p + 1.0) - gammaln(n_q + 1.0)
    return max(float(np.exp(-log)), TINY)


def mann_whitney_pvalue(p: Array, q: Array, rng: np.random.Generator) -> Float:
    """P-values (...) of the number of pairs in which p (..., n_p) lies above q (..., n_q).

    Without ties by the law of all arrangements; where one side is so large that these are not
    counted, by that of a smaller one, to a hundredth of p at usual levels. Scores that tie
    anywhere are relabelled, all label sets where they are few, else `PERMUTATIONS` drawn from rng:
    which of the two is chosen does not depend on the labels, so that the level holds.
    """
    n_p, n_q = p.shape[-1], q.shape[-1]
    lead = np.broadcast_shapes(p.shape[:-1], q.shape[:-1])
    both = np.empty((*lead, n_p + n_q))
    both[..., :n_p], both[..., n_p:] = p, q
    flat = both.reshape(-1, n_p + n_q)
    order = np.argsort(flat, axis=-1)
    ascending = np.take_along_axis(flat, order, axis=-1)
    ties = (ascending[:, 1:] == ascending[:, :-1]).any(axis=-1)
    place = np.arange(1.0, n_p + n_q + 1)
    pairs = (place * (order < n_p)).sum(axis=-1) - n_p * (n_p + 1) / 2
    pvalue = _above(pairs, n_p, n_q)
    if ties.any():
        pvalue[ties] = _relabelled(midranks(flat[ties]), n_p, rng)
    return pvalue.reshape(lead)


def _above(pairs: Float, n_p: int, n_q: int) -> Float:
    """P(as many pairs or more), of scores that do not tie."""
    if n_p * n_q <= _PAIRS:
        return _arrangements(min(n_p, n_q), max(n_p, n_q))[pairs.astype(np.int64)].copy()
    # The small side shapes the law, whose tails are not normal; of the large one there is a limit:
    # in units of the sd, the law of as many as are counted.
    few = min(n_p, n_q)
    many = _PAIRS // few
    at = few * many / 2 + 0.5 + (pairs - 0.5 - n_p * n_q / 2) * _sd(few, many) / _sd(n_p, n_q)
    tail = np.log(_arrangements(few, many))
    law: Float = np.exp(np.interp(at, np.arange(len(tail)), tail))
    return law


def _sd(n_p: int, n_q: int) -> float:
    """Of the number of pairs."""
    return float(np.sqrt(n_p * n_q * (n_p + n_q + 1) / 12))


@lru_cache(maxsize=16)
@read_only
def _arrangements(m: int, n: int) -> Float:
    """P(U >= u), u = 0..mn, of m scores among n by adding one score at a time.

    P_mn(u) = m / (m + n) P_{m-1,n}(u - n) + n / (m + n) P_{m,n-1}(u): whether the highest score is
    one of the m. All terms are positive, so that tails keep their digits.
    """
    law = np.zeros((m + 1, m * n + 1))  # of i = 0..m scores among the j so far
    law[:, 0] = 1.0
    for j in range(1, n + 1):
        for i in range(1, m + 1):
            size = i * j + 1
            new = law[i, :size] * (j / (i + j))
            new[j:] += law[i - 1, : size - j] * (i / (i + j))
            law[i, :size] = new
    return np.minimum(law[m, ::-1].cumsum()[::-1], 1.0)


def _relabelled(ranks: Float, n_p: int, rng: np.random.Generator) -> Float:
    """P-values (r,) of the mean rank of the first n_p of ranks (r, N) under relabelling."""
    n = ranks.shape[-1]
    if comb(n, n_p) > _SETS:
        pieces = (ranks[i : i + _ROWS] for i in range(0, len(ranks), _ROWS))
        return np.concatenate(
            [
                permuted(piece[:, :n_p], piece[:, n_p:], PERMUTATIONS, rng).pvalue
                for piece in pieces
            ]
        )
    sets = np.zeros((comb(n, n_p), n), dtype=bool)
    chosen = np.array(list(combinations(range(n), n_p)))
    np.put_along_axis(sets, chosen, True, axis=1)
    # The labels as they are come first, and count as the one that is observed.
    pieces = (relabelled(ranks[i : i + _ROWS], sets) for i in range(0, len(ranks), _ROWS))
    bound = mean_difference_slack(ranks)
    tau = np.concatenate(list(pieces))
    return share_beyond(tau[:, 0], tau[:, 1:], bound)


def accuracy(p_above: Float, q_above: Float, n_p: int, n_q: int) -> Float:
    """P-values (...) of p_above / n_p - q_above / n_q: how much more of p lies above a threshold.

    The largest over the rate at which a score lies above it, which is unknown: the fair coin's
    where sides are equal, P(Binomial(2n, 1/2) >= right calls).
    """
    if n_p == n_q:
        right = (p_above + n_q - q_above).astype(np.int64)
        return _fair(2 * n_p)[right]
    if (n_p + 1) * (n_q + 1) <= _CELLS:
        return _barnard(n_p, n_q)[p_above.astype(np.int64), q_above.astype(np.int64)]
    sd = np.sqrt((1 / n_p + 1 / n_q) / 4)
    return np.maximum(ndtr(-(p_above / n_p - q_above / n_q) / sd), TINY)


@lru_cache(maxsize=16)
@read_only
def _fair(tosses: int) -> Float:
    """P(B >= b), b = 0..tosses, of a fair coin."""
    law = np.exp(_log_choose(tosses) - tosses * np.log(2))
    return np.minimum(law[::-1].cumsum()[::-1], 1.0)


@lru_cache(maxsize=16)
@read_only
def _barnard(n_p: int, n_q: int) -> Float:
    """The largest probability of a difference of rates as large or larger: (n_p + 1, n_q + 1)."""
    x, y = np.arange(n_p + 1), np.arange(n_q + 1)
    difference = (x[:, None] * n_q - y * n_p).ravel()  # whole numbers: no two rounded apart
    values, where = np.unique(difference, return_inverse=True)
    worst = np.zeros(len(values))
    for rate in np.linspace(0, 1, _RATES + 2)[1:-1]:
        law = np.outer(_binomial(n_p, rate), _binomial(n_q, rate)).ravel()
        each = np.bincount(where.reshape(-1), weights=law, minlength=len(values))
        worst = np.maximum(worst, each[::-1].cumsum()[::-1])
    return np.clip(worst, TINY, 1.0)[where].reshape(n_p + 1, n_q + 1)


def _binomial(n: int, rate: float) -> Float:
    k = np.arange(n + 1)
    law: Float = np.exp(_log_choose(n) + k * np.log(rate) + (n - k) * np.log1p(-rate))
    return law


def conditional(p_above: Float, q_above: Float, n_p: int, n_q: int) -> Float:
    """P-values (...) of p_above given how many of both sides lie above the threshold.

    The hypergeometric law (Fisher's exact test): it holds whatever the threshold is.
    """
    if n_p > n_q:  # the sum runs over the smaller side; p has many where q has few
        return conditional(n_q - q_above, n_p - p_above, n_q, n_p)
    total = (p_above + q_above)[..., None]
    x = np.arange(n_p + 1.0)
    y = total - x
    possible = (y >= 0) & (y <= n_q) & (x >= p_above[..., None])
    at = np.clip(y, 0, n_q)
    logs = _log_choose(n_p) + _log_of(n_q, at) - _log_of(n_p + n_q, total)
    tail = np.exp(np.where(possible, logs, -np.inf)).sum(axis=-1)
    return np.clip(tail, TINY, 1.0)


def _log_choose(n: int) -> Float:
    return _log_of(n, np.arange(n + 1.0))


def _log_of(n: int, k: Float) -> Float:
    """log of n over k."""
    log_binomial: Float = gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)
    return log_binomial


_HALVINGS = 45


def kolmogorov_quantile(level: float, n: int) -> float:
    """The distance that an empirical distribution function of n draws exceeds with this chance."""
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        beyond = float(kolmogorov_sf(np.asarray(middle), n))
        low, high = (middle, high) if beyond > level else (low, middle)
    return high
