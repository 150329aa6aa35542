"""The verdict's p-value of tables made of a table's own draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from validation_core.diagnosis.null_tables.pooled_scores import PooledScores, ScoredTables
from validation_core.methods.omnibus import WholeTable
from validation_core.relabelling import UNLEARNED
from validation_core.relabelling.battery import Battery
from validation_core.relabelling.calibration import LogPScale, log_p_scale
from validation_core.relabelling.families import RATIOS
from validation_core.relabelling.magnitudes import magnitudes_beside
from validation_core.relabelling.norms import FEW, moved_norm_ranks, moved_norms, norms
from validation_core.relabelling.played_truths import SelfMadeTables, SlotPlaces
from validation_core.relabelling.pools import SlotNumbers, SlotRanks, log_ratios
from validation_core.relabelling.table_statistics import (
    LearnedScore,
    TableStatistics,
    statistics_of,
)
from validation_core.rng import stream
from validation_core.statistics.permutation import share_beyond, single_precision_slack
from validation_core.tables import TableUpload
from validation_core.types import Float

LABELLINGS = 999


@dataclass(frozen=True, eq=False)
class LearnedPools:
    """Learned scores of all draws at the rows that they did not learn from."""

    pools: Mapping[str, PooledScores]
    """Scores of all draws by the verdict's name of each."""
    rows: SlotPlaces
    """(n,) of the table."""


@dataclass(frozen=True, eq=False)
class _NullPart:
    """Statistics that are calibrated together, and the largest of them in each labelling."""

    battery: Battery
    scale: LogPScale
    null: NDArray[np.float32]
    """(B,)."""
    share: float
    """Share of the level."""

    @classmethod
    def of(cls, battery: Battery, z: NDArray[np.float32], share: float) -> _NullPart:
        """The part from the statistics (B, C) of labellings."""
        scale = log_p_scale(z, battery.cells)
        null = scale.minus_log_p(scale.normal(z)).max(axis=1)
        return cls(battery, scale, null, share)

    def pvalues(self, scores: Sequence[SlotRanks], moved: SlotPlaces | None) -> Float:
        """p-values (T,) of tables' largest statistics; none is below 1 / (B + 1)."""
        z = self.scale.normal(self.battery.statistics_of_truths(scores, moved))
        observed = self.scale.minus_log_p(z).max(axis=1)
        return share_beyond(observed, self.null, single_precision_slack(observed))


@dataclass(frozen=True, eq=False)
class NullVerdict:
    """The verdict's statistics of tables made of q's draws alone, and the law of the largest."""

    setup: TableStatistics
    """Without learned scores."""
    labellings: SlotNumbers
    """(B, N)."""
    z: NDArray[np.float32]
    """(B, C) of the labellings, without learned scores."""
    theta: PooledScores
    """Every parameter of all rows."""
    norm: PooledScores | None
    """Norms of all rows' draws; None for one parameter."""
    learned: LearnedPools | None = None
    others: Battery | None = None
    """The statistics of learned scores."""

    @classmethod
    def of(cls, upload: TableUpload, seed: int) -> NullVerdict:
        """The verdict on tables made of this one's draws, without learned scores."""
        data = upload.data
        setup = statistics_of(data, seed, truths=False)
        labellings = setup.battery.pools.labellings(
            LABELLINGS, stream(seed, "null verdict", "labellings")
        )
        norm = None
        if len(setup.parameters) > 1:
            norm = PooledScores.ranked(WholeTable(), norms(data.q[..., setup.parameters])[None])
        z = setup.battery.statistics_in_pieces(labellings)
        return cls(setup, labellings, z, PooledScores.of(WholeTable(), data), norm)

    def with_learned(self, learned: LearnedPools) -> NullVerdict:
        """The same with learned scores: only theirs are worked out for every labelling."""
        scores = [
            LearnedScore(name, learned.rows, pool.draws[0], name in RATIOS)
            for name, pool in learned.pools.items()
        ]
        return replace(self, learned=learned, others=self.setup.with_learned(scores))

    @cached_property
    def _parts(self) -> tuple[_NullPart, ...]:
        """Statistics that learn nothing and, where there are any, those of learned scores."""
        if self.others is None:
            return (_NullPart.of(self.setup.battery, self.z, 1.0),)
        learned = self.others.statistics_in_pieces(self.labellings)
        return (
            _NullPart.of(self.setup.battery, self.z, UNLEARNED),
            _NullPart.of(self.others, learned, 1 - UNLEARNED),
        )

    def statistics(self, trials: SelfMadeTables) -> NDArray[np.float32]:
        """Statistics (T, C) of tables, without learned scores.

        One draw that is moved changes the median and the widths of few others: sensitivity, which
        moves them, asks for 20.
        """
        return self.setup.battery.statistics_of_truths(self._scores(trials), _moved(trials))

    def pvalues(self, trials: SelfMadeTables, learned: Mapping[str, ScoredTables]) -> Float:
        """The verdict's p (T,) of tables, over its parts and their shares of the level.

        Args:
            trials: the tables.
            learned: the same under each learned score, at the rows that it did not learn from.
        """
        scores = self._scores(trials) + self._learned_scores(learned)
        each = [part.pvalues(scores, _moved(trials)) / part.share for part in self._parts]
        return np.minimum(1.0, np.minimum.reduce(each))

    def _scores(self, trials: SelfMadeTables) -> list[SlotRanks]:
        """Ranks of the true values among the other draws, of parameters and their norm."""
        theta = self.theta.on(trials)
        u = theta.mid_ranks()
        scores = [
            SlotRanks(
                "theta",
                int(parameter),
                u[parameter],
                magnitude=magnitudes_beside(
                    self.theta.ordered[parameter],
                    theta.truth[parameter],
                    theta.below[parameter],
                    theta.own_below[parameter],
                ),
            )
            for parameter in self.setup.parameters
        ]
        if self.norm is not None:
            scores.append(SlotRanks("norm", -1, self._norms(trials)))
        return scores

    def _learned_scores(self, scored: Mapping[str, ScoredTables]) -> list[SlotRanks]:
        """Ranks of the true values among the other draws, by the learned scores."""
        scores = []
        for name, pool in self.learned.pools.items() if self.learned else ():
            raw = None
            if name in RATIOS:
                raw = log_ratios(scored[name].truth[0], pool.draws[0].max(axis=-1)).T
            scores.append(SlotRanks(name, -1, scored[name].mid_ranks()[0], raw))
        return scores

    def _norms(self, trials: SelfMadeTables) -> NDArray[np.float32]:
        """Mid-ranks u (T, N) of the true values' norms among the other draws, in the mean and the
        covariance of both."""
        assert self.norm is not None
        own = np.take_along_axis(self.norm.draws, trials.which.T[None], axis=-1)
        truth = own
        if trials.truths is not None:
            pools = trials.rows.q[..., self.setup.parameters]
            moved = trials.truths[..., self.setup.parameters]
            if pools.shape[1] <= FEW:
                return moved_norm_ranks(pools, trials.which, moved)
            truth = moved_norms(pools, trials.which, moved)[None]
        return ScoredTables(self.norm, trials.which, truth, own).mid_ranks()[0]


def _moved(trials: SelfMadeTables) -> SlotPlaces | None:
    """The draws (T, n) that were moved."""
    return None if trials.truths is None else trials.which
