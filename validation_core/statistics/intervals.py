"""Intervals for rates and distribution functions, and adjusted p-values."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import bdtr, bdtrik, betaincinv, ndtr, ndtri

from validation_core.types import Float, Integers


def wilson(successes: ArrayLike, trials: ArrayLike, level: float = 0.95) -> tuple[Float, Float]:
    """Wilson's interval for a rate, from counts of successes.

    Args:
        successes: counts (...).
        trials: numbers of trials (...), at least 1.
        level: probability that the interval covers the rate.

    Returns:
        low (...) and high (...).

    Raises:
        ValueError: if the counts are no successes in at least one trial.

    References:
        Probable inference, the law of succession, and statistical inference, Wilson (1927).
    """
    k, n = _counts(successes, trials)
    z2 = ndtri((1 + _within(level)) / 2) ** 2
    centre = (k + z2 / 2) / (n + z2)
    half = np.sqrt(z2 * (k * (n - k) / n + z2 / 4)) / (n + z2)
    # At 0 and n the ends are 0 and 1 exactly; rounding would leave them beside.
    low = np.where(k == 0, 0.0, np.maximum(centre - half, 0.0))
    return low, np.where(k == n, 1.0, np.minimum(centre + half, 1.0))


def clopper_pearson(
    successes: ArrayLike, trials: ArrayLike, level: float = 0.95
) -> tuple[Float, Float]:
    """Exact interval for a rate, from counts of successes.

    Whatever the rate, it is covered with at least this probability. Counts may be parts of whole
    ones, as where a row is worth less than one.

    Args:
        successes: counts (...).
        trials: numbers of trials (...), at least 1.
        level: probability that the interval covers the rate.

    Returns:
        low (...) and high (...).

    Raises:
        ValueError: if the counts are no successes in at least one trial.

    References:
        The use of confidence or fiducial limits, Clopper & Pearson (1934).
    """
    k, n = _counts(successes, trials)
    tail = (1 - _within(level)) / 2
    low = np.where(k == 0, 0.0, betaincinv(np.where(k == 0, 1, k), n - k + 1, tail))
    high = np.where(k == n, 1.0, betaincinv(k + 1, np.where(k == n, 1, n - k), 1 - tail))
    return low, high


def _counts(successes: ArrayLike, trials: ArrayLike) -> tuple[Float, Float]:
    k, n = np.broadcast_arrays(np.asarray(successes, float), np.asarray(trials, float))
    if not ((n >= 1) & (k >= 0) & (k <= n)).all():
        raise ValueError(
            "a rate has 0 <= successes <= trials and at least one trial; got "
            f"{k.tolist()} of {n.tolist()}; run trials first"
        )
    return k, n


def _within(level: float) -> float:
    if not 0 < level < 1:
        raise ValueError(f"a level lies within (0, 1); got {level}; give 0.95 for 95%")
    return level


def higher_rate_pvalue(high: ArrayLike, low: ArrayLike, trials: int) -> Float:
    """One-sided p-value (...) that one rate is above another, each counted in as many trials.

    The pooled normal test of two proportions. It is conservative where both tests saw the same
    draws, so that their rejections go together.

    Args:
        high: rates (...) said to be higher.
        low: rates (...) said to be lower.
        trials: behind each rate.
    """
    one, other = np.asarray(high, np.float64), np.asarray(low, np.float64)
    pooled = (one + other) / 2
    error = np.sqrt(2 * pooled * (1 - pooled) / trials)
    return np.asarray(ndtr(-(one - other) / np.where(error > 0, error, 1)))


def holm(pvalues: ArrayLike) -> Float:
    """Holm's adjusted p-values over the last axis: (..., k).

    Rejecting those at most alpha keeps the chance of any false rejection below alpha, whatever
    the dependence between the tests.

    References:
        A simple sequentially rejective multiple test procedure, Holm (1979).
    """
    p = np.asarray(pvalues, dtype=np.float64)
    order = np.argsort(p, axis=-1, kind="stable")
    k = p.shape[-1]
    scaled = np.take_along_axis(p, order, axis=-1) * np.arange(k, 0, -1)
    out = np.empty_like(p)
    np.put_along_axis(out, order, np.maximum.accumulate(scaled, axis=-1), axis=-1)
    return np.minimum(out, 1.0)


def binomial_bounds(trials: int, rate: float, level: float = 0.99) -> tuple[int, int]:
    """Counts between which Binomial(trials, rate) lies with at least this probability.

    Returns:
        The smallest and the largest of these counts.

    Raises:
        ValueError: if the level is not within (0, 1).
    """
    outside = (1 - _within(level)) / 2
    low, high = binomial_quantile([outside, 1 - outside], trials, rate)
    return int(low), int(high)


def dkw(n: int, level: float = 0.95) -> float:
    """Half-width of the Dvoretzky-Kiefer-Wolfowitz band of an empirical distribution function.

    Args:
        n: number of independent draws.
        level: probability that the band covers the true function everywhere.

    Returns:
        The half-width, sqrt(log(2 / (1 - level)) / (2 n)).

    Raises:
        ValueError: if n < 1 or the level is not within (0, 1).

    References:
        The tight constant in the Dvoretzky-Kiefer-Wolfowitz inequality, Massart (1990).
    """
    if n < 1:
        raise ValueError(f"an empirical distribution has at least one draw; got {n}; draw some")
    return float(np.sqrt(np.log(2 / (1 - _within(level))) / (2 * n)))


def total_variation_bounds(auc: ArrayLike) -> tuple[Float, Float]:
    """Bounds on the total variation distance of p and q given an AUC: low, high (...).

    `low` holds for any score: one that tells p from q with this AUC needs TV >= 1 -
    sqrt(2 (1 - AUC)). `high` = 2 AUC - 1 holds for the oracle score only, whose curve passes
    through its best threshold and is concave.
    """
    area = np.clip(np.asarray(auc, dtype=np.float64), 0.0, 1.0)
    low = np.maximum(1 - np.sqrt(2 * (1 - area)), 0.0)
    return low, np.maximum(2 * area - 1, 0.0)


def binomial_quantile(q: ArrayLike, n: int, rate: ArrayLike) -> Integers:
    """The smallest counts (...) that Binomial(n, rate) exceeds with a chance of at most 1 - q."""
    q, rate = np.broadcast_arrays(np.asarray(q, np.float64), np.asarray(rate, np.float64))
    near = np.clip(np.nan_to_num(np.ceil(bdtrik(q, n, rate))), 0, n)
    near -= (near > 0) & (bdtr(np.maximum(near - 1, 0), n, rate) >= q)  # rounded up by a hair
    # Without chance there is one count.
    near = np.where(rate <= 0, 0, np.where(rate >= 1, n, near))
    return near.astype(np.int64)
