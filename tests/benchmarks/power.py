"""One power cell, and the pooled protocol against the papers' fresh one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tests.benchmarks import rows as table
from tests.benchmarks.lab import METHODS, Lab, training
from tests.benchmarks.rows import Row
from validation_core import models
from validation_core.methods import Uniform
from validation_core.power import Tested, Trials, run
from validation_core.scores.classifier import Logit
from validation_core.store import Store

GAMMA, BETA = 0.05, 0.7  # Uniform(50) rejects every other time: an answer that could differ
TRIALS, FRESH = 200, 20


def rows(lab: Lab) -> Iterator[Row]:
    """Both on one trained network, one thread."""
    network = models.trained(Store(lab.kept or lab.folder / "networks"), training(GAMMA))
    yield _cell(network.at(BETA))
    yield _protocols(network.at(BETA), TRIALS if lab.full else FRESH)


def _cell(score: Logit) -> Row:
    _test(score, METHODS, Trials(trials=2, n=100))  # whatever is made once
    tested = _test(score, METHODS, Trials(trials=TRIALS, n=1000))
    what = "one power cell, R = 200, n = 1000, C2ST + Multiple + Uniform at seven m"
    return table.at_most(what, "s", "one thread", seconds=(tested.seconds, 4.0))


def _protocols(score: Logit, fresh_trials: int) -> Row:
    methods = (Uniform(m=50),)
    pooled = _test(score, methods, Trials(trials=TRIALS, n=1000))
    fresh = _test(score, methods, Trials(trials=fresh_trials, n=1000, protocol="fresh"))
    seconds = fresh.seconds * TRIALS / fresh_trials
    rates = [float((tested.pvalues <= 0.05).mean()) for tested in (pooled, fresh)]
    z = _apart(rates, [TRIALS, fresh_trials])
    scaled = "" if fresh_trials == TRIALS else f", scaled from {fresh_trials} trials"
    note = (
        f"{pooled.seconds:.2f} s against {seconds:.1f} s{scaled}; power {rates[0]:.3f} and "
        f"{rates[1]:.3f}, {z:.1f} standard errors apart, at most 3"
    )
    what = "pooled against fresh protocol, R = 200, n = 1000, m = 50"
    row = table.at_least(what, "times faster", note, ratio=(seconds / pooled.seconds, 15.0))
    numbers = {**row.numbers, "power": rates, "z": z}
    return row._replace(ok=bool(row.ok and z <= 3), numbers=numbers)


def _apart(rates: list[float], trials: list[int]) -> float:
    """Standard errors between two shares."""
    together = float(np.average(rates, weights=trials))
    sd = np.sqrt(together * (1 - together) * sum(1 / n for n in trials))
    return float(abs(rates[0] - rates[1]) / sd) if sd else 0.0


def _test(score: Logit, methods: tuple, design: Trials) -> Tested:
    return run(training(GAMMA).source.benchmark, GAMMA, score, methods, design)
