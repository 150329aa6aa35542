"""Lensing: the reverse diffusion against its closed form, in seconds and in covariance."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from benchmarks import rows as table
from benchmarks.lab import Lab
from benchmarks.rows import Row
from validation_core.benchmarks.lensing import Lensing
from validation_core.rng import stream
from validation_core.types import Array

N, CHUNKS = 2000, 20
_REPEATS = 3


def rows(lab: Lab) -> Iterator[Row]:
    """Seconds for 2000 draws both ways; how far many draws at gamma = 0 are off the posterior."""
    del lab
    steps, closed = Lensing(diffusion="reverse SDE"), Lensing()
    x = closed.x(N, stream(0, "lensing"))
    slow, fast = (_seconds(one, x) for one in (steps, closed))
    what = f"{N} lensing draws by the reverse SDE"
    note = (
        f"{slow / fast:.0f} times the closed form's {1e3 * fast:.0f} ms; gamma = 0.5, one thread"
    )
    yield table.at_most(what, "s", note, seconds=(slow, 20.0))
    for one in (steps, closed):
        mean, covariance = _errors(one)
        what = f"{N * CHUNKS} draws at gamma 0 by the {one.diffusion}, off the posterior"
        note = "in posterior sds; in Frobenius norm, less what Monte Carlo error makes of it"
        yield table.at_most(what, "", note, mean=(mean, 0.02), covariance=(covariance, 0.02))


def _seconds(benchmark: Lensing, x: Array) -> float:
    benchmark.q(x[:1], 0.5, stream(1))  # the closed form is worked out once
    times = []
    for _ in range(_REPEATS):
        start = time.perf_counter()
        benchmark.q(x, 0.5, stream(1))
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def _errors(benchmark: Lensing) -> tuple[float, float]:
    """Of the mean, a root mean square over pixels; of the covariance.

    The covariance of n draws of N(0, C) is off by (|C|^2 + trace(C)^2) / n by chance, squared.
    """
    x = np.repeat(benchmark.x(1, stream(2)), N, axis=0)
    exact = benchmark.estimator(0.0)
    centre, sd = benchmark.moments(x[:1], 0.0)
    total, second = np.zeros(len(sd)), np.zeros((len(sd), len(sd)))
    for chunk in range(CHUNKS):
        draws = benchmark.q(x, 0.0, stream(3, chunk)) - centre
        total += draws.sum(0)
        second += draws.T @ draws
    count = N * CHUNKS
    mean = total / count
    covariance = second / count - np.outer(mean, mean)
    size = float(np.linalg.norm(exact.covariance))
    apart = float(np.linalg.norm(covariance - exact.covariance))
    chance = (size**2 + np.trace(exact.covariance) ** 2) / count
    off = np.sqrt(max(apart**2 - chance, 0)) / size
    return float(np.sqrt(((mean / sd) ** 2).mean())), float(off)
