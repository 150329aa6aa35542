"""The tests on tables with one injected defect: p-values by strength, method and trial."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from validation_core.answers.asked import Panel, together
from validation_core.answers.injections import Injection, Pool
from validation_core.answers.relabelled import NullVerdict
from validation_core.answers.selfnull import Float, Pooled, Trials, at_once, picked, trials_of
from validation_core.diagnosis import learning
from validation_core.methods import Omnibus
from validation_core.rng import stream
from validation_core.types import Array, Draws, Fixed, Method, learnt
from validation_core.uploads import Upload

FIRST = 50
"""Trials that tell which strengths are worth the others."""

_RANKED = 25_000  # ranks of one trial that allow all trials: a strength asks for all of them anew


class Bench:
    """One injection on one table, at any strength.

    All strengths share the picked draws, the direction of the defect and the tie-breakers, so
    that their powers differ by the strength and not by luck.
    """

    def __init__(
        self, upload: Upload, injection: Injection, methods: Sequence[Method], seed: int
    ) -> None:
        assert isinstance(upload.data, Draws)
        self.upload, self.injection, self.seed = upload, injection, seed
        self.methods = tuple(methods)
        self.data = upload.data
        self.pool = Pool(self.data.q, self.data.x, way=seed)
        self.trials = trials_of(upload.n, upload.dims[0], _RANKED)
        self._pools: dict[Any, Pooled] = {}

    @cached_property
    def unlearned(self) -> NullVerdict:
        """Relabelling without learned scores: the same at every strength."""
        return NullVerdict.of(self.upload, self.seed)

    @cached_property
    def which(self) -> Any:
        """The draws (T, n) that play the truth."""
        rng = stream(self.seed, "sensitivity", "draws")
        return picked(self.upload.n, self.upload.k, self.trials, rng)

    @cached_property
    def batches(self) -> tuple[slice, ...]:
        """The trials, a first few by themselves, and no more at a time than fit."""
        step = at_once(self.upload.n, self.upload.dims[0])
        ends = [*range(0, min(FIRST, self.trials), step)]
        ends += [*range(min(FIRST, self.trials), self.trials, step), self.trials]
        return tuple(slice(a, b) for a, b in pairwise(ends))

    @property
    def first(self) -> tuple[slice, ...]:
        """The batches of the first few trials."""
        return tuple(batch for batch in self.batches if batch.stop <= min(FIRST, self.trials))

    def made(self, strength: float, batch: slice) -> Trials:
        """Tables of a batch of trials."""
        which = self.which[batch]
        rng = stream(self.seed, "sensitivity", self.injection.name, batch.start)
        return Trials(self.data, *self.injection.tables(self.pool, which, strength, rng))

    def taught(self, strength: float) -> Upload:
        """The table that networks learn from: the same defect in other draws, all rows of it.

        It has the split into rows to learn from and rows to test of the table itself.
        """
        n, k, _ = self.data.q.shape
        names = ("sensitivity", self.injection.name, "training")
        which = picked(n, k, 1, stream(self.seed, *names, "draws"))
        places, truths = self.injection.tables(
            self.pool, which, strength, stream(self.seed, *names)
        )
        table = Trials(self.data, places, truths).table(0)
        return replace(self.upload, data=table)

    def panel(self, strength: float, methods: Sequence[Method]) -> Panel:
        """What these methods read where the defect has this strength, networks trained on it."""
        trained: dict[Any, Any] = {}
        upload = None if all(isinstance(one, Fixed) for one in methods) else self.taught(strength)

        def network(method: Method) -> Any:
            assert upload is not None
            how = learning.recipe(upload, method)
            assert how is not None
            if how not in trained:
                data = learning.training_set(upload, how, self.seed)
                (trained[how],) = how.learn_all([data], [self.seed])
            return trained[how]

        found = Panel.of(
            self.upload, methods, self.seed, network, self._pools, lambda: self.unlearned
        )
        for method, pool in zip(found.methods, found.pools, strict=True):
            if isinstance(method, Fixed) and pool is not None:
                self._pools[method.score()] = pool
        return found

    def ask(self, strength: float, methods: Sequence[Method], batches: Sequence[slice]) -> Float:
        """p-values (M, T) of all methods: NaN for those, and for trials, that are not asked."""
        out = np.full((len(self.methods), self.trials), np.nan)
        rows = [self.methods.index(method) for method in methods]
        panel = self.panel(strength, methods)
        for batch in batches:
            tables = self.made(strength, batch)
            out[rows, batch] = panel.pvalues(
                tables, self.seed, "sensitivity", self.injection.name, batch.start
            )
        return out


class Course:
    """What has been asked so far: p-values by strength, method and trial, strengths ascending."""

    def __init__(
        self, bench: Bench, tests: int, alpha: float,
        strengths: Iterable[float] = (), pvalues: Array | None = None,
    ) -> None:  # fmt: skip
        self.bench, self.tests, self.alpha = bench, tests, alpha
        empty = np.empty((0, len(bench.methods), bench.trials))
        found = empty if pvalues is None else np.asarray(pvalues, dtype=np.float64)
        self.found = dict(zip(map(float, strengths), found, strict=True))

    def ask(self, strength: float, methods: Sequence[Method], batches: Sequence[slice]) -> None:
        """Ask these methods at a strength, where they have not been asked."""
        blank = np.full((len(self.bench.methods), self.bench.trials), np.nan)
        known = self.found.setdefault(strength, blank)
        rows = {method: self.bench.methods.index(method) for method in methods}

        def lacks(method: Method, batch: slice) -> bool:
            return bool(np.isnan(known[rows[method], batch]).any())

        lacking = [one for one in methods if any(lacks(one, batch) for batch in batches)]
        missing = [batch for batch in batches if any(lacks(one, batch) for one in lacking)]
        if not lacking:
            return
        # With a score that was not there before, relabelling answers anew.
        again = [
            one for one in methods if isinstance(one, Omnibus) and one not in lacking
            and any(learnt(other) for other in lacking)
        ]  # fmt: skip
        answers = self.bench.ask(strength, [*again, *lacking], missing)
        np.copyto(known, answers, where=np.isnan(known))
        for one in again:
            np.copyto(known[rows[one]], answers[rows[one]], where=~np.isnan(answers[rows[one]]))

    @property
    def strengths(self) -> Float:
        """(L,), ascending."""
        return np.array(sorted(self.found))

    @property
    def pvalues(self) -> Float:
        """(L, M, T)."""
        blank = np.empty((0, len(self.bench.methods), self.bench.trials))
        each = [self.found[one] for one in sorted(self.found)]
        return np.stack(each) if each else blank

    def power(self, strength: float) -> float:
        """Share of trials in which the verdict finds the defect; tests not asked find nothing."""
        rejected = verdicts(self.found[strength], self.bench.methods, self.tests, self.alpha)
        return float(rejected.mean()) if rejected.size else 0.0


def verdicts(pvalues: Float, methods: Sequence[Method], tests: int, alpha: float) -> Any:
    """Whether the verdict rejects, in those trials (t,) in which any of methods (M, T) was asked.

    Holm's correction is over `tests`; those not asked count with p = 1.
    """
    asked = ~np.isnan(pvalues).all(axis=0)
    known = np.where(np.isnan(pvalues), 1.0, pvalues)[:, asked]
    return together(known, methods, tests) <= alpha
