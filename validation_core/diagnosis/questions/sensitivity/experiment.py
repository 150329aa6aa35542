"""One injection on one table at any strength: its tables, and the methods' p-values of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from validation_core.diagnosis import learning
from validation_core.diagnosis.injections.draw_pool import DrawPool
from validation_core.diagnosis.injections.injection import Injection
from validation_core.diagnosis.null_tables.method_battery import MethodBattery, verdict_pvalues
from validation_core.diagnosis.null_tables.null_verdict import NullVerdict
from validation_core.diagnosis.null_tables.pooled_scores import PooledScores
from validation_core.diagnosis.null_tables.trials import trial_count
from validation_core.methods.base import Method
from validation_core.relabelling.played_truths import (
    SelfMadeTables,
    SlotPlaces,
    pick_slots,
    tables_at_once,
)
from validation_core.rng import stream
from validation_core.tables import TableUpload, Upload
from validation_core.types import Array, Float

FIRST = 50
"""Trials that tell which strengths are worth the others."""
_RANKED = 25_000  # ranks of one trial that allow all trials: a strength asks for all of them anew


class PowerExperiment:
    """One injection on one table, at any strength.

    All strengths share the picked draws, the direction of the defect and the tie-breakers, so
    that their powers differ by the strength and not by luck.
    """

    def __init__(
        self, upload: TableUpload, injection: Injection, methods: Sequence[Method], seed: int
    ) -> None:
        self.upload, self.injection, self.seed = upload, injection, seed
        self.methods = tuple(methods)
        self.data = upload.data
        self.pool = DrawPool(self.data.q, self.data.x, direction_seed=seed)
        self.trials = trial_count(upload.n, upload.dims[0], _RANKED)
        self._pools: dict[object, PooledScores] = {}

    @cached_property
    def unlearned(self) -> NullVerdict:
        """Relabelling without learned scores: the same at every strength."""
        return NullVerdict.of(self.upload, self.seed)

    @cached_property
    def which(self) -> SlotPlaces:
        """The draws (T, n) that play the truth."""
        rng = stream(self.seed, "sensitivity", "draws")
        return pick_slots(self.trials, self.upload.n, self.upload.k, rng)

    @cached_property
    def batches(self) -> tuple[slice, ...]:
        """The trials, a first few by themselves, and no more at a time than fit."""
        step = tables_at_once(self.upload.n * self.upload.dims[0])
        ends = [*range(0, min(FIRST, self.trials), step)]
        ends += [*range(min(FIRST, self.trials), self.trials, step), self.trials]
        return tuple(slice(a, b) for a, b in pairwise(ends))

    @property
    def first(self) -> tuple[slice, ...]:
        """The batches of the first few trials."""
        return tuple(batch for batch in self.batches if batch.stop <= min(FIRST, self.trials))

    def tables(self, strength: float, batch: slice) -> SelfMadeTables:
        """Tables of a batch of trials."""
        which = self.which[batch]
        rng = stream(self.seed, "sensitivity", self.injection.name, batch.start)
        return SelfMadeTables(self.data, *self.injection.tables(self.pool, which, strength, rng))

    def training_table(self, strength: float) -> Upload:
        """The table that networks learn from: the same defect in other draws, all rows of it.

        It has the split into rows to learn from and rows to test of the table itself.
        """
        n, k, _ = self.data.q.shape
        names = ("sensitivity", self.injection.name, "training")
        which = pick_slots(1, n, k, stream(self.seed, *names, "draws"))
        places, truths = self.injection.tables(
            self.pool, which, strength, stream(self.seed, *names)
        )
        table = SelfMadeTables(self.data, places, truths).table(0)
        return replace(self.upload, data=table)

    def battery(self, strength: float, methods: Sequence[Method]) -> MethodBattery:
        """The methods' battery for a defect of this strength, networks trained on it."""
        trained: dict[object, Any] = {}
        fixed = all(method.is_fixed for method in methods)
        upload = None if fixed else self.training_table(strength)

        def network(method: Method) -> Any:
            assert upload is not None
            how = learning.recipe(upload, method)
            assert how is not None
            if how not in trained:
                data = learning.build_training_set(upload, how, self.seed)
                (trained[how],) = how.learn_all([data], [self.seed])
            return trained[how]

        battery = MethodBattery.of(
            self.upload, methods, self.seed, network, self._pools, lambda: self.unlearned
        )
        for method, pool in zip(battery.methods, battery.pools, strict=True):
            if method.is_fixed and pool is not None:
                self._pools[method.score()] = pool
        return battery

    def evaluate(
        self, strength: float, methods: Sequence[Method], batches: Sequence[slice]
    ) -> Float:
        """p-values (M, T) of all methods: NaN for those, and for trials, that are not asked."""
        out = np.full((len(self.methods), self.trials), np.nan)
        rows = [self.methods.index(method) for method in methods]
        battery = self.battery(strength, methods)
        for batch in batches:
            tables = self.tables(strength, batch)
            out[rows, batch] = battery.pvalues(
                tables, self.seed, "sensitivity", self.injection.name, batch.start
            )
        return out


class SearchCurve:
    """p-values so far, by strength, method and trial, strengths ascending."""

    def __init__(
        self,
        experiment: PowerExperiment,
        tests: int,
        alpha: float,
        strengths: Iterable[float] = (),
        pvalues: Array | None = None,
    ) -> None:
        self.experiment, self.tests, self.alpha = experiment, tests, alpha
        empty = np.empty((0, len(experiment.methods), experiment.trials))
        by_strength = empty if pvalues is None else np.asarray(pvalues, dtype=np.float64)
        self.pvalues_at = dict(zip(map(float, strengths), by_strength, strict=True))

    def evaluate(
        self, strength: float, methods: Sequence[Method], batches: Sequence[slice]
    ) -> None:
        """Ask these methods at a strength, where they have not been asked."""
        blank = np.full((len(self.experiment.methods), self.experiment.trials), np.nan)
        known = self.pvalues_at.setdefault(strength, blank)
        rows = {method: self.experiment.methods.index(method) for method in methods}

        def lacks(method: Method, batch: slice) -> bool:
            return bool(np.isnan(known[rows[method], batch]).any())

        lacking = [method for method in methods if any(lacks(method, batch) for batch in batches)]
        missing = [batch for batch in batches if any(lacks(method, batch) for method in lacking)]
        if not lacking:
            return
        # With a score that was not there before, relabelling answers anew.
        again = [
            method
            for method in methods
            if method.decides
            and method not in lacking
            and any(other.needs_training for other in lacking)
        ]
        answers = self.experiment.evaluate(strength, [*again, *lacking], missing)
        np.copyto(known, answers, where=np.isnan(known))
        for method in again:
            np.copyto(
                known[rows[method]], answers[rows[method]], where=~np.isnan(answers[rows[method]])
            )

    @property
    def strengths(self) -> Float:
        """(L,), ascending."""
        return np.array(sorted(self.pvalues_at))

    @property
    def pvalues(self) -> Float:
        """(L, M, T)."""
        blank = np.empty((0, len(self.experiment.methods), self.experiment.trials))
        each = [self.pvalues_at[strength] for strength in sorted(self.pvalues_at)]
        return np.stack(each) if each else blank

    def power(self, strength: float) -> float:
        """Share of trials in which the verdict finds the defect; tests not asked find nothing."""
        pvalues, methods = self.pvalues_at[strength], self.experiment.methods
        rejected = verdict_rejections(pvalues, methods, self.tests, self.alpha)
        return float(rejected.mean()) if rejected.size else 0.0


def verdict_rejections(
    pvalues: Float, methods: Sequence[Method], tests: int, alpha: float
) -> NDArray[np.bool_]:
    """Whether the verdict rejects, in those trials (t,) in which any of methods (M, T) was asked.

    Holm's correction is over `tests`; those not asked count with p = 1.
    """
    mask = ~np.isnan(pvalues).all(axis=0)
    known = np.where(np.isnan(pvalues), 1.0, pvalues)[:, mask]
    return verdict_pvalues(known, methods, tests) <= alpha
