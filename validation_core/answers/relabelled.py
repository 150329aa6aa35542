"""The verdict on tables made of one table's own draws: relabelling, worked out once for all.

A table in which a draw of q plays the truth is itself a labelling, so that one set of labellings
of the draws calibrates every such table, and every one whose truths were moved.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from validation_core.answers.selfnull import Float, Pooled, Trials
from validation_core.methods.omnibus import WholeTable
from validation_core.omnibus import Learned
from validation_core.omnibus.battery import Battery, Scale, scale
from validation_core.omnibus.features import RATIOS
from validation_core.omnibus.slots import Slots, SlotScore, log_ratios, norms
from validation_core.omnibus.table import statistics_of
from validation_core.rng import stream
from validation_core.types import Draws
from validation_core.uploads import Upload

LABELLINGS = 999
_ROUNDING = 1e-5  # what single-precision sums in another order differ by

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
    norm: NDArray[np.float32]
    """(N, K) of q's draws, in ascending order; (N, 0) for one parameter."""
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
        z = _statistics(asked.battery, labellings)
        comparable = scale(z, asked.battery.cells)
        ordered = np.zeros((len(data), 0), np.float32)
        if len(asked.parameters) > 1:
            ordered = np.sort(norms(data.q[..., asked.parameters]), axis=1)
        return cls(
            asked.battery, comparable, comparable.evidence(z).max(axis=1), theta, ordered, learned
        )

    def pvalues(self, trials: Trials) -> Float:
        """The verdict's p (T,) of tables; none is below 1 / (B + 1)."""
        z = self.battery.of_truths(self._scores(trials))
        seen = self.scale.evidence(z).max(axis=1)
        least = seen - _ROUNDING * np.maximum(np.abs(seen), 1.0)
        at_least = (self.null >= least[:, None]).sum(axis=1)
        return np.asarray((1 + at_least) / (len(self.null) + 1))

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
        q = trials.rows.q
        own = np.take_along_axis(q, trials.which.T[..., None], axis=1)  # (N, T, D)
        truth = own if trials.truths is None else np.moveaxis(trials.truths, 0, 1)
        which = sorted(one for part in self.battery.parts for of, one in part.block.names
                       if of == "theta")  # fmt: skip
        which = sorted(set(which))
        values = q[..., which]
        mine = norms(values, own[..., which])
        theirs = mine if trials.truths is None else norms(values, truth[..., which])
        u = np.empty((trials.which.shape), np.float32)
        for row, ordered in enumerate(self.norm):
            below = ordered.searchsorted(theirs[row]) - (mine[row] < theirs[row])
            until = ordered.searchsorted(theirs[row], side="right") - (mine[row] <= theirs[row])
            u[:, row] = (0.5 * (below + until + 1)) / len(ordered)
        return u


def _statistics(battery: Battery, labellings: Slots) -> NDArray[np.float32]:
    z = np.empty((len(labellings), len(battery.cells)), np.float32)
    for part in battery.pieces(len(labellings)):
        z[part] = battery.statistics(labellings[part])
    return z
