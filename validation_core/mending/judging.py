"""What a mend is worth on rows that it did not learn from: nats, and relabelling's verdict."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import softmax

from validation_core import sampling
from validation_core.mending.function import places_by_weight
from validation_core.relabelling import exact_test
from validation_core.relabelling.pools import PLAYERS
from validation_core.rng import stream
from validation_core.statistics.slots import mean_interval
from validation_core.types import Float, Integers, Interval, PosteriorTable


def mean_nats(gain: Float) -> Interval:
    """Mean of rows' gains (n,) in nats, with its 95% interval.

    For any score that did not see the rows, the mean gain is at most KL(p || q) in expectation:
    the interval's low end is a lower bound of it. Under q = p it is at most 0, as a slot's log
    chance times K + 1 is over all slots on average (Jensen).
    """
    return Interval.of(gain.mean(), *map(float, mean_interval(gain)))


def effective_share(log_weight: Float) -> float:
    """Median over rows of the effective share of slots: 1 / (S sum w^2)."""
    square = np.square(softmax(log_weight, axis=1)).sum(axis=1)
    return float(np.median(1 / square) / log_weight.shape[1])


def resampled_table(
    table: PosteriorTable, log_weight: Float, count: int, rng: np.random.Generator
) -> PosteriorTable:
    """A table of equal weights from one of weighted slots, which keeps an exact test exact.

    If the mended law is right, the true value is slot j with chance w_j, given the row's slots.
    Picked from all slots by these chances, the true value's own among them, independently and
    with replacement, `count` draws are then exchangeable with it: relabelling is exact.

    Args:
        table: theta (n, D), x (n, M), q (n, K, D).
        log_weight: (n, K + 1) of the truth and of the draws.
        count: draws at each x.
        rng: picks them.
    """
    n = len(table)
    place = places_by_weight(softmax(log_weight, axis=1), rng.random((n, count)))
    every = np.concatenate([table.theta[:, None], table.q], axis=1)
    return PosteriorTable(table.theta, table.x, every[np.arange(n)[:, None], place])


def verdict_pvalue(
    table: PosteriorTable, log_weight: Float, parts: Sequence[Integers], seed: int
) -> float:
    """The p-value of relabelling within x on each judged part, by Bonferroni over the parts.

    Weights of a part were learned on the others, so that each part's test is exact by itself;
    how the parts depend on one another does not matter.

    Args:
        table: all rows.
        log_weight: (N, K + 1) of all rows' slots; zeros for q as it is.
        parts: rows that are judged together.
        seed: of the picked slots, and of relabelling.
    """
    count = min(log_weight.shape[1] - 1, PLAYERS)
    pvalues = [
        exact_test(
            resampled_table(
                sampling.take(table, rows),
                log_weight[rows],
                count,
                stream(seed, "mend", "slots", i),
            ),
            seed,
        ).pvalue
        for i, rows in enumerate(parts)
    ]
    return min(1.0, len(parts) * min(pvalues))
