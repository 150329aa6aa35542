"""A sweep: what is compared, the parts in which it runs, and what the store holds of it so far.

A part is what is stored, under a key of its own. A batch is what is run: parts of several methods
that read the same network, which share their draws and scores.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from validation_core import statistics
from validation_core.keys import Specification
from validation_core.methods.base import Method
from validation_core.scores import Recipe, trained_scores
from validation_core.scores.classifier import Classifier
from validation_core.scores.trained_scores import Simulated, Training, TrainTask
from validation_core.statistics import PooledLaw
from validation_core.study import Report, Study
from validation_core.sweep import trials
from validation_core.sweep.trials import MethodFailed, Tally, TrialDesign, merge_tallies
from validation_core.types import Array, Benchmark, PowerCell, Score

if TYPE_CHECKING:
    from validation_core.store import Store


@dataclass(frozen=True, kw_only=True)
class MethodTrials(Study[Tally], spec="trials_of"):
    """Some trials of one method at one gamma and one beta."""

    version: ClassVar[int] = 2

    source: Simulated
    method: Method
    network: Training | None
    beta: float
    design: TrialDesign
    first: int
    count: int

    @property
    def label(self) -> str:
        last = self.first + self.count
        return f"{self.method.label}, {self.source.label}, trials {self.first + 1} to {last}"

    @property
    def gpu(self) -> bool:  # type: ignore[override]  # of each part its own
        """Whether it runs a network: the others need not queue for a GPU."""
        from_network = trained_scores.network_behind(self.source.benchmark) is not None
        return from_network or self.method.runs_network

    @property
    def trainings(self) -> tuple[Training, ...]:
        """What the method reads and what the benchmark draws from."""
        behind = trained_scores.network_behind(self.source.benchmark)
        return tuple(training for training in (self.network, behind) if training is not None)

    def compute(self, store: Store, report: Report) -> Tally:
        """Test, training the network where the store lacks it."""
        return _compute(store, [self], report)[0]


@dataclass(frozen=True, kw_only=True)
class Batch(Specification, spec="batch_of_trials"):
    """Parts that differ in their methods alone: they are drawn and scored together."""

    makes: ClassVar[frozenset[str]] = frozenset()

    parts: tuple[MethodTrials, ...]

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

    def missing(self, store: Store) -> list[MethodTrials]:
        """Those that have not run."""
        return [part for part in self.parts if not part.done(store)]

    def run(self, store: Store, report: Report) -> None:
        """Test and store what is missing; where a method fails, the others before it is told."""
        left, failures = self.missing(store), []
        while left:
            try:
                tallies = _compute(store, left, report)
            except MethodFailed as failure:
                failures.append(failure.error)
                left = [part for part in left if part.method != failure.method]
                continue
            for part, tally in zip(left, tallies, strict=True):
                part.keep(store, tally)
            break
        if failures:
            raise failures[0]
        report(1.0, {})


class _CalibrationScores(NamedTuple):
    """Calibration scores of p: (N,)."""

    p: Array


@dataclass(frozen=True, kw_only=True)
class _CalibrationLaw(Study[_CalibrationScores], spec="calibration"):
    """The law that Uniform ranks against where calibration draws are pooled.

    One for all trials, parts and m that read a network: a p-value does not depend on how a sweep
    was cut, and the law is drawn once.
    """

    source: Simulated
    network: Training
    beta: float
    design: TrialDesign

    @property
    def label(self) -> str:
        return f"Calibration scores, {self.source.label}"

    def law(self, store: Store, score: Score) -> PooledLaw:
        """The stored scores, or new ones, drawn and stored: a second who asks waits for them."""
        scored = self.load(store)
        if scored is None:
            with trained_scores.locked(store, self.key):
                scored = self.load(store)
                if scored is None:
                    benchmark, gamma = self.source.benchmark, self.source.gamma
                    scored = _CalibrationScores(
                        trials.calibration_scores(benchmark, gamma, score, self.design)
                    )
                    self.keep(store, scored)
        return PooledLaw(scored.p)


def _compute(store: Store, parts: Sequence[MethodTrials], report: Report) -> list[Tally]:
    """Test the methods of parts that differ in nothing else."""
    part = parts[0]
    trained_scores.ready(store, part.source.benchmark)
    network = trained_scores.trained(store, part.network) if part.network else None
    tallies = trials.run_trials(
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


def _law(store: Store, part: MethodTrials) -> Callable[[Score], PooledLaw] | None:
    """The calibration law of what a part reads; None where that is no network's."""
    if part.network is None:
        return None
    law = _CalibrationLaw(
        source=part.source, network=part.network, beta=part.beta, design=part.design
    )
    return lambda score: law.law(store, score)


class _Tallies(NamedTuple):
    """Tallies of all places of a curve."""

    pvalues: Array  # (places, trials)
    statistics: Array  # (places, trials)
    costs: Array  # (places, 4): draws of p, of q, seconds, seconds of training


@dataclass(frozen=True, kw_only=True)
class _SweepCurve(Study[_Tallies], spec="curve"):
    """One method over a whole sweep, in one record: what is shipped, or kept when it is done."""

    benchmark: Benchmark
    method: Method
    gammas: tuple[float, ...]
    betas: tuple[float, ...]
    design: TrialDesign
    recipe: Recipe
    seed: int

    @property
    def label(self) -> str:
        return f"{self.method.label} on {self.benchmark.label}"

    def save(self, store: Store, tallies: Sequence[Tally]) -> None:
        """Keep one tally for each place."""
        pvalues, values = (np.stack([tally[i] for tally in tallies]) for i in (0, 1))
        self.keep(store, _Tallies(pvalues, values, np.array([tally[2:] for tally in tallies])))

    def tallies(self, store: Store) -> list[Tally] | None:
        """A tally for each place, or None."""
        stored = self.load(store)
        if stored is None:
            return None
        return [
            Tally(p, t, int(cost[0]), int(cost[1]), float(cost[2]), float(cost[3]))
            for p, t, cost in zip(*stored, strict=True)
        ]


# ---- What is compared, and in which order it runs ----


_FIRST, _STEP = (10, 20, 50), 50  # a first picture from ten trials; then parts of a size


class SweepPlace(NamedTuple):
    """One point of a sweep's grid."""

    gamma: float
    beta: float


@dataclass(frozen=True, kw_only=True)
class Sweep(Specification, spec="sweep"):
    """What is compared: methods, on one benchmark, over gamma and beta."""

    benchmark: Benchmark
    methods: tuple[Method, ...]
    gammas: tuple[float, ...]
    betas: tuple[float, ...] = (0.0,)
    design: TrialDesign = field(default_factory=lambda: TrialDesign(k=200))
    recipe: Recipe = field(default_factory=Classifier)
    seed: int = 0
    """Of the networks."""

    @property
    def label(self) -> str:
        few = len(self.methods) < 3
        what = " and ".join(m.label for m in self.methods) if few else f"{len(self.methods)} tests"
        return f"{what} on {self.benchmark.label}"

    @property
    def places(self) -> tuple[SweepPlace, ...]:
        """Every gamma at every beta."""
        return tuple(SweepPlace(gamma, beta) for gamma in self.gammas for beta in self.betas)

    def network(self, method: Method, gamma: float) -> Training | None:
        """What the method reads at this gamma; None where nothing is learnt once for all."""
        if not method.needs_training:
            return None
        source = Simulated(benchmark=self.benchmark, gamma=gamma)
        shared = Training(source=source, recipe=self.recipe, seed=self.seed)
        return _network_of(method, shared, trials.effective_design(self.design, method))

    @cached_property
    def parts(self) -> Mapping[tuple[str, SweepPlace], tuple[MethodTrials, ...]]:
        """The trials of each method, by its label, at each place, in order."""
        return {
            (method.label, place): self._parts(method, place)
            for method in self.methods
            for place in self.places
        }

    def curve(self, method: Method) -> _SweepCurve:
        """The record of one method over the whole sweep; the level plays no part in it."""
        return _SweepCurve(
            benchmark=self.benchmark,
            method=method,
            gammas=self.gammas,
            betas=self.betas,
            design=replace(
                trials.effective_design(self.design, method), trials=self.design.trials
            ),
            recipe=self.recipe,
            seed=self.seed,
        )

    @cached_property
    def tasks(self) -> tuple[TrainTask | Batch, ...]:
        """All work: a first picture of everything, cheap methods first, then more trials.

        Each network is trained just before it is first read.
        """
        return tuple(dict.fromkeys(self._ordered()))

    def _parts(self, method: Method, place: SweepPlace) -> tuple[MethodTrials, ...]:
        beta = place.beta if method.degrades else 0.0
        return tuple(
            MethodTrials(
                source=Simulated(benchmark=self.benchmark, gamma=place.gamma),
                method=method,
                network=self.network(method, place.gamma),
                beta=beta,
                design=trials.effective_design(self.design, method),
                first=first,
                count=last - first,
            )
            for first, last in _cuts(self.design.trials)
        )

    def _ordered(self) -> Iterator[TrainTask | Batch]:
        for cut in range(len(_cuts(self.design.trials))):
            for methods in self._groups():
                for place in self.places:
                    batch = Batch(parts=tuple(self.parts[m.label, place][cut] for m in methods))
                    network = batch.parts[0].network
                    if network is not None:
                        yield TrainTask(trainings=(network,))
                    yield batch

    def _groups(self) -> list[list[Method]]:
        """Methods that draw and score together, those that learn nothing first."""
        at = self.gammas[0]
        groups: dict[tuple[object, ...], list[Method]] = {}
        for method in sorted(self.methods, key=self._dearness):
            alone = "" if method.pooled and not method.learns_anew else method.label
            shared = (
                self.network(method, at),
                trials.effective_design(self.design, method),
                method.degrades,
            )
            groups.setdefault((*shared, method.layout, alone), []).append(method)
        return list(groups.values())

    def _dearness(self, method: Method) -> int:
        return 2 if method.needs_training else int(method.learns_anew)


def _network_of(method: Method, training: Training, design: TrialDesign) -> Training:
    """The network that a method reads: the training's own classifier, or one by its own recipe.

    Such a one learns from as many draws as it is tested on, as in the papers.
    """
    if method.score_kind != "recipe":
        return training
    source = training.source
    assert isinstance(source, Simulated)
    recipe = method.recipe(design.n, design.k, source.benchmark)
    return Training(source=source, recipe=recipe, seed=training.seed)


def _cuts(count: int) -> list[tuple[int, int]]:
    """Trials from, and to: 0 10 20 50 100 150 ... so that every sweep cuts alike."""
    marks = [0, *_FIRST, *range(_FIRST[-1] + _STEP, count, _STEP)]
    return list(pairwise([*[mark for mark in marks if mark < count], count]))


# ---- What the store holds so far, what is missing, and the numbers to take away ----


@dataclass(frozen=True, eq=False)
class Progress:
    """What the store holds of a sweep."""

    cells: Sequence[PowerCell]
    """Counts so far, in the order of methods and places; places without a trial are left out."""
    done: Mapping[str, int]
    """Trials that have run, by method's label, over all places."""
    wanted: int
    """Trials of each method, over all places."""
    training: Mapping[str, float]
    """Seconds that the networks which a method read took, by its label."""
    pvalues: Mapping[tuple[str, SweepPlace], Array]

    @property
    def complete(self) -> bool:
        """Whether every trial has run."""
        return all(count >= self.wanted for count in self.done.values())


Memory = MutableMapping[str, "list[Tally]"]
"""What was read before, by key: a page asks twice a second."""


def collect(
    sweep: Sweep, store: Store, memory: Memory | None = None, beside: Sequence[Sweep] = ()
) -> Progress:
    """Gather what has run so far, also as part of curves that were kept of sweeps `beside`."""
    known: Memory = {} if memory is None else memory
    cells, done, seconds = [], {}, {}
    pvalues: dict[tuple[str, SweepPlace], Array] = {}
    for method in sweep.methods:
        done[method.label], training = 0, {}
        for place, tally in _tallies(sweep, method, store, known, beside).items():
            cell = tally.cell(sweep.benchmark, method, *place, sweep.design)
            pvalues[method.label, place] = tally.pvalues
            cells.append(cell)
            done[method.label] += cell.trials
            training[place.gamma] = tally.training
        seconds[method.label] = sum(training.values())
    wanted = sweep.design.trials * len(sweep.places)
    return Progress(cells, done, wanted, seconds, pvalues)


def missing(
    sweep: Sweep, store: Store, beside: Sequence[Sweep] = ()
) -> tuple[TrainTask | Batch, ...]:
    """What must still run, in order; a curve that is kept needs nothing at its places."""
    kept = {
        (method.label, place)
        for other in (sweep, *beside)
        for method in other.methods
        if store.has("results", other.curve(method).key)
        for place in other.places
    }
    if all((method.label, place) in kept for method in sweep.methods for place in sweep.places):
        return ()
    whole = {part for at in kept & set(sweep.parts) for part in sweep.parts[at]}
    batches = {
        task
        for task in sweep.tasks
        if isinstance(task, Batch)
        and not whole.issuperset(task.parts)
        and not whole.issuperset(task.missing(store))
    }
    networks = {training for batch in batches for training in batch.trainings}
    return tuple(
        task
        for task in sweep.tasks
        if (
            task in batches
            if isinstance(task, Batch)
            else networks & set(task.trainings) and not task.done(store)
        )
    )


def keep_curves(sweep: Sweep, store: Store) -> None:
    """Put each finished curve into a record of its own."""
    for method in sweep.methods:
        tallies = _tallies(sweep, method, store, {})
        complete = len(tallies) == len(sweep.places) and all(
            len(tally.pvalues) == sweep.design.trials for tally in tallies.values()
        )
        if complete:
            sweep.curve(method).save(store, list(tallies.values()))


def _tallies(
    sweep: Sweep, method: Method, store: Store, known: Memory, beside: Sequence[Sweep] = ()
) -> dict[SweepPlace, Tally]:
    """What a method has said at each place where it has run; parts are added up."""
    whole: dict[SweepPlace, Tally] = {}
    for other in (*beside, sweep):
        curve = other.curve(method)
        if curve.key not in known and store.has("results", curve.key):
            stored = curve.tallies(store)
            if stored is not None:
                known[curve.key] = stored
        whole |= dict(zip(other.places, known.get(curve.key, ()), strict=False))
    tallies = {}
    for place in sweep.places:
        tally = whole.get(place) or _added(sweep.parts[method.label, place], store, known)
        if tally is not None:
            tallies[place] = tally
    return tallies


def _added(parts: Sequence[MethodTrials], store: Store, known: Memory) -> Tally | None:
    """The parts of one place that have run, as one."""
    tallies: list[Tally] = []
    for part in parts:
        if part.key not in known and part.done(store):
            tally = part.load(store)
            if tally is not None:
                known[part.key] = [tally]
        tallies += known.get(part.key, [])
    return merge_tallies(tallies) if tallies else None


def rows(progress: Progress) -> list[dict[str, object]]:
    """Cells as plain values, one row each: what tables, CSV, parquet and JSON hold."""
    records = []
    for cell in progress.cells:
        low, high = statistics.wilson(cell.rejections, cell.trials)
        interval = {"rate": cell.rate, "low": float(low), "high": float(high)}
        records.append({**asdict(cell), **interval})
    return records


# ---- One trial opened up ----


_KEPT = 200_000  # numbers of a table's draws that are kept to be drawn


class TrialDetail(NamedTuple):
    """What one test said, and what it looked at."""

    statistic: float
    pvalue: float
    draws_p: int
    draws_q: int
    seconds: float
    effect: Mapping[str, float]
    arrays: Mapping[str, Array]
    learned: Mapping[str, float]
    """What the training of the network that it read said of it."""
    theta: Array
    """Draws of q at each x (n, K, D) of a small table; empty where there is none."""


@dataclass(frozen=True, kw_only=True)
class TrialStudy(Study[TrialDetail], spec="look"):
    """The first trial of some trials of a sweep, kept whole."""

    trials: MethodTrials

    @property
    def label(self) -> str:
        return f"One test: {self.trials.method.label}, {self.trials.source.label}"

    @property
    def gpu(self) -> bool:  # type: ignore[override]
        """As its trials."""
        return self.trials.gpu

    @property
    def trainings(self) -> tuple[Training, ...]:
        """As its trials."""
        return self.trials.trainings

    def compute(self, store: Store, report: Report) -> TrialDetail:
        """Test once, training the network where the store lacks it."""
        part = self.trials
        trained_scores.ready(store, part.source.benchmark)
        network = trained_scores.trained(store, part.network, report) if part.network else None
        start = time.perf_counter()
        outcome, table = trials.run_trial(
            part.source.benchmark,
            part.source.gamma,
            network.at(part.beta) if network else None,
            part.method,
            part.design,
            part.first,
        )
        return TrialDetail(
            statistic=float(outcome.statistic),
            pvalue=float(outcome.pvalue),
            draws_p=outcome.budget.p,
            draws_q=outcome.budget.q,
            seconds=time.perf_counter() - start,
            effect={name: float(value) for name, value in outcome.effect.items()},
            arrays={name: np.asarray(array) for name, array in outcome.arrays.items()},
            learned=dict(network.summary) if network else {},
            theta=table.q if table is not None and table.q.size <= _KEPT else np.zeros((0, 0, 0)),
        )


def first_trial(sweep: Sweep, method: Method, place: SweepPlace) -> TrialStudy:
    """The first trial of a method at one place of a sweep."""
    return TrialStudy(trials=sweep.parts[method.label, place][0])
