"""Trained scores by key: one network for every method, page and process that uses it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, cast

import numpy as np

from validation_core import keys, sampling
from validation_core.keys import Specification
from validation_core.rng import stream
from validation_core.scores import Recipe
from validation_core.scores.classifier import Classifier
from validation_core.study import Report, versions
from validation_core.text import more_text
from validation_core.types import Benchmark, PosteriorTable

if TYPE_CHECKING:
    from validation_core.store import Store


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

    def lend(self, network: Any) -> None:
        """Draw from this network from now on."""
        ...


def classifier_of(benchmark: Benchmark, usual: Recipe) -> Recipe:
    """Recipe of the classifier that C2ST, Multiple and Uniform read on a benchmark.

    Its own `classifier` where it has one, as images do, whose pixels alone tell too little.
    """
    return getattr(benchmark, "classifier", usual)


def ready(store: Store, benchmark: Benchmark, report: Report | None = None) -> None:
    """Lend a benchmark the trained network that it draws from, trained where the store lacks it.

    Every task calls this before it samples; it costs nothing for the others.
    """
    network = network_behind(benchmark)
    if network is not None:
        cast("_Sampler", benchmark).lend(trained(store, network, report))


def network_behind(benchmark: Benchmark) -> Training | None:
    """The training of the network that a benchmark draws from, or None."""
    recipe = getattr(benchmark, "sampler", None)
    if recipe is None:
        return None
    truth = cast("_Sampler", benchmark).truth
    return Training(source=Simulated(benchmark=truth, gamma=0.0), recipe=recipe)


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
    network = load(store, training)
    if network is not None:
        return network
    with locked(store, keys.key(training)):
        return load(store, training) or train_and_store(store, [training], report)[0]


def locked(store: Store, key: str) -> AbstractContextManager[object]:
    """A lock on a key whose network is being trained: others that need it wait."""
    return store.locked("locks", key)


def train_and_store(
    store: Store, trainings: Sequence[Training], report: Report | None = None
) -> list[Any]:
    """Train networks of one recipe and one input size as one batch, and store each."""
    recipe = trainings[0].recipe
    sets = [
        training.source.training_set(training.recipe, training.seed, store)
        for training in trainings
    ]
    networks = list(recipe.learn_all(sets, [training.seed for training in trainings], report))
    for training, network in zip(trainings, networks, strict=True):
        meta = {
            "label": training.label,
            "seconds": network.seconds,
            "device": network.device,
            "versions": versions(),
            **network.summary,
        }
        store.save(
            "models",
            keys.key(training),
            network.arrays(),
            spec=keys.canonical_text(training),
            meta=meta,
        )
    return networks


@dataclass(frozen=True, kw_only=True)
class TrainTask(Specification, spec="train"):
    """Train classifiers; several of one recipe become one batch, which pays on a GPU."""

    gpu: ClassVar[bool] = True
    needs: ClassVar[frozenset[str]] = frozenset()

    trainings: tuple[Training, ...]

    @property
    def label(self) -> str:
        return f"Train {self.trainings[0].label}{more_text(len(self.trainings) - 1)}"

    @property
    def makes(self) -> frozenset[str]:
        """Keys of the networks: tasks that need one wait for it."""
        return frozenset(keys.key(training) for training in self.trainings)

    def done(self, store: Store) -> bool:
        return not self._missing(store)

    def run(self, store: Store, report: Report) -> None:
        """Train those networks that the store lacks."""
        with ExitStack() as locks:
            for key in sorted(self.makes):  # in one order: two never wait for each other
                locks.enter_context(locked(store, key))
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
