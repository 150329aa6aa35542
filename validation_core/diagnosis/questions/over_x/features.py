"""Features over x: for every row, normal scores that carry no x at all if q is right.

u is the randomised rank of the truth among q's K draws and itself, uniform at every x if q is
right. Three scores of it are standard normal then:

    shift   Phi^-1(u): above 0 where the truth lies above q's draws, so that q sits too low
    width   Phi^-1(|2 u - 1|): above 0 where the truth lies in q's tails, so that q is too narrow
    learned Phi^-1(u) of the truth's rank under a classifier's logit: above 0 where it is noticed

The truth and q's draws at one x are exchangeable if q is right, all parameters together. A null
table lets another of the K + 1 play the truth in every row: exact whatever ties the parameters.

How large a feature is among some rows, or smoothed over x, is estimated from the same scores.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from validation_core import statistics
from validation_core.localization import over_x as smoothing
from validation_core.rng import stream
from validation_core.types import Array, PosteriorTable

MOST = 50
"""Parameters that are looked at; of more, those that half of the rows point at."""
STAND_INS = 31
"""Draws of each row that may play the truth in a null table."""
FEWEST = 5
"""Rows below which no size is estimated."""
_LEVEL = 0.95
_EDGE = 1e-9  # a uniform draw may be 0
_ROWS_AT_ONCE = 4_000_000  # numbers of q's draws ranked with one another's tie-breakers
_COPIED = 500_000  # of them copied at a time: stay in the cache


Kind = Literal["shift", "width", "learned"]


class Features(NamedTuple):
    """Scores of the truth, and of the draws that may stand in for it."""

    scores: NDArray[np.float32]
    """(F, J + 1, n): F features, the truth first, then J stand-ins."""
    kinds: tuple[Kind, ...]
    """(F,)."""
    parameters: tuple[int, ...]
    """(F,) of which parameter; -1 for the learned score."""

    @property
    def truth(self) -> NDArray[np.float32]:
        """(F, n)."""
        return self.scores[:, 0]

    def raw(self, feature: int) -> Array:
        """The scores (n,) that a feature is quoted by: of a width, those of its shift."""
        wide = self.kinds[feature] == "width"
        return np.asarray(self.truth[feature - wide * (len(self.kinds) // 2)], np.float64)


@dataclass(frozen=True)
class Estimate:
    """The size of a feature among n rows with its 95% interval; None where they are too few."""

    n: int
    value: float | None = None
    low: float | None = None
    high: float | None = None
    """None too for the width of rows that do not vary."""


def selection(table: PosteriorTable, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Which parameters and which rows are looked at: all of them, up to MOST parameters.

    Of more, one half of the rows chooses those whose ranks are farthest from uniform and the
    other half is looked at, so that the choice costs the tests nothing but rows.
    """
    n, d = table.theta.shape
    if d <= MOST:
        return np.arange(d), np.arange(n)
    rng = stream(seed, "over x", "parameters")
    order = rng.permutation(n)
    choose, rest = order[: n // 2], np.sort(order[n // 2 :])
    u = np.concatenate(
        [
            ranks(
                PosteriorTable(
                    table.theta[choose, a : a + MOST],
                    table.x[choose, :0],
                    table.q[choose, :, a : a + MOST],
                ),
                0,
                rng,
            )[:, 0]
            for a in range(0, d, MOST)
        ]
    )
    off = np.maximum(np.abs(ndtri(u).mean(1)), np.abs(ndtri(np.abs(2 * u - 1)).mean(1)))
    return np.sort(np.argsort(-off, kind="stable")[:MOST]), rest


def of_parameters(table: PosteriorTable, seed: int) -> Features:
    """Shift and width of every parameter of a table (n, D): F = 2 D."""
    u = ranks(table, STAND_INS, stream(seed, "over x", "ranks"))
    d = len(u)
    scores = np.empty((2 * d, *u.shape[1:]), np.float32)
    for parameter in range(d):
        scores[parameter] = ndtri(u[parameter])
        scores[d + parameter] = ndtri(np.clip(np.abs(2 * u[parameter] - 1), _EDGE, 1 - _EDGE))
    kinds: list[Kind] = ["shift"] * d
    kinds += ["width"] * d
    return Features(scores, tuple(kinds), (*range(d), *range(d)))


def of_scores(truth: Array, draws: Array, seed: int) -> Features:
    """The learned score of a table: truth (n,), draws (n, K)."""
    table = PosteriorTable(truth[:, None], np.zeros((len(truth), 0)), draws[:, :, None])
    u = ranks(table, STAND_INS, stream(seed, "over x", "learned"))
    return Features(ndtri(u).astype(np.float32), ("learned",), (-1,))


def ranks(table: PosteriorTable, stand_ins: int, rng: np.random.Generator) -> Array:
    """Randomised ranks of the truth and of `stand_ins` draws among all K + 1: (D, J + 1, n).

    Which draws stand in is drawn for each row and shared by its parameters, so that what ties
    the parameters together stays.
    """
    n, k, d = table.q.shape
    j = min(k, stand_ins)
    who = np.zeros((n, j + 1), dtype=np.int64)
    for rows in _parts(n, k) if j else ():
        draws = np.tile(np.arange(1, k + 1), (len(who[rows]), 1))
        who[rows, 1:] = rng.permuted(draws, axis=1)[:, :j]
    u = np.empty((d, j + 1, n))
    for rows in _parts(n, (k + 1) * d):
        below, equal = _counts(table, who, rows)
        for slot in range(j + 1):
            # Each is one of the K + 1 itself: what else equals it is one fewer.
            u[:, slot, rows] = statistics.randomised_ranks(
                below[:, slot], equal[:, slot] - 1, k, rng
            )
    return np.clip(u, _EDGE, 1 - _EDGE, out=u)


def estimate(kind: Kind, w: Array) -> Estimate:
    """Size of a feature among rows with scores w (m,).

    shift and learned: the mean, by Student's t. width: the sd, which is 1 if q is right; its
    logarithm is about normal, with a variance by the fourth moment.
    """
    m = len(w)
    if m < FEWEST:
        return Estimate(m)
    reach = float(stdtrit(m - 1, (1 + _LEVEL) / 2))
    mean, sd = float(w.mean()), float(w.std(ddof=1))
    if kind != "width":
        half = reach * sd / m**0.5
        return Estimate(m, mean, mean - half, mean + half)
    if sd == 0:
        return Estimate(m, 0.0, 0.0)
    fourth = float(((w - mean) ** 4).mean() / w.var() ** 2)
    half = reach * (max(fourth - 1, 2 / m) / (4 * m)) ** 0.5
    return Estimate(m, sd, sd / math.exp(half), sd * math.exp(half))


def smoothed(kind: Kind, w: Array, weights: Array) -> Array:
    """Smoothed size of a feature (4, G): value, low, high, and half the room of a right q.

    Intervals are pointwise, normal, by the effective number of neighbours; for width all are
    ratios, and the room is a factor's logarithm.
    """
    total, effective = smoothing.totals(weights)
    shares = weights / np.where(total > 0, total, 1.0)[:, None]
    w = np.asarray(w, np.float64)
    mean = shares @ w
    variance = np.maximum(shares @ w**2 - mean**2, 0.0)
    root = np.sqrt(np.maximum(effective, 1.0))
    if kind != "width":
        half = 1.96 * np.sqrt(variance) / root
        return np.stack([mean, mean - half, mean + half, 1.96 / root])
    sd = np.sqrt(variance)
    fourth = shares @ w**4 - 4 * mean * (shares @ w**3) + 6 * mean**2 * (shares @ w**2)
    fourth = fourth - 3 * mean**4
    kurtosis = fourth / np.where(variance > 0, variance, 1.0) ** 2
    half = 1.96 * np.sqrt(np.maximum(kurtosis - 1, 0.1)) / (2 * root)
    return np.stack([sd, sd * np.exp(-half), sd * np.exp(half), 1.96 / (root * 2**0.5)])


def _parts(n: int, each: int, most: int = _ROWS_AT_ONCE) -> Iterator[slice]:
    """Rows with so many numbers each, as many as come to `most`."""
    step = max(1, most // each)
    for first in range(0, n, step):
        yield slice(first, min(first + step, n))


def _counts(table: PosteriorTable, who: NDArray[np.int64], rows: slice) -> tuple[Array, Array]:
    """Of the K + 1 in some rows, those below and equal to each that plays the truth: (D, J, m)."""
    d, j = table.q.shape[2], who.shape[1]
    theta, q, who = table.theta[rows], table.q[rows], who[rows]
    below, equal = np.empty((2, d, j, len(who)))
    for part in _parts(len(who), q[0].size, _COPIED):
        points = np.concatenate([theta[part, None], q[part]], axis=1)  # (m, K + 1, D)
        ours = np.take_along_axis(points, who[part, :, None], axis=1)
        across = np.ascontiguousarray(points.transpose(2, 0, 1))  # (D, m, K + 1)
        for slot in range(j):
            test = np.ascontiguousarray(ours[:, slot].T)
            below[:, slot, part], equal[:, slot, part] = statistics.count(test, across)
    return below, equal
