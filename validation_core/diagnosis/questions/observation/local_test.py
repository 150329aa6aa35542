"""L-C2ST at one observation: what its classifiers say of q's draws there."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from validation_core.diagnosis.questions.base import LEVEL
from validation_core.diagnosis.questions.in_theta.maps import strongest_parameters
from validation_core.diagnosis.questions.observation.ensemble import TrainedLC2ST
from validation_core.diagnosis.questions.observation.nearby import NearbyRankTest, nearby_rank_test
from validation_core.precision import narrow
from validation_core.relabelling.pools import players
from validation_core.statistics.local_test import distance_of_logits, local
from validation_core.types import Array, PosteriorTable

_PARAMETERS = 50  # whose ranks nearby are told; of more, those over which the chance varies most
DRAWS_SHOWN = 500  # draws on figures
_CURVES = 100  # nulls on figures
_MAPPED = 12  # parameters whose draws are kept for a map


@dataclass(frozen=True, eq=False)
class LocalTest:
    """L-C2ST at one observation."""

    pvalue: float
    T: float
    null_high: float
    """The 95% quantile of T on its null."""
    nulls: int
    rows: int
    """Number of rows that the classifiers learnt from."""
    draws: int
    mapped: tuple[int, ...]
    """Parameters whose draws are kept for a map."""
    d_low: float
    d_high: float
    """The middle 90% of the learned chance that a draw is the truth."""
    parameter: int | None
    """The parameter, of those whose ranks nearby are not a correct q's, over which the chance
    varies most; None where no parameter's are."""
    much: tuple[float, float]
    """The quarter of its draws where q puts too much mass; NaN without such a parameter."""
    little: tuple[float, float]
    """The quarter where it puts too little."""
    d: Array
    """The chance of some draws: (K',)."""
    theta: Array
    """These draws: (K', P)."""
    t_null: Array
    """(H,)."""
    null_d: Array
    """The chance by some null classifiers: (H', K')."""


def run_local_test(
    network: TrainedLC2ST, table: PosteriorTable, seed: int, x: Array, draws: Array
) -> tuple[LocalTest, NearbyRankTest]:
    """L-C2ST at x with q's draws there, and the ranks of the true values nearby."""
    logits = network.logits(draws, x)
    statistic = distance_of_logits(logits)  # (H + 1,)
    tested = local(statistic[:1], statistic[None, 1:])
    chance = expit(logits[0].astype(np.float64))
    some = players(len(draws), DRAWS_SHOWN)
    mapped = np.sort(strongest_parameters(draws.astype(np.float64), chance, _MAPPED))
    strongest = strongest_parameters(draws.astype(np.float64), chance, _PARAMETERS)
    nearby = nearby_rank_test(table, np.sort(strongest), x, seed)
    # Whoever tells of it asks for its p at a level of their own.
    off = {ranks.parameter for ranks in nearby.parameters if ranks.pvalue <= LEVEL}
    parameter = next((int(which) for which in strongest if int(which) in off), None)
    much = little = (math.nan, math.nan)
    if parameter is not None:
        much, little = _quarters(draws[:, parameter].astype(np.float64), chance)
    d_low, d_high = np.quantile(chance, [0.05, 0.95])
    test = LocalTest(
        pvalue=float(tested.pvalue[0]),
        T=float(statistic[0]),
        null_high=float(np.quantile(statistic[1:], 0.95)),
        nulls=len(statistic) - 1,
        rows=network.rows,
        draws=len(draws),
        mapped=tuple(int(column) for column in mapped),
        d_low=float(d_low),
        d_high=float(d_high),
        parameter=parameter,
        much=much,
        little=little,
        d=narrow(chance[some]),
        theta=narrow(draws[some][:, mapped]),
        t_null=narrow(statistic[1:]),
        null_d=narrow(expit(logits[1 : 1 + _CURVES, some].astype(np.float64))),
    )
    return test, nearby


def _quarters(values: Array, chance: Array) -> tuple[tuple[float, float], tuple[float, float]]:
    """The quarters of a parameter's draws (K,) in which q puts too much and too little mass, by
    the chance (K,)."""
    edges = np.quantile(values, np.arange(1, 4) / 4)
    cell = np.searchsorted(edges, values, side="right")
    ends = np.quantile(values, np.arange(5) / 4)
    counts = np.bincount(cell, minlength=4)
    mean = np.bincount(cell, chance, minlength=4) / np.maximum(counts, 1)
    some = np.flatnonzero(counts)
    much, little = (int(some[pick(mean[some])]) for pick in (np.argmin, np.argmax))
    return (
        (float(ends[much]), float(ends[much + 1])),
        (float(ends[little]), float(ends[little + 1])),
    )
