"""Seventeen classifiers in one call against one after another: the seconds and the bits."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from statistics import median

import numpy as np

from benchmarks import rows as table
from benchmarks.lab import Lab
from benchmarks.rows import Row
from validation_core import sampling
from validation_core.benchmarks.gaussian import Gaussian
from validation_core.learn import perceptron
from validation_core.rng import stream
from validation_core.scores.classifier import (
    Classifier,
    TrainedClassifier,
    train_classifier,
    train_classifiers,
)
from validation_core.settings import worker_count

NETWORKS, TURNS = 17, 3
RECIPE = Classifier(epochs=20)


def rows(lab: Lab) -> Iterator[Row]:
    """The networks of one grid of gammas, in turns, so that other work falls on both alike."""
    del lab
    data = [
        sampling.training_set(Gaussian(), gamma, RECIPE.train, 1000, stream(0, "training rows"))
        for gamma in np.linspace(0, 0.8, NETWORKS)
    ]
    seeds = [0] * NETWORKS
    train_classifiers(data[:2], Classifier(epochs=1), seeds[:2])  # the device wakes
    alone, together, bits = [], [], True
    for _ in range(TURNS):
        first, seconds = _timed(lambda: [train_classifier(each, RECIPE, 0) for each in data])
        alone.append(seconds)
        second, seconds = _timed(lambda: train_classifiers(data, RECIPE, seeds))
        together.append(seconds)
        bits &= all(_same(*pair) for pair in zip(first, second, strict=True))
    device, ratio = perceptron.pick_device(), median(alone) / median(together)
    note = (
        f"on {device}, {worker_count()} at once; {median(alone):.1f} s one after another, "
        f"{median(together):.1f} s together; {'the same' if bits else 'other'} bits"
    )
    what = f"{NETWORKS} classifiers of {RECIPE.epochs} epochs in one call"
    row = table.at_least(what, "times faster", note, ratio=(ratio, 1.2))
    must = bits or device != "cpu"
    yield row._replace(ok=row.ok and must, numbers={**row.numbers, "same bits": bits})


def _timed(train: Callable[[], list[TrainedClassifier]]) -> tuple[list[TrainedClassifier], float]:
    start = time.perf_counter()
    return train(), time.perf_counter() - start


def _same(first: TrainedClassifier, second: TrainedClassifier) -> bool:
    return all(
        np.array_equal(array, second.trained[name]) for name, array in first.trained.items()
    )
