"""Frozen features of images: seconds and memory for ten thousand, by each kind that is here."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import get_args

from benchmarks.lab import Lab
from benchmarks.memory import Watch, resident
from benchmarks.rows import Row, at_most, told
from validation_core import sampling
from validation_core.benchmarks.images import Images
from validation_core.rng import stream
from validation_core.scores import features

_IMAGES = 10_000
_FEW = 500  # of a network's: what they take is told for ten thousand
_SECONDS, _MB = 15, 1000


def rows(lab: Lab) -> Iterator[Row]:
    """One for drawing the images, one for each kind of features."""
    bench = Images()
    started = time.perf_counter()
    theta = sampling.pairs(bench, 0.0, _IMAGES, stream(0, "benchmark")).theta
    drawn = time.perf_counter() - started
    yield at_most("10,000 crops of photographs drawn", "s", s=(drawn, 1))
    images = theta.reshape(-1, *bench.shape)
    for kind in get_args(features.FeatureKind):
        what = f"features of 10,000 images, {features.TITLES[kind]}"
        if words := features.missing(kind):
            yield told(what, words)
            continue
        some = images if kind == "filters" or lab.full else images[:_FEW]
        features.extract(kind, some[:10])
        before = resident(os.getpid())
        with Watch(os.getpid) as watch:
            started = time.perf_counter()
            described = features.extract(kind, some)
            seconds = (time.perf_counter() - started) * _IMAGES / len(some)
            time.sleep(0.1)
        more = watch.together - before
        if kind == "filters":
            yield at_most(
                what, "", f"{described.shape[1]} each", s=(seconds, _SECONDS), MB=(more, _MB)
            )
        else:
            yield told(what, f"{seconds:.0f} s, {more:.0f} MB ({described.shape[1]} each)")
