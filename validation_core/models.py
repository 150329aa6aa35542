"""Trained scores by key: one network for every method, page and process that asks for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, cast

import filelock
import numpy as np

from validation_core import keys, sampling
from validation_core.bayes import designs
from validation_core.benchmarks.bayes_model import BayesModel
from validation_core.benchmarks.strength import counts, place
from validation_core.rng import stream
from validation_core.scores.classifier import Classifier
from validation_core.types import Array, Benchmark, Draws

if TYPE_CHECKING:
    from validation_core.store import Store
    from validation_core.training import Report


class Trained(Protocol):
    """A network as it is kept; one that scores has `at(beta) -> Score` as well."""

    @property
    def seconds(self) -> float:
        """How long it was trained."""
        ...

    @property
    def device(self) -> str:
        """Where."""
        ...

    @property
    def summary(self) -> Mapping[str, float]:
        """What training said of it: held-out numbers."""
        ...

    def arrays(self) -> dict[str, Array]:
        """Everything to store, by flat names."""
        ...


class Recipe(Protocol):
    """How a score is learnt: a frozen value, part of the network's key."""

    def sample(self, benchmark: Benchmark, gamma: float, rng: np.random.Generator) -> Any:
        """What it learns from, drawn from a benchmark."""
        ...

    def learn_all(
        self, data: Sequence[Any], seeds: Sequence[int], report: Report | None = None
    ) -> Sequence[Trained]:
        """One network for each set of data and seed."""
        ...

    def read(self, arrays: Mapping[str, Array], *, seconds: float, device: str) -> Trained:
        """What `Trained.arrays` gave."""
        ...


class Source(Protocol):
    """Where training draws come from: a frozen value."""

    @property
    def label(self) -> str:
        """What it is, for a list of trained models."""
        ...

    def training_set(self, recipe: Recipe, seed: int, store: Store) -> Any:
        """The draws that the network of this recipe and seed learns from."""
        ...

    def test_table(
        self, n: int, k: int, rng: np.random.Generator, *, seed: int, store: Store
    ) -> Draws:
        """Simulations that no network of this seed learns from, in no order.

        n new ones with k draws of q at each, or, where none can be made, those kept for tests.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class Simulated:
    """A benchmark at one gamma."""

    benchmark: Benchmark
    gamma: float

    @property
    def label(self) -> str:
        if counts(self.benchmark):
            return f"{self.benchmark.label} · {place(self.benchmark, self.gamma)}"
        return f"{self.benchmark.label} · gamma {self.gamma:g}"

    def training_set(self, recipe: Recipe, seed: int, store: Store) -> Any:
        ready(store, self.benchmark)
        return recipe.sample(self.benchmark, self.gamma, stream(seed, "training rows"))

    def test_table(
        self, n: int, k: int, rng: np.random.Generator, *, seed: int, store: Store
    ) -> Draws:
        """n new simulations, k draws of q at each."""
        del seed  # every draw is new
        ready(store, self.benchmark)
        return sampling.table(self.benchmark, self.gamma, n, k, rng)


@dataclass(frozen=True, kw_only=True)
class Training:
    """One network: what it learns from, how, and its seed. Its key is the network's."""

    version: ClassVar[int] = 1

    source: Source
    recipe: Recipe = field(default_factory=Classifier)
    seed: int = 0

    @property
    def label(self) -> str:
        """What it is, for a list of trained models."""
        kind = getattr(self.recipe, "label", "")
        return " · ".join(part for part in (self.source.label, kind, f"seed {self.seed}") if part)


class Sampler(Protocol):
    """A benchmark that draws from a trained network."""

    @property
    def sampler(self) -> Recipe | None:
        """How that network is trained; None where there is none."""
        ...

    @property
    def truth(self) -> Benchmark:
        """What it is trained on."""
        ...

    def lend(self, network: Any) -> None:
        """Draw from this network from now on."""
        ...


def ready(store: Store, benchmark: Benchmark, report: Report | None = None) -> None:
    """Lend a benchmark what it draws from: a trained network, trained where the store lacks it, or
    the covariates of its Bayesian model.

    Every task calls this before it samples; it costs nothing for the others.
    """
    if isinstance(benchmark, BayesModel):
        covariates(store, benchmark.of)
    network = network_behind(benchmark)
    if network is not None:
        cast("Sampler", benchmark).lend(trained(store, network, report))


def covariates(store: Store, model: Any) -> None:
    """Lend this process the covariates that a Bayesian model names; nothing where it names none.

    Raises:
        ValueError: when this store has not kept them.
    """
    name, design = getattr(model, "name", ""), getattr(model, "design", "")
    if name not in designs.SHAPES or designs.lent(name, design):
        return
    kept = store.load("tables", design)
    if kept is None or "raw" not in kept.arrays:
        raise ValueError(
            f"The store keeps covariates under their digest; got {design!r} of {name}, which is "
            f"not in {store.root}; read the file again, or take the stand-in"
        )
    designs.lend(name, kept.arrays["raw"])


def keep_covariates(store: Store, name: str, raw: Array) -> str:
    """Store raw covariates (rows, columns) of the model of that name; gives their digest.

    Raises:
        ValueError: when they are not of the shape that the model has.
    """
    digest = designs.lend(name, raw)
    raw = designs.checked(name, raw)
    about = f"covariates of {name}"
    store.save("tables", digest, {"raw": raw}, spec=about, meta={"label": about})
    return digest


def network_behind(benchmark: Benchmark) -> Training | None:
    """The training of the network that a benchmark draws from, or None."""
    recipe = getattr(benchmark, "sampler", None)
    if recipe is None:
        return None
    truth = cast("Sampler", benchmark).truth
    return Training(source=Simulated(benchmark=truth, gamma=0.0), recipe=recipe)


def load(store: Store, training: Training) -> Any:
    """The stored network, or None."""
    found = store.load("models", keys.key(training))
    if found is None:
        return None
    seconds, device = float(found.meta["seconds"]), str(found.meta["device"])
    return training.recipe.read(found.arrays, seconds=seconds, device=device)


def trained(store: Store, training: Training, report: Report | None = None) -> Any:
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


def train(store: Store, trainings: Sequence[Training], report: Report | None = None) -> list[Any]:
    """Train networks of one recipe and one input size as one batch, and store each."""
    recipe = trainings[0].recipe
    sets = [one.source.training_set(one.recipe, one.seed, store) for one in trainings]
    networks = list(recipe.learn_all(sets, [one.seed for one in trainings], report))
    for one, network in zip(trainings, networks, strict=True):
        meta = {
            "label": one.label, "seconds": network.seconds, "device": network.device,
            **network.summary,
        }  # fmt: skip
        store.save("models", keys.key(one), network.arrays(), spec=keys.text(one), meta=meta)
    return networks
