"""Mending each parameter by itself: its ranks made uniform, and its intervals made to cover."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from validation_core import statistics
from validation_core.mending.reweighting import Split, temperature
from validation_core.rng import stream
from validation_core.statistics import effects
from validation_core.statistics.ranks import midranks
from validation_core.statistics.slots import multiclass_contributions
from validation_core.tables.draw_order import some_draws
from validation_core.types import Float, Interval, PosteriorTable

LEVEL = 0.9
"""Of the intervals that are calibrated."""
FEWEST = 19
"""Draws below which not even all of them are a central interval of that level."""
_BINS = 10
_PULL = 2.0  # rows' worth of "uniform" in each tenth
_NUMBERS = 20_000_000  # of slots times parameters that are ranked


@dataclass(frozen=True)
class CalibratedInterval:
    """The central interval of one parameter, at the level that covers as it should."""

    coverage: Interval
    """Share of true values in q's 90% interval, exact over all parameters together."""
    needed: float
    """Level of q's interval that covers 90%, by split conformal; 1 where not even that from the
    least to the largest draw does."""

    @property
    def right(self) -> bool:
        """Whether q's interval covers as it should, as far as these rows tell."""
        return self.coverage.low <= LEVEL <= self.coverage.high


def slot_ranks(table: PosteriorTable) -> Float:
    """Mid-ranks (N, S, D) in (0, 1) of the truth, the first, and of draws among one another.

    Of large tables fewer draws are ranked, picked at random.
    """
    n, _, d = table.q.shape
    q = some_draws(table.q, max(1, _NUMBERS // (n * d) - 1), stream(0, "mend", "ranks"))
    slots = np.concatenate([table.theta[:, None], q], axis=1)
    u = (midranks(np.moveaxis(slots, 1, 2)) - 0.5) / slots.shape[1]
    return np.asarray(np.moveaxis(u, 2, 1), np.float64)


def rank_gain(u: Float, splits: Sequence[Split]) -> Float:
    """What recalibrating each parameter's ranks regains (N,) in nats, on rows that judge.

    q's density times the density of the truths' ranks: the map that makes each parameter's ranks
    uniform, with the dependence between parameters left as it is.

    Args:
        u: ranks (N, S, D) of the slots, the truth's first.
        splits: rows that learn, temper and judge.
    """
    n, slots, d = u.shape
    at = np.minimum((u * _BINS).astype(np.int64), _BINS - 1)
    gain = np.empty(n)
    for split in splits:
        scores = np.zeros((n, slots))
        for j in range(d):
            counts = np.bincount(at[split.learn, 0, j], minlength=_BINS) + _PULL
            scores += np.log(counts / counts.mean())[at[..., j]]
        scores *= temperature(scores[split.temper])
        gain[split.judge] = multiclass_contributions(scores[split.judge])[:, 0]
    return gain


def calibrated_intervals(table: PosteriorTable, seed: int) -> tuple[CalibratedInterval, ...]:
    """Each parameter's 90% interval: how it covers, and the level that covers 90%; none of fewer
    than FEWEST draws.

    A central interval of level a holds a truth of randomised rank u if |2 u - 1| <= a, so that a
    correct q covers a whatever the number of draws and of equal values. The level is the
    ceil((n + 1) 0.9)-th smallest of these over n rows, at which a new true value is covered with
    chance 90% or more (split conformal: exact on average over x, not at each).
    """
    n, k, d = table.q.shape
    if k < FEWEST:
        return ()
    below, equal = statistics.count(table.theta.T, table.q.transpose(2, 0, 1))
    u = statistics.randomised_ranks(below, equal, k, stream(seed, "mend", "intervals"))
    cover = effects.covered(u, [LEVEL], 1 - 0.05 / d)
    off = np.sort(np.abs(2 * u - 1), axis=1)
    place = math.ceil((n + 1) * LEVEL)
    needed = off[:, place - 1] if place <= n else np.ones(d)
    needed = np.where(needed > 1 - 2 / (k + 1), 1.0, needed)  # beyond all draws of the row
    return tuple(
        CalibratedInterval(Interval.of(*(end[j, 0] for end in cover)), float(needed[j]))
        for j in range(d)
    )


def outside_share(table: PosteriorTable) -> float:
    """Share of truths beyond all of q's draws in some parameter: no weight mends those."""
    beyond = (table.theta < table.q.min(axis=1)) | (table.theta > table.q.max(axis=1))
    return float(beyond.any(axis=1).mean())
