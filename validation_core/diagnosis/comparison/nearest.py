"""Which table is nearest to the true posterior, and whether its own tests reject it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from validation_core.diagnosis import Record
from validation_core.diagnosis.comparison.pairwise_intervals import FEWEST, mean_differences
from validation_core.diagnosis.comparison.proper_scores import RowScores
from validation_core.text import SMALLEST
from validation_core.types import Interval


class Ranking(NamedTuple):
    """Which table is nearest to the true posterior by the energy score, and by how much."""

    order: tuple[int, ...]
    """The tables, the one of the least score first."""
    behind: tuple[Interval, ...]
    """How much higher each table scores than the nearest (T), in standard deviations of the true
    values. Intervals are 95% for every pair of tables together, so that they hold although the
    nearest was picked by the same rows."""

    @property
    def tied(self) -> tuple[int, ...]:
        """Tables that the data cannot tell from the nearest."""
        return tuple(i for i in self.order[1:] if self.behind[i].low <= 0)

    @property
    def farther(self) -> tuple[int, ...]:
        """Tables that are farther than the nearest, in order."""
        return tuple(i for i in self.order[1:] if self.behind[i].low > 0)


def ranking(scores: Sequence[RowScores | None]) -> Ranking | None:
    """The tables in the order of their energy scores; None while one has none in two rows.

    Args:
        scores: of the rows of each table, whose simulations are the same.
    """
    energies = [score.energy for score in scores if score is not None]
    if len(energies) < max(len(scores), 2):
        return None
    rows = np.stack(energies).astype(np.float64)  # (T, N)
    rows = rows[:, np.isfinite(rows).all(0)]
    if rows.shape[1] < FEWEST:
        return None
    order = np.argsort(rows.mean(1), kind="stable")
    return Ranking(tuple(order.tolist()), mean_differences(rows - rows[order[0]]))


def rejections(records: Sequence[Sequence[Record]]) -> tuple[float | None, ...]:
    """The smallest p-value of each table's own tests, by Bonferroni over all tests of all tables.

    So the table that is nearest may be picked by the same rows. None for one without a test.
    """
    ran = [[one.pvalue for one in each if one.pvalue is not None] for each in records]
    tests = sum(map(len, ran))
    return tuple(min(1.0, tests * max(min(p), SMALLEST)) if p else None for p in ran)
