"""Null laws: of uniformity, of permutations, exact ones of small samples; many values at once.

scipy evaluates the two-sided Kolmogorov law one value at a time (about a millisecond each) and the
others from one minus a distribution function, which ends at 1e-16. Power curves need thousands of
p-values and a diagnosis shows very small ones, so the laws are written out here.

References:
    Evaluating Kolmogorov's distribution, Marsaglia, Tsang & Wang (2003).
    Computing the two-sided Kolmogorov-Smirnov distribution, Simard & L'Ecuyer (2011).
    The Kolmogorov-Smirnov one-sample statistic, Pelz & Good (1976).
    Evaluating the Anderson-Darling distribution, Marsaglia & Marsaglia (2004).
    The exact and asymptotic distributions of Cramer-von Mises statistics, Csorgo & Faraway (1996).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np
from numpy.polynomial import Polynomial
from numpy.polynomial.chebyshev import chebval
from numpy.typing import ArrayLike, NDArray
from scipy.special import gamma, gammaln, kv, ndtr

from validation_core.statistics.ranks import midranks, require_numbers
from validation_core.types import Array, Float

# ---- The p-value of a permutation test: the identity is one of the permutations ----

SUMMATION_ROUNDING = 1e-12  # what sums in another order differ by, as a share of the largest value


class PermutationResult(NamedTuple):
    """A statistic (...), its p-value (...), and the statistic of each permutation (..., B)."""

    statistic: Float
    pvalue: Float
    null: Float


def share_beyond(
    observed: ArrayLike, null: ArrayLike, slack: ArrayLike = 0.0
) -> NDArray[np.float64]:
    """(1 + number of null values (..., B) >= observed - slack (...)) / (B + 1): never 0."""
    bound = np.asarray(observed, dtype=np.float64) - np.asarray(slack)
    values = np.asarray(null, dtype=np.float64)
    return (1 + (values >= bound[..., None]).sum(axis=-1)) / (values.shape[-1] + 1)


def require_permutations(count: int) -> None:
    if count < 1:
        raise ValueError(
            f"a permutation test needs at least one permutation; got {count}; "
            "99 is the fewest that reach a p-value of 0.01"
        )


# ---- Does a witness lie higher under p than under q? The difference of means and its null ----


NUMBERS_AT_ONCE = 1 << 21  # scores or labels held at a time: 16 MB


def permuted(
    p: ArrayLike, q: ArrayLike, permutations: int, rng: np.random.Generator
) -> PermutationResult:
    """tau = mean p - mean q against relabellings of the pooled scores; large where p's are higher.

    p-value = (1 + number of relabellings with tau at least the observed) / (permutations + 1),
    never 0. All leading indices share their label sets but each has its scores shuffled first:
    every test meets relabellings that are uniform and its own, for the price of one product.

    Args:
        p: scores (..., n_p) of draws from p.
        q: scores (..., n_q) of draws from q, independent of p's.
        permutations: B, how many relabellings.
        rng: draws them.

    Raises:
        ValueError: if a side has fewer than two scores, one is not finite, or B < 1.
    """
    both, n_p = _pooled(p, q)
    require_permutations(permutations)
    tau = _differences(both, n_p)
    flat = both.reshape(-1, both.shape[-1])
    shuffled = rng.permuted(flat, axis=-1)
    null = np.empty((len(flat), permutations))
    for piece in _pieces(permutations, both.shape[-1]):
        null[:, piece] = relabelled(
            shuffled, _labels(piece.stop - piece.start, *_sizes(both, n_p), rng)
        )
    null = null.reshape(*both.shape[:-1], permutations)
    return PermutationResult(tau, share_beyond(tau, null, mean_difference_slack(both)), null)


def relabelled(scores: ArrayLike, is_p: NDArray[np.bool_]) -> Float:
    """tau (..., B) of pooled scores (..., N) under B label sets is_p (B, N)."""
    pool = np.asarray(scores, dtype=np.float64)
    labels = np.asarray(is_p, dtype=np.float64)
    n_p = labels.sum(axis=-1)
    n_q = labels.shape[-1] - n_p
    # The mean of what is labelled q follows from the total: one product, not two.
    total = pool.sum(axis=-1)[..., None]
    above = pool @ labels.T
    return above / n_p - (total - above) / n_q


def mean_difference_slack(scores: ArrayLike) -> Float:
    """By how much equal differences of means may differ as computed: (..., N) to (...)."""
    return SUMMATION_ROUNDING * np.abs(np.asarray(scores, dtype=np.float64)).max(axis=-1)


def _pooled(p: ArrayLike, q: ArrayLike) -> tuple[Float, int]:
    """Both sides joined (..., n_p + n_q), about their common mean, and n_p."""
    sides = [np.asarray(side, dtype=np.float64) for side in (p, q)]
    if min(side.ndim for side in sides) < 1 or min(side.shape[-1] for side in sides) < 2:
        raise ValueError(
            "a witness is compared between samples of at least two scores each; got shapes "
            f"{sides[0].shape} and {sides[1].shape}; draw more"
        )
    for side in sides:
        if np.isinf(require_numbers(side)).any():
            raise ValueError(
                "a witness has a mean only where its scores are finite; got "
                f"{int(np.isinf(side).sum())} infinite of {side.size}; bound the score"
            )
    lead = np.broadcast_shapes(*(side.shape[:-1] for side in sides))
    both = np.concatenate(
        [np.broadcast_to(side, (*lead, side.shape[-1])) for side in sides], axis=-1
    )
    # Far from 0 the sums would round away what tells the sides apart.
    return both - both.mean(axis=-1, keepdims=True), sides[0].shape[-1]


def _sizes(both: Float, n_p: int) -> tuple[int, int]:
    return n_p, both.shape[-1] - n_p


def _differences(both: Float, n_p: int) -> Float:
    tau: Float = both[..., :n_p].mean(axis=-1) - both[..., n_p:].mean(axis=-1)
    return tau


def _labels(count: int, n_p: int, n_q: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Label sets (count, n_p + n_q) with n_p scores of p in each, every one as likely."""
    is_p = np.zeros((count, n_p + n_q), dtype=bool)
    is_p[:, :n_p] = True
    return rng.permuted(is_p, axis=-1)


def _pieces(count: int, n: int) -> Iterator[slice]:
    step = max(1, NUMBERS_AT_ONCE // n)
    yield from (slice(i, min(i + step, count)) for i in range(0, count, step))


# ---- Uniformity ----


CHUNK = 1 << 20
"""Entries of the largest temporary array."""

SMALL_N = 140
"""Up to here Durbin's matrix is used; beyond it Pelz and Good's expansion has converged."""


def kolmogorov_sf(distance: Array, n: int) -> Float:
    """P(D_n >= distance), D_n the two-sided Kolmogorov-Smirnov distance of n uniforms: (...).

    Twice the one-sided law in the tail, where both sides never cross together; below it Durbin's
    matrix for n <= 140 and Pelz and Good's expansion (off by less than 3e-6) beyond.
    """
    flat = np.asarray(distance, dtype=np.float64).ravel()
    squared = n * flat**2
    tail = (flat >= 0.5) | (squared >= (4.0 if n <= SMALL_N else 2.2))
    body = ~tail & (flat > 0.5 / n)
    out = np.ones_like(flat)
    out[tail] = 2 * _one_sided(flat[tail], n)
    out[body] = 1 - (durbin_cdf if n <= SMALL_N else _pelz_good)(flat[body], n)
    return np.clip(out, 0.0, 1.0).reshape(np.shape(distance))


def _one_sided(d: Float, n: int) -> Float:
    """P(D_n^+ >= d), Smirnov's sum: d sum_j C(n,j) (d+j/n)^(j-1) (1-d-j/n)^(n-j)."""
    step = max(1, CHUNK // (n + 1))
    parts = [_smirnov_sum(d[i : i + step, None], n) for i in range(0, len(d), step)]
    return np.concatenate(parts) if parts else np.empty(0)


def _smirnov_sum(d: Float, n: int) -> Float:
    j = np.arange(n + 1.0)
    choose = gammaln(n + 1.0) - gammaln(j + 1) - gammaln(n - j + 1)
    rest = 1 - d - j / n  # (values, n + 1)
    log_rest = np.log(np.where(rest > 0, rest, 1.0))
    log_terms = choose + (j - 1) * np.log(d + j / n) + (n - j) * log_rest
    terms = np.exp(np.where(rest > 0, log_terms, -np.inf))  # the sum ends where rest does
    total: Float = d[:, 0] * terms.sum(axis=-1)
    return total


_NODES = 18
"""Chebyshev nodes that hold half a band of Durbin's law to its last digits, for each n <= 140."""

_ANGLES = (np.arange(_NODES) + 0.5) * np.pi / _NODES
_SERIES = np.cos(np.outer(_ANGLES, np.arange(_NODES))) * np.where(np.arange(_NODES), 2, 1) / _NODES


def durbin_cdf(d: Float, n: int) -> Float:
    """P(D_n < d) exactly: n!/n^n (H^n)_kk k = floor(n d) + 1: a polynomial for each half of k.

    The matrix is multiplied out at the nodes of its series alone, once in a process.
    """
    k = np.floor(n * d).astype(np.int64) + 1
    h = k - n * d
    upper = h > 0.5
    halves, which = np.unique(2 * k + upper, return_inverse=True)
    series = [_durbin_series(int(half) // 2, int(half) % 2, n) for half in halves]
    coefficients = np.reshape(series, (-1, _NODES))[which]
    return np.asarray(chebval(4 * h - 1 - 2 * upper, coefficients.T, tensor=False))


@lru_cache(maxsize=8192)
def _durbin_series(k: int, upper: int, n: int) -> Float:
    """Chebyshev coefficients over h = k - n d in [0, 1/2], or in [1/2, 1] for the upper half."""
    h = (np.cos(_ANGLES) + 1 + 2 * upper) / 4
    series: Float = durbin_matrix_entry(h, k, n) @ _SERIES
    series.flags.writeable = False
    return series


def durbin_matrix_entry(h: Float, k: int, n: int) -> Float:
    """Row k of H, multiplied n times; H is Toeplitz but for its first column and last row."""
    m = 2 * k - 1
    lag = np.subtract.outer(np.arange(m), np.arange(m)) + 1
    toeplitz = np.where(lag >= 0, 1 / gamma(np.maximum(lag, 0) + 1.0), 0.0)
    power = np.arange(1, m + 1)
    edge = h[:, None] ** power / gamma(power + 1.0)  # (values, m)
    corner = np.maximum(2 * h - 1, 0.0) ** m / gamma(m + 1.0)
    row = np.zeros((len(h), m))
    row[:, k - 1] = 1.0
    for step in range(1, n + 1):
        last = row[:, -1]
        new = row @ toeplitz - last[:, None] * edge[:, ::-1]
        new[:, 0] += last * corner - (row * edge).sum(axis=1)
        row = new * (step / n)
    return row[:, k - 1]


def _pelz_good(d: Float, n: int) -> Float:
    """P(D_n < d) to order n^(-3/2)."""
    z = np.sqrt(n) * d[:, None]
    odd = (np.pi * np.arange(1, 33, 2) / 2) ** 2  # (pi m / 2)^2, m = 1, 3, ...
    even = (np.pi * np.arange(1, 17)) ** 2  # (pi k)^2
    w = np.exp(-odd / (2 * z**2))
    v = np.exp(-even / (2 * z**2))
    k1 = (odd - z**2) * w
    k2 = (6 * z**6 + 2 * z**4 + (2 * z**4 - 5 * z**2) * odd + (1 - 2 * z**2) * odd**2) * w
    k3 = -30 * z**6 - 90 * z**8 + (135 * z**4 - 96 * z**6) * odd
    k3 = (k3 + (212 * z**4 - 60 * z**2) * odd**2 + (5 - 30 * z**2) * odd**3) * w
    k2_even = even * v / (36 * z**3)
    k3_even = (3 * z**2 - even) * even * v / (216 * z**6)
    series = (
        w / z
        + k1 / (6 * z**4 * n**0.5)
        + (k2 / (72 * z**7) - k2_even) / n
        + (k3 / (6480 * z**10) + k3_even) / n**1.5
    )
    total: Float = np.sqrt(2 * np.pi) * series.sum(axis=-1)
    return total


@lru_cache(maxsize=2)
def _smirnov_rule(kind: str) -> tuple[Float, Float]:
    """Nodes t/2 and weights w with P(W > z) = sum w exp(-z t/2), W = sum_j Z_j^2 / mu_j.

    Smirnov: P(W > z) = 1/pi sum_k (-1)^(k+1) int_{mu_2k-1}^{mu_2k} e^(-zt/2) / (t sqrt|D(t)|) dt
    with D(t) = prod_j (1 - t/mu_j). D has simple roots at the ends: Gauss-Chebyshev nodes.
    """
    k = np.arange(1, 17)[:, None]
    poles: Callable[[Array], Array] = _POLES[kind]
    low, high = poles(2.0 * k - 1), poles(2.0 * k)
    angle = (np.arange(48) + 0.5) * np.pi / 48
    half = (high - low) / 2
    t = (high + low) / 2 - half * np.cos(angle)  # (intervals, nodes)
    weight = (-1.0) ** (k + 1) * half * np.sin(angle) / (48 * t * np.sqrt(np.abs(_DETS[kind](t))))
    return (t / 2).ravel(), weight.ravel()


_POLES: dict[str, Callable[[Array], Array]] = {
    "anderson_darling": lambda j: j * (j + 1),
    "cramer_von_mises": lambda j: (np.pi * j) ** 2,
}
_DETS: dict[str, Callable[[Array], Array]] = {
    "anderson_darling": lambda t: np.cos(np.pi / 2 * np.sqrt(1 + 4 * t)) / (np.pi * t),
    "cramer_von_mises": lambda t: np.sin(np.sqrt(t)) / np.sqrt(t),
}


def _limit_sf(kind: str, z: Float, smallest: float) -> Float:
    """P(W > z) in the limit of large n, flat; below `smallest` it is 1 to six digits."""
    nodes, weights = _smirnov_rule(kind)
    step = max(1, CHUNK // nodes.size)
    out = np.ones_like(z)
    for i in range(0, z.size, step):
        out[i : i + step] = np.exp(-np.maximum(z[i : i + step, None], smallest) * nodes) @ weights
    return np.clip(out, 0.0, 1.0)


def anderson_darling_sf(statistic: Array, n: int) -> Float:
    """P(A_n^2 >= statistic) for n uniforms: the exact limit law with a finite-n correction."""
    flat = np.asarray(statistic, dtype=np.float64).ravel()
    limit = _limit_sf("anderson_darling", flat, 0.07)
    corrected = limit - _anderson_darling_correction(limit, n)
    return np.clip(corrected, 0.0, 1.0).reshape(np.shape(statistic))


def _anderson_darling_correction(sf: Float, n: int) -> Float:
    """What Marsaglia and Marsaglia add to the limiting probability 1 - sf at finite n."""
    x = 1 - sf
    cut = 0.01265 + 0.1757 / n
    small = np.minimum(x / cut, 1.0)
    low = np.sqrt(small) * (1 - small) * (49 * small - 102)
    low = low * (0.0037 / n**2 + 0.00078 / n + 0.00006) / n
    middle = _MIDDLE((x - cut) / (0.8 - cut)) * (0.04213 + 0.01365 / n) / n
    return np.where(x < cut, low, np.where(x < 0.8, middle, _UPPER(sf) / n))


def _vanishing_upper() -> Polynomial:
    """The paper's polynomial for x >= 0.8, in 1 - x and without its value at x = 1.

    That value, -0.0006, would hide every smaller p-value; it is taken off along a line.
    """
    published = Polynomial([-130.2137, 745.2337, -1705.091, 1950.646, -1116.360, 255.7844])
    residue = float(published(1.0))
    turned = published(Polynomial([1.0, -1.0])).coef
    return Polynomial([0.0, turned[1] + residue / 0.2, *turned[2:]])


_MIDDLE = Polynomial([-0.00022633, 6.54034, -14.6538, 14.458, -8.259, 1.91864])
_UPPER = _vanishing_upper()


def cramer_von_mises_sf(statistic: Array, n: int) -> Float:
    """P(W_n^2 >= statistic) for n uniforms: the limit law with its 1/n term, as scipy has it.

    The term is held as a ratio, which stays above 1/2 and is kept from p = 1e-6 on: further out
    rounding hides it, and at small n the expansion would give negative probabilities.
    """
    flat = np.asarray(statistic, dtype=np.float64).ravel()
    inner = np.clip(flat, 0.007, 2.49)
    limit = _limit_sf("cramer_von_mises", inner, 0.007)
    ratio = 1 + ((limit - 1) / 12 - _first_order(inner)) / (n * limit)
    out = _limit_sf("cramer_von_mises", flat, 0.007) * np.maximum(ratio, 0.5)
    out[flat <= 1 / (12 * n)] = 1.0
    return np.clip(out, 0.0, 1.0).reshape(np.shape(statistic))


def _first_order(x: Float) -> Float:
    """The 1/n term of the law of W_n^2 but for V(x)/12: Csorgo and Faraway, equation 1.10."""
    total = np.zeros_like(x)
    for k in range(60):
        term = _first_order_term(k, x)
        total -= term
        if np.all(np.abs(term) < 1e-12):
            break
    return total


def _first_order_term(k: int, x: Float) -> Float:
    m, root, y1, y2 = 2 * k + 1, 2 * np.sqrt(x), x**0.75, x**1.25
    half, next_half = float(gamma(k + 0.5)), float(gamma(k + 1.5))
    total = m * half * _bessel_two((4 * k + 3) / root) / (9 * y1)
    total += half * _bessel_three((4 * k + 1) / root) / (72 * y2)
    total += (m + 2) * next_half * _bessel_three((4 * k + 5) / root) / (6 * y2)
    total += 7 * m * half * _bessel_two((4 * k + 1) / root) / (144 * y1)
    total += 7 * m * half * _bessel_two((4 * k + 5) / root) / (144 * y1)
    term: Float = total / (np.pi * float(gamma(k + 1.0)))
    return term


def _bessel_two(y: Float) -> Float:
    z = y**2 / 4
    out: Float = np.exp(-z) * (y / 2) ** 1.5 * (kv(0.25, z) + kv(0.75, z)) / np.sqrt(np.pi)
    return out


def _bessel_three(y: Float) -> Float:
    z = y**2 / 4
    bessel = 2 * kv(0.25, z) + 3 * kv(0.75, z) - kv(1.25, z)
    out: Float = np.exp(-z) * (y / 2) ** 2.5 * bessel / np.sqrt(np.pi)
    return out


# ---- Exact null laws of two-sample tests, for sides too small for the normal limit ----


SMALL = 100
"""A side with fewer scores than this is tested by an exact law."""

TINY = float(np.finfo(np.float64).tiny)
"""The smallest p-value given: what is smaller than a double holds is still not 0."""

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

    Without ties by the law of all arrangements. Scores that tie anywhere are relabelled, all
    label sets where they are few, else `PERMUTATIONS` drawn from rng: which of the two is chosen
    does not depend on the labels, so that the level holds.
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
    # One side is small and the other large: the law is close to normal, with lighter tails.
    sd = np.sqrt(n_p * n_q * (n_p + n_q + 1) / 12)
    return np.maximum(
        ndtr(-(pairs - 0.5 - n_p * n_q / 2) / sd), smallest_two_sample_pvalue(n_p, n_q)
    )


@lru_cache(maxsize=16)
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
    tail = np.minimum(law[m, ::-1].cumsum()[::-1], 1.0)
    tail.flags.writeable = False
    return tail


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
def _fair(tosses: int) -> Float:
    """P(B >= b), b = 0..tosses, of a fair coin."""
    law = np.exp(_log_choose(tosses) - tosses * np.log(2))
    tail = np.minimum(law[::-1].cumsum()[::-1], 1.0)
    tail.flags.writeable = False
    return tail


@lru_cache(maxsize=16)
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
    table = np.clip(worst, TINY, 1.0)[where].reshape(n_p + 1, n_q + 1)
    table.flags.writeable = False
    return table


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
