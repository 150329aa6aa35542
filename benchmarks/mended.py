"""Mends of twelve trained posteriors: the gain that is claimed beside the fall of KL(p || q)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import torch

from benchmarks import rows as table
from benchmarks.lab import Lab
from benchmarks.rows import Row
from validation_core.benchmarks.trained import Trained
from validation_core.explorers.training.mended import MendedNatsStudy
from validation_core.scores.trained_scores import network_at
from validation_core.statistics.areas import Estimate
from validation_core.store import Store

TASKS = ("two_moons", "gaussian_mixture", "sir")
ESTIMATORS = ("maf", "nsf")
SIMULATIONS = (400, 1000)
"""Of the training with seed 0, and with seed 1."""
SHARE = 0.5
"""Of the claim, by which KL(p || q) falls at least."""
ENOUGH = 10
"""Posteriors of twelve."""


def rows(lab: Lab) -> Iterator[Row]:
    """Claim and truth of each, and how many fall by half of the claim."""
    torch.set_num_threads(1)
    store, kept = Store(lab.kept or lab.folder), 0
    for task, estimator, (seed, gamma) in product(TASKS, ESTIMATORS, enumerate(SIMULATIONS)):
        benchmark = Trained(task=task, estimator=estimator, training_seed=seed)  # type: ignore[arg-type]
        study = MendedNatsStudy(training=network_at(benchmark, gamma))
        if not study.done(store):
            study.run(store, lambda fraction, live: None)
        found = study.load(store)
        assert found is not None, "it has run"
        good = found.fall.value >= SHARE * found.claimed.value
        kept += good
        yield table.told(
            f"{task}, {estimator}, {gamma:,} simulations, seed {seed}",
            f"claimed {_nats(found.claimed)}, KL(p||q) falls by {_nats(found.fall)}, "
            f"from {_nats(found.before)} to {_nats(found.after)}; bias {found.bias:.3f}"
            + ("" if found.offered else "; not offered"),
            ok=bool(good),
            must=f"falls by {SHARE:.0%} of the claim",
        )
    every = len(TASKS) * len(ESTIMATORS) * len(SIMULATIONS)
    yield table.at_least(
        f"mends whose true gain is {SHARE:.0%} of the claim or more", f"of {every}",
        kept=(kept, ENOUGH),
    )  # fmt: skip


def _nats(estimate: Estimate) -> str:
    return f"{estimate.value:.2f} ± {estimate.error:.2f}"
