"""Images of galaxies, averaged down to 16 x 16 pixels."""

from __future__ import annotations

import numpy as np

from validation_core.benchmarks.galaxies import SIDE
from validation_core.types import Array


def downsample(images: Array) -> Array:
    """Average over areas: (n, H, W) to (n, 16, 16), splitting pixels where sides do not divide."""
    rows, columns = (_area_weights(size) for size in images.shape[1:])
    return np.asarray(rows @ images @ columns.T)


def _area_weights(size: int) -> Array:
    """Weights (16, size) of `size` pixels in each of 16 equal stretches; rows sum to 1."""
    edges = np.linspace(0, size, SIDE + 1)
    left, right = np.arange(size), np.arange(1, size + 1)
    overlap = np.minimum(edges[1:, None], right) - np.maximum(edges[:-1, None], left)
    return np.asarray(np.clip(overlap, 0, None) * SIDE / size)
