"""A trained score within x as it is kept, and the scores it makes of a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from validation_core.keys import part
from validation_core.scores.slots.features import Frame, Seen
from validation_core.scores.slots.network import Network
from validation_core.scores.slots.trees import Forest
from validation_core.types import Array, Draws, TableScores

Float = NDArray[np.float64]


def logit(share: ArrayLike) -> Float:
    """Log odds of shares, which no leaf lets reach 0 or 1."""
    wide = np.asarray(share, dtype=np.float64)
    return np.log(wide) - np.log1p(-wide)


@dataclass(frozen=True, eq=False)
class TrainedSlots:
    """What it sees of a slot, trees and network, and what they weigh."""

    frame: Frame
    forest: Forest | None
    network: Mapping[str, Array] | None
    weights: Float
    """(2,): of the trees' log odds and of the network's score; 0 where one is not used."""
    constant: float
    rows: Float
    """(n,): what each learning row adds to the held-out divergence, in nats."""
    penalty: float
    scored: int
    """Draws of q that are scored at each x, at most: the first ones."""
    seconds: float = 0.0
    device: str = "cpu"

    @property
    def summary(self) -> Mapping[str, float]:
        """Held-out divergence, weights of the two learners, and the network's penalty."""
        trees, network = (float(one) for one in self.weights)
        return {
            "divergence": float(self.rows.mean()), "weight trees": trees,
            "weight network": network, "penalty": self.penalty,
        }  # fmt: skip

    def at(self, beta: float = 0.0) -> WithinScore:
        """The score; beta changes nothing, as trees have no parameters to mix."""
        del beta
        return WithinScore(self)

    def arrays(self) -> dict[str, Array]:
        """Everything to store, by flat names."""
        named: dict[str, Mapping[str, Array]] = {
            "frame": {f.name: np.asarray(getattr(self.frame, f.name)) for f in fields(Frame)},
            "forest": self.forest.arrays() if self.forest else {},
            "network": self.network or {},
        }
        flat = {f"{part}.{n}": a for part, arrays in named.items() for n, a in arrays.items()}
        numbers = np.array([self.constant, self.penalty])
        return {**flat, "weights": self.weights, "rows": self.rows, "numbers": numbers}

    @classmethod
    def read(
        cls, arrays: Mapping[str, Array], scored: int, seconds: float, device: str
    ) -> TrainedSlots:
        """What `arrays` gave."""
        seen, forest, network = (part(arrays, name) for name in ("frame", "forest", "network"))
        whole, context = int(seen.pop("whole")), int(seen.pop("context"))
        constant, penalty = (float(one) for one in arrays["numbers"])
        return cls(
            Frame(**cast("Any", seen), whole=whole, context=context),
            Forest.read(forest) if forest else None, network or None,
            np.asarray(arrays["weights"], np.float64), constant,
            np.asarray(arrays["rows"], np.float64), penalty, scored, seconds, device,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class WithinScore:
    """The log ratio of p to q that is learnt, one function for all slots of a row."""

    trained: TrainedSlots

    def __call__(self, theta: Array, x: Array) -> Array:
        """There is none for rows by themselves.

        Raises:
            ValueError: always.
        """
        raise ValueError(
            f"A score within x sees a draw among the others at its x; got {len(theta)} rows "
            f"alone. Give it a table of theta, x and theta_q."
        )

    def table(self, draws: Draws) -> TableScores:
        """Scores of the truth (1, n) and of the first K' draws (1, n, K') at each x.

        All K draws are what a slot is seen among; K' = min(K, scored).
        """
        frame, most = self.trained.frame, min(draws.q.shape[1], self.trained.scored)
        out = np.empty((len(draws), most + 1))
        for rows in frame.pieces(draws):
            scores = self._scores(frame.piece(draws, rows, most))
            theta = np.concatenate([draws.theta[rows][:, None], draws.q[rows, :most]], axis=1)
            out[rows] = tied(scores, theta)
        # The mean ratio over a row's slots is 1: a constant of the row, which ranks do not see.
        out -= logsumexp(out, axis=1, keepdims=True) - np.log(most + 1)
        return TableScores(out[None, :, 0], out[None, :, 1:])

    def _scores(self, seen: Seen) -> Float:
        """(n, A)."""
        kept = self.trained
        total = np.full(seen.own.shape[1:], kept.constant)
        if kept.forest is not None:
            answers = kept.forest(np.ascontiguousarray(seen.rows().T))
            total += kept.weights[0] * logit(answers).reshape(total.shape)
        if kept.network is not None:
            network = Network(kept.network, len(kept.frame.parameters))
            total += kept.weights[1] * network(seen)
        return total


def tied(scores: Float, theta: Array) -> Float:
    """Scores (n, A) where equal slots theta (n, A, D) of a row have equal ones, to the bit.

    A matrix product may round equal rows differently by their place.
    """
    count, d = theta.shape[1:]
    first = np.sort(theta[..., 0], axis=1)
    some = np.flatnonzero((first[:, 1:] == first[:, :-1]).any(axis=1))
    if not len(some):
        return scores
    flat = theta[some].reshape(-1, d)
    row = np.repeat(np.arange(len(some)), count)
    order = np.lexsort((*flat.T, row))
    same = (flat[order[1:]] == flat[order[:-1]]).all(axis=1) & (row[order[1:]] == row[order[:-1]])
    group = np.concatenate([[0], np.cumsum(~same)])
    leader = order[np.concatenate([[True], ~same])]  # the first slot of each group
    one = scores[some].ravel()
    one[order] = one[leader[group]]
    out = scores.copy()
    out[some] = one.reshape(-1, count)
    return out
