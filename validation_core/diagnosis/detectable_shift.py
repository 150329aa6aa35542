"""The smallest shift, in posterior sds, that a test of a table finds with 80% power."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from scipy.special import binom, ndtr, ndtri

from validation_core.relabelling.normal_scores import MOST
from validation_core.relabelling.places import functions_of_x
from validation_core.relabelling.pools import PoolSizes
from validation_core.rng import stream
from validation_core.statistics.two_sample_laws import kolmogorov_quantile
from validation_core.types import Float

POWER = 0.8
_WIDEST = 4.0  # posterior sds: a larger shift needs no test
_CELLS = 80_000  # trials times rows of one simulated power: its shift is known to about 3%
_ROWS = 1000
_STEPS = 7  # halvings of the bracket, to 3% of its middle
_FIFTHS = 400  # of x, at random, with an error each
_DRIFTS = 10  # halvings of the bracket, to a hundredth of what a thousand rows show
_FINE = 20  # halvings of a bracket whose power is no simulation
_SHIFTS = 200  # that are tried, up to the widest
_DRAWS = 100  # more drift alike
_NODES = ndtri((np.arange(100) + 0.5) / 100)  # of a standard normal truth, equally likely


@lru_cache(maxsize=256)
def detectable_shift_by_ranks(n: int, k: int, level: float) -> float:
    """Shift of one parameter that a KS test of n ranks among k draws finds with 80% power.

    Simulated for a posterior of normal shape: the truth ranks among q's draws as z + shift does
    among standard normals, so that the number of draws below it is Binomial(k, Phi(z + shift)).
    Above 1000 rows the shift is scaled from there with 1 / sqrt(n).

    Args:
        n: simulations.
        k: draws of q at each.
        level: of this one KS test, all corrections included.
    """
    rows = min(n, _ROWS)
    trials = min(_CELLS // rows, 400)
    z = stream(0, "sensitivity", rows, "truths").standard_normal((trials, rows))
    critical = kolmogorov_quantile(level, rows)
    # A shift moves the ranks' law by at most shift / sqrt(2 pi) (less with few draws), and 80%
    # power needs about the critical distance.
    widest = min(2 * critical * np.sqrt(2 * np.pi) * (k + 1) / k, _WIDEST)
    shift = _least(lambda shift: _power(z + shift, k, critical), widest, _STEPS)
    return float(shift * np.sqrt(rows / n))


def _least(power: Callable[[float], float], widest: float, halvings: int) -> float:
    """The least error up to the widest that is found with the power aimed at, by halving."""
    low, high = 0.0, widest
    for _ in range(halvings):
        middle = (low + high) / 2
        low, high = (low, middle) if power(middle) >= POWER else (middle, high)
    return high


def _power(shifted: np.ndarray, k: int, critical: float) -> float:
    # The same stream at every shift: the bracket narrows on one curve, not on noise.
    rng = stream(0, "sensitivity", shifted.shape[1], k)
    u = (rng.binomial(k, ndtr(shifted)) + rng.random(shifted.shape)) / (k + 1)
    u.sort(axis=-1)
    n = u.shape[-1]
    steps = np.arange(n) / n
    distance = np.maximum((u - steps).max(-1), (steps + 1 / n - u).max(-1))
    return float((distance > critical).mean())


def detectable_shift_by_relabelling(
    pools: PoolSizes, critical: float, parameters: int = 1
) -> float:
    """Shift of one parameter that relabelling within x finds with 80% power by its mean score.

    The sum of the normal scores of a pool's true values drifts by its variance times the shift
    times the scores' correlation with the expected order statistics: 1 with many draws, .56 with
    one.

    Args:
        pools: of the rows that are tested.
        critical: the mean from which on it is found, standardised as if true values of one pool
            were independent.
        parameters: of the table; of many, other rows must have chosen the shifted one as well.
    """
    sizes, at = np.unique(pools.truths + pools.draws, return_inverse=True)
    weights = np.bincount(at, weights=pools.variances)
    share = weights / weights.sum()
    correlation = np.array([_correlation(size - 1) for size in sizes]) @ share
    variance = pools.independent  # of the standardised mean
    drift, sd = np.sqrt(pools.truths.sum()) * variance * correlation, np.sqrt(variance)
    if parameters <= MOST:
        return float(min((critical + sd * ndtri(POWER)) / drift, _WIDEST))

    def power(shift: float) -> float:
        off = drift * shift / sd
        return float(ndtr(off - critical / sd)) * _chosen(off, parameters)

    return _least(power, _WIDEST, _FINE)


def _correlation(k: int) -> float:
    """Of the normal scores of ranks among k draws with the expected order statistics."""
    place = np.arange(1, k + 2)
    expected = ndtri((place - 0.375) / (k + 1.25))  # Blom 1958
    return float((_normal_scores(k) * expected).mean())


def _chosen(off: float, parameters: int) -> float:
    """Chance that a parameter is among those looked at, where its mean score at the rows that
    choose them is so many sds off, and neither place nor width of any other is."""
    if parameters <= MOST:
        return 1.0
    usual = np.sqrt(max(0.0, 1 - MOST / (parameters - 1)))  # share of the other places, and widths
    return float(ndtr(off - ndtri((1 + usual) / 2)))


@lru_cache(maxsize=256)
def detectable_shift_over_x(
    n: int, k: int, over_x: float, mean: float, parameters: int = 1
) -> float:
    """Shift of one parameter, in a fifth of the rows next to one another along a coordinate of x,
    that relabelling within x finds with 80% power by its mean score: there against elsewhere, or
    over all rows.

    Simulated for normal scores that drift in a fifth at random, with relabelling's own functions
    of one coordinate. Above 1000 rows the drift is scaled from there with 1 / sqrt(n).

    Args:
        n: simulations.
        k: draws of q at each.
        over_x: the standardised contrast from which on it is found; inf where none is.
        mean: the standardised mean from which on it is found.
        parameters: of the table; of many, as many other rows must have chosen the shifted one by
            its mean over all of x.

    Returns:
        The shift in posterior sds; inf where not even the widest is found so often.
    """
    rows = min(n, _ROWS)
    rng = stream(0, "sensitivity", rows, "over x")
    first = rng.integers(rows - rows // 5 + 1, size=_FIFTHS)
    place = np.arange(rows, dtype=np.float64)[:, None]
    noise = rng.standard_normal((rows, _FIFTHS), np.float32)
    fifth = ((place >= first) & (place < first + rows // 5)).astype(np.float32)
    along = functions_of_x(place, rng)
    weights, sided = along.weights(np.ones((1, rows))), np.zeros(1, bool)

    def power(drift: float) -> float:
        scores = noise + np.float32(drift) * fifth
        whole = scores.sum(axis=0)[None]
        contrast = along.largest((along.columns.T @ scores)[:, None], whole, weights, sided)[0]
        found = (contrast > over_x).any(axis=(0, 1)) | (np.abs(whole[0]) > mean * rows**0.5)
        return float(found.mean()) * _chosen(drift * (rows // 5) / rows**0.5, parameters)

    if power(_WIDEST) < POWER:
        return np.inf
    drift = _least(power, _WIDEST, _DRIFTS) * (rows / n) ** 0.5
    shifts = np.linspace(0, _WIDEST, _SHIFTS + 1)
    return float(np.interp(drift, _drifts(shifts, k), shifts, right=np.inf))


def _normal_scores(k: int) -> Float:
    """Normal scores (k + 1,) of the ranks among k draws, of variance 1."""
    score = ndtri((np.arange(k + 1) + 0.5) / (k + 1))
    return np.asarray(score / score.std())


def _drifts(shifts: Float, k: int) -> Float:
    """Mean score (S,) of true values that are shifted by so many posterior sds, among k draws."""
    k = min(k, _DRAWS)
    score = _normal_scores(k)
    p = ndtr(_NODES + shifts[:, None])[..., None]  # that a draw lies below: (S, nodes, 1)
    place = np.arange(k + 1)
    law = binom(k, place) * p**place * (1 - p) ** (k - place)
    return np.asarray((law @ score).mean(axis=1))


def detectable_shift_by_scores(n_p: int, n_q: int, level: float) -> float:
    """Shift of one quantity that Multiple finds with 80% power when its score is the best one.

    For N(0, 1) against N(shift, 1) the best score has AUC Phi(shift / sqrt 2); the mean rank is
    normal with variance (1/n_p + 1/n_q) / 12. A trained classifier finds less.

    Args:
        n_p: rows of sample p.
        n_q: rows of sample q.
        level: of this one test, all corrections included.
    """
    sd = np.sqrt((1 / n_p + 1 / n_q) / 12)
    auc = 0.5 + (ndtri(1 - level) + ndtri(POWER)) * sd
    return float(min(np.sqrt(2) * ndtri(auc), _WIDEST)) if auc < 1 else _WIDEST
