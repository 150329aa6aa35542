"""Learning a slot classifier: its losses and their minima, how it is kept, the score it makes."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from validation_core.learn import StoredNetwork
from validation_core.learn.training import Parameters
from validation_core.rng import stream
from validation_core.scores import equalise_tied_scores
from validation_core.scores.slot_classifier import SlotClassifier, SlotInputTransform
from validation_core.statistics.slots import Kind, most
from validation_core.types import Array, PosteriorTable, TableScores

if TYPE_CHECKING:
    from validation_core.learn.training import Report


Flat = NDArray[np.float64]

PARAMETERS = ("weight", "bias", "out", "linear", "constant")
_MEMORY = 20  # pairs that L-BFGS keeps


def initial_parameters(
    inputs: int, features: int, hidden: int, rng: np.random.Generator
) -> Parameters:
    """Yao & Domke's start: U ~ N(0, 1), w and c ~ 0.01 N(0, 1), all else 0."""
    shapes = {"weight": (inputs, hidden), "bias": (hidden,), "out": (hidden,)}
    normals = {
        name: (1.0 if name == "weight" else 0.01) * rng.standard_normal(shape)
        for name, shape in shapes.items()
    }
    rest = {"linear": np.zeros(features), "constant": np.zeros(1)}
    return {name: a.astype(np.float32) for name, a in (normals | rest).items()}


def flatten_parameters(parameters: Mapping[str, Array]) -> Flat:
    """Parameters in one vector."""
    return np.concatenate([np.ravel(parameters[name]) for name in PARAMETERS]).astype(np.float64)


def unflatten_parameters(vector: Array, like: Mapping[str, Array]) -> Parameters:
    """The way back."""
    ends = np.cumsum([like[name].size for name in PARAMETERS])[:-1]
    parts = np.split(np.asarray(vector, dtype=np.float32), ends)
    return {n: part.reshape(like[n].shape) for n, part in zip(PARAMETERS, parts, strict=True)}


def _logits(parameters: Mapping[str, Tensor], inputs: Tensor, features: Tensor) -> Tensor:
    """g (n,) of inputs (n, p) and features (n, F)."""
    return _with_hidden(parameters, inputs, features)[0]


def _with_hidden(
    parameters: Mapping[str, Tensor], inputs: Tensor, features: Tensor
) -> tuple[Tensor, Tensor]:
    hidden = torch.tanh(torch.addmm(parameters["bias"], inputs, parameters["weight"]))
    linear = features @ parameters["linear"]
    return hidden @ parameters["out"] + linear + parameters["constant"], hidden


class SlotObjective:
    """The mean loss of a table's rows: slot 0 is the truth, and no parameter knows of slots."""

    def __init__(
        self, inputs: Array, features: Array, kind: Kind, like: Mapping[str, Array]
    ) -> None:
        """Take inputs (n, m + 1, p) and features (n, m + 1, F)."""
        self.n, self.slots = inputs.shape[:2]
        self.inputs, self.features = (
            torch.from_numpy(a.reshape(-1, a.shape[-1]).astype(np.float32))
            for a in (inputs, features)
        )
        self.kind, self.like = kind, like

    def loss(self, vector: Flat) -> float:
        """Without a penalty: nats per simulation."""
        g = _logits(self._tensors(vector), self.inputs, self.features)
        return float(self._loss(g.reshape(self.n, self.slots))[0])

    def penalised(self, vector: Flat, penalty: float) -> tuple[float, Flat]:
        """Loss plus penalty times the squares of all but the constant, and its gradient.

        By hand: a third of what a graph of operations takes at this size.
        """
        tensors = self._tensors(vector)
        g, hidden = _with_hidden(tensors, self.inputs, self.features)
        loss, slope = self._loss(g.reshape(self.n, self.slots))
        slope = slope.reshape(-1)  # of the loss by each g
        back = torch.outer(slope, tensors["out"]) * (1 - hidden.square())
        gradient = flatten_parameters(
            {
                "weight": (self.inputs.T @ back).numpy(),
                "bias": back.sum(0).numpy(),
                "out": (hidden.T @ slope).numpy(),
                "linear": (self.features.T @ slope).numpy(),
                "constant": slope.sum(0, keepdim=True).numpy(),
            }
        )
        weights = vector.copy()
        weights[-1] = 0.0
        return float(loss) + penalty * float(weights @ weights), gradient + 2 * penalty * weights

    def minimum(self, vector: Flat, penalty: float, steps: int) -> Flat:
        """Where at most so many steps of L-BFGS lead from a vector."""
        from scipy.optimize import minimize  # 20 MB that most diagnoses do without

        optimum = minimize(
            self.penalised,
            vector,
            args=(penalty,),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": steps, "maxcor": _MEMORY},
        )
        return np.asarray(optimum.x, dtype=np.float64)

    def _tensors(self, vector: Flat) -> dict[str, Tensor]:
        parameters = unflatten_parameters(vector, self.like)
        return {name: torch.from_numpy(parameters[name]) for name in PARAMETERS}

    def _loss(self, g: Tensor) -> tuple[Tensor, Tensor]:
        """The loss of scores (n, m + 1) and its derivative by each."""
        if self.kind == "multiclass":
            log = functional.log_softmax(g, dim=1)
            slope = log.exp()
            slope[:, 0] -= 1
            return -log[:, 0].mean(), slope / self.n
        m = self.slots - 1
        truth, draws = functional.softplus(-g[:, 0]), functional.softplus(g[:, 1:])
        slope = torch.sigmoid(g) / (2 * m)
        slope[:, 0] = -torch.sigmoid(-g[:, 0]) / 2
        return (truth.mean() + draws.mean()) / 2, slope / self.n


# ---- Learning one, and its score ----


_ROWS = 1 << 14  # per pass when scoring: what bounds the features of a large table
# Share of the largest divergence: losing it, a penalty is too weak, and so is the rest.
_CLEAR = 0.05


@dataclass(frozen=True, eq=False)
class TrainedSlotClassifier(StoredNetwork):
    """Parameters, those it began with, what it sees of (theta, x), and the penalties tried."""

    trained: Parameters
    initial: Parameters
    inputs: SlotInputTransform
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
    inputs: SlotInputTransform

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
        n, k = theta.shape[:2]
        out = np.empty((n, k))
        tensors = {name: torch.from_numpy(array) for name, array in self.parameters.items()}
        step = max(1, _ROWS // k)
        with torch.inference_mode():
            for first in range(0, n, step):
                rows = slice(first, first + step)
                inputs = [
                    a.reshape(-1, a.shape[-1]) for a in self.inputs(theta[rows], x[rows, None])
                ]
                g = _logits(tensors, *(torch.from_numpy(a) for a in inputs))
                out[rows] = g.numpy().reshape(-1, k)
        return out


def train_slot_classifier(
    data: PosteriorTable, recipe: SlotClassifier, seed: int, report: Report | None = None
) -> TrainedSlotClassifier:
    """Train one: folds of simulations choose the penalty, all simulations fit.

    The seed fixes its start and the folds.
    """
    began = time.perf_counter()
    frame = SlotInputTransform.fit(data, whiten=recipe.net == "quadratic")
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
        seconds=time.perf_counter() - began,
        device="cpu",
    )
