"""Estimators that learn a posterior, beside sbi's NPE: seconds and nats on the same pairs."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

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
SEEDS = (0, 1, 2)
FRESH = 2000
_APART = 3.0  # standard errors


@dataclass(frozen=True)
class _Side:
    """One side's training: processor seconds, and KL(p || q)."""

    seconds: float
    nats: float


class _Trainings(NamedTuple):
    """Both sides' trainings by seed, for as many epochs, and where they stand apart."""

    epochs: int
    theirs: list[_Side]
    ours: list[_Side]
    apart: Array
    """(seeds, N) our log p - log q less theirs, at the same fresh pairs: nats."""


def rows(lab: Lab) -> Iterator[Row]:
    """Ours, and sbi's of the same name, size, rate, batch and epochs; one thread each."""
    with Peer("npe", threads=1) as peer:
        for simulations in SIMULATIONS:
            for simulator in (TwoMoons(), GaussianLinear()):
                for usual in (MaskedAutoregressiveFlow(), NeuralSplineFlow()):
                    recipe = usual.for_simulations(simulations)
                    # Nobody stops early; both keep the epoch that fares best held out.
                    recipe = replace(recipe, patience=recipe.epochs)
                    yield _row(
                        f"{recipe.label}, {simulator.title}, against sbi's NPE",
                        _trained(lab, peer, simulator, recipe),
                    )


def _trained(lab: Lab, peer: Peer, simulator: Simulator, recipe: FlowEstimator) -> _Trainings:
    """Both sides in turns, seed by seed; the fresh pairs are the same for all."""
    fresh = simulator.pairs(FRESH, stream(0, "fresh"))
    log_p = simulator.log_posterior(fresh.theta, fresh.x)
    found = _Trainings(recipe.epochs, [], [], np.empty((len(SEEDS), FRESH)))
    for seed, apart in zip(SEEDS, found.apart, strict=True):
        pairs = simulator.pairs(recipe.simulations, stream(seed, "pairs"))
        file = saved(
            lab, "npe", theta=pairs.theta, x=pairs.x, fresh_theta=fresh.theta, fresh_x=fresh.x
        )
        answer = peer.ask("train", file, model=recipe.name, seed=seed, **_settings(recipe))
        start = time.process_time()
        trained = recipe.learn(pairs, seed)
        seconds = time.process_time() - start
        epochs = answer["epochs"], len(trained.history["epoch"])
        if set(epochs) != {recipe.epochs}:
            raise RuntimeError(f"Both train for {recipe.epochs} epochs; got {epochs}.")
        theirs = log_p - np.array(answer["log_q"])
        ours = log_p - trained.log_density(fresh.theta, fresh.x)
        apart[:] = ours - theirs
        found.theirs.append(_Side(answer["cpu"], float(theirs.mean())))
        found.ours.append(_Side(seconds, float(ours.mean())))
        say(f"{recipe.name}, {simulator.name}: theirs {found.theirs[-1]}, ours {found.ours[-1]}")
    return found


def _settings(recipe: FlowEstimator) -> dict[str, Any]:
    options = {"hidden_features": recipe.hidden, "num_transforms": recipe.transforms}
    if isinstance(recipe, NeuralSplineFlow):
        options["num_bins"] = recipe.bins
    return {
        "batch": recipe.batch,
        "lr": recipe.lr,
        "patience": recipe.patience,
        "epochs": recipe.epochs - 1,  # sbi's loop goes on while it has done no more than these
        "options": options,
    }


def _row(what: str, found: _Trainings) -> Row:
    """No slower by the epoch, and not farther from p, by the nats between both sides' q.

    These differ from pair to pair and from training to training: both are in their error.
    """
    sides = found.theirs, found.ours
    nats = [float(np.mean([one.nats for one in side])) for side in sides]
    # The first training of a process loads libraries as well.
    seconds = [float(np.median([one.seconds for one in side])) for side in sides]
    epoch = [1000 * taken / found.epochs for taken in seconds]
    by_seed, by_pair = found.apart.mean(1), found.apart.mean(0)
    apart = float(by_seed.mean())
    error = math.hypot(*(part.std(ddof=1) / len(part) ** 0.5 for part in (by_seed, by_pair)))
    measured = (
        f"{epoch[1]:.0f} ms an epoch, {nats[1]:.2f} nats; theirs {epoch[0]:.0f} ms, {nats[0]:.2f} "
        f"nats; ours less theirs {apart:+.3f} ± {error:.3f} at the same pairs, by seed "
        f"{', '.join(f'{one:+.3f}' for one in by_seed)} (processor ms, medians; {found.epochs} "
        "epochs)"
    )
    ok = epoch[1] <= epoch[0] and apart <= _APART * error
    return table.told(
        what,
        measured,
        ok,
        f"no slower an epoch, not farther by {_APART:g} standard errors",
        theirs=[vars(side) for side in found.theirs],
        ours=[vars(side) for side in found.ours],
        apart=by_seed.tolist(),
    )
