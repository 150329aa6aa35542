"""The smallest size of a defect that is found with 80% power, from rejections at several sizes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from validation_core import statistics
from validation_core.types import Float

POWER = 0.8
"""Share of tables in which a defect is found that counts as found."""


class _Smallest(NamedTuple):
    """The smallest size found with 80% power and its 95% interval; None where none is known.

    `low` None: the weakest one tried may already be found. `high` and `size` None: the strongest
    one tried may not be, or is not.
    """

    size: float | None
    low: float | None
    high: float | None


def power_crossing(sizes: ArrayLike, rates: ArrayLike, weights: ArrayLike) -> float | None:
    """The size at which a curve that cannot fall reaches 80%, over the logarithm of size.

    Rates (L,) at ascending sizes (L,) are made monotone by isotonic regression. The first size
    where they begin there; None where they never get there.
    """
    size, rate, weight = (np.asarray(part, dtype=np.float64) for part in (sizes, rates, weights))
    if not size.size:
        return None
    curve = _rising(rate, weight)
    above = np.flatnonzero(curve >= POWER)
    if not above.size:
        return None
    i = int(above[0])
    if i == 0:
        return float(size[0])
    share = (POWER - curve[i - 1]) / (curve[i] - curve[i - 1])
    return float(np.exp(np.log(size[i - 1]) + share * np.log(size[i] / size[i - 1])))


def _rising(rate: Float, weight: Float) -> Float:
    """The nearest curve (L,) that never falls: the largest least mean over what a place is in."""
    total = np.append(0.0, np.cumsum(weight))
    at = np.append(0.0, np.cumsum(weight * rate))
    first, last = np.triu_indices(len(rate))
    mean = np.full((len(rate), len(rate)), np.nan)  # of places first to last
    mean[first, last] = (at[last + 1] - at[first]) / (total[last + 1] - total[first])
    least = np.fmin.accumulate(mean[:, ::-1], axis=1)[:, ::-1]  # over all ends at or beyond
    return np.asarray(np.fmax.accumulate(least, axis=0).diagonal())


def smallest_detectable_size(sizes: ArrayLike, counts: ArrayLike, trials: ArrayLike) -> _Smallest:
    """The smallest size found, from rejections (L,) in trials (L,) at ascending sizes (L,).

    Its interval is where the curves of the exact 95% limits of the rates reach 80%.
    """
    size, count, n = (np.asarray(part, dtype=np.float64) for part in (sizes, counts, trials))
    if not size.size:
        return _Smallest(None, None, None)
    low, high = statistics.clopper_pearson(count, n)
    first = power_crossing(size, high, n)  # the most power there may be gives the least size
    return _Smallest(
        power_crossing(size, count / n, n),
        None if first is None or first <= size[0] else first,
        power_crossing(size, low, n),
    )


def informative_points(tests: ArrayLike, rates: ArrayLike) -> NDArray[np.bool_]:
    """Whether points of a curve (L,), by ascending size, tell something of all tests together.

    A point at which fewer tests were asked has a lower bound of the power only. It tells nothing
    beside points at which more were: between two of them, or above one that found more.
    """
    count, rate = np.asarray(tests), np.asarray(rates, dtype=np.float64)
    keep = np.ones(len(count), dtype=bool)
    for i in range(len(count)):
        weaker = [j for j in range(i) if count[j] > count[i]]
        stronger = any(count[j] > count[i] for j in range(i + 1, len(count)))
        if weaker and (stronger or rate[i] < max(rate[j] for j in weaker)):
            keep[i] = False
    return keep
