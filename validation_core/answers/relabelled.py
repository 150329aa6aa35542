"""The verdict on tables made of one table's own draws: relabelling, worked out once for all.

A table in which a draw of q plays the truth is itself a labelling, so that one set of labellings
of the draws calibrates every such table, and every one whose truths were moved.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from validation_core.answers.selfnull import Float, Pooled, Scored, Trials
from validation_core.methods.omnibus import WholeTable
from validation_core.omnibus import Learned
from validation_core.omnibus.battery import ROUNDING, Battery, Scale, scale
from validation_core.omnibus.features import RATIOS
from validation_core.omnibus.slots import Slots, SlotScore, log_ratios, norms
from validation_core.omnibus.table import Asked, statistics_of
from validation_core.rng import stream
from validation_core.statistics.permutation import share_beyond
from validation_core.types import Draws
from validation_core.uploads import Upload

LABELLINGS = 999

Places = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Lookers:
    """Learned scores of all draws at the rows that they did not learn from."""

    pools: Mapping[str, Pooled]
    """By the name that the verdict has for each."""
    rows: Places
    """(n,) of the table."""


@dataclass(frozen=True, eq=False)
class NullVerdict:
    """What is looked at, its pools being q's draws alone, and how large the largest of it gets."""

    asked: Asked
    """Without learned scores."""
    labellings: Slots
    """(B, N)."""
    z: NDArray[np.float32]
    """(B, C) of the labellings, without learned scores."""
    theta: Pooled
    """Every parameter of all rows."""
    norm: Pooled | None
    """Of all rows; None for one parameter."""
    learned: Lookers | None = None
    others: Battery | None = None
    """The statistics of learned scores."""

    @classmethod
    def of(cls, upload: Upload, seed: int) -> NullVerdict:
        """What the verdict looks at on this table without learned scores."""
        data = upload.data
        assert isinstance(data, Draws)
        asked = statistics_of(data, seed, truths=False)
        labellings = asked.battery.pools.labellings(
            LABELLINGS, stream(seed, "null verdict", "labellings")
        )
        norm = None
        if len(asked.parameters) > 1:
            norm = Pooled.ranked(WholeTable(), norms(data.q[..., asked.parameters])[None])
        z = asked.battery.labelled(labellings)
        return cls(asked, labellings, z, Pooled.of(WholeTable(), data), norm)

    def beside(self, learned: Lookers) -> NullVerdict:
        """With these learned scores too: only theirs are worked out for every labelling."""
        scores = [
            Learned(name, learned.rows, pool.draws[0], name in RATIOS)
            for name, pool in learned.pools.items()
        ]
        return replace(self, learned=learned, others=self.asked.beside(scores))

    @cached_property
    def _null(self) -> tuple[Scale, NDArray[np.float32]]:
        """How families compare, and the largest evidence (B,) of each labelling."""
        z, cells = self.z, self.asked.battery.cells
        if self.others is not None:
            z = np.concatenate([z, self.others.labelled(self.labellings)], axis=1)
            cells = (*cells, *self.others.cells)
        comparable = scale(z, cells)
        return comparable, comparable.evidence(z).max(axis=1)

    def pvalues(self, trials: Trials) -> Float:
        """The verdict's p (T,) of tables; none is below 1 / (B + 1)."""
        scores, (comparable, null) = self._scores(trials), self._null
        both = [one for one in (self.asked.battery, self.others) if one is not None]
        z = np.concatenate([one.of_truths(scores) for one in both], axis=1)
        seen = comparable.evidence(z).max(axis=1)
        slack = ROUNDING * np.maximum(np.abs(seen), 1.0)
        return share_beyond(seen, np.broadcast_to(null, (len(seen), len(null))), slack)

    def _scores(self, trials: Trials) -> list[SlotScore]:
        """Ranks of the truths among the other draws, by every score that is looked at."""
        u = self.theta.on(trials).mid_ranks()
        scores = [SlotScore("theta", int(one), u[one]) for one in self.asked.parameters]
        if self.norm is not None:
            scores.append(SlotScore("norm", -1, self._norms(trials)))
        if self.learned is None:
            return scores
        there = trials.at(self.learned.rows)
        for name, pool in self.learned.pools.items():
            scored = pool.on(there)
            raw = None
            if name in RATIOS:
                raw = log_ratios(scored.truth[0], pool.draws[0].max(axis=-1)).T
            scores.append(SlotScore(name, -1, scored.mid_ranks()[0], raw))
        return scores

    def _norms(self, trials: Trials) -> NDArray[np.float32]:
        """Mid-ranks u (T, N) of the truths' norms among the other draws."""
        assert self.norm is not None
        own = np.take_along_axis(self.norm.draws, trials.which.T[None], axis=-1)
        truth = own
        if trials.truths is not None:
            moved = np.moveaxis(trials.truths, 0, 1)[..., self.asked.parameters]
            truth = norms(trials.rows.q[..., self.asked.parameters], moved)[None]
        return Scored(self.norm, trials.which, truth, own).mid_ranks()[0]
