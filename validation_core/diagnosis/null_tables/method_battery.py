"""The p-values that methods, and the verdict over them, give self-made tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from validation_core import statistics
from validation_core.diagnosis import learning
from validation_core.diagnosis.null_tables.null_verdict import LearnedPools, NullVerdict
from validation_core.diagnosis.null_tables.pooled_scores import PooledScores, ScoredTables
from validation_core.methods import Omnibus
from validation_core.methods.base import Method
from validation_core.relabelling.played_truths import SelfMadeTables, SlotPlaces
from validation_core.rng import stream
from validation_core.tables import TableUpload
from validation_core.types import BlockScores, Float, PosteriorTable, Scores


def method_pvalues(method: Method, scored: ScoredTables, rng: np.random.Generator) -> Float:
    """p-values (T,) that a method gives tables.

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
        tables = scored.first_draws(method.budget(1, scored.pooled.draws.shape[-1] - 1).q)
    # One by one: relabelings of a single table fill the memory.
    return np.array([method.test(table, rng).pvalue for table in tables], dtype=np.float64)


@dataclass(frozen=True, eq=False)
class MethodBattery:
    """Methods, the rows that each looks at and all draws there under the score that it reads."""

    methods: tuple[Method, ...]
    pools: tuple[PooledScores | None, ...]
    """One for each method; methods that read one network share one, relabelling has its own."""
    places: tuple[SlotPlaces | None, ...]
    """The rows that each looks at; None for all."""
    relabelled: NullVerdict | None = None
    """The verdict by relabelling, where it is among the methods."""

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
        """The battery of these methods on a table.

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
            if learned and all(m.learned for m in methods if isinstance(m, Omnibus)):
                relabelled = relabelled.with_learned(LearnedPools(learned, places))
        return cls(tuple(methods), tuple(pools), at, relabelled)

    def pvalues(self, trials: SelfMadeTables, seed: int, *names: str | int) -> Float:
        """The p-values (methods, T); each method has a stream of its own."""
        each, by_method = [], self._scored(trials)
        learned = {
            method.verdict_score: scored
            for method, scored in zip(self.methods, by_method, strict=True)
            if method.verdict_score and scored is not None
        }
        for method, scored in zip(self.methods, by_method, strict=True):
            if scored is None:
                assert self.relabelled is not None
                each.append(self.relabelled.pvalues(trials, learned))
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

    def _scored(self, trials: SelfMadeTables) -> list[ScoredTables | None]:
        by_pool: dict[int, ScoredTables] = {}
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
