"""A score learned from the rows that have come, for those that have not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from validation_core.scores.slots import FEWEST_DRAWS, Slots
from validation_core.tables.draw_order import draws_at, shuffling
from validation_core.types import Array, PosteriorTable

RowScore: TypeAlias = Callable[[PosteriorTable], tuple[Array, Array]]
"""Scores of true values (n,) and of draws (n, K') of rows, one function of all slots of a row."""
Learner: TypeAlias = Callable[[PosteriorTable, int], RowScore]
"""Learns a score from rows, with a seed."""
DRAWS = 100
"""Draws of a row that are learned from and scored, at most: any, picked at random."""
_LEARNT = 15


def learn_within(past: PosteriorTable, seed: int) -> RowScore:
    """The score within x of these rows (see `scores.slots`).

    Args:
        past: rows with FEWEST_DRAWS draws or more.
        seed: of trees and starts.
    """
    from validation_core.scores.slots_training import train_slots  # torch

    n, k = past.q.shape[:2]
    recipe = Slots(n=n, k=k, m=min(k, _LEARNT), scored=k, whole=k + 1, context=k + 1)
    columns = shuffling(past.q)  # it learns from the first of them
    if columns is not None:
        past = replace(past, q=draws_at(past.q, columns))
    trained = train_slots(past, recipe, seed).at()

    def score(rows: PosteriorTable) -> tuple[Array, Array]:
        scores = trained.table(rows)
        return scores.truth[0], scores.draws[0]

    return score


def can_learn(k: int) -> bool:
    """Whether rows of k draws tell enough of each."""
    return k >= FEWEST_DRAWS
