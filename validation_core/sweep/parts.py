"""The records of a sweep: some trials of one method at one place, and a whole curve.

A part is what is stored, under a key of its own. A batch is what is run: parts of several methods
that read the same network, which share their draws and scores.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from validation_core import models
from validation_core.keys import Specification
from validation_core.methods.base import Method
from validation_core.models import Simulated, Training
from validation_core.scores.base import Recipe
from validation_core.statistics import Pool
from validation_core.study import Report, Study
from validation_core.sweep import trials
from validation_core.sweep.trials import Tally, TestFailed, Trials
from validation_core.types import Array, Benchmark, Score

if TYPE_CHECKING:
    from validation_core.store import Store


@dataclass(frozen=True, kw_only=True)
class Part(Study[Tally], spec="trials_of"):
    """Some trials of one method at one gamma and one beta."""

    version: ClassVar[int] = 2

    source: Simulated
    method: Method
    network: Training | None
    beta: float
    design: Trials
    first: int
    count: int

    @property
    def label(self) -> str:
        last = self.first + self.count
        return f"{self.method.label}, {self.source.label}, trials {self.first + 1} to {last}"

    @property
    def gpu(self) -> bool:  # type: ignore[override]  # of each part its own
        """Whether it runs a network: the others need not queue for a GPU."""
        from_network = models.network_behind(self.source.benchmark) is not None
        return from_network or self.method.runs_network

    @property
    def trainings(self) -> tuple[Training, ...]:
        """What the method reads and what the benchmark draws from."""
        behind = models.network_behind(self.source.benchmark)
        return tuple(training for training in (self.network, behind) if training is not None)

    def compute(self, store: Store, report: Report) -> Tally:
        """Test, training the network where the store lacks it."""
        return _compute(store, [self], report)[0]


@dataclass(frozen=True, kw_only=True)
class Batch(Specification, spec="batch_of_trials"):
    """Parts that differ in their methods alone: they are drawn and scored together."""

    parts: tuple[Part, ...]

    @property
    def label(self) -> str:
        first, more = self.parts[0], len(self.parts) - 1
        return first.label.replace(
            first.method.label, first.method.label + f" and {more} more" * bool(more), 1
        )

    @property
    def gpu(self) -> bool:
        """Whether any of them runs a network."""
        return any(part.gpu for part in self.parts)

    @cached_property
    def trainings(self) -> tuple[Training, ...]:
        """What they read and what their benchmark draws from."""
        return self.parts[0].trainings

    @property
    def needs(self) -> frozenset[str]:
        """The networks' keys."""
        return self.parts[0].needs

    def done(self, store: Store) -> bool:
        return not self.missing(store)

    def missing(self, store: Store) -> list[Part]:
        """Those that have not run."""
        return [part for part in self.parts if not part.done(store)]

    def run(self, store: Store, report: Report) -> None:
        """Test and store what is missing; where a method fails, the others before it is told."""
        left, failures = self.missing(store), []
        while left:
            try:
                tallies = _compute(store, left, report)
            except TestFailed as failure:
                failures.append(failure.error)
                left = [part for part in left if part.method != failure.method]
                continue
            for part, tally in zip(left, tallies, strict=True):
                part.keep(store, tally)
            break
        if failures:
            raise failures[0]
        report(1.0, {})


class Scored(NamedTuple):
    """Calibration scores of p: (N,)."""

    p: Array


@dataclass(frozen=True, kw_only=True)
class Calibration(Study[Scored], spec="calibration"):
    """The law that Uniform ranks against where calibration draws are pooled.

    One for all trials, parts and m that read a network: a p-value does not depend on how a sweep
    was cut, and the law is drawn once.
    """

    source: Simulated
    network: Training
    beta: float
    design: Trials

    @property
    def label(self) -> str:
        return f"Calibration scores, {self.source.label}"

    def law(self, store: Store, score: Score) -> Pool:
        """The stored scores, or new ones, drawn and stored: a second who asks waits for them."""
        scored = self.load(store)
        if scored is None:
            with models.locked(store, self.key):
                scored = self.load(store)
                if scored is None:
                    benchmark, gamma = self.source.benchmark, self.source.gamma
                    scored = Scored(trials.calibration(benchmark, gamma, score, self.design))
                    self.keep(store, scored)
        return Pool(scored.p)


def _compute(store: Store, parts: Sequence[Part], report: Report) -> list[Tally]:
    """Test the methods of parts that differ in nothing else."""
    part = parts[0]
    models.ready(store, part.source.benchmark)
    network = models.trained(store, part.network) if part.network else None
    tallies = trials.run(
        part.source.benchmark,
        part.source.gamma,
        network.at(part.beta) if network else None,
        [each.method for each in parts],
        part.design,
        range(part.first, part.first + part.count),
        pool=_law(store, part),
        progress=lambda fraction: report(fraction, {}),
    )
    seconds = network.seconds if network else 0.0
    return [tally._replace(training=seconds) for tally in tallies]


def _law(store: Store, part: Part) -> Callable[[Score], Pool] | None:
    """The calibration law of what a part reads; None where that is no network's."""
    if part.network is None:
        return None
    law = Calibration(source=part.source, network=part.network, beta=part.beta, design=part.design)
    return lambda score: law.law(store, score)


class Tallies(NamedTuple):
    """Tallies of all places of a curve."""

    pvalues: Array  # (places, trials)
    statistics: Array  # (places, trials)
    costs: Array  # (places, 4): draws of p, of q, seconds, seconds of training


@dataclass(frozen=True, kw_only=True)
class Curve(Study[Tallies], spec="curve"):
    """One method over a whole sweep, in one record: what is shipped, or kept when it is done."""

    benchmark: Benchmark
    method: Method
    gammas: tuple[float, ...]
    betas: tuple[float, ...]
    design: Trials
    recipe: Recipe
    seed: int

    @property
    def label(self) -> str:
        return f"{self.method.label} on {self.benchmark.label}"

    def save(self, store: Store, tallies: Sequence[Tally]) -> None:
        """Keep one tally for each place."""
        pvalues, values = (np.stack([tally[i] for tally in tallies]) for i in (0, 1))
        self.keep(store, Tallies(pvalues, values, np.array([tally[2:] for tally in tallies])))

    def tallies(self, store: Store) -> list[Tally] | None:
        """A tally for each place, or None."""
        stored = self.load(store)
        if stored is None:
            return None
        return [
            Tally(p, t, int(cost[0]), int(cost[1]), float(cost[2]), float(cost[3]))
            for p, t, cost in zip(*stored, strict=True)
        ]
