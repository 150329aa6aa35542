"""Evidence against q that grows with every row: each is bet on before anything learns from it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from validation_core import sampling, statistics
from validation_core.diagnosis.evidence import RankEvidence, ranked_parameters, ranks_in_rows
from validation_core.diagnosis.stream.learner import DRAWS, Learner, RowScore
from validation_core.rng import stream
from validation_core.statistics.betting import BETS, log_bets, mean_wealth
from validation_core.tables.draw_order import some_draws
from validation_core.types import Float, Integers, PosteriorTable

FIRST = 50
"""Rows that the score first learns from."""
_GROWTH = 1.5  # times as many rows at which it learns anew
_PAST = 3000  # rows that it learns from, at most: the latest
_CHUNK = 500  # rows whose bets are held together


class RunningEvidence:
    """Evidence against q over the rows so far.

    Scores are each parameter, the distance from the middle of the row's slots, and one that is
    learned from the rows before it, at FIRST rows and whenever there are half as many again.
    Each has an equal share of the stake; the learned one stakes nothing before it is there.

    Args:
        d: parameters.
        seed: of tie-breakers and of what is learned.
        learn: makes the learned score; None for none.
    """

    def __init__(self, d: int, seed: int, learn: Learner | None) -> None:
        self._seed, self._learn = seed, learn
        rng = stream(seed, "stream", "ties")
        self.parameters: Integers = ranked_parameters(d, rng)
        """Those whose ranks are bet on."""
        self.n = 0
        """Rows so far."""
        scores = len(self.parameters) + (len(self.parameters) > 1) + (learn is not None)
        # One for each score: the same row is ranked alike however many rows come with it.
        self._ties = rng.spawn(scores)
        self._bets = np.zeros((len(BETS), scores))  # log wealth of each bet
        self._each, self._wealth = np.empty((scores, 64)), np.empty(64)
        self._picks = stream(seed, "stream", "draws")
        self._past: list[PosteriorTable] = []
        self._score: RowScore | None = None
        self._due = FIRST

    def add(self, rows: PosteriorTable) -> None:
        """Bet on rows in their order, then learn from them where it is time."""
        for part in self._parts(rows):
            if self._learn is None:
                self._bet(part)
                continue
            q = part.q[:, :, self.parameters]
            few = PosteriorTable(
                part.theta[:, self.parameters], part.x, some_draws(q, DRAWS, self._picks)
            )
            self._bet(part, few)
            self._past.append(few)
            if self.n >= self._due:
                self._due = int(_GROWTH * self.n)
                self._score = self._learn(self._latest(), self._seed + self.n)

    def evidence(self) -> RankEvidence:
        """The evidence so far; later rows do not change it."""
        return RankEvidence(self._wealth[: self.n], self._each[:, : self.n], self.parameters)

    def _parts(self, rows: PosteriorTable) -> Iterator[PosteriorTable]:
        """Rows that are bet on by one score: none behind a row at which it learns anew."""
        first = 0
        while first < len(rows):
            left = _CHUNK if self._learn is None else min(_CHUNK, self._due - self.n)
            yield sampling.take(rows, np.arange(first, min(first + left, len(rows))))
            first += left

    def _latest(self) -> PosteriorTable:
        """The latest rows so far, which are kept."""
        theta, x, q = (
            np.concatenate([getattr(part, name) for part in self._past])[-_PAST:]
            for name in ("theta", "x", "q")
        )
        self._past = [PosteriorTable(theta, x, q)]
        return self._past[0]

    def _bet(self, rows: PosteriorTable, few: PosteriorTable | None = None) -> None:
        """Add the evidence of rows that the learned score has not seen.

        Args:
            rows: to bet on.
            few: the same with what the learned score sees of them; None where nothing is learned.
        """
        u = ranks_in_rows(rows, self.parameters, self._ties)
        logs = log_bets(u)  # (25, S, n)
        if few is not None:
            logs = np.concatenate([logs, self._learned_bets(few)], axis=1)
        bets = self._bets[..., None] + np.cumsum(logs, axis=-1)
        self._bets = bets[..., -1]
        end = self.n + len(rows)
        while end > len(self._wealth):
            self._each = np.concatenate([self._each, np.empty_like(self._each)], axis=1)
            self._wealth = np.concatenate([self._wealth, np.empty_like(self._wealth)])
        each = mean_wealth(bets)
        self._each[:, self.n : end], self._wealth[self.n : end] = each, mean_wealth(each)
        self.n = end

    def _learned_bets(self, rows: PosteriorTable) -> Float:
        """Log densities (25, 1, n) of bets on the learned score's ranks; 0 before there is one."""
        if self._score is None:
            return np.zeros((len(BETS), 1, len(rows)))
        truth, draws = self._score(rows)
        ranks = statistics.conformal_ranks(truth, draws, self._ties[-1])
        return log_bets(ranks[None])
