"""Randomness: a seed travels, a generator is made at the leaf as a named stream."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import NoReturn, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from validation_core.types import Array

_Size: TypeAlias = "int | tuple[int, ...]"


def stream(seed: int, *names: str | int | float) -> np.random.Generator:
    """A generator for one named use of a seed.

    The names, not the order of calls, tell streams apart: a result from the cache never shifts
    the numbers that another part draws, so cold and warm runs agree to the bit.
    """
    text = "/".join([str(int(seed)), *(str(name) for name in names)])
    digest = hashlib.sha256(text.encode()).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest[:16], "little")))


class Unsplit(Exception):
    """Numbers are asked of a row of streams that have no place for them in a stream's own row."""


class Streams:
    """Generators of R trials as one: row r of what is drawn comes from generator r alone.

    A test of R trials at once so draws for each the numbers that it draws for that one by itself,
    whatever trials stand beside it. Draws that do not lead with R rows raise `Unsplit`; so does
    what few tests ask for: those are run trial by trial.
    """

    def __init__(self, generators: Sequence[np.random.Generator]) -> None:
        self._generators = generators

    def __getattr__(self, name: str) -> NoReturn:
        raise Unsplit(name)

    def random(self, size: int | tuple[int, ...] | None = None) -> NDArray[np.float64]:
        """Uniform numbers of a size (R, ...)."""
        own = self._own(size)
        return np.stack([generator.random(own) for generator in self._generators])

    def binomial(self, n: ArrayLike, p: ArrayLike) -> NDArray[np.int64]:
        """Counts of n trials (...) with chances p (...), of shapes that lead with R together."""
        counts, chances = np.broadcast_arrays(n, p)
        self._own(counts.shape)
        rows = zip(self._generators, counts, chances, strict=True)
        return np.stack([generator.binomial(*row) for generator, *row in rows])

    def _own(self, size: int | tuple[int, ...] | None) -> tuple[int, ...]:
        """The shape of one stream's row."""
        if not isinstance(size, tuple) or len(size) < 2 or size[0] != len(self._generators):
            raise Unsplit(f"shape {size} for {len(self._generators)} streams")
        return size[1:]


def common(seed: int, *names: str | int | float) -> np.random.Generator:
    """A generator whose laws each draw from a stream of their own, by one number a draw.

    Two laws that differ a little (a shift, a share, degrees of freedom) give draws that differ a
    little: the same normals, the same uniforms, whatever else is drawn between them.
    """
    return cast("np.random.Generator", _Common(seed, *names))


class _Common:
    """What benchmarks draw: normals, uniforms, chi-squares."""

    def __init__(self, seed: int, *names: str | int | float) -> None:
        laws = ("normal", "random", "uniform", "chisquare")
        self._of = {law: stream(seed, *names, law) for law in laws}

    def standard_normal(self, size: _Size) -> NDArray[np.float64]:
        return self._of["normal"].standard_normal(size)

    def random(self, size: _Size) -> NDArray[np.float64]:
        return self._of["random"].random(size)

    def uniform(self, low: float, high: float, size: _Size) -> NDArray[np.float64]:
        return low + (high - low) * self._of["uniform"].random(size)

    def chisquare(self, df: float, size: _Size) -> NDArray[np.float64]:
        """By the inverse of its survival function: it moves with its degrees of freedom."""
        from scipy.special import chdtri  # a tenth of a second, for one benchmark's sake

        return np.asarray(chdtri(df, self._of["chisquare"].random(size)))


# ---- Uniform numbers that are a function of x ----
#
# A generator, but one that each row seeds itself.
#
# A row's truth and draws must meet one reference point, in whatever pieces they are scored, and a
# fresh x a fresh one. A generator for each row would cost microseconds; a mixer of the row's bits
# costs nanoseconds.
#
# References:
#     Fast splittable pseudorandom number generators, Steele, Lea & Flood (2014): SplitMix64.


Words = NDArray[np.uint64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_NUMBERS = 1 << 18  # of x hashed at a time, so that they stay in the cache


def hashed(x: Array, salt: Words) -> Words:
    """A 64-bit word (n,) for each row of x (n, M): equal numbers, equal words.

    Args:
        x: numbers of any float type; 0 and -0 are one.
        salt: one word (1,), which makes another function of x.
    """
    n, m = x.shape
    columns = _mixed(_steps(salt, m))
    out = np.empty(n, np.uint64)
    step = max(1, _NUMBERS // max(m, 1))
    for first in range(0, n, step):
        part = slice(first, first + step)
        bits = np.add(x[part], 0.0, dtype=np.float64).view(np.uint64)
        out[part] = _mixed(bits ^ columns).sum(axis=1, dtype=np.uint64)
    return _mixed(out + salt)


def occurrences(words: Words) -> NDArray[np.int64]:
    """How many earlier entries equal each one: (n,)."""
    order = np.argsort(words, kind="stable")
    ordered, places = words[order], np.arange(len(words))
    new = np.ones(len(words), dtype=bool)
    new[1:] = ordered[1:] != ordered[:-1]
    out = np.empty(len(words), np.int64)
    out[order] = places - np.maximum.accumulate(np.where(new, places, 0))
    return out


def again(words: Words, times: NDArray[np.int64]) -> Words:
    """Other words for the same rows: the first time (0) the words themselves."""
    return words ^ np.where(times > 0, _mixed(times.astype(np.uint64) * _GOLDEN), np.uint64(0))


def uniforms(words: Words, count: int) -> NDArray[np.float64]:
    """`count` independent numbers within (0, 1), ends excluded, from each word: (n, count)."""
    bits = _mixed(_steps(words[:, None], count)) >> np.uint64(12)
    return (bits.astype(np.float64) + 0.5) * 2.0**-52


def _steps(start: Words, count: int) -> Words:
    """SplitMix64's states after 1, 2, ... count steps: (..., count)."""
    return start + _GOLDEN * np.arange(1, count + 1, dtype=np.uint64)


def _mixed(words: Words) -> Words:
    """SplitMix64's output for each state: a bijection that spreads every bit over all."""
    words = (words ^ (words >> np.uint64(30))) * _FIRST
    words = (words ^ (words >> np.uint64(27))) * _SECOND
    return words ^ (words >> np.uint64(31))
