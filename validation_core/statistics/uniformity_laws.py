"""Null laws of Kolmogorov-Smirnov, Anderson-Darling and Cramér-von Mises."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.polynomial import Polynomial
from numpy.polynomial.chebyshev import chebval
from scipy.special import gamma, gammaln, kv

from validation_core.shared_arrays import read_only
from validation_core.types import Array, Float

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
@read_only
def _durbin_series(k: int, upper: int, n: int) -> Float:
    """Chebyshev coefficients over h = k - n d in [0, 1/2], or in [1/2, 1] for the upper half."""
    h = (np.cos(_ANGLES) + 1 + 2 * upper) / 4
    return np.asarray(durbin_matrix_entry(h, k, n) @ _SERIES)


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
@read_only
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
    """Correction of Marsaglia and Marsaglia to the limiting probability 1 - sf at finite n."""
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
