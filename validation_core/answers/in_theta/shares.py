"""How often the truth lies where a share of q's draws does, with exact intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from validation_core.statistics import Pool
from validation_core.types import Array

DECILES = 10
STRIPS = (-1.5, -0.5, 0.5, 1.5)
"""Edges of the strips of a parameter, in q's sds around its mean."""
FACTOR = 2.0
"""A truth so many times as frequent, or as rare, is told of."""


def clopper(count: float, n: float, level: float) -> tuple[float, float]:
    """Clopper and Pearson's exact interval of a rate from `count` in `n`."""
    outside = (1 - level) / 2
    low = float(betaincinv(count, n - count + 1, outside)) if count > 0 else 0.0
    return low, float(betaincinv(count + 1, n - count, 1 - outside)) if count < n else 1.0


def compared(count: int, n: int, k: int, q_share: float, tests: int) -> dict[str, Any]:
    """The truth's share of a region against q's, with an interval that holds for all `tests`.

    q's share is itself an average over k draws a row: as if of n k / (k + 1) rows rather than n.

    Args:
        count: truths in the region.
        n: truths in all.
        k: draws of q at each.
        q_share: share of q's draws there.
        tests: regions that share the 5%.
    """
    worth = k / (k + 1)
    low, high = clopper(count * worth, n * worth, 1 - 0.05 / tests)
    ratios = (count / n, low, high)
    ratio, ratio_low, ratio_high = (
        (one / q_share for one in ratios) if q_share > 0 else (None, None, None)
    )
    return {
        "count": int(count), "n": int(n), "q": float(q_share), "truth": count / n, "low": low,
        "high": high, "ratio": ratio, "ratio_low": ratio_low, "ratio_high": ratio_high,
    }  # fmt: skip


def deciles(truth: Array, draws: Array, k: int, rng: np.random.Generator) -> list[dict[str, Any]]:
    """The truth's share in each tenth of q's draws by score, lowest first.

    Args:
        truth: scores (n,).
        draws: scores (n, K').
        k: draws that the table has.
        rng: parts what is tied.
    """
    below, equal = Pool(draws).cdf(truth)
    u = below + rng.random(len(truth)) * equal
    cell = np.minimum((u * DECILES).astype(int), DECILES - 1)
    counts = np.bincount(cell, minlength=DECILES)
    ordered = np.array_split(np.sort(draws, axis=None).astype(np.float64), DECILES)
    return [
        {**compared(int(count), len(truth), k, 1 / DECILES, DECILES), "claimed": _mean_ratio(part)}
        for count, part in zip(counts, ordered, strict=True)
    ]


def region(
    inside: NDArray[np.bool_], q_inside: NDArray[np.bool_], k: int, tests: int
) -> dict[str, Any]:
    """A region by which truths (n,) and which draws (n, K') lie in it."""
    return compared(int(inside.sum()), len(inside), k, float(q_inside.mean()), tests)


def strips(
    truth: Array, draws: Array, k: int, parameters: NDArray[np.int64]
) -> list[dict[str, Any]]:
    """The truth's share in each strip of some parameters, in q's sds around its mean.

    Args:
        truth: (n, P) standardised.
        draws: (n, K', P) standardised.
        k: draws that the table has.
        parameters: (P,) which they are.
    """
    count = len(STRIPS) + 1
    found = []
    for at, which in enumerate(parameters):
        mine = np.searchsorted(STRIPS, truth[:, at])
        theirs = np.searchsorted(STRIPS, draws[:, :, at])
        found += [
            {"parameter": int(which), "strip": one,
             **region(mine == one, theirs == one, k, count * len(parameters))}
            for one in range(count)
        ]  # fmt: skip
    return found


def _mean_ratio(logits: Array) -> float:
    """The mean of exp(logit): p's share over q's, if the score is the log ratio."""
    if not len(logits):
        return 1.0
    return float(np.exp(np.minimum(logits, 50.0)).mean())
