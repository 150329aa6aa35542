"""The order of q's draws within rows, which means nothing: some of them are picked at random.

Draws are independent given x, but they may be saved in an order: sorted, by their likelihood, or
as a chain went. The first ones of such rows are no draws of q.
"""

from __future__ import annotations

import numpy as np

from validation_core.pieces import slices
from validation_core.rng import stream
from validation_core.tables import repeats
from validation_core.types import Array, Integers

_NUMBERS = 1 << 21  # of which columns are picked at a time


def random_columns(
    n: int, k: int, most: int, rng: np.random.Generator, counts: Integers | None = None
) -> Integers:
    """Columns (n, most) of k draws in each of n rows, at random and without replacement.

    A row's columns are the same however many rows come with it.

    Args:
        n: rows.
        k: draws of each.
        most: columns of each.
        rng: picks them.
        counts: (n,) how many of the k draws a row has, the first ones; None for all.
    """
    out = np.empty((n, most), np.int64)
    for rows in slices(n, max(1, _NUMBERS // max(1, k))):
        chance = rng.random((len(out[rows]), k))
        if counts is not None:  # those that are not there come last
            chance[np.arange(k) >= counts[rows, None]] = 2.0
        out[rows] = chance.argsort(axis=1, kind="stable")[:, :most]
    return out


def kept_columns(counts: Integers, k: int, most: int) -> Integers:
    """Columns (n, most) of the draws that rows of unequal numbers keep: any, in their order.

    Args:
        counts: (n,) draws of each row, the first ones of its k.
        k: columns.
        most: draws that are kept.
    """
    rng = stream(0, "draws that are kept")
    return np.sort(random_columns(len(counts), k, most, rng, counts), axis=1)


def some_draws(q: Array, most: int, rng: np.random.Generator) -> Array:
    """Draws (n, K', D) of each row of q (n, K, D), at most so many: picked at random, or all as
    they are.
    """
    n, k, _ = q.shape
    if k <= most:
        return q
    return draws_at(q, random_columns(n, k, most, rng))


def draws_at(values: Array, columns: Integers) -> Array:
    """What is of the draws, (n, K, ...), at each row's own columns (n, K')."""
    return np.asarray(values[np.arange(len(values))[:, None], columns])


def shuffling(q: Array) -> Integers | None:
    """Columns (n, K) that leave draws (n, K, D) in no order; None where they show none.

    Whether they do is seen in the draws alone, so that a true value is as likely as before to have
    any rank among those that are picked.
    """
    if not repeats.are_in_order(q):
        return None
    n, k, _ = q.shape
    return random_columns(n, k, k, stream(0, "draws in no order"))
