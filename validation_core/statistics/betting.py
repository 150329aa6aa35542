"""Evidence against uniform ranks, one after the other: valid whenever one looks.

Under the null U_1, U_2, .. are independent and uniform on (0, 1). Who bets on each of them by a
density f has wealth W_t = f(U_1) .. f(U_t), a martingale of mean 1, and so has any average of such
wealths, over densities and over several sequences of one table. Hence the chance that it ever
reaches 1 / alpha is at most alpha (Ville), and 1 / max W is a p-value at every t at once.

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


def log_wealth(u: Array) -> Float:
    """Log wealth (n,) after each of n ranks, averaged over S sequences and over all bets.

    Args:
        u: ranks in (0, 1): (S, n); independent and uniform along n under the null, S in any way
            dependent.
    """
    u = np.clip(u, _NEVER_0, 1 - _NEVER_0)
    below, above = np.log(u), np.log1p(-u)  # (S, n)
    each = [np.cumsum((a - 1) * below + (b - 1) * above - betaln(a, b), axis=-1) for a, b in BETS]
    bets = np.concatenate(each)  # (25 S, n)
    return np.asarray(logsumexp(bets, axis=0) - math.log(len(bets)))


def anytime_pvalue(wealth: Array) -> float:
    """p-value of a log wealth (n,), however long one looks: 1 / the largest, at most 1."""
    return float(min(1.0, math.exp(-max(0.0, float(np.max(wealth, initial=0.0))))))
