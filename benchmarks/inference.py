"""Inference on simulated data sets: all of them as one batch against one after the other."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from benchmarks import rows as table
from benchmarks.lab import Lab
from benchmarks.rows import Row
from validation_core.bayes import Hospitals
from validation_core.bayes.posterior import FullGaussian, Posterior
from validation_core.bayes.variational import Variational
from validation_core.rng import stream

DATASETS, ITERATIONS, TIMES = 100, 30, 5


def rows(lab: Lab) -> Iterator[Row]:
    """One thread throughout."""
    del lab
    model, way = Hospitals(), Variational()
    y = model.simulate(DATASETS, stream(0, "data sets")).x

    def rngs() -> list[np.random.Generator]:
        return [stream(0, "inference", k) for k in range(DATASETS)]

    way.fit(model, y, ITERATIONS, rngs())
    together = []
    for _ in range(TIMES):
        start = time.perf_counter()
        whole = way.fit(model, y, ITERATIONS, rngs())
        together.append(time.perf_counter() - start)
    start = time.perf_counter()
    each = [way.fit(model, y[k : k + 1], ITERATIONS, [rng]) for k, rng in enumerate(rngs())]
    alone = time.perf_counter() - start

    once = float(np.median(together))
    what = f"hospitals, VI, {DATASETS} data sets as one batch against a loop over them"
    note = f"{1000 * once:.0f} ms against {1000 * alone:.0f} ms, {ITERATIONS} iterations"
    yield table.at_least(what, "times faster", note, ratio=(alone / once, 20.0))
    apart = max(_apart(whole, k, q) for k, q in enumerate(each))
    what = "the same result both ways: the largest difference of a mean or scale"
    yield table.at_most(what, "", gap=(apart, 1e-12))


def _apart(whole: Posterior, k: int, alone: Posterior) -> float:
    """The largest difference of the k-th normal of a batch from the same one alone."""
    assert isinstance(whole, FullGaussian)
    assert isinstance(alone, FullGaussian)
    pairs = (whole.mean[k], alone.mean[0]), (whole.scale[k], alone.scale[0])
    return max(float(np.abs(one - other).max()) for one, other in pairs)
