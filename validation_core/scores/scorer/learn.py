"""Learning a scorer: folds of simulations choose the penalty, all simulations fit."""

from __future__ import annotations

import time

import numpy as np

from validation_core.rng import stream
from validation_core.scores.scorer.inputs import Inputs
from validation_core.scores.scorer.objective import Flat, Objective, flat, named, start
from validation_core.scores.scorer.recipe import Scorer
from validation_core.scores.scorer.trained import TrainedScorer
from validation_core.statistics.slots import most
from validation_core.training import Report
from validation_core.types import Draws

_MEMORY = 20  # pairs that L-BFGS keeps
_CLEAR = (
    0.05  # share of the largest divergence: losing it, a penalty is too weak, and so is the rest
)


def learn(data: Draws, recipe: Scorer, seed: int, report: Report | None = None) -> TrainedScorer:
    """Train one scorer; the seed fixes its start and the folds."""
    began = time.perf_counter()
    frame = Inputs.fit(data, whiten=recipe.net == "quadratic")
    # Truth and draws go through one function, so that no slot differs in how it is computed.
    theta = np.concatenate([data.theta[:, None], data.q], axis=1)  # (n, m + 1, D)
    inputs, features = frame(theta, data.x[:, None])
    rng = stream(seed, "scorer")
    initial = start(inputs.shape[-1], features.shape[-1], recipe.hidden, rng)
    fold = rng.permutation(np.arange(len(data)) % recipe.folds)  # whole simulations

    def part(which: np.ndarray) -> Objective:
        return Objective(inputs[which], features[which], recipe.kind, initial)

    pairs = [(part(fold != i), part(fold == i)) for i in range(recipe.folds)]
    guessing = most(recipe.kind, recipe.m)
    held: list[float] = []
    for penalty in recipe.penalties:
        losses = [far.loss(_fit(near, flat(initial), penalty, recipe)) for near, far in pairs]
        held.append(guessing - float(np.average(losses, weights=[far.n for _, far in pairs])))
        if report:
            live = {"penalty": penalty, "divergence": held[-1]}
            report(len(held) / (len(recipe.penalties) + 1), live)
        if held[-1] < max(held) - _CLEAR * guessing:
            break
    kept = int(np.argmax(held))
    # A penalty is a prior, whose weight beside more simulations is less.
    share = 1 - 1 / recipe.folds if recipe.net == "quadratic" else 1.0
    vector = _fit(part(fold >= 0), flat(initial), share * recipe.penalties[kept], recipe)
    if report:
        report(1.0, {})
    history = {"penalty": np.array(recipe.penalties[: len(held)]), "divergence": np.array(held)}
    return TrainedScorer(
        named(vector, initial), initial, frame, history, kept,
        seconds=time.perf_counter() - began, device="cpu",
    )  # fmt: skip


def _fit(objective: Objective, vector: Flat, penalty: float, recipe: Scorer) -> Flat:
    from scipy.optimize import minimize  # 20 MB that most diagnoses do without

    found = minimize(
        objective.penalised, vector, args=(penalty,), jac=True, method="L-BFGS-B",
        options={"maxiter": recipe.steps, "maxcor": _MEMORY},
    )  # fmt: skip
    return np.asarray(found.x, dtype=np.float64)
