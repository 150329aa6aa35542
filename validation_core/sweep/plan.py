"""What is compared, and in which order it runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from validation_core import trials
from validation_core.models import Recipe, Simulated, Training
from validation_core.power import Trials
from validation_core.scores.classifier import Classifier
from validation_core.sweep.parts import Curve, TrialsTask
from validation_core.tasks import TrainTask, network_of
from validation_core.types import Anew, Benchmark, Method, learnt

_FIRST, _STEP = (10, 20, 50), 50  # a first picture from ten trials; then parts of a size
_DEGRADES = ("classifier", "localizer", "scorer")


class Place(NamedTuple):
    """One point of a sweep's grid."""

    gamma: float
    beta: float


@dataclass(frozen=True, kw_only=True)
class Sweep:
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
        if not learnt(method):
            return None
        source = Simulated(benchmark=self.benchmark, gamma=gamma)
        shared = Training(source=source, recipe=self.recipe, seed=self.seed)
        return network_of(method, shared, trials.part(self.design, method))

    @cached_property
    def parts(self) -> Mapping[tuple[str, Place], tuple[TrialsTask, ...]]:
        """The trials of each method, by its label, at each place, in order."""
        return {
            (method.label, place): self._parts(method, place)
            for method in self.methods
            for place in self.places
        }

    def curve(self, method: Method) -> Curve:
        """The record of one method over the whole sweep; the level plays no part in it."""
        return Curve(
            benchmark=self.benchmark, method=method, gammas=self.gammas, betas=self.betas,
            design=replace(trials.part(self.design, method), trials=self.design.trials),
            recipe=self.recipe, seed=self.seed,
        )  # fmt: skip

    def _parts(self, method: Method, place: Place) -> tuple[TrialsTask, ...]:
        beta = place.beta if method.reads in _DEGRADES else 0.0
        return tuple(
            TrialsTask(
                source=Simulated(benchmark=self.benchmark, gamma=place.gamma), method=method,
                network=self.network(method, place.gamma), beta=beta,
                design=trials.part(self.design, method), first=first, count=last - first,
            )
            for first, last in _cuts(self.design.trials)
        )  # fmt: skip

    @cached_property
    def tasks(self) -> tuple[TrainTask | TrialsTask, ...]:
        """All work: a first picture of everything, cheap methods first, then more trials.

        Each network is trained just before it is first read.
        """
        return tuple(dict.fromkeys(self._ordered()))

    def _ordered(self) -> Iterator[TrainTask | TrialsTask]:
        plain = [m for m in self.methods if self.network(m, 0.0) is None]
        ordered = sorted(plain, key=lambda m: isinstance(m, Anew)) + [
            m for m in self.methods if m not in plain
        ]
        for cut in range(len(_cuts(self.design.trials))):
            for method in ordered:
                for place in self.places:
                    network = self.network(method, place.gamma)
                    if network is not None:
                        yield TrainTask(trainings=(network,))
                    yield self.parts[method.label, place][cut]


def _cuts(count: int) -> list[tuple[int, int]]:
    """Trials from, and to: 0 10 20 50 100 150 ... so that every sweep cuts alike."""
    marks = [0, *_FIRST, *range(_FIRST[-1] + _STEP, count, _STEP)]
    return list(pairwise([*[mark for mark in marks if mark < count], count]))
