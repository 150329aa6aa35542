"""A trained scorer as it is kept, and the score it makes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np
import torch
from numpy.typing import NDArray

from validation_core.keys import part
from validation_core.nets import Parameters
from validation_core.scores import ties
from validation_core.scores.scorer import objective
from validation_core.scores.scorer.inputs import Inputs
from validation_core.types import Array, Draws, TableScores


@dataclass(frozen=True, eq=False)
class TrainedScorer:
    """Parameters, those it began with, what it sees of (theta, x), and the penalties tried."""

    trained: Parameters
    initial: Parameters
    inputs: Inputs
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

    def at(self, beta: float = 0.0) -> SlotScore:
        """The score of psi_beta = (1 - beta) psi_trained + beta psi_initial."""
        mixed = {
            name: (1 - beta) * array.astype(np.float64) + beta * self.initial[name]
            for name, array in self.trained.items()
        }
        return SlotScore(mixed, self.inputs)

    def arrays(self) -> dict[str, Array]:
        """Everything to store, by flat names."""
        named: dict[str, Mapping[str, Array]] = {
            "trained": self.trained, "initial": self.initial, "history": self.history,
            "inputs": {f.name: np.asarray(getattr(self.inputs, f.name)) for f in fields(Inputs)},
        }  # fmt: skip
        flat = {f"{part}.{n}": a for part, arrays in named.items() for n, a in arrays.items()}
        return {**flat, "kept": np.array([self.kept])}

    @classmethod
    def read(cls, arrays: Mapping[str, Array], seconds: float, device: str) -> TrainedScorer:
        """What `arrays` gave."""
        seen = part(arrays, "inputs")
        products = bool(seen.pop("products"))
        return cls(
            part(arrays, "trained"), part(arrays, "initial"), Inputs(**seen, products=products),
            part(arrays, "history"), int(arrays["kept"][0]), seconds=seconds, device=device,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class SlotScore:
    """g(theta, x), the same function for truth and draws."""

    parameters: Mapping[str, NDArray[np.float64]]
    inputs: Inputs

    def __call__(self, theta: Array, x: Array) -> Array:
        """Scores (n,) of rows theta (n, D), x (n, M)."""
        return self._scores(theta[:, None], x)[:, 0]

    def table(self, draws: Draws) -> TableScores:
        """Scores of the truth (1, n) and of q's draws (1, n, K)."""
        theta = np.concatenate([draws.theta[:, None], draws.q], axis=1)
        g = ties.shared(theta, self._scores(theta, draws.x))
        return TableScores(g[None, :, 0], g[None, :, 1:])

    def _scores(self, theta: Array, x: Array) -> NDArray[np.float64]:
        """g (n, K) of theta (n, K, D) at x (n, M), in double precision: ties stay ties."""
        n, k = theta.shape[:2]
        out = np.empty((n, k))
        tensors = {name: torch.from_numpy(array) for name, array in self.parameters.items()}
        step = max(1, objective.ROWS // k)
        with torch.inference_mode():
            for first in range(0, n, step):
                rows = slice(first, first + step)
                seen = [
                    a.reshape(-1, a.shape[-1]) for a in self.inputs(theta[rows], x[rows, None])
                ]
                g = objective.logits(tensors, *(torch.from_numpy(a) for a in seen))
                out[rows] = g.numpy().reshape(-1, k)
        return out
