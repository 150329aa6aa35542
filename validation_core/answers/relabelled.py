"""The verdict on tables made of one table's own draws: relabelling, worked out once for all.

A table in which a draw of q plays the truth is itself a labelling, so that one set of labellings
of the draws calibrates every such table, and every one whose truths were moved.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from validation_core.answers.selfnull import Float, Pooled, Scored, Trials
from validation_core.methods.omnibus import WholeTable
from validation_core.omnibus import Learned
from validation_core.omnibus.battery import ROUNDING, Battery, Scale, scale
from validation_core.omnibus.features import RATIOS
from validation_core.omnibus.slots import SlotScore, log_ratios, norms
from validation_core.omnibus.table import statistics_of
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

    battery: Battery
    scale: Scale
    null: NDArray[np.float32]
    """(B,) the largest evidence of each labelling."""
    theta: Pooled
    """Every parameter of all rows."""
    parameters: Places
    """Those that are looked at."""
    norm: Pooled | None
    """Of all rows; None for one parameter."""
    learned: Lookers | None

    @classmethod
    def of(cls, upload: Upload, seed: int, learned: Lookers | None = None) -> NullVerdict:
        """What the verdict looks at on this table, with these learned scores."""
        data = upload.data
        assert isinstance(data, Draws)
        theta = Pooled.of(WholeTable(), data)
        given = [] if learned is None else [
            Learned(name, learned.rows, pool.draws[0], name in RATIOS)
            for name, pool in learned.pools.items()
        ]  # fmt: skip
        asked = statistics_of(data, seed, learned=given, truths=False)
        labellings = asked.battery.pools.labellings(
            LABELLINGS, stream(seed, "null verdict", "labellings")
        )
        z = asked.battery.labelled(labellings)
        comparable = scale(z, asked.battery.cells)
        norm = None
        if len(asked.parameters) > 1:
            norm = Pooled.ranked(WholeTable(), norms(data.q[..., asked.parameters])[None])
        null = comparable.evidence(z).max(axis=1)
        return cls(asked.battery, comparable, null, theta, asked.parameters, norm, learned)

    def pvalues(self, trials: Trials) -> Float:
        """The verdict's p (T,) of tables; none is below 1 / (B + 1)."""
        z = self.battery.of_truths(self._scores(trials))
        seen = self.scale.evidence(z).max(axis=1)
        slack = ROUNDING * np.maximum(np.abs(seen), 1.0)
        null = np.broadcast_to(self.null, (len(seen), len(self.null)))
        return share_beyond(seen, null, slack)

    def _scores(self, trials: Trials) -> list[SlotScore]:
        """Ranks of the truths among the other draws, by every score that is looked at."""
        names = {name for part in self.battery.parts for name in part.block.names}
        u = self.theta.on(trials).mid_ranks()
        scores = [SlotScore("theta", one, u[one]) for of, one in sorted(names) if of == "theta"]
        if ("norm", -1) in names:
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
            moved = np.moveaxis(trials.truths, 0, 1)[..., self.parameters]
            truth = norms(trials.rows.q[..., self.parameters], moved)[None]
        return Scored(self.norm, trials.which, truth, own).mid_ranks()[0]
