"""Scores of the truth's ranks, and of draws that may play it, to be scanned over x."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core import statistics
from validation_core.pieces import slices
from validation_core.relabelling.normal_scores import (
    MOST,
    largest_misfits,
    misfit,
    normal_scores,
    width_scores,
)
from validation_core.rng import stream
from validation_core.types import Array, Integers, PosteriorTable

STAND_INS = 31
"""Draws of each row that may play the truth in a null table."""
_EDGE = 1e-9  # a uniform draw may be 0
_ROWS_AT_ONCE = 4_000_000  # numbers of q's draws ranked with one another's tie-breakers
_COPIED = 500_000  # of them copied at a time: stay in the cache
OverXKind = Literal["shift", "width", "learned"]


class OverXFeatures(NamedTuple):
    """Scores of the truth, and of the draws that may stand in for it.

    u is the randomised rank of the truth among q's K draws and itself, uniform at every x if q is
    right. Three scores of it are standard normal then:

        shift   Phi^-1(u): above 0 where the truth lies above q's draws, so that q sits too low
        width   Phi^-1(|2 u - 1|): above 0 where the truth lies in q's tails, so q is too narrow
        learned Phi^-1(u) of its rank under a classifier's logit: above 0 where it is noticed
    """

    scores: NDArray[np.float32]
    """(F, J + 1, n): F features, the truth first, then J stand-ins."""
    kinds: tuple[OverXKind, ...]
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


def select_parameters_and_rows(table: PosteriorTable, seed: int) -> tuple[Integers, Integers]:
    """Parameters and rows that are looked at: all of them, up to MOST parameters.

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
            stand_in_ranks(
                PosteriorTable(
                    table.theta[choose, part], table.x[choose, :0], table.q[choose, :, part]
                ),
                0,
                rng,
            )[:, 0]
            for part in slices(d, MOST)
        ]
    )
    return largest_misfits(misfit(u, _EDGE)), rest


def parameter_features(table: PosteriorTable, seed: int) -> OverXFeatures:
    """Shift and width of every parameter of a table (n, D): F = 2 D."""
    u = stand_in_ranks(table, STAND_INS, stream(seed, "over x", "ranks"))
    d = len(u)
    scores = np.empty((2 * d, *u.shape[1:]), np.float32)
    for parameter in range(d):
        scores[parameter] = normal_scores(u[parameter])
        scores[d + parameter] = width_scores(u[parameter], _EDGE)
    kinds: list[OverXKind] = ["shift"] * d
    kinds += ["width"] * d
    return OverXFeatures(scores, tuple(kinds), (*range(d), *range(d)))


def learned_score_features(truth: Array, draws: Array, seed: int) -> OverXFeatures:
    """The learned score of a table: truth (n,), draws (n, K)."""
    table = PosteriorTable(truth[:, None], np.zeros((len(truth), 0)), draws[:, :, None])
    u = stand_in_ranks(table, STAND_INS, stream(seed, "over x", "learned"))
    return OverXFeatures(normal_scores(u), ("learned",), (-1,))


def stand_in_ranks(table: PosteriorTable, stand_ins: int, rng: np.random.Generator) -> Array:
    """Randomised ranks of the truth and of `stand_ins` draws among all K + 1: (D, J + 1, n).

    Which draws stand in is drawn for each row and shared by its parameters, so that what ties
    the parameters together stays.
    """
    n, k, d = table.q.shape
    j = min(k, stand_ins)
    who = np.zeros((n, j + 1), dtype=np.int64)
    for rows in slices(n if j else 0, _rows_at_once(k)):
        draws = np.tile(np.arange(1, k + 1), (len(who[rows]), 1))
        who[rows, 1:] = rng.permuted(draws, axis=1)[:, :j]
    u = np.empty((d, j + 1, n))
    for rows in slices(n, _rows_at_once((k + 1) * d)):
        below, equal = _counts(table, who, rows)
        for slot in range(j + 1):
            # Each is one of the K + 1 itself: what else equals it is one fewer.
            u[:, slot, rows] = statistics.randomised_ranks(
                below[:, slot], equal[:, slot] - 1, k, rng
            )
    return np.clip(u, _EDGE, 1 - _EDGE, out=u)


def _rows_at_once(each: int, most: int = _ROWS_AT_ONCE) -> int:
    """Number of rows, with so many numbers each, that come to `most`."""
    return max(1, most // each)


def _counts(table: PosteriorTable, who: Integers, rows: slice) -> tuple[Array, Array]:
    """Numbers of the K + 1 below and equal to each slot that plays the truth: (D, J, m)."""
    d, j = table.q.shape[2], who.shape[1]
    theta, q, who = table.theta[rows], table.q[rows], who[rows]
    below, equal = np.empty((2, d, j, len(who)))
    for part in slices(len(who), _rows_at_once(q[0].size, _COPIED)):
        points = np.concatenate([theta[part, None], q[part]], axis=1)  # (m, K + 1, D)
        ours = np.take_along_axis(points, who[part, :, None], axis=1)
        across = np.ascontiguousarray(points.transpose(2, 0, 1))  # (D, m, K + 1)
        for slot in range(j):
            test = np.ascontiguousarray(ours[:, slot].T)
            below[:, slot, part], equal[:, slot, part] = statistics.count(test, across)
    return below, equal
