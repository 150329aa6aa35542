"""What is compared, and in which order it runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from validation_core.keys import Specification
from validation_core.methods.base import Method
from validation_core.models import Simulated, Training, TrainTask
from validation_core.scores.base import Recipe
from validation_core.scores.classifier import Classifier
from validation_core.sweep import trials
from validation_core.sweep.parts import Batch, Curve, Part
from validation_core.sweep.trials import Trials
from validation_core.types import Benchmark

_FIRST, _STEP = (10, 20, 50), 50  # a first picture from ten trials; then parts of a size


class Place(NamedTuple):
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
    design: Trials = field(default_factory=lambda: Trials(k=200))
    recipe: Recipe = field(default_factory=Classifier)
    seed: int = 0
    """Of the networks."""

    @property
    def label(self) -> str:
        few = len(self.methods) < 3
        what = " and ".join(m.label for m in self.methods) if few else f"{len(self.methods)} tests"
        return f"{what} on {self.benchmark.label}"

    @property
    def places(self) -> tuple[Place, ...]:
        """Every gamma at every beta."""
        return tuple(Place(gamma, beta) for gamma in self.gammas for beta in self.betas)

    def network(self, method: Method, gamma: float) -> Training | None:
        """What the method reads at this gamma; None where nothing is learnt once for all."""
        if not method.needs_training:
            return None
        source = Simulated(benchmark=self.benchmark, gamma=gamma)
        shared = Training(source=source, recipe=self.recipe, seed=self.seed)
        return network_of(method, shared, trials.part(self.design, method))

    @cached_property
    def parts(self) -> Mapping[tuple[str, Place], tuple[Part, ...]]:
        """The trials of each method, by its label, at each place, in order."""
        return {
            (method.label, place): self._parts(method, place)
            for method in self.methods
            for place in self.places
        }

    def curve(self, method: Method) -> Curve:
        """The record of one method over the whole sweep; the level plays no part in it."""
        return Curve(
            benchmark=self.benchmark,
            method=method,
            gammas=self.gammas,
            betas=self.betas,
            design=replace(trials.part(self.design, method), trials=self.design.trials),
            recipe=self.recipe,
            seed=self.seed,
        )

    @cached_property
    def tasks(self) -> tuple[TrainTask | Batch, ...]:
        """All work: a first picture of everything, cheap methods first, then more trials.

        Each network is trained just before it is first read.
        """
        return tuple(dict.fromkeys(self._ordered()))

    def _parts(self, method: Method, place: Place) -> tuple[Part, ...]:
        beta = place.beta if method.degrades else 0.0
        return tuple(
            Part(
                source=Simulated(benchmark=self.benchmark, gamma=place.gamma),
                method=method,
                network=self.network(method, place.gamma),
                beta=beta,
                design=trials.part(self.design, method),
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
            shared = self.network(method, at), trials.part(self.design, method), method.degrades
            groups.setdefault((*shared, method.layout, alone), []).append(method)
        return list(groups.values())

    def _dearness(self, method: Method) -> int:
        return 2 if method.needs_training else int(method.learns_anew)


def network_of(method: Method, training: Training, design: Trials) -> Training:
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
