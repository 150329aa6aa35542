"""Evidence against uniform ranks, one after the other: valid whenever one looks.

Under the null each rank U_t is uniform on (0, 1) given all that was seen before it. Who bets on
it by a density f has wealth W_t = f(U_1) .. f(U_t), and E[W_t | the past] = W_(t-1) times the
integral of f, which is 1: a martingale of mean 1. So is any average of such wealths, over
densities and over several sequences of one table, however these depend on one another. A rank may
be that of a score which was learned from the past rows: given them the score is fixed, and the
rank of a true value among draws of its own law is uniform as before. Hence the chance that the
wealth ever reaches 1 / alpha is at most alpha (Ville), and 1 / max W is a p-value at every t at
once.

References:
    Ville (1939), Étude critique de la notion de collectif.
    Shafer (2021), Testing by betting.
    Pandeva, Bakker, Naesseth, Forré (2024), E-valuating classifier two-sample tests.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import betaln, logsumexp

from validation_core.types import Array, Float

_SHAPES = (0.5, 0.8, 1.0, 1.25, 2.0)
BETS = tuple((a, b) for a in _SHAPES for b in _SHAPES)
"""Parameters (a, b) of the Beta densities that are bet on, with equal shares of the wealth."""
_NEVER_0 = 1e-12  # a rank that rounds to 0 or 1 would end the game


def log_bets(u: Array) -> Float:
    """Log densities (25, ...) of all bets at ranks (...) in (0, 1)."""
    u = np.clip(u, _NEVER_0, 1 - _NEVER_0)
    below, above = np.log(u), np.log1p(-u)
    return np.stack([(a - 1) * below + (b - 1) * above - betaln(a, b) for a, b in BETS])


def log_wealth(u: Array) -> Float:
    """Log wealth (n,) after each of n ranks, averaged over S sequences and over all bets.

    Args:
        u: ranks in (0, 1): (S, n); uniform given the past along n under the null, S in any way
            dependent.
    """
    bets = np.cumsum(log_bets(u), axis=-1)  # (25, S, n)
    return mean_wealth(bets.reshape(-1, bets.shape[-1]))


def mean_wealth(logs: Array) -> Float:
    """Log of the mean of wealths, of logs (S, ...): (...)."""
    return np.asarray(logsumexp(logs, axis=0) - math.log(len(logs)))


def anytime_pvalue(wealth: Array) -> float:
    """p-value of a log wealth (n,), however long one looks: 1 / the largest, at most 1."""
    return float(min(1.0, math.exp(-max(0.0, float(np.max(wealth, initial=0.0))))))
