"""A trained localizer, and its distance as a score."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from validation_core import statistics
from validation_core.keys import part
from validation_core.learn import perceptron
from validation_core.learn.perceptron import Parameters, Tensors
from validation_core.learn.stored_network import GIVEN, StoredNetwork
from validation_core.pieces import slices
from validation_core.scores import equalise_tied_scores
from validation_core.scores.localizer import BallAtPlaces, Embedding, MapPlaces
from validation_core.scores.localizer_networks import (
    EQUAL_RANKS,
    LocalizerFrame,
    centre_at,
    embed_theta,
)
from validation_core.types import Array, PosteriorTable, TableScores

_CPU_ROWS, _GPU_ROWS = 2048, 1 << 17  # rows per pass: they fit in a core's cache, in a GPU


@dataclass(frozen=True, eq=False)
class TrainedLocalizer(StoredNetwork):
    """Two networks, the random ones they began as, and the frame in which they measure."""

    embedding: Embedding = field(metadata=GIVEN)
    centre: Parameters
    phi: Parameters
    initial_centre: Parameters
    initial_phi: Parameters
    frame: LocalizerFrame
    history: Mapping[str, NDArray[np.floating]]
    """step, train, held (KS distances of the ranks) and w2 (of the training ranks) at each check;
    start_origin, start_mean, start_blur: KS of each start on all anchors (nan: not tried)."""
    checkpoints: Mapping[str, NDArray[np.float16]] = field(metadata={"stored": "film"})
    """Parameters at each check, with a leading axis of checks; none without the film."""
    kept: int = -1
    """The check whose parameters were kept."""
    seconds: float = 0.0
    device: str = "cpu"

    @property
    def summary(self) -> Mapping[str, float]:
        """Summary of its training, for lists of networks."""
        return {
            "held": float(self.history["held"][self.kept]),
            "step": float(self.history["step"][self.kept]),
        }

    def at(self, beta: float = 0.0) -> LocalizerDistance:
        """The distance at (1 - beta) times the trained parameters plus beta times the initial."""
        return LocalizerDistance(
            self.embedding,
            perceptron.interpolate_parameters(self.centre, self.initial_centre, beta),
            perceptron.interpolate_parameters(self.phi, self.initial_phi, beta),
            self.frame,
        )

    @property
    def checks(self) -> int:
        """Checks of the training."""
        return len(self.history["step"])

    def without_film(self) -> TrainedLocalizer:
        """Only the kept check, a sixth of the bytes: for readers that show no training."""
        kept = slice(self.kept % self.checks, self.kept % self.checks + 1)
        return replace(
            self,
            history={
                name: array[kept] if len(array) == self.checks else array
                for name, array in self.history.items()
            },
            checkpoints={},
            kept=0,
        )

    def at_checkpoint(self, index: int) -> LocalizerDistance:
        """The distance at one check of the training; in half precision, for pictures."""
        if not self.checkpoints:  # without its film
            return self.at()
        parts = {n: a[index].astype(np.float32) for n, a in self.checkpoints.items()}
        return LocalizerDistance(
            self.embedding, part(parts, "centre"), part(parts, "phi"), self.frame
        )


class _TruthRanks(NamedTuple):
    """Randomised ranks (n,) of the truth's distance, and which truths tie with a draw (n,)."""

    u: Array
    tied: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class LocalizerDistance:
    """d(theta, theta_l(x)) = |phi(theta) - phi(theta_l(x))|: the score of CoLT."""

    embedding: Embedding
    centre_parameters: Parameters
    phi_parameters: Parameters
    frame: LocalizerFrame

    def __call__(self, theta: Array, x: Array) -> Array:
        """Distances (n,) of parameters theta (n, D) from the centres at x (n, M)."""
        return _lengths(self.embed(theta) - self._embedded(self._centres(x)))

    def table(self, draws: PosteriorTable) -> TableScores:
        """Distances of the truth (1, n) and of q's draws (1, n, K): each centre computed once."""
        n, k, d = draws.q.shape
        centre = self._embedded(self._centres(draws.x))
        truth = _lengths(self.embed(draws.theta) - centre)
        draw_distances = np.empty((n, k), dtype=truth.dtype)
        step = max(1, (8 * _CPU_ROWS if perceptron.pick_device() == "cpu" else _GPU_ROWS) // k)
        for rows in slices(n, step):
            q = draws.q[rows]
            phi = self.embed(q.reshape(-1, d)).reshape(-1, k, centre.shape[1])
            far = _lengths(phi - centre[rows, None])
            slots = np.concatenate([draws.theta[rows, None], q], axis=1)
            both = np.concatenate([truth[rows, None], far], axis=1)
            draw_distances[rows] = equalise_tied_scores(slots, both)[:, 1:]
        return TableScores(truth[None], draw_distances[None])

    def centre(self, x: Array) -> Array:
        """theta_l(x) in the parameters' own units: (n, M) to (n, D)."""
        return self.frame.back(self._centres(x))

    def field(self, theta: Array, x: Array) -> Array:
        """Distances (n, G) of places theta (G, D), or (n, G, D), from each centre at x (n, M)."""
        centre = self._embedded(self._centres(x))
        places = self.embed(theta.reshape(-1, theta.shape[-1]))
        return _lengths(places.reshape(-1, theta.shape[-2], centre.shape[1]) - centre[:, None])

    def ranks(self, draws: PosteriorTable, rng: np.random.Generator) -> _TruthRanks:
        """The truths' ranks by their distance from the centre."""
        scored = self.table(draws)
        below, equal = statistics.count(scored.truth[0], scored.draws[0])
        u = statistics.randomised_ranks(below, equal, draws.q.shape[1], rng)
        return _TruthRanks(u, equal > 0)

    def ball(self, places: MapPlaces, u_star: float) -> BallAtPlaces:
        """The ball of q-mass u_star at every place."""
        radius, q_inside, truth_inside = [], [], []
        draws, truths = places.q.shape[1], places.truth.shape[1]
        for place in range(len(places.x)):
            part = slice(place, place + 1)
            groups = (places.q[part], places.truth[part], places.measured[part])
            far = self.field(np.concatenate(groups, axis=1), places.x[part])[0]
            radius.append(np.quantile(far[draws + truths :], u_star))
            reach = radius[-1] * (1 + EQUAL_RANKS)
            q_inside.append(far[:draws] <= reach)
            truth_inside.append(far[draws : draws + truths] <= reach)
        return BallAtPlaces(
            self.centre(places.x), np.array(radius), np.array(q_inside), np.array(truth_inside)
        )

    def embed(self, theta: Array) -> NDArray[np.float32]:
        """phi(theta): (n, D) to (n, D), or to as many dimensions as phi has."""
        return self._embedded(self.frame.theta(theta))

    def _embedded(self, z: NDArray[np.float32]) -> NDArray[np.float32]:
        if self.embedding == "identity":
            return z
        embedding = self.embedding
        return _passes(lambda own, part: embed_theta(embedding, own, part), self.phi_parameters, z)

    def _centres(self, x: Array) -> NDArray[np.float32]:
        return _passes(centre_at, self.centre_parameters, self.frame.x(x))


def _passes(
    network: Callable[[Tensors, Tensor], Tensor], parameters: Parameters, rows: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Outputs (n, ...) of a network of these parameters for rows (n, inputs), on the device."""
    device = perceptron.pick_device()
    tensors = perceptron.tensors(parameters, device)
    size = _CPU_ROWS if device == "cpu" else _GPU_ROWS
    with torch.no_grad():
        parts = [
            network(tensors, part.to(device)).cpu() for part in torch.from_numpy(rows).split(size)
        ]
        return torch.cat(parts).numpy()


def _lengths(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.sqrt(np.einsum("...d,...d->...", vectors, vectors))
