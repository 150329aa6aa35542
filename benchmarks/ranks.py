"""Ranks of a large table and their statistics."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np

from benchmarks import rows as table
from benchmarks.lab import Lab
from benchmarks.rows import Row
from validation_core import scores, statistics
from validation_core.methods import SBC
from validation_core.rng import stream
from validation_core.types import PosteriorTable

N, K, D = 1000, 1000, 10
_REPEATS = 7


def rows(lab: Lab) -> Iterator[Row]:
    """From scores in memory; and from the table itself, as a diagnosis does it."""
    del lab
    rng = stream(0, "ranks")
    truth = rng.standard_normal((D, N), dtype=np.float32)
    draws = rng.standard_normal((D, N, K), dtype=np.float32)
    seconds = _median(lambda: _statistics(truth, draws, stream(0, "ties")))
    what = f"ranks and their statistics on N = {N}, K = {K}, D = {D}"
    note = f"KS, Anderson-Darling, Cramér-von Mises; median of {_REPEATS}, one thread"
    yield table.at_most(what, "s", note, seconds=(seconds, 0.2))
    sketch = PosteriorTable(truth.T.copy(), np.zeros((N, 0)), np.moveaxis(draws, 0, -1).copy())
    from_table = _median(lambda: _from_table(sketch))
    yield table.told("the same from a table (N, K, D)", f"{from_table:.3f} s", seconds=from_table)


def _from_table(drawn: PosteriorTable) -> None:
    built = scores.apply(SBC().score(), drawn)
    _statistics(built.truth, built.draws, stream(0, "ties"))


def _statistics(truth: np.ndarray, draws: np.ndarray, rng: np.random.Generator) -> None:
    u = statistics.conformal_ranks(truth, draws, rng)
    statistics.ks(u)
    statistics.anderson_darling(u)
    statistics.cramer_von_mises(u)


def _median(work: Callable[[], None]) -> float:
    work()
    times = []
    for _ in range(_REPEATS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return float(np.median(times))
