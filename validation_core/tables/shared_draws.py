"""Rows of a table that share one set of draws."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy
from numpy.typing import NDArray

from validation_core.hashing import HashWords, hashed
from validation_core.pieces import slices
from validation_core.types import Array, Integers, PosteriorTable

_FEWEST = 3  # draws: of one or two an equal set tells nothing
_CHANCE = 1e-6  # that a table of independent rows is said to share any
_NUMBERS = 1 << 16  # of theta_q looked at together, so that they stay in the cache
# Odd constants that mix bits: 2^64 over the golden ratio, and splitmix64's.
_GOLDEN, _MIXER = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)
_SALT = np.array([0xD1CE], np.uint64)


def shared_draw_groups(data: PosteriorTable) -> Integers | None:
    """Group rows that hold the same draws.

    Rows of one group hold the same K draws, in any order. Discrete parameters repeat sets by
    chance: a row whose K draws fall on values c_1, c_2, ... times has such a set with probability
    at most K! / prod c_i! prod (c_i / K)^c_i, whatever its posterior is. Rows are said to share
    a set where more hold it than N rows of that chance explain (binomial, 1e-6 for the table).
    So a point mass, or a single binary parameter at any K, is never said to be shared; K distinct
    draws have K! / K^K, and 10 of them are in two rows at once only if they were pasted. With
    K < 3 nothing can be told; from 3 to 9 draws many rows must hold one set.

    Args:
        data: the table.

    Returns:
        the group (N,) of each row, numbered from 0; None where every row has draws of its own.
    """
    n, k, _ = data.q.shape
    if k < _FEWEST or n < 2:
        return None
    suspects = _repeating(_sums(data.q))
    if not len(suspects):
        return None
    words = _sets(data.q, suspects)
    _, first, inverse, count = np.unique(
        words, return_index=True, return_inverse=True, return_counts=True
    )
    several = np.flatnonzero(count > 1)
    if not len(several):
        return None
    chance = _chances(data.q[suspects[first[several]]])
    pasted = several[scipy.special.bdtrc(count[several] - 1, n, chance) * n < _CHANCE]
    if not len(pasted):
        return None
    of_set = np.full(len(count), -1)
    of_set[pasted] = suspects[first[pasted]]
    label = np.arange(n)
    inverse = inverse.reshape(-1)
    label[suspects] = np.where(of_set[inverse] >= 0, of_set[inverse], suspects)
    return np.unique(label, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _sums(q: Array) -> HashWords:
    """Sums (N,) of the bits of each row's draws: equal sets have equal sums."""
    n = len(q)
    out = np.empty(n, np.uint64)
    for part in _parts(q):
        block = np.ascontiguousarray(q[part])
        bits = block.reshape(len(block), -1).view(f"u{block.dtype.itemsize}")
        out[part] = bits.sum(axis=1, dtype=np.uint64)
    return out


def _repeating(words: HashWords) -> Integers:
    """The rows whose word (N,) another row has, too."""
    _, inverse, count = np.unique(words, return_inverse=True, return_counts=True)
    return np.flatnonzero(count[inverse.reshape(-1)] > 1)


def _sets(q: Array, rows: Integers) -> HashWords:
    """A word for the set of draws of each of these rows, whatever their order."""
    k, d = q.shape[1:]
    odd = (_GOLDEN * np.arange(1, d + 1, dtype=np.uint64)) | np.uint64(1)
    out = np.empty(len(rows), np.uint64)
    for part in _parts(q, len(rows)):
        block = np.ascontiguousarray(q[rows[part]])
        bits = block.view(f"u{block.dtype.itemsize}").reshape(-1, d).astype(np.uint64, copy=False)
        # Of simple numbers only the highest bits are set, which a product would lose.
        totals = (bits ^ (bits >> np.uint64(32))) @ odd
        totals ^= totals >> np.uint64(29)
        totals *= _MIXER
        totals ^= totals >> np.uint64(32)
        out[part] = totals.reshape(-1, k).sum(axis=1, dtype=np.uint64)
    return out


def _parts(q: Array, rows: int | None = None) -> Iterator[slice]:
    """Slices of the rows of q (N, K, D), or of so many rows like these, of a bounded size."""
    count = len(q) if rows is None else rows
    step = max(1, _NUMBERS // (q.shape[1] * q.shape[2]))
    return slices(count, step)


def _chances(q: Array) -> NDArray[np.float64]:
    """The largest probability (G,) that any law gives to the draws of each row (G, K, D)."""
    g, k, d = q.shape
    words = np.sort(hashed(q.reshape(-1, d), _SALT).reshape(g, k), axis=1)
    new = np.ones((g, k), dtype=bool)
    new[:, 1:] = words[:, 1:] != words[:, :-1]
    starts = np.flatnonzero(new)
    counts = np.diff(np.append(starts, g * k)).astype(np.float64)
    each = counts * np.log(counts / k) - scipy.special.gammaln(counts + 1)
    log = scipy.special.gammaln(k + 1.0) + np.bincount(starts // k, weights=each, minlength=g)
    return np.minimum(np.exp(log), 1.0)
