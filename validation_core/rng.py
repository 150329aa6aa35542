"""Randomness: a seed travels, a generator is made at the leaf as a named stream."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import NoReturn, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

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
