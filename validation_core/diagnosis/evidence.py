"""Evidence against q by betting on the ranks of true values, row after row."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from validation_core.relabelling.normal_scores import MOST
from validation_core.statistics.betting import anytime_pvalue
from validation_core.statistics.ranks import conformal_ranks
from validation_core.types import Array, Float, Integers, PosteriorTable


@dataclass(frozen=True, eq=False)
class RankEvidence:
    """Evidence against q over n rows, in an order that no rank has told."""

    wealth: Float
    """Log evidence (n,) after each row, averaged over all scores."""
    each: Float
    """Log evidence (S, n) of each score by itself: parameters, then others."""
    parameters: Integers
    """Those of the first scores."""

    @property
    def pvalue(self) -> float:
        """Valid however many of the rows are looked at."""
        return anytime_pvalue(self.wealth)

    @property
    def most(self) -> float:
        """The largest evidence so far, to 1; at least 1, which there is before any row."""
        return float(np.exp(min(self.wealth.max(initial=0.0), 700.0)))

    def first_beyond(self, alpha: float) -> int | None:
        """The number of rows after which it first rejects; None where never."""
        beyond = np.flatnonzero(self.wealth >= -np.log(alpha))
        return int(beyond[0]) + 1 if len(beyond) else None

    def clear_scores(self, alpha: float) -> tuple[int, ...]:
        """Scores whose own evidence rejects among as many rows, the clearest first.

        Each of S scores holds 1 / S of the stake: that one alone reaches S / alpha has a chance of
        at most alpha / S where it is uniform, so that a wrong name has one of at most alpha.
        """
        own = self.each[:, : self.first_beyond(alpha)].max(1, initial=0.0)
        order = np.argsort(-own, kind="stable")
        return tuple(int(i) for i in order if own[i] >= np.log(len(self.each) / alpha))

    def named(self, alpha: float) -> tuple[int, ...]:
        """Parameters among the clear scores."""
        clear = self.clear_scores(alpha)
        return tuple(int(self.parameters[i]) for i in clear if i < len(self.parameters))


def ranked_parameters(d: int, rng: np.random.Generator) -> Integers:
    """Those of d parameters whose ranks are bet on: all of them, or some at random."""
    return np.arange(d) if d <= MOST else np.sort(rng.permutation(d)[:MOST])


def ranks_in_rows(
    table: PosteriorTable, which: Integers, ties: Iterable[np.random.Generator]
) -> Array:
    """Ranks (S, n) in (0, 1) of true values among q's draws, in parameters and in distance.

    Each is uniform under a correct q, whatever the other rows are; ties are broken at random.

    Args:
        table: theta (n, D), x, q (n, K, D).
        which: parameters (D',), each a score; of several, their distance from the middle of all
            slots of the row is one more.
        ties: break ties, one for each score.
    """
    theta, q = table.theta[:, which], table.q[:, :, which]
    truth, draws = list(theta.T), list(np.moveaxis(q, 2, 0))
    if len(which) > 1:
        distance = _distances_in_row(theta, q)
        truth.append(distance[:, 0])
        draws.append(distance[:, 1:])
    scored = zip(truth, draws, ties, strict=False)
    return np.stack([conformal_ranks(value, others, rng) for value, others, rng in scored])


def _distances_in_row(theta: Array, q: Array) -> Float:
    """Squared distance (n, K + 1) of the truth and each draw from the middle of all of them."""
    slots = np.concatenate([theta[:, None], q], axis=1).astype(np.float64)  # (n, K + 1, D)
    away = slots - slots.mean(1, keepdims=True)
    sd = np.sqrt(np.square(away).mean(1, keepdims=True))
    return np.asarray(np.square(away / np.where(sd > 0, sd, np.inf)).sum(2))
