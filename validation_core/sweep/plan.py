"""A sweep: the methods it compares and the parts in which it runs.

A part is stored under a key of its own. A batch is run at once: parts of several methods, which
share their draws, and their scores where they read the same network.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from validation_core.benchmarks.over_gamma import AtGamma, OverGamma
from validation_core.keys import Specification
from validation_core.methods.base import Method
from validation_core.precision import three_digits
from validation_core.scores import Recipe, trained_scores
from validation_core.scores.classifier import Classifier
from validation_core.scores.trained_scores import Simulated, Training, TrainTask
from validation_core.statistics import PooledLaw
from validation_core.study import Report, Study
from validation_core.sweep import trials
from validation_core.sweep.trials import MethodFailed, Tally, TrialDesign
from validation_core.text import list_text, more_text
from validation_core.types import Array, Benchmark, Score

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
        """Whether it runs a network, and so waits for a GPU."""
        return bool(trained_scores.networks_behind(self.source)) or self.method.runs_network

    @property
    def trainings(self) -> tuple[Training, ...]:
        """Trainings of the networks that the benchmark draws from and the method reads."""
        behind = trained_scores.networks_behind(self.source)
        return behind if self.network is None else (*behind, self.network)

    @property
    def draws(self) -> tuple[object, ...]:
        """What its draws depend on: parts in which this is equal can be one batch."""
        return self.source, self.design, self.first, self.count, _sharing(self.method)

    def compute(self, store: Store, report: Report) -> Tally:
        """Run the trials; train the network unless the store has it."""
        return _compute(store, [self], report)[0]

    def law(self, store: Store, score: Score) -> PooledLaw:
        """Calibration law of the score of its network: stored, or drawn and stored."""
        assert self.network is not None
        return _CalibrationLaw(
            source=self.source, network=self.network, beta=self.beta, design=self.design
        ).law(store, score)

    def score(self, network: Any) -> Score:
        """The score of its trained network, at its beta and its gamma."""
        assert self.network is not None
        score: Score = network.at(self.beta)
        over = getattr(self.network.source, "benchmark", None)
        if isinstance(over, OverGamma) and over != self.source.benchmark:
            return AtGamma(score, over, over.grid.index(self.source.gamma))
        return score


@dataclass(frozen=True, kw_only=True)
class Batch(Specification, spec="batch_of_trials"):
    """Parts at one place that draw alike: they differ in their methods and networks."""

    makes: ClassVar[frozenset[str]] = frozenset()

    parts: tuple[MethodTrials, ...]

    @property
    def label(self) -> str:
        first = self.parts[0]
        test = first.method.label
        return first.label.replace(test, test + more_text(len(self.parts) - 1), 1)

    @property
    def gpu(self) -> bool:
        """Whether any of them runs a network."""
        return any(part.gpu for part in self.parts)

    @cached_property
    def trainings(self) -> tuple[Training, ...]:
        """Trainings of the networks that they read and their benchmark draws from."""
        return tuple(dict.fromkeys(one for part in self.parts for one in part.trainings))

    @property
    def needs(self) -> frozenset[str]:
        """Keys of the networks."""
        return frozenset().union(*(part.needs for part in self.parts))

    def done(self, store: Store) -> bool:
        return not self.missing(store)

    def missing(self, store: Store) -> list[MethodTrials]:
        """Parts that have not run."""
        return [part for part in self.parts if not part.done(store)]

    def run(self, store: Store, report: Report) -> None:
        """Run and store the missing parts; a method's failure is raised after the others ran."""
        left, failures = self.missing(store), []
        while left:
            try:
                tallies = _compute(store, left, report)
            except MethodFailed as failure:
                failures.append(failure.error)
                left = [part for part in left if part.method != failure.method]
                continue
            for part, tally in zip(left, tallies, strict=True):
                part.keep(store, tally, seconds=tally.seconds)
            break
        if failures:
            raise failures[0]
        report(1.0, {})


class _CalibrationScores(NamedTuple):
    """Calibration scores of p: (N,)."""

    p: Array


@dataclass(frozen=True, kw_only=True)
class _CalibrationLaw(Study[_CalibrationScores], spec="calibration"):
    """Law of p's scores that Uniform ranks against where calibration draws are pooled.

    All trials, parts and m that read the same network share it: a p-value does not depend on how a
    sweep was cut, and the law is drawn once.
    """

    source: Simulated
    network: Training
    beta: float
    design: TrialDesign

    @property
    def label(self) -> str:
        return f"Calibration scores, {self.source.label}"

    def law(self, store: Store, score: Score) -> PooledLaw:
        """The law, stored or newly drawn and stored; concurrent callers wait for the first."""
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


def _compute(
    store: Store, parts: Sequence[MethodTrials], report: Report, design: TrialDesign | None = None
) -> list[Tally]:
    """Run the same trials of several methods at one place.

    Args:
        store: holds the networks and laws that they read; those that it lacks are made.
        parts: the methods' trials.
        report: called with the fraction done.
        design: of all of them; by default theirs, where they draw alike.
    """
    first = parts[0]
    trained_scores.ready(store, first.source.benchmark)
    read = dict.fromkeys(part.network for part in parts if part.network)
    networks = {training: trained_scores.trained(store, training) for training in read}
    readers = {(part.network, part.beta): part for part in parts if part.network}
    scores = {at: part.score(networks[at[0]]) for at, part in readers.items()}
    of_score = {id(scores[at]): part for at, part in readers.items()}
    tallies = trials.run_trials(
        first.source.benchmark,
        first.source.gamma,
        [scores[part.network, part.beta] if part.network else None for part in parts],
        [part.method for part in parts],
        design or first.design,
        range(first.first, first.first + first.count),
        pool=lambda score: of_score[id(score)].law(store, score),
        progress=lambda fraction: report(fraction, {}),
    )
    return [
        tally._replace(training=networks[part.network].seconds if part.network else 0.0)
        for part, tally in zip(parts, tallies, strict=True)
    ]


class _Tallies(NamedTuple):
    """Tallies of all places of a curve."""

    pvalues: Array  # (places, trials), in single precision, in which a level is compared
    statistics: Array  # (places, trials), to three digits: their mean and spread are shown
    costs: Array  # (places, 4): draws of p, of q, seconds, seconds of training


@dataclass(frozen=True, kw_only=True)
class SweepCurve(Study[_Tallies], spec="curve"):
    """One method over a whole sweep, in one record: shipped, or stored once it is complete."""

    benchmark: Benchmark
    method: Method
    gammas: tuple[float, ...]
    betas: tuple[float, ...]
    design: TrialDesign
    recipe: Recipe
    seed: int
    for_all_gammas: bool = field(default=False, metadata={"later": True})
    learnt_from: int | None = field(default=None, metadata={"later": True})

    @property
    def label(self) -> str:
        return f"{self.method.label} on {self.benchmark.label}"

    def save(self, store: Store, tallies: Sequence[Tally], device: str) -> None:
        """Store one tally for each place, and the device that they ran on."""
        pvalues, values = (np.stack([tally[i] for tally in tallies]) for i in (0, 1))
        costs = np.array([tally[2:] for tally in tallies])
        seconds = sum(tally.seconds for tally in tallies)
        record = _Tallies(pvalues.astype(np.float32), three_digits(values), costs)
        self.keep(store, record, seconds=seconds, device=device)

    def tallies(self, store: Store) -> list[Tally] | None:
        """The stored tallies, one for each place, or None."""
        stored = self.load(store)
        if stored is None:
            return None
        return [
            Tally(p, t.astype(float), int(cost[0]), int(cost[1]), float(cost[2]), float(cost[3]))
            for p, t, cost in zip(*stored, strict=True)
        ]


def _sharing(method: Method) -> tuple[str, str]:
    """Methods in which this is equal share their draws: a layout's, or a method's own."""
    return method.layout, "" if method.pooled and not method.learns_anew else method.label


_FIRST, _STEP = (10, 20, 50), 50  # a first picture from ten trials; then parts of a size


class SweepPlace(NamedTuple):
    """One point of a sweep's grid."""

    gamma: float
    beta: float


@dataclass(frozen=True, kw_only=True)
class Sweep(Specification, spec="sweep"):
    """Methods compared on one benchmark, over gamma and beta."""

    benchmark: Benchmark
    methods: tuple[Method, ...]
    gammas: tuple[float, ...]
    betas: tuple[float, ...] = (0.0,)
    design: TrialDesign = field(default_factory=lambda: TrialDesign(k=200))
    recipe: Recipe = field(default_factory=Classifier)
    seed: int = 0
    """Seed of the networks."""
    networks: int = 1
    """Networks trained at each gamma, with seeds `seed`, `seed + 1`, ...; three in the papers."""
    for_all_gammas: bool = field(default=False, metadata={"later": True})
    """One network learns from draws at every gamma and is held at each, in place of one for each:
    its p-values are as valid, and its curve costs one training."""
    learnt_from: int | None = field(default=None, metadata={"later": True})
    """Simulations that tests with a score of their own learn from; None for as many as a test
    has."""

    def __post_init__(self) -> None:
        if self.networks < 1:
            raise ValueError(
                f"A sweep trains at least one network at each gamma; got {self.networks}. "
                "The papers take 3."
            )
        for beta in self.betas:
            if not 0 <= beta <= 1:
                raise ValueError(
                    f"Beta is the share by which weights are moved, 0 to 1; got {beta:g}. Try 0.5."
                )
        for gamma in self.gammas:
            self.benchmark.check_gamma(gamma)

    @cached_property
    def of_one_network(self) -> tuple[Sweep, ...]:
        """The same sweep once for each network; methods that read none run with the first."""
        if self.networks == 1:
            return (self,)
        first = replace(self, networks=1)
        trained = tuple(m for m in self.methods if self.network(m, self.gammas[0]) is not None)
        more = range(1, self.networks if trained else 1)
        others = (replace(first, methods=trained, seed=self.seed + i) for i in more)
        return (first, *others)

    @property
    def label(self) -> str:
        few = len(self.methods) < 3
        names = list_text([method.label for method in self.methods])
        what = names if few else f"{len(self.methods)} tests"
        return f"{what} on {self.benchmark.label}"

    @property
    def places(self) -> tuple[SweepPlace, ...]:
        """Every gamma at every beta."""
        return tuple(SweepPlace(gamma, beta) for gamma in self.gammas for beta in self.betas)

    def network(self, method: Method, gamma: float) -> Training | None:
        """Training of the network that the method reads at this gamma; None if it shares none."""
        if not method.needs_training:
            return None
        design = trials.effective_design(self.design, method)
        source = Simulated(benchmark=self.benchmark, gamma=gamma)
        recipe = self.recipe
        if method.score_kind == "recipe":  # as many draws as it is tested on, as in the papers
            recipe = method.recipe(self.learnt_from or design.n, design.k, self.benchmark)
        if self.for_all_gammas and len(self.gammas) > 1:
            over = OverGamma(of=self.benchmark, grid=tuple(sorted(self.gammas)))
            source = Simulated(benchmark=over, gamma=0.0)
            recipe = recipe.for_all_gammas(len(self.gammas))
        return Training(source=source, recipe=recipe, seed=self.seed)

    @cached_property
    def parts(self) -> Mapping[tuple[str, SweepPlace], tuple[MethodTrials, ...]]:
        """Parts of each method, by its label, at each place, in order."""
        return {
            (method.label, place): self._parts(method, place)
            for method in self.methods
            for place in self.places
        }

    def curve(self, method: Method) -> SweepCurve:
        """Record of one method over the whole sweep; it does not depend on the level."""
        return SweepCurve(
            benchmark=self.benchmark,
            method=method,
            gammas=self.gammas,
            betas=self.betas,
            design=replace(
                trials.effective_design(self.design, method), trials=self.design.trials
            ),
            recipe=self.recipe,
            seed=self.seed,
            for_all_gammas=self.for_all_gammas,
            learnt_from=self.learnt_from if method.score_kind == "recipe" else None,
        )

    @cached_property
    def tasks(self) -> tuple[TrainTask | Batch, ...]:
        """All tasks in order: a few trials of every part, cheap methods first, then more trials.

        Each network is trained just before it is first read; the second network's trials follow
        those of the first.
        """
        if self.networks == 1:
            return tuple(dict.fromkeys(self._ordered()))
        return tuple(dict.fromkeys(task for one in self.of_one_network for task in one.tasks))

    def run_at(self, place: SweepPlace, store: Store, report: Report) -> list[Tally]:
        """Run all trials of its methods at one place at once: a tally for each method.

        Methods that draw alike share their draws, and no part is stored.
        """
        whole = [
            replace(self.parts[method.label, place][0], count=self.design.trials)
            for method in self.methods
        ]
        return _compute(store, whole, report, self.design)

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
                    yield from _training_tasks(batch)
                    yield batch

    def _groups(self) -> list[list[Method]]:
        """Methods grouped by shared draws; those without learning first."""
        groups: dict[tuple[object, ...], list[Method]] = {}
        for method in sorted(self.methods, key=self._dearness):
            design = trials.effective_design(self.design, method)
            groups.setdefault((design, method.degrades, _sharing(method)), []).append(method)
        return list(groups.values())

    def _dearness(self, method: Method) -> int:
        return 2 if method.needs_training else int(method.learns_anew)


def _training_tasks(batch: Batch) -> Iterator[TrainTask]:
    """A task for each network that a batch reads, after those that draw what it learns from."""
    for network in batch.trainings:
        for each in (*trained_scores.networks_behind(network.source), network):
            yield TrainTask(trainings=(each,))


def _cuts(count: int) -> list[tuple[int, int]]:
    """Bounds of the parts: 0 10 20 50 100 150 ..., the same for every sweep."""
    marks = [0, *_FIRST, *range(_FIRST[-1] + _STEP, count, _STEP)]
    return list(pairwise([*[mark for mark in marks if mark < count], count]))
