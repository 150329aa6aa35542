"""Two tests of all features and all windows of x together.

Variation: is a feature the same at every x? Rows are permuted, all features alike (Westfall,
Young, Resampling-based multiple testing, 1993, Algorithm 4.1: max statistics, stepping down).
Exact for each feature over all its windows. Over several features it is exact where what ties
them together is the same at every x; where that changes, permuted rows are tied less than the
real ones and the test rejects less.

Correctness: are the values those of a right q? In every row one of the exchangeable values plays
the truth: exact for all features and windows together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core.diagnosis.questions.over_x.windows import ScanWindows
from validation_core.pieces import slices
from validation_core.relabelling.played_truths import pick_slots, played
from validation_core.statistics.permutation import step_down
from validation_core.types import Array

_NUMBERS = 2_000_000  # of all stretches at a time


class ScanTest(NamedTuple):
    """Test of F features over C coordinates (the discs as one more)."""

    statistic: Array
    """(F, C) the largest |z| over the stretches of a coordinate."""
    adjusted: Array
    """(F, C) p, adjusted for all of them."""
    null: Array
    """(B,) the largest of all in each null table."""

    @property
    def pvalue(self) -> float:
        """p-value of the largest of all."""
        return float(self.adjusted.min())


def scan_variation(
    truth: NDArray[np.float32],
    over: ScanWindows,
    count: int,
    rng: np.random.Generator,
    progress: Callable[[float], None] = lambda done: None,
) -> ScanTest:
    """Whether the features (F, n) of the truth change over x."""
    n = truth.shape[1]
    mean = truth.mean(axis=1, dtype=np.float64)
    sd = truth.std(axis=1, dtype=np.float64)
    centred = ((truth - mean[:, None]) / np.where(sd > 0, sd, np.inf)[:, None]).astype(np.float32)
    factors = [_within(size, n, over.least) for size in over.sizes()]
    observed = _largest(centred[:, None], over, factors)[:, 0]

    def shuffled(tables: int) -> NDArray[np.float32]:
        rows = rng.permuted(np.tile(np.arange(n), (tables, 1)), axis=1)
        return np.take(centred, rows, axis=1)

    return _against(observed, shuffled, over, factors, count, progress)


def scan_correctness(
    scores: NDArray[np.float32],
    over: ScanWindows,
    count: int,
    rng: np.random.Generator,
    progress: Callable[[float], None] = lambda done: None,
) -> ScanTest:
    """Whether the features are those of a right q; scores (F, J + 1, n), the truth first."""
    _, slots, n = scores.shape
    factors = [_alone(size, over.least) for size in over.sizes()]
    observed = _largest(scores[:, :1], over, factors)[:, 0]

    def relabelled(tables: int) -> NDArray[np.float32]:
        return played(scores, pick_slots(tables, n, slots, rng))

    return _against(observed, relabelled, over, factors, count, progress)


def window_z(values: NDArray[np.float32], over: ScanWindows) -> list[Array]:
    """Signed z (F, C, W), (F, 1, V) of standardised features (F, n) in every stretch."""
    factors = [_within(size, values.shape[1], over.least) for size in over.sizes()]
    return [sums * factor for sums, factor in zip(over.sums(values), factors, strict=True)]


def _within(size: Array, n: int, least: float) -> NDArray[np.float32]:
    """1 / the sd of a centred sum over so many of n rows; 0 where they are too few."""
    enough = (size >= least) & (n - size >= least)
    spread = np.sqrt(size * (1 - size / n))
    return np.where(enough, 1 / np.where(enough, spread, 1), 0).astype(np.float32)


def _alone(size: Array, least: float) -> NDArray[np.float32]:
    """1 / the sd of a sum over so many rows; 0 where they are too few."""
    enough = size >= least
    return np.where(enough, 1 / np.sqrt(np.where(enough, size, 1)), 0).astype(np.float32)


def _largest(
    values: NDArray[np.float32], over: ScanWindows, factors: list[NDArray[np.float32]]
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
    observed: Array,
    null_features: Callable[[int], NDArray[np.float32]],
    over: ScanWindows,
    factors: list[NDArray[np.float32]],
    count: int,
    progress: Callable[[float], None],
) -> ScanTest:
    """The observed (F, C) against null tables, whose features (F, b, n) come b at a time."""
    nulls = np.empty((len(observed), count, observed.shape[1]), np.float32)
    for part in _null_parts(count, len(observed), over):
        nulls[:, part] = _largest(null_features(part.stop - part.start), over, factors)
        progress(part.stop / count)
    flat = nulls.transpose(1, 0, 2).reshape(count, -1)
    adjusted = step_down(observed.ravel(), flat).reshape(observed.shape)
    return ScanTest(np.asarray(observed, np.float64), adjusted, flat.max(1).astype(np.float64))


def _null_parts(count: int, features: int, over: ScanWindows) -> Iterator[slice]:
    n, columns = over.blocks.shape[0], over.counts.size + over.discs.shape[1]
    step = max(1, min(_NUMBERS // max(1, features * columns), _NUMBERS // max(1, features * n)))
    return slices(count, step)
