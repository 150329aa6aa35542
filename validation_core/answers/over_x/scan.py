"""Two tests of a map over x, all features and all stretches together.

`varies`: is a feature the same at every x? Rows are permuted, all features alike (Westfall,
Young, Resampling-based multiple testing, 1993, Algorithm 4.1: max statistics, stepping down).
Exact for each feature over all its stretches. Over several features it is exact where what ties
them together is the same at every x; where that changes, permuted rows are tied less than the
real ones and the test rejects less.

`right`: are the values those of a right q? In every row one of the K + 1 exchangeable values
plays the truth: exact for all features and stretches together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core.answers.over_x.windows import Windows
from validation_core.omnibus.battery import step_down
from validation_core.types import Array

_NUMBERS = 2_000_000  # of all stretches at a time


class Tested(NamedTuple):
    """Of F features over C coordinates (the discs as one more)."""

    statistic: Array
    """(F, C) the largest |z| over the stretches of a coordinate."""
    adjusted: Array
    """(F, C) p, adjusted for all of them."""
    null: Array
    """(B,) the largest of all in each null table."""

    @property
    def pvalue(self) -> float:
        """Of the largest of all."""
        return float(self.adjusted.min())


def varies(
    truth: NDArray[np.float32], over: Windows, count: int, rng: np.random.Generator,
    progress: Callable[[float], None] = lambda done: None,
) -> Tested:  # fmt: skip
    """Whether the features (F, n) of the truth change over x."""
    n = truth.shape[1]
    mean = truth.mean(axis=1, dtype=np.float64)
    sd = truth.std(axis=1, dtype=np.float64)
    centred = ((truth - mean[:, None]) / np.where(sd > 0, sd, np.inf)[:, None]).astype(np.float32)
    factors = [_within(size, n, over.least) for size in over.sizes()]
    seen = _largest(centred[:, None], over, factors)[:, 0]

    def shuffled(size: int) -> NDArray[np.int64]:
        return rng.permuted(np.tile(np.arange(n), (size, 1)), axis=1)

    return _against(seen, centred, shuffled, over, factors, count, progress)


def right(
    scores: NDArray[np.float32], over: Windows, count: int, rng: np.random.Generator,
    progress: Callable[[float], None] = lambda done: None,
) -> Tested:  # fmt: skip
    """Whether the features are those of a right q; scores (F, J + 1, n), the truth first."""
    f, j, n = scores.shape
    factors = [_alone(size, over.least) for size in over.sizes()]
    seen = _largest(scores[:, :1], over, factors)[:, 0]

    def swapped(size: int) -> NDArray[np.int64]:
        return rng.integers(j, size=(size, n)) * n + np.arange(n)

    return _against(
        seen, scores.reshape(f, j * n), swapped, over, factors, count, progress
    )  # fmt: skip


def z(values: NDArray[np.float32], over: Windows, *, n: int | None = None) -> list[Array]:
    """Signed z (F, C, W), (F, 1, V) of standardised features (F, n) in every stretch."""
    rows = values.shape[1] if n is None else n
    factors = [_within(size, rows, over.least) for size in over.sizes()]
    return [sums * factor for sums, factor in zip(over.sums(values), factors, strict=True)]


def _within(size: Array, n: int, least: float) -> NDArray[np.float32]:
    """What a centred sum over so many of n rows is multiplied by: 1 / its sd, 0 where too few."""
    enough = (size >= least) & (n - size >= least)
    spread = np.sqrt(size * (1 - size / n))
    return np.where(enough, 1 / np.where(enough, spread, 1), 0).astype(np.float32)


def _alone(size: Array, least: float) -> NDArray[np.float32]:
    enough = size >= least
    return np.where(enough, 1 / np.sqrt(np.where(enough, size, 1)), 0).astype(np.float32)


def _largest(
    values: NDArray[np.float32], over: Windows, factors: list[NDArray[np.float32]]
) -> Array:
    """The largest |z| of values (F, B, n) over each coordinate's stretches: (F, B, C)."""
    f, b, n = values.shape
    sums = over.sums(values.reshape(f * b, n))
    best = []
    for part, factor in zip(sums, factors, strict=True):
        part *= factor
        best.append(np.maximum(part.max(axis=2), -part.min(axis=2)))
    return np.concatenate(best, axis=1).reshape(f, b, -1)


def _against(
    seen: Array, source: NDArray[np.float32], draw: Callable[[int], NDArray[np.int64]],
    over: Windows, factors: list[NDArray[np.float32]], count: int,
    progress: Callable[[float], None],
) -> Tested:  # fmt: skip
    """What was seen (F, C) against null tables whose rows `draw` picks from source (F, S)."""
    nulls = np.empty((len(seen), count, seen.shape[1]), np.float32)
    for part in _parts(count, len(seen), over):
        picked = np.take(source, draw(part.stop - part.start), axis=1)  # (F, b, n)
        nulls[:, part] = _largest(picked, over, factors)
        progress(part.stop / count)
    flat = nulls.transpose(1, 0, 2).reshape(count, -1)
    adjusted = step_down(seen.ravel(), flat).reshape(seen.shape)
    return Tested(np.asarray(seen, np.float64), adjusted, flat.max(1).astype(np.float64))


def _parts(count: int, features: int, over: Windows) -> Iterator[slice]:
    n, columns = over.blocks.shape[0], over.counts.size + over.discs.shape[1]
    step = max(1, min(_NUMBERS // max(1, features * columns), _NUMBERS // max(1, features * n)))
    for first in range(0, count, step):
        yield slice(first, min(first + step, count))
