"""Estimators that learn a posterior, beside sbi's NPE: seconds and nats on the same pairs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks import rows as table
from benchmarks.against.peer import Peer
from benchmarks.against.turns import saved
from benchmarks.lab import Lab, say
from benchmarks.rows import Row
from validation_core.estimators.flows import (
    FlowEstimator,
    MaskedAutoregressiveFlow,
    NeuralSplineFlow,
)
from validation_core.rng import stream
from validation_core.simulators import GaussianLinear, Simulator, TwoMoons
from validation_core.types import Array

SIMULATIONS = (1000, 2000)
SEEDS = (0,)
FRESH = 2000


@dataclass(frozen=True)
class _Side:
    """One side's training: processor seconds, epochs, and KL(p || q) with its error."""

    seconds: float
    epochs: int
    nats: float
    error: float


def rows(lab: Lab) -> Iterator[Row]:
    """Ours, and sbi's of the same name, size, rate, batch and patience; one thread each."""
    with Peer("npe", threads=1) as peer:
        for simulations in SIMULATIONS:
            for simulator in (TwoMoons(), GaussianLinear()):
                for usual in (MaskedAutoregressiveFlow(), NeuralSplineFlow()):
                    yield _compared(lab, peer, simulator, usual.for_simulations(simulations))


def _compared(lab: Lab, peer: Peer, simulator: Simulator, recipe: FlowEstimator) -> Row:
    theirs, ours = [], []
    for seed in SEEDS:
        pairs = simulator.pairs(recipe.simulations, stream(seed, "pairs"))
        fresh = simulator.pairs(FRESH, stream(seed, "fresh"))
        log_p = simulator.log_posterior(fresh.theta, fresh.x)
        file = saved(
            lab, "npe", theta=pairs.theta, x=pairs.x, fresh_theta=fresh.theta, fresh_x=fresh.x
        )
        answer = peer.ask("train", file, model=recipe.name, seed=seed, **_settings(recipe))
        theirs.append(_side(answer["cpu"], answer["epochs"], log_p - np.array(answer["log_q"])))
        start = time.process_time()
        trained = recipe.learn(pairs, seed)
        seconds = time.process_time() - start
        ratio = log_p - trained.log_density(fresh.theta, fresh.x)
        ours.append(_side(seconds, len(trained.history["epoch"]), ratio))
        say(f"{recipe.name}, {simulator.name}: theirs {theirs[-1]}, ours {ours[-1]}")
    return _row(f"{recipe.label}, {simulator.title}, against sbi's NPE", theirs, ours)


def _settings(recipe: FlowEstimator) -> dict[str, Any]:
    options = {"hidden_features": recipe.hidden, "num_transforms": recipe.transforms}
    if isinstance(recipe, NeuralSplineFlow):
        options["num_bins"] = recipe.bins
    return {
        "batch": recipe.batch,
        "lr": recipe.lr,
        "patience": recipe.patience,
        "epochs": recipe.epochs,
        "options": options,
    }


def _side(seconds: float, epochs: int, ratio: Array) -> _Side:
    return _Side(seconds, epochs, float(ratio.mean()), float(ratio.std() / len(ratio) ** 0.5))


def _row(what: str, theirs: list[_Side], ours: list[_Side]) -> Row:
    """No slower by the epoch, and no worse in nats by more than three standard errors."""
    epoch = [sum(s.seconds for s in side) / sum(s.epochs for s in side) for side in (theirs, ours)]
    seconds, nats = (
        [float(np.mean([getattr(s, name) for s in side])) for side in (theirs, ours)]
        for name in ("seconds", "nats")
    )
    errors = [float(np.mean([s.error for s in side])) for side in (theirs, ours)]
    error = float(np.hypot(errors[0], errors[1]))
    spread = 3 * error / len(ours) ** 0.5
    measured = (
        f"{seconds[1]:.1f} s, {1000 * epoch[1]:.0f} ms an epoch, {nats[1]:.2f} nats; theirs "
        f"{seconds[0]:.1f} s, {1000 * epoch[0]:.0f} ms, {nats[0]:.2f} nats (processor seconds, "
        f"means of {len(ours)} seeds)"
    )
    ok = epoch[1] <= epoch[0] and nats[1] <= nats[0] + spread
    return table.told(
        what,
        measured,
        ok,
        "no slower an epoch, no more nats",
        theirs=[vars(side) for side in theirs],
        ours=[vars(side) for side in ours],
    )
