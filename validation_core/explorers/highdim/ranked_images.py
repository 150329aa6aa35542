"""Images by their score: those at its two ends, and how others rank among draws of p."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from validation_core.types import Array

Pixels = NDArray[np.uint8]


def to_bytes(images: NDArray[np.floating]) -> Pixels:
    """Pixels in [-1, 1] as bytes, in their shape."""
    return np.rint(127.5 * np.clip(images + 1, 0, 2)).astype(np.uint8)


def extremes(p: Array, q: Array, shown: int) -> NDArray[np.intp]:
    """Places (2, shown) of the lowest and of the highest among scores of p, then of q."""
    order = np.argsort(np.concatenate([p, q]), kind="stable")
    return np.stack([order[:shown], order[-shown:][::-1]])


def share_below(p: Array, scores: Array) -> Array:
    """Share of p's scores below each score, in their shape, in half precision."""
    below = np.searchsorted(np.sort(p), scores.ravel()).reshape(scores.shape)
    return np.asarray(below / len(p), np.float16)
