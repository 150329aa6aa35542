"""Many classifiers as one batch and the whole power figure: on a GPU, where one is at hand.

On a processor one batch of 17 classifiers saves little beside training them in turn: of 256 units
(the interactive preset) 1.0 to 1.4 times the speed in three runs on a busy machine, .8 on a quiet
one, since a layer of 17 networks (4.5 MB of weights, as much of every gradient and moment) leaves
the cache; of 64 units 2.3 to 2.5 times. There the program trains in turn: each network is then the
same to the bit, whatever it is trained beside, and two cores train two at a time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from benchmarks import rows as table
from benchmarks.lab import METHODS, Lab, say
from benchmarks.rows import Row
from validation_core import sampling
from validation_core.benchmarks.gaussian import Gaussian
from validation_core.benchmarks.perturbations import PERTURBATIONS, Perturbation
from validation_core.learn import perceptron
from validation_core.rng import stream
from validation_core.scores.classifier import (
    Classifier,
    TrainedClassifier,
    train_batch,
    train_classifiers,
)
from validation_core.sweep import trials

SIX: tuple[Perturbation, ...] = tuple(name for name in PERTURBATIONS if name != "blind_prior")


class Size(NamedTuple):
    """How much is asked for."""

    recipe: Classifier
    gammas: int
    seeds: int
    perturbations: tuple[Perturbation, ...]
    trials: int


LARGE = Size(Classifier.preset("paper"), 99, 3, SIX, 200)
SMALL = Size(Classifier(epochs=10, lr=1e-5), 2, 2, SIX[:2], 10)


def rows(lab: Lab) -> Iterator[Row]:
    """17 classifiers on one core, 21 of the paper's preset, and power of six perturbations."""
    del lab
    yield _on_a_processor()
    device = perceptron.pick_device()
    size = SMALL if device == "cpu" else LARGE
    train_classifiers(
        [_data(Gaussian(), 0.1, 0, size)], Classifier(epochs=1), [0]
    )  # the device wakes
    cells = [(Gaussian(), gamma, seed) for gamma in _gammas(Gaussian(), size)
             for seed in range(size.seeds)]  # fmt: skip
    _, seconds = _learned(cells, size)
    yield _judged(
        "21 paper-preset classifiers (7 gammas by 3 seeds) as one batch", 30.0, seconds, device,
        f"{len(cells)} classifiers, {size.recipe.epochs} epochs",
    )  # fmt: skip
    points = [(Gaussian(perturbation=name), gamma, 0) for name in size.perturbations
              for gamma in _gammas(Gaussian(perturbation=name), size)]  # fmt: skip
    networks, training = _learned(points, size)
    say(f"{len(points)} classifiers for the figure: {training:.1f} s")
    start = time.perf_counter()
    for (benchmark, gamma, _), network in zip(points, networks, strict=True):
        design = trials.TrialDesign(trials=size.trials, n=1000)
        trials.run_trials(benchmark, gamma, network.at(), METHODS, design)
    yield _judged(
        "the whole power figure, six perturbations, all m, R = 200", 60.0,
        time.perf_counter() - start, device,
        f"{len(points)} points of {len(METHODS)} tests, {size.trials} trials each; their "
        f"{len(points)} classifiers took another {training:.1f} s",
    )  # fmt: skip


def _on_a_processor() -> Row:
    """One thread's seconds for 17 classifiers, in turn and as one batch."""
    recipe, seeds = Classifier(epochs=5), list(range(17))
    data = [sampling.training_set(Gaussian(), 0.1, recipe.train, 1000, stream(s, "rows"))
            for s in seeds]  # fmt: skip
    ways: list[Callable[[], object]] = [
        lambda: train_classifiers(data, recipe, seeds, device="cpu"),
        lambda: train_batch(data, recipe, seeds, None, "cpu"),
    ]
    spent = []
    for way in ways:
        start = time.process_time()
        way()
        spent.append(time.process_time() - start)
    note = f"{spent[0]:.1f} s in turn, {spent[1]:.1f} s as one batch, {recipe.epochs} epochs"
    ratio = spent[0] / spent[1]
    return table.told(
        "17 classifiers as one batch on one core, against in turn",
        f"{ratio:.2f} times the speed: {note}", ratio=ratio,
    )  # fmt: skip


def _gammas(benchmark: Gaussian, size: Size) -> tuple[float, ...]:
    return tuple(float(gamma) for gamma in benchmark.gammas[: size.gammas])


def _data(benchmark: Gaussian, gamma: float, seed: int, size: Size) -> sampling.TrainingSet:
    rng = stream(seed, "training rows")
    return sampling.training_set(benchmark, gamma, size.recipe.train, 1000, rng)


def _learned(
    cells: Sequence[tuple[Gaussian, float, int]], size: Size
) -> tuple[list[TrainedClassifier], float]:
    start = time.perf_counter()
    data = [_data(*cell, size) for cell in cells]
    networks = train_classifiers(data, size.recipe, [seed for _, _, seed in cells])
    return networks, time.perf_counter() - start


def _judged(what: str, limit: float, seconds: float, device: str, note: str) -> Row:
    row = table.at_most(what, "s", f"on {device}: {note}", seconds=(seconds, limit))
    if device != "cpu":
        return row
    measured = f"no GPU here; a small size ran: {seconds:.1f} s for {note}"
    return row._replace(ok=None, measured=measured)
