"""One power cell, and the pooled protocol against the papers' fresh one, as a sweep runs them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks import rows as table
from benchmarks.lab import METHODS, Lab, training
from benchmarks.rows import Row
from validation_core.benchmarks.gaussian import Gaussian
from validation_core.methods import Uniform
from validation_core.methods.base import Method
from validation_core.scores import trained_scores
from validation_core.store import Store
from validation_core.sweep.plan import Sweep
from validation_core.sweep.progress import collect, missing
from validation_core.sweep.trials import TrialDesign
from validation_core.types import PowerCell

GAMMA, BETA = 0.05, 0.7  # Uniform(50) rejects every other time: an answer that could differ
TRIALS, FRESH = 200, 20


class Tested(NamedTuple):
    """The cells of one place, and how long they took, storing included."""

    cells: list[PowerCell]
    seconds: float


def rows(lab: Lab) -> Iterator[Row]:
    """Both on one trained network, one thread, part by part as the command line runs them."""
    network = lab.kept or lab.folder / "networks"
    trained_scores.trained(Store(network), training(GAMMA))
    folders = iter(lab.folder / f"power-{i}" for i in range(9))

    def tested(design: TrialDesign, *methods: Uniform) -> Tested:
        return _tested(design, methods or METHODS, network, next(folders))

    tested(TrialDesign(trials=2, n=100))  # whatever is made once
    cell = tested(TrialDesign(trials=TRIALS, n=1000))
    what = "one power cell, R = 200, n = 1000, C2ST + Multiple + Uniform at seven m"
    yield table.at_most(what, "s", "one thread", seconds=(cell.seconds, 4.0))
    fresh = TrialDesign(trials=TRIALS if lab.full else FRESH, n=1000, protocol="fresh")
    pooled = tested(replace(fresh, trials=TRIALS, protocol="pooled"), Uniform(m=50))
    yield _protocols(pooled, tested(fresh, Uniform(m=50)))


def _protocols(pooled: Tested, fresh: Tested) -> Row:
    cells = pooled.cells[0], fresh.cells[0]
    seconds = fresh.seconds * TRIALS / cells[1].trials
    rates = [cell.rate for cell in cells]
    z = _apart(rates, [cell.trials for cell in cells])
    scaled = "" if cells[1].trials == TRIALS else f", scaled from {cells[1].trials} trials"
    note = (
        f"{pooled.seconds:.2f} s against {seconds:.1f} s{scaled}; power {rates[0]:.3f} and "
        f"{rates[1]:.3f}, {z:.1f} standard errors apart, at most 3"
    )
    what = "pooled against fresh protocol, R = 200, n = 1000, m = 50"
    row = table.at_least(what, "times faster", note, ratio=(seconds / pooled.seconds, 20.0))
    numbers = {**row.numbers, "power": rates, "z": z}
    return row._replace(ok=bool(row.ok and z <= 3), numbers=numbers)


def _apart(rates: list[float], trials: list[int]) -> float:
    """Standard errors between two shares."""
    together = float(np.average(rates, weights=trials))
    sd = np.sqrt(together * (1 - together) * sum(1 / n for n in trials))
    return float(abs(rates[0] - rates[1]) / sd) if sd else 0.0


def _tested(design: TrialDesign, methods: Sequence[Method], network: Path, folder: Path) -> Tested:
    """Every part of one place in a store of its own, where the network is found."""
    at = training(GAMMA)
    sweep = Sweep(
        benchmark=Gaussian(), methods=tuple(methods), gammas=(GAMMA,), betas=(BETA,),
        design=design, recipe=at.recipe, seed=at.seed,
    )  # fmt: skip
    store = Store(folder, gallery=network)
    start = time.perf_counter()
    for task in missing(sweep, store):
        task.run(store, lambda fraction, live: None)
    return Tested(list(collect(sweep, store).cells), time.perf_counter() - start)
