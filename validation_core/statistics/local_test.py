"""Does a classifier tell q's draws from the truth at one observation?

References:
    L-C2ST: local diagnostics for posterior approximations in simulation-based inference,
    Linhart, Gramfort & Rodrigues (2023), Section 3: T(x_o) = mean over q's draws at x_o of
    (d - 1/2)^2, against classifiers whose labels carry nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from validation_core.pieces import slices
from validation_core.statistics.intervals import holm
from validation_core.statistics.permutation import SUMMATION_ROUNDING, share_beyond
from validation_core.statistics.ranks import require_numbers
from validation_core.types import Float, Integers

_NUMBERS = 1 << 20  # logits turned into probabilities at a time


class _Local(NamedTuple):
    """The test at each of P observations."""

    statistic: Float  # (..., P)
    nulls: Float  # (..., P, H)
    pvalue: Float  # (..., P)
    adjusted: Float  # (..., P), by Holm over the P observations

    @property
    def worst(self) -> Integers:
        """Index (...) of the observation with the smallest p-value.

        Among equal ones, the one whose statistic is the largest multiple of its null's mean.
        """
        mean = self.nulls.mean(axis=-1) if self.nulls.shape[-1] else np.ones(self.pvalue.shape)
        excess = self.statistic / np.maximum(mean, np.finfo(np.float64).tiny)
        return np.lexsort((-excess, self.pvalue), axis=-1)[..., 0]


def distance_of_probabilities(d: ArrayLike) -> Float:
    """T = mean (d - 1/2)^2 of probabilities (..., K): (...), between 0 and 1/4.

    Which class is called 1 does not matter.
    """
    return ((np.asarray(d, dtype=np.float64) - 0.5) ** 2).mean(axis=-1)


def distance_of_logits(logits: ArrayLike) -> Float:
    """`distance_of_probabilities` of sigmoid(logits), (..., K) to (...), in bounded memory.

    Raises:
        ValueError: if a logit is NaN.
    """
    table = np.asarray(logits)
    rows = table.reshape(-1, table.shape[-1])
    out = np.empty(len(rows))
    step = max(1, _NUMBERS // max(table.shape[-1], 1))
    for part in slices(len(rows), step):
        out[part] = distance_of_probabilities(
            expit(require_numbers(rows[part]).astype(np.float64))
        )
    return out.reshape(table.shape[:-1])


def local(statistic: ArrayLike, nulls: ArrayLike) -> _Local:
    """T (..., P) at P observations against its nulls (..., P, H) there.

    p-value = (1 + number of nulls at least T) / (H + 1): never 0. Under the global null, p = q at
    every x, it is exact if the H + 1 classifiers are exchangeable; where only p = q at this x_o,
    it is approximate, better the less the classifier smooths over x.
    """
    observed, spread = np.asarray(statistic, np.float64), np.asarray(nulls, np.float64)
    pvalue = share_beyond(observed, spread, SUMMATION_ROUNDING * observed)
    return _Local(observed, spread, pvalue, holm(pvalue))


def least_pvalue(points: int, nulls: int) -> float:
    """The smallest p-value that Holm leaves over this many observations with H nulls."""
    return min(1.0, points / (nulls + 1))
