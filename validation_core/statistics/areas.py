"""Area under the curve with its standard error, and its best value as the density ratio gives it.

References:
    Conformal C2ST, Bansal, Chen & Scott (2025), Lemmas 3.2, 3.3 and A.4.
    Comparing the areas under two or more correlated receiver operating characteristic curves,
    DeLong, DeLong & Clarke-Pearson (1988).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from validation_core.statistics.ranks import PooledLaw
from validation_core.types import Array


class Estimate(NamedTuple):
    """An estimate and its standard error."""

    value: float
    error: float

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Normal interval of this level."""
        half = float(ndtri((1 + level) / 2)) * self.error
        return self.value - half, self.value + half


class Placements(NamedTuple):
    """Share of the other sample that each score beats, ties as half."""

    p: Array
    """(n_p,) share of q's scores below each score of p; its mean is the AUC."""
    q: Array
    """(n_q,) share of p's scores below each score of q; its mean is 1 - AUC."""

    @property
    def auc(self) -> Estimate:
        """AUC, by DeLong's standard error."""
        return _mean_of_two(self.p, self.q)

    def above(self, other: Placements) -> Estimate:
        """AUC less that of another score of the same draws, by DeLong's error of the pair."""
        return _mean_of_two(self.p - other.p, self.q - other.q)


def placements(p: ArrayLike, q: ArrayLike) -> Placements:
    """Placements of scores of p (n_p,) among those of q (n_q,), and the other way round.

    Raises:
        ValueError: if a sample is empty, or a score is NaN.
    """
    sides = np.asarray(p, np.float64), np.asarray(q, np.float64)
    below_p, equal_p = PooledLaw(sides[1]).cdf(sides[0])
    below_q, equal_q = PooledLaw(sides[0]).cdf(sides[1])
    return Placements(below_p + equal_p / 2, below_q + equal_q / 2)


def oracle_mean_rank(p: ArrayLike, q: ArrayLike) -> Estimate:
    """Mean rank of the oracle score, E[U] = 1/2 - E|r(X) - r(X')| / 4 with X, X' of q (Lemma A.4).

    E|r(X) - r(X')| is E[max(1 - r(X') / r(X), 0)] times two where X is of p: means of bounded
    terms, whereas a ratio at draws of q may have no variance.

    Args:
        p: log p - log q at independent draws of p (n_p,).
        q: log p - log q at independent draws of q (n_q,).
    """
    # Beyond e^300 a ratio is as good as infinite, and its inverse as 0.
    a, b = (np.sort(np.clip(np.asarray(side, np.float64), -300, 300)) for side in (p, q))
    up_to = np.searchsorted(b, a)  # of b, below each a
    below = np.concatenate([[0.0], np.cumsum(np.exp(b))])[up_to]
    first = np.searchsorted(a, b, side="right")  # of a, above each b
    above = np.concatenate([[0.0], np.cumsum(np.exp(-a[::-1]))])[len(a) - first]
    of_p = (up_to - np.exp(-a) * below) / len(b)
    of_q = (len(a) - first - np.exp(b) * above) / len(a)
    return _mean_of_two(0.5 - of_p / 2, 0.5 - of_q / 2)


def total_variation(ratio: ArrayLike) -> Estimate:
    """Total variation distance TV(p, q) = E[max(1 - r, 0)] over draws of q.

    Args:
        ratio: r = p / q at independent draws of q (n,).

    Raises:
        ValueError: if there are fewer than two ratios, or one is negative.
    """
    r = np.asarray(ratio, np.float64)
    if r.ndim != 1 or len(r) < 2 or not (r >= 0).all():
        raise ValueError(
            "a density ratio p / q is given at two draws of q or more, and never negative; got "
            f"shape {r.shape}; give exp(log p - log q)"
        )
    return mean_with_error(np.maximum(1 - r, 0))


def mean_with_error(values: Array) -> Estimate:
    """Mean of independent values (n,) and its standard error."""
    return Estimate(float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values))))


def _mean_of_two(p: Array, q: Array) -> Estimate:
    variance = p.var(ddof=1) / len(p) + q.var(ddof=1) / len(q)
    return Estimate(float(p.mean()), float(np.sqrt(variance)))
