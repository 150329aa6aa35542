"""Tables made of a table's own draws, in which q is right: a draw of q plays the truth.

Given x the K draws are exchangeable, so that one of them, picked at random, ranks among the other
K - 1 as the truth would if q were correct, whatever q is: no simulator is needed. Every draw is
scored once; a trial picks draws, and ranks follow by search in each row's ordered scores. With
`truths` changed by an injection the same trials show what a test finds of a known defect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from validation_core import scores, statistics
from validation_core.diagnosis import learning
from validation_core.diagnosis.plan import method_obstacle, upload_obstacle
from validation_core.methods.base import Method
from validation_core.methods.omnibus import WholeTable
from validation_core.methods.sbc import SBC
from validation_core.relabelling import UNLEARNED, LearnedScore, TableStatistics, statistics_of
from validation_core.relabelling.battery import (
    RATIOS,
    ROUNDING,
    Battery,
    EvidenceScale,
    evidence_scale,
)
from validation_core.relabelling.magnitudes import magnitudes_beside
from validation_core.relabelling.pools import SlotRanks, Slots, log_ratios, norms
from validation_core.rng import stream
from validation_core.statistics.permutation import share_beyond
from validation_core.statistics.ranks import count, require_numbers
from validation_core.tables import TableUpload, Upload
from validation_core.types import (
    Array,
    BlockScores,
    Float,
    PosteriorTable,
    Score,
    Scores,
    TableScores,
)

TRIALS = 200
"""Self-made tables behind a rate: it is then known to about 3 points near 5%, 6 near 80%."""

_FEWEST_TRIALS = 40  # trials of the widest tables
_RANKED = 100_000  # ranks of one trial that allow all trials; larger tables get fewer
_NUMBERS_AT_ONCE = 1 << 21  # of truths made at a time: bounds the memory
# truths of a table from which on fewer are made at a time: its draws are there too
_LARGE = 10_000
_SEARCHED = 16  # trials from which on a search in ordered scores is quicker than counting

Places = NDArray[np.int64]
Counts = NDArray[np.int32]


def trial_count(n: int, d: int, ranked: int = _RANKED) -> int:
    """How many self-made tables of n rows with d parameters are looked at: 200, or fewer.

    Args:
        n: rows.
        d: parameters.
        ranked: ranks of one table that allow all 200.
    """
    return min(TRIALS, max(_FEWEST_TRIALS, TRIALS * ranked // max(1, n * d)))


def tables_at_once(n: int, d: int) -> int:
    """How many tables of n rows with d parameters are made at a time."""
    numbers = max(1, n * d)
    return max(1, (_NUMBERS_AT_ONCE if numbers <= _LARGE else _NUMBERS_AT_ONCE // 8) // numbers)


def draw_truth_indices(n: int, k: int, trials: int, rng: np.random.Generator) -> Places:
    """Which draw is the truth: (trials, n), each of the k equally often."""
    return rng.integers(k, size=(trials, n))


@dataclass(frozen=True, eq=False)
class SelfMadeTables:
    """T tables made of one table's draws."""

    rows: PosteriorTable
    """The table; its own truths are not looked at."""
    which: Places
    """The draw (T, n) that is the truth of a row, and no draw there."""
    truths: Array | None = None
    """What was made of it (T, n, D); None leaves it as it is, so that q is right."""

    def __len__(self) -> int:
        return len(self.which)

    def at(self, places: Places) -> SelfMadeTables:
        """The same tables, some of their rows."""
        rows = PosteriorTable(self.rows.theta[places], self.rows.x[places], self.rows.q[places])
        truths = None if self.truths is None else self.truths[:, places]
        return SelfMadeTables(rows, self.which[:, places], truths)

    def pieces(self) -> Iterator[SelfMadeTables]:
        """Some tables at a time, so that what is made of them fits."""
        n, _, d = self.rows.q.shape
        step = tables_at_once(n, d)
        for first in range(0, len(self), step):
            part = slice(first, first + step)
            truths = None if self.truths is None else self.truths[part]
            yield replace(self, which=self.which[part], truths=truths)

    def table(self, trial: int) -> PosteriorTable:
        """One of the tables as such: theta (n, D), x (n, M), q (n, K - 1, D)."""
        q, which = self.rows.q, self.which[trial]
        n, k, d = q.shape
        own = np.arange(k) == which[:, None]
        theta = q[own] if self.truths is None else self.truths[trial]
        return PosteriorTable(theta, self.rows.x, q[~own].reshape(n, k - 1, d))


@dataclass(frozen=True, eq=False)
class PooledScores:
    """All draws of a table under one score, and each row's in ascending order."""

    score: Score
    draws: Array
    """(S, n, K)."""
    ordered: Array
    """(S, n, K)."""
    repeats: NDArray[np.bool_]
    """Which rows (S, n) have equal scores."""

    @classmethod
    def of(cls, score: Score, rows: PosteriorTable) -> PooledScores:
        """Score every draw of a table."""
        return cls.ranked(score, _scored(score, rows, rows.q))

    @classmethod
    def ranked(cls, score: Score, draws: Array) -> PooledScores:
        """The scores (S, n, K) that a score has given."""
        values = require_numbers(draws)
        ordered = np.array(values, order="C")
        ordered.sort(axis=-1)
        return cls(score, values, ordered, (ordered[..., 1:] == ordered[..., :-1]).any(-1))

    def on(self, trials: SelfMadeTables) -> _ScoredTables:
        """The scores of these tables' truths: rows as here."""
        own = np.take_along_axis(self.draws, trials.which.T[None], axis=-1)
        if trials.truths is None:
            return _ScoredTables(self, trials.which, own, own)
        there = np.moveaxis(trials.truths, 0, 1)  # (n, T, D)
        truth_scores = require_numbers(_scored(self.score, trials.rows, there))
        # A draw that stayed as it was keeps its score to the bit, whatever a network rounds.
        picks = np.take_along_axis(trials.rows.q, trials.which.T[..., None], axis=1)
        truth = np.where((there == picks).all(-1), own, truth_scores)
        return _ScoredTables(self, trials.which, truth, own)


@dataclass(frozen=True, eq=False)
class _ScoredTables:
    """T tables under one score."""

    pooled: PooledScores
    which: Places
    """(T, n)."""
    truth: Array
    """(S, n, T)."""
    own: Array
    """Scores (S, n, T) of the picked draws."""

    def mid_ranks(self) -> NDArray[np.float32]:
        """Mid-ranks u (S, T, n) of the true values, among the K - 1 others and itself."""
        below, equal = self._others()
        u = (below + 0.5 * (1 + equal)) / self.pooled.draws.shape[-1]
        return np.ascontiguousarray(np.moveaxis(u, -1, 1), np.float32)

    def _others(self) -> tuple[Counts, Counts]:
        """Draws below and equal to each truth (S, n, T), the picked draw not among them."""
        below, equal = self._counts()
        below -= self.own < self.truth
        equal -= self.own == self.truth
        return below, equal

    def ranks(self, rng: np.random.Generator) -> Float:
        """Randomised ranks u (T, S, n) of the true values, each among the other K - 1 draws."""
        below, equal = self._others()
        k = self.pooled.draws.shape[-1]
        u = (below + rng.random(self.truth.shape) * (1 + equal)) / k
        return np.ascontiguousarray(np.moveaxis(u, -1, 0))

    def _counts(self) -> tuple[Counts, Counts]:
        """Draws below and equal to each truth: (S, n, T) each, the picked draw among them."""
        ordered, truth = self.pooled.ordered, self.truth
        if truth.shape[-1] < _SEARCHED:
            counts = count(np.moveaxis(truth, -1, 0), ordered)
            below, equal = (np.moveaxis(a, 0, -1).astype(np.int32) for a in counts)
            return below, equal
        k = ordered.shape[-1]
        rows = ordered.reshape(-1, k)
        truths = truth.reshape(len(rows), -1)
        below = np.empty(truths.shape, np.int32)
        for row, (values, queries) in enumerate(zip(rows, truths, strict=True)):
            below[row] = values.searchsorted(queries)
        at = np.take_along_axis(rows, np.minimum(below, k - 1), axis=-1)
        equal = (at == truths).astype(np.int32)
        for at_row in np.flatnonzero(self.pooled.repeats):
            to = rows[at_row].searchsorted(truths[at_row], side="right")
            equal[at_row] = to - below[at_row]
        return below.reshape(truth.shape), equal.reshape(truth.shape)

    def blocks(self, rng: np.random.Generator, m: int = 1) -> BlockScores:
        """Scores p (T, n // 2) and q (T, n // 2 // m) of rows that do not overlap.

        Half of the rows give the truth, the others a draw, as `sampling.blocks_of_rows` has it.
        """
        n, k = self.pooled.draws.shape[1:]
        trials = len(self.which)
        order = rng.permuted(np.broadcast_to(np.arange(n), (trials, n)), axis=1)
        half = n // 2
        for_p, for_q = order[:, :half], order[:, half : half + half // m]
        picks = rng.integers(k - 1, size=for_q.shape)
        picks += picks >= np.take_along_axis(self.which, for_q, axis=1)  # the truth is no draw
        truth = np.take_along_axis(self.truth[0].T, for_p, axis=1)
        return BlockScores(truth, self.pooled.draws[0][for_q, picks])

    def few(self, m: int) -> Iterator[TableScores]:
        """Table by table, scores of the truth (S, n) and of the first m other draws (S, n, m)."""
        for trial, which in enumerate(self.which):
            first = np.arange(m) + (np.arange(m) >= which[:, None])  # (n, m)
            draws = np.take_along_axis(self.pooled.draws, first[None], axis=-1)
            yield TableScores(self.truth[..., trial], draws)


def method_pvalues(method: Method, scored: _ScoredTables, rng: np.random.Generator) -> Float:
    """The p-value (T,) that a method gives each table.

    Args:
        method: one that is not `Method.unfit`.
        scored: the tables, those rows of them that it looks at, under the score that it reads.
        rng: breaks ties, and parts rows into blocks.
    """
    if method.ranks_only:
        return np.asarray(method.of_ranks(scored.ranks(rng)).pvalue)
    if method.layout == "blocks":
        blocks = scored.blocks(rng, method.budget(1, 1).p)
        if not method.resamples:
            return np.asarray(method.test(blocks, rng).pvalue)
        tables: Iterator[Scores] = map(BlockScores, blocks.p, blocks.q)
    else:
        tables = scored.few(method.budget(1, scored.pooled.draws.shape[-1] - 1).q)
    # One by one: relabelings of a single table fill the memory.
    return np.array([method.test(table, rng).pvalue for table in tables], dtype=np.float64)


def _scored(score: Score, rows: PosteriorTable, theta: Array) -> Array:
    """Scores (S, n, T) of T places theta (n, T, D) at each row."""
    return scores.apply(score, PosteriorTable(theta[:, 0], rows.x, theta)).draws


# of q's draws that are scored: 5000 rows of 10 parameters keep 60 draws
NUMBERS_SCORED = 3_000_000
_FEWEST_DRAWS = 20  # draws at each x that are kept whatever the size
LABELLINGS = 999


def self_made_obstacle(upload: Upload) -> str | None:
    """Why no table can be made of an upload's own draws; None where it can."""
    if not isinstance(upload, TableUpload):
        return (
            "A draw of q takes the true value's place at its x; two samples p and q have no "
            "x. Upload theta, x and theta_q."
        )
    if upload.k < 2:
        return (
            "A draw of q takes the true value's place, so each row needs at least 2; got "
            f"{upload.k}. Upload more draws at each x."
        )
    return method_obstacle(SBC(), upload) or upload_obstacle(upload)


def thin_draws(upload: TableUpload) -> TableUpload:
    """The upload, of large tables with fewer draws at each x, evenly spaced in their order.

    A test's level does not depend on how many draws there are, and its power hardly beyond 60:
    scoring all draws of a large table would take longer than everything else.
    """
    data = upload.data
    n, k, d = data.q.shape
    most = min(k, max(_FEWEST_DRAWS, NUMBERS_SCORED // (n * d)))
    if most == k:
        return upload
    places = np.arange(most) * k // most
    return replace(upload, data=replace(data, q=data.q[:, places]))


@dataclass(frozen=True)
class ExcludedMethod:
    """A method that is not asked about self-made tables."""

    label: str
    reason: str

    def __str__(self) -> str:
        return f"{self.label} was left out: {self.reason}."


def partition_methods(
    upload: Upload, methods: Sequence[Method]
) -> tuple[list[Method], tuple[ExcludedMethod, ...]]:
    """The methods that are asked, and why others that the diagnosis runs are not.

    Methods that cannot run on the upload at all are in neither.
    """
    eligible: list[Method] = []
    left: dict[str, str] = {}
    for method in methods:
        if method_obstacle(method, upload) is None:
            reason = method.unfit(upload.k)
            if reason is None:
                eligible.append(method)
            else:
                left[method.label] = reason
    return eligible, tuple(ExcludedMethod(label, reason) for label, reason in left.items())


@dataclass(frozen=True, eq=False)
class _LearnedPools:
    """Learned scores of all draws at the rows that they did not learn from."""

    pools: Mapping[str, PooledScores]
    """By the name that the verdict has for each."""
    rows: Places
    """(n,) of the table."""


@dataclass(frozen=True, eq=False)
class _NullPart:
    """Statistics that are calibrated together, and the largest of them in each labelling."""

    battery: Battery
    comparable: EvidenceScale
    null: NDArray[np.float32]
    """(B,)."""
    share: float
    """Of the level."""

    @classmethod
    def of(cls, battery: Battery, z: NDArray[np.float32], share: float) -> _NullPart:
        """From the statistics (B, C) of labellings."""
        comparable = evidence_scale(z, battery.cells)
        null = comparable.evidence(comparable.normal(z)).max(axis=1)
        return cls(battery, comparable, null, share)

    def pvalues(self, scores: Sequence[SlotRanks]) -> Float:
        """Of the largest statistic (T,) of tables; none is below 1 / (B + 1)."""
        z = self.comparable.normal(self.battery.of_truths(scores))
        observed = self.comparable.evidence(z).max(axis=1)
        slack = ROUNDING * np.maximum(np.abs(observed), 1.0)
        return share_beyond(
            observed, np.broadcast_to(self.null, (len(observed), len(self.null))), slack
        )


@dataclass(frozen=True, eq=False)
class NullVerdict:
    """What is looked at, its pools being q's draws alone, and how large the largest of it gets."""

    setup: TableStatistics
    """Without learned scores."""
    labellings: Slots
    """(B, N)."""
    z: NDArray[np.float32]
    """(B, C) of the labellings, without learned scores."""
    theta: PooledScores
    """Every parameter of all rows."""
    norm: PooledScores | None
    """Of all rows; None for one parameter."""
    learned: _LearnedPools | None = None
    others: Battery | None = None
    """The statistics of learned scores."""

    @classmethod
    def of(cls, upload: TableUpload, seed: int) -> NullVerdict:
        """What the verdict looks at on this table without learned scores."""
        data = upload.data
        setup = statistics_of(data, seed, truths=False)
        labellings = setup.battery.pools.labellings(
            LABELLINGS, stream(seed, "null verdict", "labellings")
        )
        norm = None
        if len(setup.parameters) > 1:
            norm = PooledScores.ranked(WholeTable(), norms(data.q[..., setup.parameters])[None])
        z = setup.battery.labelled(labellings)
        return cls(setup, labellings, z, PooledScores.of(WholeTable(), data), norm)

    def beside(self, learned: _LearnedPools) -> NullVerdict:
        """With these learned scores too: only theirs are worked out for every labelling."""
        scores = [
            LearnedScore(name, learned.rows, pool.draws[0], name in RATIOS)
            for name, pool in learned.pools.items()
        ]
        return replace(self, learned=learned, others=self.setup.beside(scores))

    @cached_property
    def _parts(self) -> tuple[_NullPart, ...]:
        """What learns nothing and, where scores are learned, these."""
        if self.others is None:
            return (_NullPart.of(self.setup.battery, self.z, 1.0),)
        learned = self.others.labelled(self.labellings)
        return (
            _NullPart.of(self.setup.battery, self.z, UNLEARNED),
            _NullPart.of(self.others, learned, 1 - UNLEARNED),
        )

    def pvalues(self, trials: SelfMadeTables) -> Float:
        """The verdict's p (T,) of tables, over its parts and their shares of the level."""
        scores = self._scores(trials)
        each = [part.pvalues(scores) / part.share for part in self._parts]
        return np.minimum(1.0, np.minimum.reduce(each))

    def _scores(self, trials: SelfMadeTables) -> list[SlotRanks]:
        """Ranks of the true values among the other draws, by every score that is looked at."""
        theta = self.theta.on(trials)
        u = theta.mid_ranks()
        scores = [
            SlotRanks(
                "theta",
                int(parameter),
                u[parameter],
                magnitude=magnitudes_beside(
                    self.theta.ordered[parameter], theta.truth[parameter], theta.own[parameter]
                ),
            )
            for parameter in self.setup.parameters
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

    def _norms(self, trials: SelfMadeTables) -> NDArray[np.float32]:
        """Mid-ranks u (T, N) of the true values' norms among the other draws."""
        assert self.norm is not None
        own = np.take_along_axis(self.norm.draws, trials.which.T[None], axis=-1)
        truth = own
        if trials.truths is not None:
            moved = np.moveaxis(trials.truths, 0, 1)[..., self.setup.parameters]
            truth = norms(trials.rows.q[..., self.setup.parameters], moved)[None]
        return _ScoredTables(self.norm, trials.which, truth, own).mid_ranks()[0]


@dataclass(frozen=True, eq=False)
class MethodBattery:
    """Methods, the rows that each looks at and all draws there under the score that it reads."""

    methods: tuple[Method, ...]
    pools: tuple[PooledScores | None, ...]
    """One for each method; methods that read one network share one, relabelling has its own."""
    places: tuple[Places | None, ...]
    """The rows that each looks at; None for all."""
    relabelled: NullVerdict | None = None
    """What relabelling looks at, where it is among the methods."""

    @classmethod
    def of(
        cls,
        upload: TableUpload,
        methods: Sequence[Method],
        seed: int,
        network: Callable[[Method], Any],
        known: Mapping[object, PooledScores] | None = None,
        unlearned: Callable[[], NullVerdict] | None = None,
    ) -> MethodBattery:
        """What these methods read.

        Args:
            upload: a table.
            methods: those that are asked.
            seed: fixes which rows are tested on.
            network: the trained network that a method reads.
            known: pools by the score or network that they were made with.
            unlearned: relabelling without learned scores, where it has been worked out before.
        """
        data, places = upload.data, learning.held_out_rows(upload, seed)
        test = PosteriorTable(data.theta[places], data.x[places], data.q[places])
        by_score: dict[object, PooledScores] = dict(known or {})
        pools: list[PooledScores | None] = []
        learned: dict[str, PooledScores] = {}
        for method in methods:
            if method.decides:
                pools.append(None)
                continue
            read: Any = method.score() if method.is_fixed else network(method)
            if read not in by_score:
                everywhere = method.is_fixed
                rows = PosteriorTable(data.theta, data.x[:, :0], data.q) if everywhere else test
                by_score[read] = PooledScores.of(read if everywhere else read.at(), rows)
            pools.append(by_score[read])
            if method.verdict_score:
                learned[method.verdict_score] = by_score[read]
        at = tuple(None if method.is_fixed else places for method in methods)
        relabelled = None
        if any(method.decides for method in methods):
            relabelled = unlearned() if unlearned else NullVerdict.of(upload, seed)
            if learned:
                relabelled = relabelled.beside(_LearnedPools(learned, places))
        return cls(tuple(methods), tuple(pools), at, relabelled)

    def pvalues(self, trials: SelfMadeTables, seed: int, *names: str | int) -> Float:
        """The p-values (methods, T); each method has a stream of its own."""
        each = []
        for method, scored in zip(self.methods, self._scored(trials), strict=True):
            if scored is None:
                assert self.relabelled is not None
                each.append(self.relabelled.pvalues(trials))
            else:
                each.append(method_pvalues(method, scored, stream(seed, *names, method.label)))
        return np.stack(each) if each else np.empty((0, len(trials)))

    def ranks(self, trials: SelfMadeTables, seed: int, *names: str | int) -> list[Float]:
        """Randomised ranks (T, S, n) of each method's rows."""
        return [
            scored.ranks(stream(seed, *names, method.label))
            for method, scored in zip(self.methods, self._scored(trials), strict=True)
            if scored is not None
        ]

    def _scored(self, trials: SelfMadeTables) -> list[_ScoredTables | None]:
        by_pool: dict[int, _ScoredTables] = {}
        for pool, places in zip(self.pools, self.places, strict=True):
            if pool is not None and id(pool) not in by_pool:  # methods share a network's scores
                by_pool[id(pool)] = pool.on(trials if places is None else trials.at(places))
        return [None if pool is None else by_pool[id(pool)] for pool in self.pools]


def verdict_pvalues(pvalue: Float, methods: Sequence[Method], tests: int) -> Float:
    """The verdict's p-value (T,) of p-values (methods, T).

    Relabelling's own where it is among the methods; else the smallest, adjusted by Holm over so
    many tests. Those that were not asked count as if they had p = 1.
    """
    for method, own in zip(methods, pvalue, strict=True):
        if method.decides:
            return own
    missing = np.ones((max(0, tests - len(pvalue)), pvalue.shape[1]))
    return statistics.holm(np.concatenate([pvalue, missing]).T).min(-1)
