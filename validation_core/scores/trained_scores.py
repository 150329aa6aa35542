"""Trained scores by key: one network for every method, page and process that uses it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from validation_core import keys, sampling
from validation_core.keys import Specification
from validation_core.provenance import versions
from validation_core.rng import stream
from validation_core.scores import Recipe
from validation_core.scores.classifier import Classifier
from validation_core.scores.training_batches import FailedTraining, TrainingBatch, training_batches
from validation_core.study import Report
from validation_core.text import more_text
from validation_core.types import Benchmark, PosteriorTable

if TYPE_CHECKING:
    from validation_core.store import Store

# Of one network's training; what its reports raise, such as the end of a job, is none of these.
_FAILURES = (ValueError, ArithmeticError, MemoryError, RuntimeError)


class _TrainingSource(Protocol):
    """Where training draws come from: a frozen value."""

    @property
    def label(self) -> str:
        """Short description for a list of trained models."""
        ...

    def training_set(self, recipe: Recipe, seed: int, store: Store) -> Any:
        """The draws that the network of this recipe and seed learns from."""
        ...

    def test_table(
        self, n: int, k: int, rng: np.random.Generator, *, seed: int, store: Store
    ) -> PosteriorTable:
        """Simulations that no network of this seed learns from, in no order.

        n new ones with k draws of q at each, or, where none can be made, those kept for tests.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class Simulated(Specification, spec="simulated"):
    """A benchmark at one gamma."""

    benchmark: Benchmark
    gamma: float

    @property
    def label(self) -> str:
        if self.benchmark.counts_iterations:
            return f"{self.benchmark.label} · {self.benchmark.place(self.gamma)}"
        if tuple(self.benchmark.gammas) == (0.0,):  # gamma plays no part, or is part of x
            return self.benchmark.label
        return f"{self.benchmark.label} · gamma {self.gamma:g}"

    def training_set(self, recipe: Recipe, seed: int, store: Store) -> Any:
        ready(store, self.benchmark)
        return recipe.sample(self.benchmark, self.gamma, stream(seed, "training rows"))

    def test_table(
        self, n: int, k: int, rng: np.random.Generator, *, seed: int, store: Store
    ) -> PosteriorTable:
        """n new simulations, k draws of q at each."""
        del seed  # every draw is new
        ready(store, self.benchmark)
        return sampling.table(self.benchmark, self.gamma, n, k, rng)


@dataclass(frozen=True, kw_only=True)
class Training(Specification, spec="training"):
    """One network: training data, recipe and seed. Its key is the network's."""

    source: _TrainingSource
    recipe: Recipe = field(default_factory=Classifier)
    seed: int = 0

    @property
    def label(self) -> str:
        """Short description for a list of trained models."""
        kind = getattr(self.recipe, "label", "")
        return " · ".join(part for part in (self.source.label, kind, f"seed {self.seed}") if part)


@runtime_checkable
class _Sampler(Protocol):
    """A benchmark that draws from a trained network."""

    @property
    def sampler(self) -> Recipe | None:
        """Training of that network; None where there is none."""
        ...

    @property
    def truth(self) -> Benchmark:
        """Its training data."""
        ...

    def use_network(self, network: Any) -> None:
        """Draw from this network from now on."""
        ...


@runtime_checkable
class SamplerByGamma(Protocol):
    """A benchmark that draws from another trained network at each gamma."""

    @property
    def training_seed(self) -> int:
        """Of the trainings."""
        ...

    @property
    def truth(self) -> Benchmark:
        """Their training data."""
        ...

    def recipe(self, gamma: float) -> Recipe:
        """Training of the network at this gamma."""
        ...

    def use_network(self, network: Callable[[float], Any]) -> None:
        """Draw from now on from the networks that `network` gives by gamma."""
        ...


def classifier_of(benchmark: Benchmark, usual: Recipe) -> Recipe:
    """Recipe of the classifier that C2ST, Multiple and Uniform read on a benchmark.

    Its own `classifier` where it has one, as images do, whose pixels alone tell too little.
    """
    return getattr(benchmark, "classifier", usual)


def ready(store: Store, benchmark: Benchmark) -> None:
    """Give a benchmark the trained network that it draws from, trained where the store lacks it.

    Every task calls this before it samples; it costs nothing for the others.
    """
    benchmark, _ = _drawn_from(benchmark, ())
    if isinstance(benchmark, SamplerByGamma):  # each gamma's is fetched where it is drawn from
        fetch = cache(lambda gamma: trained(store, network_at(benchmark, gamma)))
        benchmark.use_network(fetch)
        return
    network = network_behind(benchmark)
    if network is not None and isinstance(benchmark, _Sampler):
        benchmark.use_network(trained(store, network))


def network_behind(benchmark: Benchmark, gamma: float | None = None) -> Training | None:
    """The training of the network that a benchmark draws from, or None.

    Args:
        benchmark: the benchmark.
        gamma: where each gamma has a network of its own, which; None gives none of them.
    """
    if isinstance(benchmark, SamplerByGamma):
        return None if gamma is None else network_at(benchmark, gamma)
    if not isinstance(benchmark, _Sampler) or benchmark.sampler is None:
        return None
    truth = Simulated(benchmark=benchmark.truth, gamma=0.0)
    return Training(source=truth, recipe=benchmark.sampler)


def networks_behind(source: _TrainingSource) -> tuple[Training, ...]:
    """Trainings of the networks that draw a source's q: mostly none, or one."""
    if not isinstance(source, Simulated):
        return ()
    benchmark, gammas = _drawn_from(source.benchmark, (source.gamma,))
    behind = (network_behind(benchmark, each) for each in gammas)
    return tuple(dict.fromkeys(network for network in behind if network is not None))


def _drawn_from(
    benchmark: Benchmark, gammas: tuple[float, ...]
) -> tuple[Benchmark, tuple[float, ...]]:
    """The benchmark that draws, and its gammas: those of the grid where gamma is a part of x."""
    return getattr(benchmark, "drawn_from", (benchmark, gammas))


def network_at(benchmark: SamplerByGamma, gamma: float) -> Training:
    """The training of the network of one gamma."""
    source = Simulated(benchmark=benchmark.truth, gamma=0.0)
    return Training(source=source, recipe=benchmark.recipe(gamma), seed=benchmark.training_seed)


def load(store: Store, training: Training) -> Any:
    """The stored network, or None."""
    stored = store.load("models", keys.key(training))
    if stored is None:
        return None
    seconds, device = stored.number("seconds"), str(stored.meta["device"])
    return training.recipe.read(stored.arrays, seconds=seconds, device=device)


def trained(store: Store, training: Training, report: Report | None = None) -> Any:
    """The stored network, or a new one, trained and stored.

    Tasks that read one network may run side by side: the second waits for the first one's.
    """
    return trained_together(store, [training], report)[0]


def trained_together(
    store: Store, trainings: Sequence[Training], report: Report | None = None
) -> list[Any]:
    """The stored networks, and new ones, trained and stored, for those that the store lacks."""
    networks = {training: load(store, training) for training in trainings}
    missing = [training for training, network in networks.items() if network is None]
    if missing:
        with _all_locked(store, missing):
            networks |= {training: load(store, training) for training in missing}
            missing = [training for training in missing if networks[training] is None]
            networks |= zip(missing, train_and_store(store, missing, report), strict=True)
    return [networks[training] for training in trainings]


@contextmanager
def _all_locked(store: Store, trainings: Iterable[Training]) -> Iterator[None]:
    with ExitStack() as locks:
        for key in sorted({keys.key(training) for training in trainings}):
            locks.enter_context(locked(store, key))  # in one order: two never wait for each other
        yield


def locked(store: Store, key: str) -> AbstractContextManager[object]:
    """A lock on a key whose network is being trained: others that need it wait."""
    return store.locked("locks", key)


def train_and_store(
    store: Store, trainings: Sequence[Training], report: Report | None = None
) -> list[Any]:
    """Train networks, those of one recipe and one input size together, and store each.

    A batch is stored before the next one's draws are made. Where one network fails, the others
    are trained all the same.

    Raises:
        FailedTraining: when one of several has failed, with its name; a single one's own error.
    """
    networks: dict[Training, Any] = {}
    failures: dict[Training, Exception] = {}

    def draw(training: Training) -> Any:
        return training.source.training_set(training.recipe, training.seed, store)

    def tell(fraction: float, live: Mapping[str, float]) -> None:
        if report:
            report((len(networks) + len(failures) + fraction * at_once) / len(trainings), live)

    for batch in training_batches(trainings, draw, failures.__setitem__):
        at_once = len(batch.trainings)
        for training, network in _learn_batch(batch, tell, failures.__setitem__):
            networks[training] = network
            save_network(store, training, network)
    if len(trainings) == 1 and failures:
        raise failures[trainings[0]]
    if failures:
        raise FailedTraining.of(failures)
    return [networks[training] for training in trainings]


def _learn_batch(
    batch: TrainingBatch[Training], report: Report, failed: Callable[[Training, Exception], None]
) -> Iterator[tuple[Training, Any]]:
    """Networks of a batch; where it fails as a whole, of each training by itself."""
    recipe, seeds = batch.trainings[0].recipe, [training.seed for training in batch.trainings]
    try:
        networks = recipe.learn_all(batch.data, seeds, report)
    except _FAILURES as error:
        if len(seeds) == 1:
            failed(batch.trainings[0], error)
            return
        for alone in batch.alone():
            yield from _learn_batch(alone, report, failed)
        return
    yield from zip(batch.trainings, networks, strict=True)


def save_network(store: Store, training: Training, network: Any) -> None:
    """Store a trained network under its key."""
    meta = {
        "label": training.label,
        "seconds": network.seconds,
        "device": network.device,
        "versions": versions(),
        **network.summary,
    }
    spec = keys.canonical_text(training)
    store.save("models", keys.key(training), network.arrays(), spec=spec, meta=meta)


@dataclass(frozen=True, kw_only=True)
class TrainTask(Specification, spec="train"):
    """Train networks; several of one recipe become one batch, which pays on a GPU."""

    gpu: ClassVar[bool] = True

    trainings: tuple[Training, ...]

    @property
    def label(self) -> str:
        return f"Train {self.trainings[0].label}{more_text(len(self.trainings) - 1)}"

    @property
    def makes(self) -> frozenset[str]:
        """Keys of the networks: tasks that need one wait for it."""
        return frozenset(keys.key(training) for training in self.trainings)

    @property
    def needs(self) -> frozenset[str]:
        """Keys of the networks that its training draws come from."""
        behind = (networks_behind(training.source) for training in self.trainings)
        return frozenset(keys.key(network) for networks in behind for network in networks)

    @property
    def alike(self) -> Recipe | None:
        """The recipe, where its networks are trained as one batch on a GPU."""
        recipe = self.trainings[0].recipe
        return recipe if recipe.batched else None

    def joined(self, others: Sequence[TrainTask]) -> TrainTask:
        """One task that trains the networks of this one and of others."""
        every = (training for task in (self, *others) for training in task.trainings)
        return TrainTask(trainings=tuple(dict.fromkeys(every)))

    def done(self, store: Store) -> bool:
        return not self._missing(store)

    def run(self, store: Store, report: Report) -> None:
        """Train those networks that the store lacks."""
        with _all_locked(store, self.trainings):
            missing = self._missing(store)
            if missing:
                train_and_store(store, missing, trace(report))

    def _missing(self, store: Store) -> list[Training]:
        return [
            training for training in self.trainings if not store.has("models", keys.key(training))
        ]


def trace(report: Report) -> Report:
    """Reporter of the whole history of a training at each check, for a page's picture."""
    course: dict[str, list[float]] = {}

    def tell(fraction: float, now: Mapping[str, float]) -> None:
        for name, value in now.items():
            course.setdefault(name, []).append(value)
        report(fraction, {"history": course})

    return tell
