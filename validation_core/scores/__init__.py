"""Scores, and the only maker of score arrays: one function on both sides.

A score may have looked at training draws and at x, never at the test theta; so ranks stay exact
however bad it is.
"""

from __future__ import annotations

from typing import overload

import numpy as np

from validation_core.scores import ties
from validation_core.types import (
    Array,
    Blocks,
    BlockScores,
    Draws,
    Score,
    TableScore,
    TableScores,
)

_NUMBERS = 1 << 20  # of theta and x scored at once: bounds what a table's repeated x takes


@overload
def apply(score: Score, draws: Blocks) -> BlockScores: ...
@overload
def apply(score: Score, draws: Draws) -> TableScores: ...
def apply(score: Score, draws: Blocks | Draws) -> BlockScores | TableScores:
    """The scores of both sides of independent blocks, or of a table's truth and draws.

    Returns:
        Block scores p (n_p,), q (n_q,), with a leading axis S where the score has S test
        quantities; table scores truth (S, n) and draws (S, n, K), S = 1 for a single score.
    """
    if isinstance(draws, Blocks):
        return BlockScores(score(draws.p.theta, draws.p.x), score(draws.q.theta, draws.q.x))
    if isinstance(score, TableScore):
        return score.table(draws)
    truth = np.atleast_2d(score(draws.theta, draws.x))
    return _tied(score, draws, truth)


def _tied(score: Score, draws: Draws, truth: Array) -> TableScores:
    """Scores of the truth (S, n) and of q's draws (S, n, K); equal ones at an x share one."""
    n, k, d = draws.q.shape
    both = np.empty((len(truth), n, k + 1), dtype=truth.dtype)
    both[..., 0] = truth
    step = max(1, _NUMBERS // (k * (d + draws.x.shape[1])))
    for first in range(0, n, step):
        part = slice(first, min(first + step, n))
        rows = draws.q[part].reshape(-1, d)
        scored = score(rows, np.repeat(draws.x[part], k, axis=0))
        both[:, part, 1:] = np.atleast_2d(scored).reshape(len(truth), -1, k)
        slots = np.concatenate([draws.theta[part, None], draws.q[part]], axis=1)
        both[:, part] = ties.shared(slots, both[:, part])
    return TableScores(both[..., 0], both[..., 1:])
