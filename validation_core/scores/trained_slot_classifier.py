"""A trained slot classifier, and the score that it makes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from validation_core.learn import perceptron
from validation_core.learn.perceptron import Parameters
from validation_core.learn.stored_network import StoredNetwork
from validation_core.pieces import slices
from validation_core.provenance import Stopwatch
from validation_core.rng import stream
from validation_core.scores import equalise_tied_scores
from validation_core.scores.input_transform import InputTransform
from validation_core.scores.slot_classifier import SlotClassifier
from validation_core.scores.slot_classifier_training import (
    SlotObjective,
    flatten_parameters,
    initial_parameters,
    slot_logits,
    unflatten_parameters,
)
from validation_core.statistics.slots import most
from validation_core.study import Report
from validation_core.types import Array, PosteriorTable, TableScores

# Rows per pass when scoring: bounds the features of a large table.
_CPU_ROWS, _GPU_ROWS = 1 << 14, 1 << 17
# Share of the largest divergence: losing it, a penalty is too weak, and so is the rest.
_CLEAR = 0.05


@dataclass(frozen=True, eq=False)
class TrainedSlotClassifier(StoredNetwork):
    """Parameters, their initial values, the inputs made of (theta, x), and the penalties tried."""

    trained: Parameters
    initial: Parameters
    inputs: InputTransform
    history: Mapping[str, NDArray[np.float64]]
    """penalty and the folds' held-out divergence, for each that was tried."""
    kept: int
    """The penalty that was kept."""
    seconds: float = 0.0
    device: str = "cpu"

    @property
    def summary(self) -> Mapping[str, float]:
        """The folds' held-out divergence and the penalty that gave it."""
        return {name: float(self.history[name][self.kept]) for name in ("divergence", "penalty")}

    def at(self, beta: float = 0.0) -> _SlotClassifierScore:
        """The score of psi_beta = (1 - beta) psi_trained + beta psi_initial."""
        mixed = {
            name: (1 - beta) * array.astype(np.float64) + beta * self.initial[name]
            for name, array in self.trained.items()
        }
        return _SlotClassifierScore(mixed, self.inputs)


@dataclass(frozen=True, eq=False)
class _SlotClassifierScore:
    """g(theta, x), the same function for truth and draws."""

    parameters: Mapping[str, NDArray[np.float64]]
    inputs: InputTransform

    def __call__(self, theta: Array, x: Array) -> Array:
        """Scores (n,) of rows theta (n, D), x (n, M)."""
        return self._scores(theta[:, None], x)[:, 0]

    def table(self, draws: PosteriorTable) -> TableScores:
        """Scores of the truth (1, n) and of q's draws (1, n, K)."""
        theta = np.concatenate([draws.theta[:, None], draws.q], axis=1)
        g = equalise_tied_scores(theta, self._scores(theta, draws.x))
        return TableScores(g[None, :, 0], g[None, :, 1:])

    def _scores(self, theta: Array, x: Array) -> NDArray[np.float64]:
        """g (n, K) of theta (n, K, D) at x (n, M), in double precision: ties stay ties."""
        device = perceptron.pick_device(double=True)
        n, k = theta.shape[:2]
        out = np.empty((n, k))
        tensors = perceptron.tensors(self.parameters, device)
        step = max(1, (_CPU_ROWS if device == "cpu" else _GPU_ROWS) // k)
        with torch.inference_mode():
            for rows in slices(n, step):
                inputs = [
                    a.reshape(-1, a.shape[-1]) for a in self.inputs(theta[rows], x[rows, None])
                ]
                g = slot_logits(tensors, *(torch.from_numpy(a).to(device) for a in inputs))
                out[rows] = g.cpu().numpy().reshape(-1, k)
        return out


def train_slot_classifier(
    data: PosteriorTable, recipe: SlotClassifier, seed: int, report: Report | None = None
) -> TrainedSlotClassifier:
    """Train one: folds of simulations choose the penalty, all simulations fit.

    The seed fixes its start and the folds.
    """
    watch = Stopwatch()
    quadratic = recipe.net == "quadratic"
    frame = InputTransform.fit(data, whiten=quadratic, products=quadratic)
    # Truth and draws go through one function, so that no slot differs in how it is computed.
    theta = np.concatenate([data.theta[:, None], data.q], axis=1)  # (n, m + 1, D)
    inputs, features = frame(theta, data.x[:, None])
    rng = stream(seed, "scorer")
    initial = initial_parameters(inputs.shape[-1], features.shape[-1], recipe.hidden, rng)
    fold = rng.permutation(np.arange(len(data)) % recipe.folds)  # whole simulations

    def part(which: np.ndarray) -> SlotObjective:
        return SlotObjective(inputs[which], features[which], recipe.kind, initial)

    pairs = [(part(fold != i), part(fold == i)) for i in range(recipe.folds)]
    guessing = most(recipe.kind, recipe.m)
    divergences: list[float] = []
    for penalty in recipe.penalties:
        losses = [
            far.loss(near.minimum(flatten_parameters(initial), penalty, recipe.steps))
            for near, far in pairs
        ]
        divergences.append(
            guessing - float(np.average(losses, weights=[far.n for _, far in pairs]))
        )
        if report:
            live = {"penalty": penalty, "divergence": divergences[-1]}
            report(len(divergences) / (len(recipe.penalties) + 1), live)
        if divergences[-1] < max(divergences) - _CLEAR * guessing:
            break
    best = int(np.argmax(divergences))
    # A penalty is a prior, whose weight beside more simulations is less.
    share = 1 - 1 / recipe.folds if recipe.net == "quadratic" else 1.0
    penalty = share * recipe.penalties[best]
    vector = part(fold >= 0).minimum(flatten_parameters(initial), penalty, recipe.steps)
    if report:
        report(1.0, {})
    history = {
        "penalty": np.array(recipe.penalties[: len(divergences)]),
        "divergence": np.array(divergences),
    }
    return TrainedSlotClassifier(
        unflatten_parameters(vector, initial),
        initial,
        frame,
        history,
        best,
        seconds=watch.seconds,
        device=perceptron.pick_device(),
    )
