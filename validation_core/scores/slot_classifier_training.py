"""Training of a slot classifier: losses, minima, storage, and its score."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from validation_core.learn import perceptron
from validation_core.learn.perceptron import Parameters
from validation_core.scores.slot_network import PARAMETERS
from validation_core.statistics.slots import SlotLoss
from validation_core.types import Array

Flat = NDArray[np.float64]
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
    """Parameters from one vector, the inverse of `flatten_parameters`."""
    ends = np.cumsum([like[name].size for name in PARAMETERS])[:-1]
    parts = np.split(np.asarray(vector, dtype=np.float32), ends)
    return {n: part.reshape(like[n].shape) for n, part in zip(PARAMETERS, parts, strict=True)}


def slot_logits(parameters: Mapping[str, Tensor], inputs: Tensor, features: Tensor) -> Tensor:
    """g (n,) of inputs (n, p) and features (n, F)."""
    return _with_hidden(parameters, inputs, features)[0]


def _with_hidden(
    parameters: Mapping[str, Tensor], inputs: Tensor, features: Tensor
) -> tuple[Tensor, Tensor]:
    hidden = torch.tanh(torch.addmm(parameters["bias"], inputs, parameters["weight"]))
    linear = features @ parameters["linear"]
    return hidden @ parameters["out"] + linear + parameters["constant"], hidden


class SlotObjective:
    """The mean loss of a table's rows: slot 0 is the truth; parameters are shared by all slots.

    Losses and slopes are computed on the device, the steps of L-BFGS on the processor.
    """

    def __init__(
        self, inputs: Array, features: Array, kind: SlotLoss, like: Mapping[str, Array]
    ) -> None:
        """Take inputs (n, m + 1, p) and features (n, m + 1, F)."""
        self.n, self.slots = inputs.shape[:2]
        self.device = perceptron.pick_device()
        self.inputs, self.features = (
            torch.from_numpy(a.reshape(-1, a.shape[-1]).astype(np.float32)).to(self.device)
            for a in (inputs, features)
        )
        self.kind, self.like = kind, like

    def loss(self, vector: Flat) -> float:
        """Without a penalty: nats per simulation."""
        g = slot_logits(self._tensors(vector), self.inputs, self.features)
        return float(self._loss(g.reshape(self.n, self.slots))[0])

    def penalised(self, vector: Flat, penalty: float) -> tuple[float, Flat]:
        """Loss plus penalty times the squares of all but the constant, and its gradient.

        Written by hand: a third of the time of automatic differentiation at this size.
        """
        tensors = self._tensors(vector)
        g, hidden = _with_hidden(tensors, self.inputs, self.features)
        loss, slope = self._loss(g.reshape(self.n, self.slots))
        slope = slope.reshape(-1)  # of the loss by each g
        back = torch.outer(slope, tensors["out"]) * (1 - hidden.square())
        slopes = {
            "weight": self.inputs.T @ back,
            "bias": back.sum(0),
            "out": hidden.T @ slope,
            "linear": self.features.T @ slope,
            "constant": slope.sum(0, keepdim=True),
        }
        gradient = flatten_parameters({name: part.cpu().numpy() for name, part in slopes.items()})
        weights = vector.copy()
        weights[-1] = 0.0
        return float(loss) + penalty * float(weights @ weights), gradient + 2 * penalty * weights

    def minimum(self, vector: Flat, penalty: float, steps: int) -> Flat:
        """Minimiser after at most so many steps of L-BFGS from a vector."""
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
        return perceptron.tensors(unflatten_parameters(vector, self.like), self.device)

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
