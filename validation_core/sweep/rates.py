"""Intervals of a cell's rejection rate, and whether it breaks the level."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from validation_core.statistics import binomial_bounds, wilson
from validation_core.types import NetworkCount, PowerCell


class RateInterval(NamedTuple):
    """Ends of a 95% interval for a rate."""

    low: float
    high: float


def counts_of(cell: PowerCell) -> tuple[NetworkCount, ...]:
    """Rejections and trials of each network."""
    return cell.networks or (NetworkCount(cell.rejections, cell.trials),)


def rate_interval(cell: PowerCell) -> RateInterval:
    """95% interval of a cell's rate.

    With one network it is Wilson's. Several networks are tested on the same draws, so that their
    trials do not add up: the interval reaches from the lowest to the highest of theirs.
    """
    return interval_over_networks(*np.transpose(counts_of(cell)))


def interval_over_networks(rejections: ArrayLike, trials: ArrayLike) -> RateInterval:
    """From the lowest to the highest end of each network's 95% interval.

    Args:
        rejections: of each network.
        trials: of each network.
    """
    low, high = wilson(np.asarray(rejections), np.asarray(trials))
    return RateInterval(float(low.min()), float(high.max()))


def standard_error(cell: PowerCell) -> float:
    """Standard error of the mean rate over networks, as the papers print it; NaN for one."""
    rejections, trials = np.transpose(counts_of(cell))
    rates = rejections / trials
    return float(rates.std(ddof=1) / np.sqrt(len(rates))) if len(rates) > 1 else float("nan")


def exceeds_level(cell: PowerCell, confidence: float) -> bool:
    """Whether any network rejects more often than a test at the level does.

    Args:
        cell: counts of trials in which q is correct.
        confidence: chance of no such finding where all tests hold their level.
    """
    rejections, trials = np.transpose(counts_of(cell))
    share = 1 - (1 - confidence) / len(trials)
    most = [binomial_bounds(int(count), cell.alpha, share)[1] for count in trials]
    return bool((rejections > most).any())
