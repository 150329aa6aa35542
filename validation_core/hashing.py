"""Uniform numbers as a function of x: each row's ties are broken alike in every batch.

A row's truth and draws must be compared with the same reference point in whatever batches they
are scored, and different x with different ones. Seeding a generator per row costs microseconds;
mixing the row's bits costs nanoseconds.

References:
    Fast splittable pseudorandom number generators, Steele, Lea & Flood (2014): SplitMix64.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from validation_core.pieces import slices
from validation_core.types import Array, Integers

HashWords = NDArray[np.uint64]
"""Rows as numbers of 64 bits."""
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
NUMBERS_AT_ONCE = 1 << 18  # of x hashed at a time, so that they stay in the cache


def hashed(x: Array, salt: HashWords) -> HashWords:
    """Hash each row to a 64-bit word: equal rows have equal words.

    Args:
        x: data (n, M) of any float type; 0 and -0 are equal.
        salt: one word (1,) that selects the hash function.

    Returns:
        Words (n,).
    """
    n, m = x.shape
    columns = _mixed(_steps(salt, m))
    out = np.empty(n, np.uint64)
    step = max(1, NUMBERS_AT_ONCE // max(m, 1))
    for part in slices(n, step):
        bits = np.add(x[part], 0.0, dtype=np.float64).view(np.uint64)
        out[part] = _mixed(bits ^ columns).sum(axis=1, dtype=np.uint64)
    return _mixed(out + salt)


def occurrences(words: HashWords) -> Integers:
    """The number of earlier entries equal to each one: (n,)."""
    order = np.argsort(words, kind="stable")
    ordered, places = words[order], np.arange(len(words))
    new = np.ones(len(words), dtype=bool)
    new[1:] = ordered[1:] != ordered[:-1]
    out = np.empty(len(words), np.int64)
    out[order] = places - np.maximum.accumulate(np.where(new, places, 0))
    return out


def again(words: HashWords, times: Integers) -> HashWords:
    """Words for repeated rows: the word itself for the first occurrence (0), another after."""
    return words ^ np.where(times > 0, _mixed(times.astype(np.uint64) * _GOLDEN), np.uint64(0))


def uniforms(words: HashWords, count: int) -> NDArray[np.float64]:
    """`count` independent numbers within (0, 1), ends excluded, from each word: (n, count)."""
    bits = _mixed(_steps(words[:, None], count)) >> np.uint64(12)
    return (bits.astype(np.float64) + 0.5) * 2.0**-52


def _steps(start: HashWords, count: int) -> HashWords:
    """SplitMix64's states after 1, 2, ... count steps: (..., count)."""
    return start + _GOLDEN * np.arange(1, count + 1, dtype=np.uint64)


def _mixed(words: HashWords) -> HashWords:
    """SplitMix64's output for each state: a bijection that spreads every bit over all."""
    words = (words ^ (words >> np.uint64(30))) * _FIRST
    words = (words ^ (words >> np.uint64(27))) * _SECOND
    return words ^ (words >> np.uint64(31))
