"""A trained localizer: its centre, its distance as a score, the checkpoints of its training."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from validation_core.keys import part
from validation_core.learn import nets
from validation_core.learn.nets import Parameters
from validation_core.learn.stored import GIVEN, StoredNetwork
from validation_core.scores import share_ties
from validation_core.scores.localizer import Embedding, networks
from validation_core.scores.localizer.networks import Whitening
from validation_core.types import Array, PosteriorTable, TableScores

_ROWS = 2048  # rows per pass: what stays in a core's cache


@dataclass(frozen=True, eq=False)
class TrainedLocalizer(StoredNetwork):
    """Two networks, the random ones they began as, and the frame in which they measure."""

    embedding: Embedding = field(metadata=GIVEN)
    centre: Parameters
    phi: Parameters
    initial_centre: Parameters
    initial_phi: Parameters
    frame: Whitening
    history: Mapping[str, NDArray[np.floating]]
    """step, train, held (KS distances of the ranks) and w2 (of the training ranks) at each check;
    start_origin, start_mean, start_blur: KS of each start on all anchors (nan: not tried)."""
    checkpoints: Mapping[str, NDArray[np.float16]] = field(metadata={"stored": "film"})
    """Parameters at each check, with a leading axis of checks."""
    kept: int = -1
    """The check whose parameters were kept."""
    seconds: float = 0.0
    device: str = "cpu"

    @property
    def summary(self) -> Mapping[str, float]:
        """What training said of it, for lists of networks."""
        return {
            "held": float(self.history["held"][self.kept]),
            "step": float(self.history["step"][self.kept]),
        }

    def at(self, beta: float = 0.0) -> Distance:
        """The distance at (1 - beta) times the trained parameters plus beta times the initial."""
        return Distance(
            self.embedding,
            nets.between(self.centre, self.initial_centre, beta),
            nets.between(self.phi, self.initial_phi, beta),
            self.frame,
        )

    @property
    def checks(self) -> int:
        """Checks of the training."""
        return len(self.history["step"])

    def at_checkpoint(self, index: int) -> Distance:
        """The distance at one check of the training; in half precision, for pictures."""
        parts = {n: a[index].astype(np.float32) for n, a in self.checkpoints.items()}
        return Distance(self.embedding, part(parts, "centre"), part(parts, "phi"), self.frame)


@dataclass(frozen=True, eq=False)
class Distance:
    """d(theta, theta_l(x)) = |phi(theta) - phi(theta_l(x))|: the score of CoLT."""

    embedding: Embedding
    centre_parameters: Parameters
    phi_parameters: Parameters
    frame: Whitening

    def __call__(self, theta: Array, x: Array) -> Array:
        """Distances (n,) of parameters theta (n, D) from the centres at x (n, M)."""
        return _lengths(self.embed(theta) - self._embedded(self._centres(x)))

    def table(self, draws: PosteriorTable) -> TableScores:
        """Distances of the truth (1, n) and of q's draws (1, n, K): each centre computed once."""
        n, k, d = draws.q.shape
        centre = self._embedded(self._centres(draws.x))
        truth = _lengths(self.embed(draws.theta) - centre)
        draw_distances = np.empty((n, k), dtype=truth.dtype)
        step = max(1, 8 * _ROWS // k)
        for first in range(0, n, step):
            part = slice(first, min(first + step, n))
            q = draws.q[part]
            phi = self.embed(q.reshape(-1, d)).reshape(-1, k, centre.shape[1])
            far = _lengths(phi - centre[part, None])
            slots = np.concatenate([draws.theta[part, None], q], axis=1)
            both = np.concatenate([truth[part, None], far], axis=1)
            draw_distances[part] = share_ties(slots, both)[:, 1:]
        return TableScores(truth[None], draw_distances[None])

    def centre(self, x: Array) -> Array:
        """theta_l(x) in the parameters' own units: (n, M) to (n, D)."""
        return self.frame.back(self._centres(x))

    def field(self, theta: Array, x: Array) -> Array:
        """Distances (n, G) of places theta (G, D), or (n, G, D), from each centre at x (n, M)."""
        centre = self._embedded(self._centres(x))
        places = self.embed(theta.reshape(-1, theta.shape[-1]))
        return _lengths(places.reshape(-1, theta.shape[-2], centre.shape[1]) - centre[:, None])

    def embed(self, theta: Array) -> NDArray[np.float32]:
        """phi(theta): (n, D) to (n, D)."""
        return self._embedded(self.frame.theta(theta))

    def _embedded(self, z: NDArray[np.float32]) -> NDArray[np.float32]:
        if self.embedding == "identity":
            return z
        tensors = nets.tensors(self.phi_parameters, "cpu")
        return _passes(lambda part: networks.embed(self.embedding, tensors, part), z)

    def _centres(self, x: Array) -> NDArray[np.float32]:
        tensors = nets.tensors(self.centre_parameters, "cpu")
        return _passes(lambda part: networks.centre_at(tensors, part), self.frame.x(x))


def _passes(network: Callable[[Tensor], Tensor], rows: NDArray[np.float32]) -> Any:
    with torch.no_grad():
        parts = [network(part) for part in torch.from_numpy(rows).split(_ROWS)]
        return torch.cat(parts).numpy()


def _lengths(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.sqrt(np.einsum("...d,...d->...", vectors, vectors))
