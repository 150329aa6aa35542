"""Tables made of a table's own draws, in which q is right: a draw of q plays the truth.

Given x the K draws are exchangeable, so that one of them, picked at random, ranks among the other
K - 1 as the truth would if q were right, whatever q is: no simulator is needed. Every draw is
scored once; a trial picks draws, and ranks follow by search in each row's ordered scores. With
`truths` changed by an injection the same trials show what a test finds of a known defect.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from validation_core import scores
from validation_core.methods.base import Method
from validation_core.statistics.ranks import count, require_numbers
from validation_core.types import Array, BlockScores, PosteriorTable, Score, Scores, TableScores

TRIALS = 200
"""Self-made tables behind a rate: it is then known to about 3 points near 5%, 6 near 80%."""

_FEWEST = 40  # trials of the widest tables
_RANKED = 100_000  # ranks of one trial that allow all trials; larger tables get fewer
_NUMBERS = 1 << 21  # of truths made at a time: bounds the memory
_LARGE = (
    10_000  # truths of a table from which on fewer are made at a time: its draws are there too
)
_SEARCHED = 16  # trials from which on a search in ordered scores is quicker than counting

Float = NDArray[np.float64]
Places = NDArray[np.int64]
Counts = NDArray[np.int32]


def trials_of(n: int, d: int, ranked: int = _RANKED) -> int:
    """How many self-made tables of n rows with d parameters are looked at: 200, or fewer.

    Args:
        n: rows.
        d: parameters.
        ranked: ranks of one table that allow all 200.
    """
    return min(TRIALS, max(_FEWEST, TRIALS * ranked // max(1, n * d)))


def at_once(n: int, d: int) -> int:
    """How many tables of n rows with d parameters are made at a time."""
    numbers = max(1, n * d)
    return max(1, (_NUMBERS if numbers <= _LARGE else _NUMBERS // 8) // numbers)


def picked(n: int, k: int, trials: int, rng: np.random.Generator) -> Places:
    """Which draw is the truth: (trials, n), each of the k equally often."""
    return rng.integers(k, size=(trials, n))


@dataclass(frozen=True, eq=False)
class Trials:
    """T tables made of one table's draws."""

    rows: PosteriorTable
    """The table; its own truths are not looked at."""
    which: Places
    """The draw (T, n) that is the truth of a row, and no draw there."""
    truths: Array | None = None
    """What was made of it (T, n, D); None leaves it as it is, so that q is right."""

    def __len__(self) -> int:
        return len(self.which)

    def at(self, places: Places) -> Trials:
        """The same tables, some of their rows."""
        rows = PosteriorTable(self.rows.theta[places], self.rows.x[places], self.rows.q[places])
        truths = None if self.truths is None else self.truths[:, places]
        return Trials(rows, self.which[:, places], truths)

    def pieces(self) -> Iterator[Trials]:
        """Some tables at a time, so that what is made of them fits."""
        n, _, d = self.rows.q.shape
        step = at_once(n, d)
        for first in range(0, len(self), step):
            part = slice(first, first + step)
            truths = None if self.truths is None else self.truths[part]
            yield replace(self, which=self.which[part], truths=truths)

    def table(self, trial: int) -> PosteriorTable:
        """One of the tables as such: theta (n, D), x (n, M), q (n, K - 1, D)."""
        q, which = self.rows.q, self.which[trial]
        n, k, d = q.shape
        own = np.arange(k) == which[:, None]
        theta = q[own] if self.truths is None else self.truths[trial]
        return PosteriorTable(theta, self.rows.x, q[~own].reshape(n, k - 1, d))


@dataclass(frozen=True, eq=False)
class Pooled:
    """All draws of a table under one score, and each row's in ascending order."""

    score: Score
    draws: Array
    """(S, n, K)."""
    ordered: Array
    """(S, n, K)."""
    repeats: NDArray[np.bool_]
    """Which rows (S, n) have equal scores."""

    @classmethod
    def of(cls, score: Score, rows: PosteriorTable) -> Pooled:
        """Score every draw of a table."""
        return cls.ranked(score, _scored(score, rows, rows.q))

    @classmethod
    def ranked(cls, score: Score, draws: Array) -> Pooled:
        """The scores (S, n, K) that a score has given."""
        values = require_numbers(draws)
        ordered = np.array(values, order="C")
        ordered.sort(axis=-1)
        return cls(score, values, ordered, (ordered[..., 1:] == ordered[..., :-1]).any(-1))

    def on(self, trials: Trials) -> Scored:
        """The scores of these tables' truths: rows as here."""
        own = np.take_along_axis(self.draws, trials.which.T[None], axis=-1)
        if trials.truths is None:
            return Scored(self, trials.which, own, own)
        there = np.moveaxis(trials.truths, 0, 1)  # (n, T, D)
        truth_scores = require_numbers(_scored(self.score, trials.rows, there))
        # A draw that stayed as it was keeps its score to the bit, whatever a network rounds.
        picks = np.take_along_axis(trials.rows.q, trials.which.T[..., None], axis=1)
        truth = np.where((there == picks).all(-1), own, truth_scores)
        return Scored(self, trials.which, truth, own)


@dataclass(frozen=True, eq=False)
class Scored:
    """T tables under one score."""

    pooled: Pooled
    which: Places
    """(T, n)."""
    truth: Array
    """(S, n, T)."""
    own: Array
    """Scores (S, n, T) of the picked draws."""

    def mid_ranks(self) -> NDArray[np.float32]:
        """Mid-ranks u (S, T, n) of the truths, each among the other K - 1 draws and itself."""
        below, equal = self._others()
        u = (below + 0.5 * (1 + equal)) / self.pooled.draws.shape[-1]
        return np.ascontiguousarray(np.moveaxis(u, -1, 1), np.float32)

    def _others(self) -> tuple[Counts, Counts]:
        """Draws below and equal to each truth (S, n, T), the picked draw not among them."""
        below, equal = self._counts()
        below -= self.own < self.truth
        equal -= self.own == self.truth
        return below, equal

    def ranks(self, rng: np.random.Generator) -> Float:
        """Randomised ranks u (T, S, n) of the truths, each among the other K - 1 draws."""
        below, equal = self._others()
        k = self.pooled.draws.shape[-1]
        u = (below + rng.random(self.truth.shape) * (1 + equal)) / k
        return np.ascontiguousarray(np.moveaxis(u, -1, 0))

    def _counts(self) -> tuple[Counts, Counts]:
        """Draws below and equal to each truth: (S, n, T) each, the picked draw among them."""
        ordered, truth = self.pooled.ordered, self.truth
        if truth.shape[-1] < _SEARCHED:
            counts = count(np.moveaxis(truth, -1, 0), ordered)
            below, equal = (np.moveaxis(a, 0, -1).astype(np.int32) for a in counts)
            return below, equal
        k = ordered.shape[-1]
        rows = ordered.reshape(-1, k)
        truths = truth.reshape(len(rows), -1)
        below = np.empty(truths.shape, np.int32)
        for row, (values, queries) in enumerate(zip(rows, truths, strict=True)):
            below[row] = values.searchsorted(queries)
        at = np.take_along_axis(rows, np.minimum(below, k - 1), axis=-1)
        equal = (at == truths).astype(np.int32)
        for at_row in np.flatnonzero(self.pooled.repeats):
            to = rows[at_row].searchsorted(truths[at_row], side="right")
            equal[at_row] = to - below[at_row]
        return below.reshape(truth.shape), equal.reshape(truth.shape)

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

    def few(self, m: int) -> Iterator[TableScores]:
        """Table by table, scores of the truth (S, n) and of the first m other draws (S, n, m)."""
        for trial, which in enumerate(self.which):
            first = np.arange(m) + (np.arange(m) >= which[:, None])  # (n, m)
            draws = np.take_along_axis(self.pooled.draws, first[None], axis=-1)
            yield TableScores(self.truth[..., trial], draws)


def pvalues(method: Method, scored: Scored, rng: np.random.Generator) -> Float:
    """The p-value (T,) that a method gives each table.

    Args:
        method: one that is not `Method.unfit`.
        scored: the tables, those rows of them that it looks at, under the score that it reads.
        rng: breaks ties, and parts rows into blocks.
    """
    if method.ranks_only:
        return np.asarray(method.of_ranks(scored.ranks(rng)).pvalue)
    if method.layout == "blocks":
        blocks = scored.blocks(rng, method.budget(1, 1).p)
        if not method.resamples:
            return np.asarray(method.test(blocks, rng).pvalue)
        tables: Iterator[Scores] = map(BlockScores, blocks.p, blocks.q)
    else:
        tables = scored.few(method.budget(1, scored.pooled.draws.shape[-1] - 1).q)
    # One by one: relabelings of a single table fill the memory.
    return np.array([method.test(table, rng).pvalue for table in tables], dtype=np.float64)


def _scored(score: Score, rows: PosteriorTable, theta: Array) -> Array:
    """Scores (S, n, T) of T places theta (n, T, D) at each row."""
    return scores.apply(score, PosteriorTable(theta[:, 0], rows.x, theta)).draws
