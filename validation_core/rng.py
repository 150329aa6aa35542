"""Random streams: code passes a seed on, and makes a named generator where it draws."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import NoReturn, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from validation_core.types import Integers

_Size: TypeAlias = "int | tuple[int, ...]"


def stream(seed: int, *names: str | int | float) -> np.random.Generator:
    """A generator for one named use of a seed.

    Streams are distinguished by their names, not by the order of calls: a cached result never
    shifts the numbers drawn elsewhere, so cold and warm runs agree to the bit.

    Args:
        seed: of the result.
        names: of the use; each sequence of names has a stream of its own.
    """
    text = "/".join([str(int(seed)), *(str(name) for name in names)])
    digest = hashlib.sha256(text.encode()).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest[:16], "little")))


class Unsplit(Exception):
    """Draws were requested whose shape does not lead with one row for each stream."""


class Streams:
    """The generators of R trials as one: row r of any draw comes from generator r alone.

    A test of R trials at once thus draws for each trial the numbers that it draws for that trial
    alone. Draws that do not lead with R rows raise `Unsplit`, and so do rarely used distributions:
    tests that need those are run trial by trial.
    """

    def __init__(self, generators: Sequence[np.random.Generator]) -> None:
        self._generators = generators

    def __getattr__(self, name: str) -> NoReturn:
        raise Unsplit(name)

    def random(self, size: int | tuple[int, ...] | None = None) -> NDArray[np.float64]:
        """Uniform numbers of a size (R, ...)."""
        own = self._own(size)
        return np.stack([generator.random(own) for generator in self._generators])

    def binomial(self, n: ArrayLike, p: ArrayLike) -> Integers:
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
    """Common random numbers: each distribution has a stream of its own, one number a draw.

    Slightly different settings (a shift, a share, degrees of freedom) thus give slightly different
    draws: the same normals and uniforms, whatever else is drawn between them.
    """
    return cast("np.random.Generator", _Common(seed, *names))


class _Common:
    """The distributions that benchmarks use: normal, uniform, chi-square, one of a few values."""

    def __init__(self, seed: int, *names: str | int | float) -> None:
        laws = ("normal", "random", "uniform", "chisquare", "choice")
        self._of = {law: stream(seed, *names, law) for law in laws}

    def standard_normal(self, size: _Size) -> NDArray[np.float64]:
        return self._of["normal"].standard_normal(size)

    def random(self, size: _Size) -> NDArray[np.float64]:
        return self._of["random"].random(size)

    def uniform(self, low: float, high: float, size: _Size) -> NDArray[np.float64]:
        return low + (high - low) * self._of["uniform"].random(size)

    def choice(self, values: ArrayLike, size: _Size) -> NDArray[np.float64]:
        """Any of these numbers, each as likely."""
        those = np.asarray(values, np.float64)
        return those[self._of["choice"].integers(len(those), size=size)]

    def chisquare(self, df: float, size: _Size) -> NDArray[np.float64]:
        """By the inverse survival function: a draw varies smoothly with the degrees of freedom."""
        from scipy.special import chdtri  # a tenth of a second, for one benchmark's sake

        return np.asarray(chdtri(df, self._of["chisquare"].random(size)))
