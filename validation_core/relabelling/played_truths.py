"""A draw of q plays the truth: null tables made of one table's own truths and draws.

If q is right, the true value and q's K draws at its x are exchangeable: the slots of a row. Any
of them may play the truth, the others its draws, and such a table is as likely as the observed
one, whatever q is and however its parameters depend on one another: no simulator is needed. A
statistic of the observed table therefore ranks evenly among those of tables whose slots are
picked evenly (`statistics.permutation` has the p-values). Of q's draws alone, without the truth,
the same makes tables in which q is right by construction.

Rows that share one set of draws are relabelled together, by `pools.Pools.labellings`: a law of
its own, in which no two rows have one slot.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from validation_core.pieces import slices
from validation_core.types import Array, Integers, PosteriorTable

SlotPlaces = Integers
S = TypeVar("S", bound=np.generic)

_NUMBERS_AT_ONCE = 1 << 21  # of truths made at a time: bounds the memory
_LARGE = 10_000  # truths of a table from which on an eighth of that: its draws are there too


def pick_slots(tables: int, rows: int, slots: int, rng: np.random.Generator) -> SlotPlaces:
    """Slots (tables, rows) that play the truth, each of a row's equally often, independently."""
    return rng.integers(slots, size=(tables, rows))


def pick_slots_after_observed(
    tables: int, rows: int, slots: int, rng: np.random.Generator
) -> SlotPlaces:
    """The observed table, whose truths are slots 0, then others: (1 + tables, rows)."""
    which = pick_slots(tables + 1, rows, slots, rng)
    which[0] = 0
    return which


def played(scores: NDArray[S], which: SlotPlaces) -> NDArray[S]:
    """Scores of the slots that play the truth.

    Args:
        scores: of all slots (..., S, n).
        which: the slot that plays the truth (T, n).

    Returns:
        Scores (..., T, n).
    """
    *leading, slots, n = scores.shape
    return np.take(scores.reshape(*leading, slots * n), which * n + np.arange(n), axis=-1)


def tables_at_once(numbers: int, most: int = _NUMBERS_AT_ONCE) -> int:
    """Number of tables with so many numbers of truths that are made at a time.

    Args:
        numbers: rows times parameters of one table.
        most: numbers that fit in memory together.
    """
    return max(1, (most if numbers <= _LARGE else most // 8) // max(1, numbers))


@dataclass(frozen=True, eq=False)
class SelfMadeTables:
    """T tables made of one table's draws."""

    rows: PosteriorTable
    """The table; its own truths are not looked at."""
    which: SlotPlaces
    """The draw (T, n) that is the truth of a row, and no draw there."""
    truths: Array | None = None
    """Where that draw was moved (T, n, D); None leaves it as it is, so that q is right."""

    def __len__(self) -> int:
        return len(self.which)

    def at(self, places: SlotPlaces) -> SelfMadeTables:
        """The same tables, some of their rows."""
        rows = PosteriorTable(self.rows.theta[places], self.rows.x[places], self.rows.q[places])
        truths = None if self.truths is None else self.truths[:, places]
        return SelfMadeTables(rows, self.which[:, places], truths)

    def pieces(self) -> Iterator[SelfMadeTables]:
        """Some tables at a time, so that arrays computed from them fit in memory."""
        n, _, d = self.rows.q.shape
        step = tables_at_once(n * d)
        for part in slices(len(self), step):
            truths = None if self.truths is None else self.truths[part]
            yield replace(self, which=self.which[part], truths=truths)

    def table(self, trial: int) -> PosteriorTable:
        """One of the tables as such: theta (n, D), x (n, M), q (n, K - 1, D)."""
        q, which = self.rows.q, self.which[trial]
        n, k, d = q.shape
        own = np.arange(k) == which[:, None]
        theta = q[own] if self.truths is None else self.truths[trial]
        return PosteriorTable(theta, self.rows.x, q[~own].reshape(n, k - 1, d))
