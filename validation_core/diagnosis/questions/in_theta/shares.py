"""Shares of the true values against q's: in tenths of the learned ratio, and in strips."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from validation_core.diagnosis.questions.in_theta.result import STRIPS, Share, Tenth, ThetaStrip
from validation_core.statistics import PooledLaw
from validation_core.types import Array, Integers

_DECILES = 10


def decile_shares(
    truth: Array, draws: Array, k: int, rng: np.random.Generator
) -> tuple[Tenth, ...]:
    """The truth's share in each tenth of q's draws by score, lowest first.

    Args:
        truth: scores (n,).
        draws: scores (n, K').
        k: draws that the table has.
        rng: parts what is tied.
    """
    below, equal = PooledLaw(draws).cdf(truth)
    u = below + rng.random(len(truth)) * equal
    cell = np.minimum((u * _DECILES).astype(int), _DECILES - 1)
    counts = np.bincount(cell, minlength=_DECILES)
    ordered = np.array_split(np.sort(draws, axis=None).astype(np.float64), _DECILES)
    return tuple(
        Tenth(Share.of(int(count), len(truth), k, 1 / _DECILES, _DECILES), _mean_ratio(part))
        for count, part in zip(counts, ordered, strict=True)
    )


def region_share(
    inside: NDArray[np.bool_], q_inside: NDArray[np.bool_], k: int, tests: int
) -> Share:
    """A region by which truths (n,) and which draws (n, K') lie in it."""
    return Share.of(int(inside.sum()), len(inside), k, float(q_inside.mean()), tests)


def strip_shares(
    truth: Array, draws: Array, k: int, parameters: Integers
) -> tuple[ThetaStrip, ...]:
    """The truth's share in each strip of some parameters, in q's sds around its mean.

    Args:
        truth: (n, P) standardised.
        draws: (n, K', P) standardised.
        k: draws that the table has.
        parameters: (P,) which they are.
    """
    count = len(STRIPS) + 1
    regions = []
    for at, which in enumerate(parameters):
        own = np.searchsorted(STRIPS, truth[:, at])
        theirs = np.searchsorted(STRIPS, draws[:, :, at])
        for strip in range(count):
            share = region_share(own == strip, theirs == strip, k, count * len(parameters))
            regions.append(ThetaStrip(int(which), strip, share))
    return tuple(regions)


def _mean_ratio(logits: Array) -> float:
    """The mean of exp(logit): p's share over q's, if the score is the log ratio."""
    if not len(logits):
        return 1.0
    return float(np.exp(np.minimum(logits, 50.0)).mean())
