"""Trained classifiers by key: one network for every method, page and process that asks for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Protocol

import filelock

from validation_core import keys, sampling
from validation_core.rng import stream
from validation_core.sampling import TrainingSet
from validation_core.scores.classifier import Classifier, TrainedClassifier, learn_all
from validation_core.types import Benchmark

if TYPE_CHECKING:
    from validation_core.store import Store
    from validation_core.training import Report

_HELD = 1000  # rows of p, and of q, that a benchmark's classifier is watched on


class Source(Protocol):
    """Where training draws come from: a frozen value."""

    @property
    def label(self) -> str:
        """What it is, for a list of trained models."""
        ...

    def training_set(self, recipe: Classifier, seed: int, store: Store) -> TrainingSet:
        """The draws that the classifier of this recipe and seed learns from."""
        ...


@dataclass(frozen=True, kw_only=True)
class Simulated:
    """A benchmark at one gamma."""

    benchmark: Benchmark
    gamma: float

    @property
    def label(self) -> str:
        return f"{self.benchmark.label} · gamma {self.gamma:g}"

    def training_set(self, recipe: Classifier, seed: int, store: Store) -> TrainingSet:
        del store
        rng = stream(seed, "training rows")
        return sampling.training_set(self.benchmark, self.gamma, recipe.train, _HELD, rng)


@dataclass(frozen=True, kw_only=True)
class Training:
    """One network: what it learns from, how, and its seed. Its key is the network's."""

    version: ClassVar[int] = 1

    source: Source
    recipe: Classifier = field(default_factory=Classifier)
    seed: int = 0

    @property
    def label(self) -> str:
        """What it is, for a list of trained models."""
        return f"{self.source.label} · seed {self.seed}"


def load(store: Store, training: Training) -> TrainedClassifier | None:
    """The stored network, or None."""
    found = store.load("models", keys.key(training))
    if found is None:
        return None
    return TrainedClassifier.read(
        found.arrays, seconds=float(found.meta["seconds"]), device=str(found.meta["device"])
    )


def trained(store: Store, training: Training, report: Report | None = None) -> TrainedClassifier:
    """The stored network, or a new one, trained and stored.

    Tasks that read one network may run side by side: the second waits for the first one's.
    """
    found = load(store, training)
    if found is not None:
        return found
    locks = store.root / "locks"
    locks.mkdir(parents=True, exist_ok=True)
    with filelock.FileLock(locks / f"{keys.key(training)}.lock"):
        return load(store, training) or train(store, [training], report)[0]


def train(
    store: Store, trainings: Sequence[Training], report: Report | None = None
) -> list[TrainedClassifier]:
    """Train networks of one recipe and one input size as one batch, and store each."""
    recipe = trainings[0].recipe
    sets = [one.source.training_set(one.recipe, one.seed, store) for one in trainings]
    networks = learn_all(sets, recipe, [one.seed for one in trainings], report)
    for one, network in zip(trainings, networks, strict=True):
        meta = {
            "label": one.label, "seconds": network.seconds, "device": network.device,
            "auc": network.auc, "epochs": recipe.epochs,
        }  # fmt: skip
        store.save("models", keys.key(one), network.arrays(), spec=keys.text(one), meta=meta)
    return networks
