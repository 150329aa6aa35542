"""Occlusion maps: the change of a score as a patch slides over an image."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from validation_core.types import Array, Score


def occlusion_sensitivity(
    score: Score,
    images: NDArray[np.floating],
    instead: NDArray[np.floating],
    x: Array,
    patch: int,
    stride: int,
) -> NDArray[np.float64]:
    """Change of the scores of images where a patch of other images replaces each place.

    Zeiler, Fergus (2014), Visualizing and understanding convolutional networks, Section 4.2.

    Args:
        score: of rows (n, H W C) and x.
        images: square images (n, H, W, C), H = W.
        instead: images of the same shape that the patches are cut from.
        x: (n, M).
        patch: pixels of a patch's side.
        stride: pixels between patches.

    Returns:
        (n, C, C), rows from above; C = (H - patch) / stride + 1, rounded down.
    """
    before = score(images.reshape(len(images), -1), x)
    places = list(_places(images.shape[1], patch, stride))
    out = np.empty((len(images), len(places), len(places)))
    for i, down in enumerate(places):
        for j, across in enumerate(places):
            hidden = images.copy()
            hidden[:, down, across] = instead[:, down, across]
            out[:, i, j] = score(hidden.reshape(len(images), -1), x) - before
    return out


def _places(side: int, patch: int, stride: int) -> Iterator[slice]:
    for first in range(0, side - patch + 1, stride):
        yield slice(first, first + patch)
