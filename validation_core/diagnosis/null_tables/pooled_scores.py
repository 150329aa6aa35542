"""All draws of a table under one score, and the ranks of truths that any of them plays.

Every draw is scored once; the ranks of many tables' truths follow by search in each row's
ordered scores.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from validation_core import scores
from validation_core.relabelling.played_truths import SelfMadeTables, SlotPlaces
from validation_core.statistics.ranks import count, require_numbers
from validation_core.types import Array, BlockScores, Float, PosteriorTable, Score, TableScores

_SEARCHED = 16  # trials from which on a search in ordered scores is quicker than counting
_Counts = NDArray[np.int32]
S = TypeVar("S", bound=np.generic)


@dataclass(frozen=True, eq=False)
class PooledScores:
    """All draws of a table under one score, and each row's in ascending order."""

    score: Score
    draws: Array
    """(S, n, K)."""
    ordered: Array
    """(S, n, K)."""
    repeats: NDArray[np.bool_]
    """Whether rows (S, n) have equal scores."""

    @classmethod
    def of(cls, score: Score, rows: PosteriorTable) -> PooledScores:
        """Score every draw of a table."""
        return cls.ranked(score, _scored(score, rows, rows.q))

    @classmethod
    def ranked(cls, score: Score, draws: Array) -> PooledScores:
        """The scores (S, n, K) that a score has given."""
        values = require_numbers(draws)
        ordered = np.array(values, order="C")
        ordered.sort(axis=-1)
        return cls(score, values, ordered, (ordered[..., 1:] == ordered[..., :-1]).any(-1))

    @cached_property
    def own_counts(self) -> tuple[_Counts, _Counts]:
        """Draws below and equal to each draw (S, n, K) of its row, itself among the equal."""
        return self.counts(self.draws)

    def counts(self, values: Array) -> tuple[_Counts, _Counts]:
        """A row's draws below and equal to each of its values (S, n, T): (S, n, T) each."""
        k = self.ordered.shape[-1]
        rows = self.ordered.reshape(-1, k)
        sought = values.reshape(len(rows), -1)
        below = np.empty(sought.shape, np.int32)
        for row, (ordered, some) in enumerate(zip(rows, sought, strict=True)):
            below[row] = ordered.searchsorted(some)
        at = np.take_along_axis(rows, np.minimum(below, k - 1), axis=-1)
        equal = (at == sought).astype(np.int32)
        for at_row in np.flatnonzero(self.repeats):
            to = rows[at_row].searchsorted(sought[at_row], side="right")
            equal[at_row] = to - below[at_row]
        return below.reshape(values.shape), equal.reshape(values.shape)

    def on(self, trials: SelfMadeTables) -> ScoredTables:
        """The scores of these tables' truths: rows as here."""
        own = np.take_along_axis(self.draws, trials.which.T[None], axis=-1)
        if trials.truths is None:
            return ScoredTables(self, trials.which, own, own)
        there = np.moveaxis(trials.truths, 0, 1)  # (n, T, D)
        truth_scores = require_numbers(_scored(self.score, trials.rows, there))
        # A draw that stayed as it was keeps its score to the bit, whatever a network rounds.
        picks = np.take_along_axis(trials.rows.q, trials.which.T[..., None], axis=1)
        truth = np.where((there == picks).all(-1), own, truth_scores)
        return ScoredTables(self, trials.which, truth, own)


@dataclass(frozen=True, eq=False)
class ScoredTables:
    """T tables under one score."""

    pooled: PooledScores
    which: SlotPlaces
    """(T, n)."""
    truth: Array
    """(S, n, T)."""
    own: Array
    """Scores (S, n, T) of the picked draws."""

    def mid_ranks(self) -> NDArray[np.float32]:
        """Mid-ranks u (S, T, n) of the true values, among the K - 1 others and itself."""
        below, equal = self._others
        u = (below + 0.5 * (1 + equal)) / self.pooled.draws.shape[-1]
        return np.ascontiguousarray(np.moveaxis(u, -1, 1), np.float32)

    @cached_property
    def below(self) -> _Counts:
        """Draws below each truth (S, n, T), the picked draw among them."""
        return self._counts[0]

    @cached_property
    def own_below(self) -> _Counts:
        """Draws below each picked draw (S, n, T)."""
        return self._picked(self.pooled.own_counts[0])

    @cached_property
    def _others(self) -> tuple[_Counts, _Counts]:
        """Draws below and equal to each truth (S, n, T), the picked draw not among them."""
        below, equal = self._counts
        return below - (self.own < self.truth), equal - (self.own == self.truth)

    def _picked(self, of_draws: NDArray[S]) -> NDArray[S]:
        """What holds of all draws (S, n, K), of the picked ones (S, n, T)."""
        return np.take_along_axis(of_draws, self.which.T[None], axis=-1)

    def ranks(self, rng: np.random.Generator) -> Float:
        """Randomised ranks u (T, S, n) of the true values, each among the other K - 1 draws."""
        below, equal = self._others
        k = self.pooled.draws.shape[-1]
        u = (below + rng.random(self.truth.shape) * (1 + equal)) / k
        return np.ascontiguousarray(np.moveaxis(u, -1, 0))

    @cached_property
    def _counts(self) -> tuple[_Counts, _Counts]:
        """Draws below and equal to each truth: (S, n, T) each, the picked draw among them."""
        truth = self.truth
        if truth is self.own:
            below, equal = map(self._picked, self.pooled.own_counts)
            return below, equal
        if truth.shape[-1] >= _SEARCHED:
            return self.pooled.counts(truth)
        counts = count(np.moveaxis(truth, -1, 0), self.pooled.ordered)
        below, equal = (np.moveaxis(a, 0, -1).astype(np.int32) for a in counts)
        return below, equal

    def blocks(self, rng: np.random.Generator, m: int = 1) -> BlockScores:
        """Scores p (T, n // 2) and q (T, n // 2 // m) of rows that do not overlap.

        Half of the rows give the truth, the others a draw, as `sampling.blocks_of_rows` has it.
        """
        n, k = self.pooled.draws.shape[1:]
        trials = len(self.which)
        order = rng.permuted(np.broadcast_to(np.arange(n), (trials, n)), axis=1)
        half = n // 2
        for_p, for_q = order[:, :half], order[:, half : half + half // m]
        picks = rng.integers(k - 1, size=for_q.shape)
        picks += picks >= np.take_along_axis(self.which, for_q, axis=1)  # the truth is no draw
        truth = np.take_along_axis(self.truth[0].T, for_p, axis=1)
        return BlockScores(truth, self.pooled.draws[0][for_q, picks])

    def first_draws(self, m: int) -> Iterator[TableScores]:
        """Table by table, scores of the truth (S, n) and of the first m other draws (S, n, m)."""
        for trial, which in enumerate(self.which):
            first = np.arange(m) + (np.arange(m) >= which[:, None])  # (n, m)
            draws = np.take_along_axis(self.pooled.draws, first[None], axis=-1)
            yield TableScores(self.truth[..., trial], draws)


def _scored(score: Score, rows: PosteriorTable, theta: Array) -> Array:
    """Scores (S, n, T) of T places theta (n, T, D) at each row."""
    return scores.apply(score, PosteriorTable(theta[:, 0], rows.x, theta)).draws
