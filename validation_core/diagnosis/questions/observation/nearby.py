"""The truth's ranks at the rows nearest to an observation, with an exact test of them all."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from validation_core.diagnosis.questions.over_x.features import OverXKind, parameter_features
from validation_core.diagnosis.questions.over_x.sizes import smooth_feature
from validation_core.localization import neighbours, over_x
from validation_core.relabelling.played_truths import pick_slots, played
from validation_core.rng import stream
from validation_core.statistics.permutation import SINGLE_ROUNDING, share_beyond
from validation_core.types import Array, Integers, Interval, PosteriorTable

_NULLS = 999
_SIZES: tuple[OverXKind, OverXKind] = ("shift", "width")


@dataclass(frozen=True)
class NearbyRanks:
    """Errors of the truth's ranks in one parameter at the rows near an observation."""

    parameter: int
    shift: Interval
    """q's bias in posterior sd; 0 if q is right."""
    width: Interval
    """q's width by the width it needs; 1 if q is right."""
    pvalue: float
    """p-value that q is right in it at these rows, adjusted for all parameters."""

    @property
    def open(self) -> bool:
        """Whether true values lie beyond all draws at one end: the shift is a bound."""
        return math.isnan(self.shift.low) or math.isnan(self.shift.high)

    @property
    def shifted(self) -> float:
        """Distance of the shift from a right q's, in widths of its interval."""
        return math.inf if self.open else abs(self.shift.estimate) / _width(self.shift)

    @property
    def stretched(self) -> float:
        """Distance of the width from a right q's, in widths of its interval."""
        return abs(self.width.estimate - 1) / _width(self.width) if self.width.known else 0.0


def _width(interval: Interval) -> float:
    return max(interval.high - interval.low, 1e-12)


@dataclass(frozen=True)
class NearbyRankTest:
    """The truth's ranks at the rows nearest to an observation."""

    rows: int
    worth: float
    """Equal rows that count as much as these do by nearness."""
    of: int
    """Rows in all."""
    pvalue: float
    """Exact p-value that q is right at all of them."""
    nulls: int
    all: int
    """Parameters in all."""
    parameters: tuple[NearbyRanks, ...]

    @property
    def worst(self) -> tuple[NearbyRanks, ...]:
        """Parameters, those whose shift or width is farthest from a right q's first."""
        return tuple(
            sorted(self.parameters, key=lambda ranks: -max(ranks.shifted, ranks.stretched))
        )


def nearby_rank_test(
    table: PosteriorTable, which: Integers, x: Array, seed: int
) -> NearbyRankTest:
    """Shift and width of the truth's ranks at the rows near x, with an exact p of them all.

    The p-value is that of tables in which another of the truth and q's draws plays the truth in
    every row, which changes nothing if q is right there; neighbours are chosen by x alone.

    Args:
        table: theta (N, D), x (N, M), q (N, K, D).
        which: parameters that are looked at, from 0.
        x: the observation (M,).
        seed: of tie-breakers and of the draws that play the truth.
    """
    weight = neighbours.weights(table.x, x[None])  # (1, n)
    rows = np.flatnonzero(weight[0] > 0)
    few = PosteriorTable(
        table.theta[rows][:, which],
        table.x[rows, :0],
        table.q[np.ix_(rows, np.arange(table.q.shape[1]), which)],
    )
    feature_set = parameter_features(few, seed)
    own = weight[0, rows]
    norm = float(np.sqrt(np.square(own).sum()))
    _, slots, n = feature_set.scores.shape
    which_slots = pick_slots(_NULLS, n, slots, stream(seed, "observation", "nearby"))
    observed = np.abs(feature_set.truth @ own) / norm  # (F,)
    largest = np.zeros(_NULLS)
    for scores in feature_set.scores:  # one by one: all together would fill the memory
        largest = np.maximum(largest, np.abs(played(scores, which_slots) @ own) / norm)
    each = share_beyond(observed, largest, SINGLE_ROUNDING * observed)
    adjusted = each.reshape(len(_SIZES), -1).min(0)
    parameters = []
    for index, parameter in enumerate(which):
        raw = feature_set.truth[index]
        shift, width = (
            Interval.of(*smooth_feature(kind, raw, own[None], table.q.shape[1])[:3, 0])
            for kind in _SIZES
        )
        p = float(adjusted[index])
        parameters.append(NearbyRanks(int(parameter), shift, width, p))
    return NearbyRankTest(
        rows=n,
        worth=float(over_x.totals(weight)[1][0]),
        of=len(table),
        pvalue=float(adjusted.min()),
        nulls=_NULLS,
        all=table.theta.shape[1],
        parameters=tuple(parameters),
    )
