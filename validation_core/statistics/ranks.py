"""Ranks of test scores among calibration scores: exactly uniform under H0, ties included.

References:
    Conformal C2ST, Bansal, Chen & Scott (2025), Equation 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from validation_core.pieces import slices
from validation_core.types import Array, Float

CHUNK = 1 << 18
"""Scores compared at a time, so that the booleans stay in the cache."""

_SIDE = 256  # scores compared by one innermost loop


def count(test: ArrayLike, calibration: ArrayLike) -> tuple[Float, Float]:
    """How many calibration scores lie strictly below each test score, and how many equal it.

    Scores are compared as they are: a float32 draw equals a float64 truth only if that truth is a
    float32 number. Streams through the calibration scores piece by piece.

    Args:
        test: scores (..., n).
        calibration: scores (..., n, m), the m of each test score; leading axes broadcast.

    Returns:
        below (..., n) and equal (..., n).

    Raises:
        ValueError: if the shapes do not fit or a score is not a number.
    """
    test, calibration = np.asarray(test), np.asarray(calibration)
    if calibration.ndim < 2 or test.ndim < 1 or calibration.shape[-2] != test.shape[-1]:
        raise ValueError(
            "each test score has its own row of calibration scores; got test scores "
            f"{test.shape} and calibration scores {calibration.shape}; "
            "give (..., n) and (..., n, m)"
        )
    shape = np.broadcast_shapes(test.shape, calibration.shape[:-1])
    m = calibration.shape[-1]
    test = np.broadcast_to(require_numbers(test), shape)
    calibration = np.broadcast_to(calibration, (*shape, m))
    order = sorted(range(calibration.ndim), key=lambda axis: -calibration.strides[axis])
    if calibration.transpose(order).flags.c_contiguous:
        return _counted_in_place(test, calibration, order)
    below, equal = np.empty(shape), np.empty(shape)
    for piece in _pieces(shape, max(1, CHUNK // max(m, 1))):
        # What lies scattered is copied once, not read crosswise twice.
        scores = np.ascontiguousarray(calibration[piece])
        row = test[piece]
        piece_counts = _counted(row.reshape(-1, 1), scores.reshape(row.size, m, 1))
        below[piece], equal[piece] = (counts.reshape(row.shape) for counts in piece_counts)
    return below, equal


def midranks_among(test: ArrayLike, calibration: ArrayLike) -> Array:
    """Mid-ranks (..., n) in (0, 1) of test scores (..., n), each among its own m others
    (..., n, m) and itself; equal scores share one.

    >>> midranks_among([0.5, 2.0], [[0.0, 1.0, 2.0], [0.0, 1.0, 2.0]])
    array([0.375, 0.75 ])
    """
    below, equal = count(test, calibration)
    return np.asarray((below + 0.5 * equal + 0.5) / (np.shape(calibration)[-1] + 1))


def _counted_in_place(test: Array, calibration: Array, order: list[int]) -> tuple[Float, Float]:
    """Counts read in the order in which memory has the scores: a table (N, K, D) is not turned.

    Axes before that of the m scores (in memory) become rows, those after it columns.
    """
    last = calibration.ndim - 1
    place, m = order.index(last), calibration.shape[-1]
    leading = [axis for axis in order if axis != last]
    shape = tuple(test.shape[axis] for axis in leading)
    rows, columns = prod(shape[:place]), prod(shape[place:])
    laid = calibration.transpose(order).reshape(rows, m, columns)
    row = test.transpose(leading).reshape(rows, columns)
    below, equal = np.empty((rows, columns)), np.empty((rows, columns))
    step = max(1, CHUNK // max(m * columns, 1))
    for part in slices(rows, step):
        below[part], equal[part] = _counted(row[part], laid[part])
    back = np.argsort(leading)
    below, equal = (a.reshape(shape).transpose(back) for a in (below, equal))
    return np.ascontiguousarray(below), np.ascontiguousarray(equal)


def _counted(test: Array, scores: Array) -> tuple[Array, Array]:
    """Scores (r, m, i) below and equal to test (r, i): (r, i) each."""
    below = _how_many(np.less, scores, test)
    equal = scores.shape[1] - below - _how_many(np.greater, scores, test)
    if equal.any():  # ties; or NaN, which is neither below nor above
        require_numbers(scores)
    return below, equal


def _how_many(compare: np.ufunc, scores: Array, test: Array) -> Array:
    """Of the m scores (r, m, i) those for which `compare` with test (r, i) holds: (r, i).

    One column: a product with ones, which adds faster than a sum of booleans and is exact to
    2^24. Several: `side` scores at a time, so that the innermost loop is long even where i is
    small, added as bytes, which a register holds many of.
    """
    r, m, i = scores.shape
    if i == 1:
        unit_weights = np.ones(m, np.float32 if m < 1 << 24 else np.float64)
        return np.dot(compare(scores[..., 0], test), unit_weights)[:, None]
    steps = max(1, min(m * i // _SIDE, m, 255))  # 255: the largest byte
    side = m // steps
    folded = scores[:, : steps * side].reshape(r, steps, side * i)
    hits = compare(folded, np.tile(test, side)[:, None]).view(np.uint8)
    total = np.add.reduce(hits, axis=1, dtype=np.uint8).reshape(r, side, i).sum(1, np.int64)
    return total + compare(scores[:, steps * side :], test[:, None]).sum(1)


def require_numbers(scores: Array) -> Array:
    """The scores themselves; infinities may be ranked, NaN may not.

    Raises:
        ValueError: if a score is NaN.
    """
    if np.isnan(scores).any():
        bad = int(np.isnan(scores).sum())
        raise ValueError(
            f"scores are numbers, so that they have a rank; got NaN in {bad} of {scores.size}; "
            "drop these rows or score them otherwise"
        )
    return scores


def _pieces(shape: tuple[int, ...], limit: int) -> Iterator[tuple[int | slice, ...]]:
    """Indices that cut an array of this shape into pieces of about `limit` entries."""
    inner = prod(shape[1:])
    if len(shape) == 1 or inner <= limit:
        step = max(1, limit // max(inner, 1))
        yield from ((rows,) for rows in slices(shape[0], step))
        return
    for i in range(shape[0]):
        yield from ((i, *rest) for rest in _pieces(shape[1:], limit))


def randomised_ranks(
    below: ArrayLike, equal: ArrayLike, m: int, rng: np.random.Generator
) -> Float:
    """U = (below + v (1 + equal)) / (m + 1), v uniform: (...).

    The 1 is the test score tying with itself; without it, or as R/m, U is not uniform and a
    test for uniformity rejects a true null.

    Args:
        below: calibration scores strictly below (...).
        equal: calibration scores equal (...).
        m: calibration scores of each test score.
        rng: breaks the ties, one v per test score in the order of the array.
    """
    below, equal = np.broadcast_arrays(np.asarray(below, float), np.asarray(equal, float))
    u: Float = (below + rng.random(below.shape) * (1 + equal)) / (m + 1)
    return u


def conformal_ranks(test: ArrayLike, calibration: ArrayLike, rng: np.random.Generator) -> Float:
    """Randomised rank of each test score among its own calibration scores.

    Exactly uniform, and independent, when test and calibration scores share one law and no
    calibration score is used twice.

    Args:
        test: scores (..., n).
        calibration: scores (..., n, m), the m of each test score.
        rng: breaks the ties.

    Returns:
        Ranks (..., n) in [0, 1].
    """
    below, equal = count(test, calibration)
    return randomised_ranks(below, equal, np.shape(calibration)[-1], rng)


@dataclass(frozen=True)
class NormalLaw:
    """Calibration scores that are normal with variance 1: a `types.Reference`."""

    mean: float

    def counts(self, test: ArrayLike, m: int, rng: np.random.Generator) -> tuple[Float, Float]:
        """How many of m lie below each test score (...); none is equal."""
        below = rng.binomial(m, ndtr(np.asarray(test) - self.mean)).astype(float)
        return below, np.zeros_like(below)


class PooledLaw:
    """The law of calibration scores under p, known by N draws from it.

    Given a test score s, the number of m fresh calibration scores below it is binomial with
    probability F_p(s); the pool's empirical law stands for F_p (off by at most sqrt(log 40 / 2N)
    with 95% confidence), so that one pool serves every m and every trial.
    """

    def __init__(self, scores: ArrayLike) -> None:
        """Sort the scores (N,), or of any shape, of draws from p.

        Raises:
            ValueError: if there is no score or one is NaN.
        """
        flat = np.asarray(scores, dtype=np.float64).ravel()
        if flat.size == 0:
            raise ValueError("a pool holds calibration scores; got none; draw some from p")
        self._sorted = np.sort(require_numbers(flat))

    def __len__(self) -> int:
        return self._sorted.size

    def cdf(self, test: ArrayLike) -> tuple[Float, Float]:
        """Shares of the pool strictly below each test score, and equal to it: (...), (...)."""
        flat = require_numbers(np.asarray(test, dtype=np.float64)).ravel()
        # Sorted queries walk through the pool in order: three times faster.
        order = np.argsort(flat)
        query = flat[order]
        left = np.searchsorted(self._sorted, query)
        equal = np.zeros(flat.size)
        tied = np.flatnonzero(self._sorted[np.minimum(left, len(self) - 1)] == query)
        equal[tied] = np.searchsorted(self._sorted, query[tied], side="right") - left[tied]
        below_share, equal_share = np.empty(flat.size), np.empty(flat.size)
        below_share[order], equal_share[order] = left / len(self), equal / len(self)
        return below_share.reshape(np.shape(test)), equal_share.reshape(np.shape(test))

    def counts(self, test: Array, m: int, rng: np.random.Generator) -> tuple[Float, Float]:
        """How many of m calibration scores lie below each test score, and how many equal it.

        Args:
            test: scores (..., n).
            m: calibration scores of each.
            rng: draws the binomial counts.

        Returns:
            below (..., n) and equal (..., n), as m fresh draws per test score would give them.
        """
        below_share, equal_share = self.cdf(test)
        below = rng.binomial(m, below_share)
        # Of the m - below others each equals s with the conditional probability; no number is
        # drawn where that is 0.
        tied = equal_share > 0
        rate = np.zeros(below_share.shape)
        rate[tied] = np.minimum(equal_share[tied] / (1 - below_share[tied]), 1.0)
        equal = rng.binomial(m - below, rate)
        return below.astype(np.float64), equal.astype(np.float64)


def midranks(values: Array) -> Float:
    """Ranks (..., P) from 1 of values (..., P); equal ones share their mean."""
    points = values.shape[-1]
    order = values.argsort(axis=-1, kind="stable")
    ordered = np.take_along_axis(values, order, axis=-1)
    place = np.broadcast_to(np.arange(points), values.shape)
    new = np.ones(values.shape, bool)
    new[..., 1:] = ordered[..., 1:] != ordered[..., :-1]
    begin = np.maximum.accumulate(np.where(new, place, 0), axis=-1)
    last = np.ones(values.shape, bool)
    last[..., :-1] = new[..., 1:]
    end = np.minimum.accumulate(np.where(last, place, points)[..., ::-1], axis=-1)[..., ::-1]
    out = np.empty(values.shape)
    np.put_along_axis(out, order, (begin + end) / 2 + 1, axis=-1)
    return out
