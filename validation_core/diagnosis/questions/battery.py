"""The tests of a diagnosis on tables made of one table's own draws, and the verdict over them.

A table in which a draw of q plays the truth is itself a labelling, so that one set of labellings
of the draws calibrates relabelling on every such table, and on every one whose truths were moved.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from validation_core import statistics
from validation_core.diagnosis import learning
from validation_core.diagnosis.choice import obstacle, unusable
from validation_core.diagnosis.questions.null_tables import (
    Float,
    Places,
    Pooled,
    Scored,
    Trials,
    pvalues,
)
from validation_core.methods.base import Method
from validation_core.methods.omnibus import Omnibus, WholeTable
from validation_core.methods.sbc import SBC
from validation_core.omnibus import LearnedScore, TableStatistics, statistics_of
from validation_core.omnibus.battery import RATIOS, ROUNDING, Battery, EvidenceScale, scale
from validation_core.omnibus.slots import SlotRanks, Slots, log_ratios, norms
from validation_core.rng import stream
from validation_core.statistics.permutation import share_beyond
from validation_core.tables import Upload
from validation_core.types import PosteriorTable

_NUMBERS = 3_000_000  # of q's draws that are scored: 5000 rows of 10 parameters keep 60 draws
_FEWEST = 20  # draws at each x that are kept whatever the size
LABELLINGS = 999


def needs_draws(upload: Upload) -> str | None:
    """Why no table can be made of an upload's own draws; None where it can."""
    if not isinstance(upload.data, PosteriorTable):
        return (
            "A draw of q plays the truth among the others at its x; two samples p and q have no "
            "x. Upload theta, x and theta_q."
        )
    if upload.k < 2:
        return (
            f"A draw of q plays the truth, so that each row needs at least 2; got {upload.k}. "
            "Upload more draws at each x."
        )
    return obstacle(SBC(), upload) or unusable(upload)


def thinned(upload: Upload) -> Upload:
    """The upload, of large tables with fewer draws at each x, evenly spaced in their order.

    A test's level does not depend on how many draws there are, and its power hardly beyond 60:
    scoring all draws of a large table would take longer than everything else.
    """
    data = upload.data
    assert isinstance(data, PosteriorTable)
    n, k, d = data.q.shape
    most = min(k, max(_FEWEST, _NUMBERS // (n * d)))
    if most == k:
        return upload
    places = np.arange(most) * k // most
    return replace(upload, data=replace(data, q=data.q[:, places]))


@dataclass(frozen=True)
class LeftOut:
    """A method that is not asked about self-made tables."""

    label: str
    reason: str

    def __str__(self) -> str:
        return f"{self.label} was left out: {self.reason}."


def parted(upload: Upload, methods: Sequence[Method]) -> tuple[list[Method], tuple[LeftOut, ...]]:
    """The methods that are asked, and why others that the diagnosis runs are not.

    Methods that cannot run on the upload at all are in neither.
    """
    eligible: list[Method] = []
    left: dict[str, str] = {}
    for method in methods:
        if obstacle(method, upload) is None:
            reason = method.unfit(upload.k)
            if reason is None:
                eligible.append(method)
            else:
                left[method.label] = reason
    return eligible, tuple(LeftOut(label, reason) for label, reason in left.items())


@dataclass(frozen=True, eq=False)
class _LearnedPools:
    """Learned scores of all draws at the rows that they did not learn from."""

    pools: Mapping[str, Pooled]
    """By the name that the verdict has for each."""
    rows: Places
    """(n,) of the table."""


@dataclass(frozen=True, eq=False)
class NullVerdict:
    """What is looked at, its pools being q's draws alone, and how large the largest of it gets."""

    setup: TableStatistics
    """Without learned scores."""
    labellings: Slots
    """(B, N)."""
    z: NDArray[np.float32]
    """(B, C) of the labellings, without learned scores."""
    theta: Pooled
    """Every parameter of all rows."""
    norm: Pooled | None
    """Of all rows; None for one parameter."""
    learned: _LearnedPools | None = None
    others: Battery | None = None
    """The statistics of learned scores."""

    @classmethod
    def of(cls, upload: Upload, seed: int) -> NullVerdict:
        """What the verdict looks at on this table without learned scores."""
        data = upload.data
        assert isinstance(data, PosteriorTable)
        setup = statistics_of(data, seed, truths=False)
        labellings = setup.battery.pools.labellings(
            LABELLINGS, stream(seed, "null verdict", "labellings")
        )
        norm = None
        if len(setup.parameters) > 1:
            norm = Pooled.ranked(WholeTable(), norms(data.q[..., setup.parameters])[None])
        z = setup.battery.labelled(labellings)
        return cls(setup, labellings, z, Pooled.of(WholeTable(), data), norm)

    def beside(self, learned: _LearnedPools) -> NullVerdict:
        """With these learned scores too: only theirs are worked out for every labelling."""
        scores = [
            LearnedScore(name, learned.rows, pool.draws[0], name in RATIOS)
            for name, pool in learned.pools.items()
        ]
        return replace(self, learned=learned, others=self.setup.beside(scores))

    @cached_property
    def _null(self) -> tuple[EvidenceScale, NDArray[np.float32]]:
        """How families compare, and the largest evidence (B,) of each labelling."""
        z, cells = self.z, self.setup.battery.cells
        if self.others is not None:
            z = np.concatenate([z, self.others.labelled(self.labellings)], axis=1)
            cells = (*cells, *self.others.cells)
        comparable = scale(z, cells)
        return comparable, comparable.evidence(z).max(axis=1)

    def pvalues(self, trials: Trials) -> Float:
        """The verdict's p (T,) of tables; none is below 1 / (B + 1)."""
        scores, (comparable, null) = self._scores(trials), self._null
        both = [battery for battery in (self.setup.battery, self.others) if battery is not None]
        z = np.concatenate([battery.of_truths(scores) for battery in both], axis=1)
        observed = comparable.evidence(z).max(axis=1)
        slack = ROUNDING * np.maximum(np.abs(observed), 1.0)
        return share_beyond(observed, np.broadcast_to(null, (len(observed), len(null))), slack)

    def _scores(self, trials: Trials) -> list[SlotRanks]:
        """Ranks of the truths among the other draws, by every score that is looked at."""
        u = self.theta.on(trials).mid_ranks()
        scores = [
            SlotRanks("theta", int(parameter), u[parameter]) for parameter in self.setup.parameters
        ]
        if self.norm is not None:
            scores.append(SlotRanks("norm", -1, self._norms(trials)))
        if self.learned is None:
            return scores
        there = trials.at(self.learned.rows)
        for name, pool in self.learned.pools.items():
            scored = pool.on(there)
            raw = None
            if name in RATIOS:
                raw = log_ratios(scored.truth[0], pool.draws[0].max(axis=-1)).T
            scores.append(SlotRanks(name, -1, scored.mid_ranks()[0], raw))
        return scores

    def _norms(self, trials: Trials) -> NDArray[np.float32]:
        """Mid-ranks u (T, N) of the truths' norms among the other draws."""
        assert self.norm is not None
        own = np.take_along_axis(self.norm.draws, trials.which.T[None], axis=-1)
        truth = own
        if trials.truths is not None:
            moved = np.moveaxis(trials.truths, 0, 1)[..., self.setup.parameters]
            truth = norms(trials.rows.q[..., self.setup.parameters], moved)[None]
        return Scored(self.norm, trials.which, truth, own).mid_ranks()[0]


@dataclass(frozen=True, eq=False)
class TestBattery:
    """Methods, the rows that each looks at and all draws there under the score that it reads."""

    methods: tuple[Method, ...]
    pools: tuple[Pooled | None, ...]
    """One for each method; methods that read one network share one, relabelling has its own."""
    places: tuple[Places | None, ...]
    """The rows that each looks at; None for all."""
    relabelled: NullVerdict | None = None
    """What relabelling looks at, where it is among the methods."""

    @classmethod
    def of(
        cls,
        upload: Upload,
        methods: Sequence[Method],
        seed: int,
        network: Callable[[Method], Any],
        known: Mapping[Any, Pooled] | None = None,
        unlearned: Callable[[], NullVerdict] | None = None,
    ) -> TestBattery:
        """What these methods read.

        Args:
            upload: a table.
            methods: those that are asked.
            seed: fixes which rows are tested on.
            network: the trained network that a method reads.
            known: pools by the score or network that they were made with.
            unlearned: relabelling without learned scores, where it has been worked out before.
        """
        assert isinstance(upload.data, PosteriorTable)
        data, places = upload.data, learning.kept(upload, seed)
        test = PosteriorTable(data.theta[places], data.x[places], data.q[places])
        by_score: dict[Any, Pooled] = dict(known or {})
        pools: list[Pooled | None] = []
        learned: dict[str, Pooled] = {}
        for method in methods:
            if isinstance(method, Omnibus):
                pools.append(None)
                continue
            read: Any = method.score() if method.is_fixed else network(method)
            if read not in by_score:
                everywhere = method.is_fixed
                rows = PosteriorTable(data.theta, data.x[:, :0], data.q) if everywhere else test
                by_score[read] = Pooled.of(read if everywhere else read.at(), rows)
            pools.append(by_score[read])
            if method.verdict_score:
                learned[method.verdict_score] = by_score[read]
        at = tuple(None if method.is_fixed else places for method in methods)
        relabelled = None
        if any(isinstance(method, Omnibus) for method in methods):
            relabelled = unlearned() if unlearned else NullVerdict.of(upload, seed)
            if learned:
                relabelled = relabelled.beside(_LearnedPools(learned, places))
        return cls(tuple(methods), tuple(pools), at, relabelled)

    def pvalues(self, trials: Trials, seed: int, *names: str | int) -> Float:
        """The p-values (methods, T); each method has a stream of its own."""
        each = []
        for method, scored in zip(self.methods, self._scored(trials), strict=True):
            if scored is None:
                assert self.relabelled is not None
                each.append(self.relabelled.pvalues(trials))
            else:
                each.append(pvalues(method, scored, stream(seed, *names, method.label)))
        return np.stack(each) if each else np.empty((0, len(trials)))

    def ranks(self, trials: Trials, seed: int, *names: str | int) -> list[Float]:
        """Randomised ranks (T, S, n) of each method's rows."""
        return [
            scored.ranks(stream(seed, *names, method.label))
            for method, scored in zip(self.methods, self._scored(trials), strict=True)
            if scored is not None
        ]

    def _scored(self, trials: Trials) -> list[Scored | None]:
        by_pool: dict[int, Scored] = {}
        for pool, places in zip(self.pools, self.places, strict=True):
            if pool is not None and id(pool) not in by_pool:  # methods share a network's scores
                by_pool[id(pool)] = pool.on(trials if places is None else trials.at(places))
        return [None if pool is None else by_pool[id(pool)] for pool in self.pools]


def together(pvalue: Float, methods: Sequence[Method], tests: int) -> Float:
    """The verdict's p-value (T,) of p-values (methods, T).

    Relabelling's own where it is among the methods; else the smallest, adjusted by Holm over so
    many tests. Those that were not asked count as if they had p = 1.
    """
    for method, own in zip(methods, pvalue, strict=True):
        if isinstance(method, Omnibus):
            return own
    missing = np.ones((max(0, tests - len(pvalue)), pvalue.shape[1]))
    return statistics.holm(np.concatenate([pvalue, missing]).T).min(-1)
