"""A trained localizer: its centre, its distance as a score, and the film of its training."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from validation_core.keys import part
from validation_core.nets import Parameters
from validation_core.scores import ties
from validation_core.scores.localizer import networks
from validation_core.scores.localizer.frame import Frame
from validation_core.scores.localizer.recipe import Embedding
from validation_core.types import Array, Draws, TableScores

_ROWS = 2048  # rows per pass: what stays in a core's cache


@dataclass(frozen=True, eq=False)
class TrainedLocalizer:
    """Two networks, the random ones they began as, and the frame in which they measure."""

    embedding: Embedding
    centre: Parameters
    phi: Parameters
    initial_centre: Parameters
    initial_phi: Parameters
    frame: Frame
    history: Mapping[str, NDArray[np.floating]]
    """step, train, held (KS distances of the ranks) and w2 (of the training ranks) at each check;
    start_origin, start_mean, start_blur: KS of each start on all anchors (nan: not tried)."""
    film: Mapping[str, NDArray[np.float16]]
    """Parameters at each check, with a leading axis of checks."""
    kept: int = -1
    """The check whose parameters were kept."""
    seconds: float = 0.0
    device: str = "cpu"

    @property
    def summary(self) -> Mapping[str, float]:
        """What training said of it, for lists of networks."""
        return {"held": float(self.history["held"][self.kept]),
                "step": float(self.history["step"][self.kept])}  # fmt: skip

    def at(self, beta: float = 0.0) -> Distance:
        """The distance at (1 - beta) times the trained parameters plus beta times the initial."""
        return Distance(
            self.embedding,
            _between(self.centre, self.initial_centre, beta),
            _between(self.phi, self.initial_phi, beta),
            self.frame,
        )

    @property
    def frames(self) -> int:
        """Checks that the film holds."""
        return len(self.history["step"])

    def frame_of_film(self, index: int) -> Distance:
        """The distance at one check of the training; in half precision, for pictures."""
        parts = {n: a[index].astype(np.float32) for n, a in self.film.items()}
        return Distance(self.embedding, part(parts, "centre"), part(parts, "phi"), self.frame)

    def arrays(self) -> dict[str, Array]:
        """Everything to store, by flat names."""
        named: dict[str, Mapping[str, Array]] = {
            "centre": self.centre, "phi": self.phi, "initial_centre": self.initial_centre,
            "initial_phi": self.initial_phi, "history": self.history, "film": self.film,
            "frame": vars(self.frame),
        }  # fmt: skip
        flat = {f"{part}.{n}": a for part, arrays in named.items() for n, a in arrays.items()}
        return {**flat, "kept": np.array([self.kept])}

    @classmethod
    def read(
        cls, arrays: Mapping[str, Array], embedding: Embedding, seconds: float, device: str
    ) -> TrainedLocalizer:
        """What `arrays` gave."""
        names = ("centre", "phi", "initial_centre", "initial_phi", "history", "film")
        parts = {name: part(arrays, name) for name in names}
        frame = Frame(**part(arrays, "frame"))
        return cls(
            embedding, frame=frame, kept=int(arrays["kept"][0]), seconds=seconds, device=device,
            **parts,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Distance:
    """d(theta, theta_l(x)) = |phi(theta) - phi(theta_l(x))|: the score of CoLT."""

    embedding: Embedding
    centre_parameters: Parameters
    phi_parameters: Parameters
    frame: Frame

    def __call__(self, theta: Array, x: Array) -> Array:
        """Distances (n,) of parameters theta (n, D) from the centres at x (n, M)."""
        return _lengths(self.embed(theta) - self._embedded(self._centres(x)))

    def table(self, draws: Draws) -> TableScores:
        """Distances of the truth (1, n) and of q's draws (1, n, K): each centre computed once."""
        n, k, d = draws.q.shape
        centre = self._embedded(self._centres(draws.x))
        truth = _lengths(self.embed(draws.theta) - centre)
        drawn = np.empty((n, k), dtype=truth.dtype)
        step = max(1, 8 * _ROWS // k)
        for first in range(0, n, step):
            part = slice(first, min(first + step, n))
            q = draws.q[part]
            phi = self.embed(q.reshape(-1, d)).reshape(-1, k, centre.shape[1])
            far = _lengths(phi - centre[part, None])
            slots = np.concatenate([draws.theta[part, None], q], axis=1)
            both = np.concatenate([truth[part, None], far], axis=1)
            drawn[part] = ties.shared(slots, both)[:, 1:]
        return TableScores(truth[None], drawn[None])

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
        named = networks.tensors(self.phi_parameters, "cpu")
        return _passes(lambda part: networks.embed(self.embedding, named, part), z)

    def _centres(self, x: Array) -> NDArray[np.float32]:
        named = networks.tensors(self.centre_parameters, "cpu")
        return _passes(lambda part: networks.centre(named, part), self.frame.x(x))


def _passes(network: Callable[[Tensor], Tensor], rows: NDArray[np.float32]) -> Any:
    with torch.no_grad():
        parts = [network(part) for part in torch.from_numpy(rows).split(_ROWS)]
        return torch.cat(parts).numpy()


def _lengths(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.sqrt(np.einsum("...d,...d->...", vectors, vectors))


def _between(trained: Parameters, initial: Parameters, beta: float) -> Parameters:
    if beta == 0:
        return trained
    one, other = np.float32(1 - beta), np.float32(beta)
    return {name: one * array + other * initial[name] for name, array in trained.items()}
