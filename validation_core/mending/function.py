"""Weights for new draws of q: trees and a network over each draw's place among others at its x.

It needs NumPy alone. `MendFunction.read(np.load("mend.npz"))` reads what `arrays` wrote.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from validation_core.scores.slot_features import NEAREST, SlotFeatures
from validation_core.scores.slot_network import network_scores
from validation_core.scores.trees import Forest
from validation_core.types import Float, PosteriorTable


@dataclass(frozen=True, eq=False)
class MendPart:
    """The score that judges one fifth: features of a slot, trees, network, their weights."""

    frame: SlotFeatures
    forest: Forest | None
    network: Mapping[str, NDArray[np.floating]] | None
    weights: Float
    """(2,) of the trees' log odds and of the network's score, the temperature among them."""

    def log_ratios(self, slots: PosteriorTable) -> Float:
        """log p - log q (n, K + 1) of the first slot, `theta`, and of the others, `q`.

        Up to a function of x, which weights within a row do not see.
        """
        k = slots.q.shape[1]
        out = np.zeros((len(slots.theta), k + 1))
        if not self.weights.any():
            return out
        for rows in self.frame.pieces(slots):
            seen = self.frame.piece(slots, rows, k)
            if self.forest is not None:
                share = self.forest(np.ascontiguousarray(seen.rows().T)).astype(np.float64)
                log_odds = np.log(share) - np.log1p(-share)
                out[rows] += self.weights[0] * log_odds.reshape(-1, k + 1)
            if self.network is not None:
                parameters = len(self.frame.parameters)
                out[rows] += self.weights[1] * network_scores(self.network, parameters, seen)
        return out


@dataclass(frozen=True, eq=False)
class MendFunction:
    """Scores that learned on different rows of one table, averaged."""

    parts: tuple[MendPart, ...]
    most: int
    """Draws of a row that are weighed among one another, at most."""
    dims: int
    """Parameters D of the table."""

    @property
    def fewest(self) -> int:
        """Draws of a row that it needs: so many were seen among one another."""
        return min(self.most, max(NEAREST) + 1)

    def log_weights(self, x: NDArray[np.floating], theta_q: NDArray[np.floating]) -> Float:
        """Log weights (n, K) of draws, whose exponentials sum to 1 at each x.

        Args:
            x: data (n, M), or one row (M,).
            theta_q: draws of the q that was mended, at each x: (n, K, D), or (K, D) of one row.

        Raises:
            ValueError: for shapes that do not belong together, or too few draws.
        """
        q = np.asarray(theta_q)
        q = q[None] if q.ndim == 2 else q
        data = np.asarray(x)
        if q.ndim != 3 or not q.size or len(q) not in (1, *data.shape[:1]):
            raise ValueError(
                f"x (n, M) and theta_q (n, K, D) have a row for each simulation; got {data.shape} "
                f"and {q.shape}. Save both of the same simulations."
            )
        if not all(a.dtype.kind in "iufb" and np.isfinite(a).all() for a in (data, q)):
            raise ValueError(
                "x and theta_q hold finite numbers; got others among them. Leave their rows out."
            )
        data = data.reshape(len(q), -1)
        k, widths = q.shape[1], (len(self.parts[0].frame.x_shift), self.dims)
        if (data.shape[1], q.shape[2]) != widths:
            raise ValueError(
                f"It mends draws of {widths[1]} parameters at {widths[0]} numbers of x; got "
                f"{q.shape[2]} and {data.shape[1]}. Give it the columns of the table, in order."
            )
        if k < self.fewest:
            raise ValueError(
                f"A draw is weighed among at least {self.fewest} at its x; got {k}. Draw more."
            )
        pieces = np.array_split(np.arange(k), -(-k // (self.most + 1)))
        out = np.empty((len(q), k))
        for columns in pieces:
            slots = PosteriorTable(q[:, columns[0]], data, q[:, columns[1:]])
            ratio = np.mean([part.log_ratios(slots) for part in self.parts], axis=0)
            ratio -= ratio.max(axis=1, keepdims=True)
            total = np.log(np.exp(ratio).sum(axis=1, keepdims=True))
            out[:, columns] = ratio - total + np.log(len(columns) / k)
        return out

    def mend(
        self,
        x: NDArray[np.floating],
        theta_q: NDArray[np.floating],
        count: int,
        rng: np.random.Generator,
    ) -> NDArray[np.floating]:
        """Mended draws (n, count, D): q's own, picked by weight with replacement."""
        q = np.asarray(theta_q)
        q = q[None] if q.ndim == 2 else q
        return pick_by_weight(q, np.exp(self.log_weights(x, q)), count, rng)

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """All of it as plain arrays, by name."""
        out: dict[str, NDArray[np.generic]] = {
            "most": np.array(self.most),
            "dims": np.array(self.dims),
        }
        for i, part in enumerate(self.parts):
            out[f"{i}.weights"] = part.weights
            for name in _fields(SlotFeatures):
                out[f"{i}.frame.{name}"] = np.asarray(getattr(part.frame, name))
            if part.forest is not None:
                for name in _fields(Forest):
                    out[f"{i}.forest.{name}"] = np.asarray(getattr(part.forest, name))
            out |= {f"{i}.network.{name}": a for name, a in (part.network or {}).items()}
        return out

    @classmethod
    def read(cls, arrays: Mapping[str, NDArray[np.generic]]) -> MendFunction:
        """The function that `arrays` wrote."""
        parts: list[MendPart] = []
        while f"{len(parts)}.weights" in arrays:
            at = len(parts)
            frame, forest, network = (
                _under(arrays, f"{at}.{name}.") for name in ("frame", "forest", "network")
            )
            numbers: dict[str, Any] = {name: int(frame.pop(name)) for name in ("whole", "context")}
            parts.append(
                MendPart(
                    SlotFeatures(**frame, **numbers),
                    Forest(**forest) if forest else None,
                    network or None,
                    arrays[f"{at}.weights"].astype(np.float64),
                )
            )
        return cls(tuple(parts), int(arrays["most"]), int(arrays["dims"]))


def _fields(kind: type[Any]) -> list[str]:
    return [field.name for field in fields(kind)]


def _under(arrays: Mapping[str, NDArray[np.generic]], start: str) -> dict[str, Any]:
    """Arrays whose names begin like this, by the rest of their names."""
    return {
        name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)
    }


def pick_by_weight(
    q: NDArray[np.floating], weight: Float, count: int, rng: np.random.Generator
) -> NDArray[np.floating]:
    """Draws (n, count, D) of q (n, K, D) picked by weights (n, K), with replacement.

    Systematic: a draw of weight w is picked w count times, up to one.
    """
    n = len(q)
    at = (np.arange(count) + rng.random((n, 1))) / count
    return q[np.arange(n)[:, None], places_by_weight(weight, at)]


def places_by_weight(weight: Float, at: Float) -> NDArray[np.int64]:
    """Columns of weights (n, K) where their running share passes `at` (n, count), in [0, 1)."""
    n, k = weight.shape
    total = np.cumsum(weight, axis=1)
    total /= total[:, -1:]
    row = np.arange(n)[:, None]
    places = np.searchsorted((total + row).ravel(), (at + row).ravel(), side="right")
    return np.clip(places.reshape(at.shape) - k * row, 0, k - 1)
