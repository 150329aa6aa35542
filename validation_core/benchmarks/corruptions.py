"""Corruptions of images by a strength: blur, swirl and noise.

Blur, swirl, noise. At 0 nothing is, to the bit.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array


Corruption = Literal["blur", "swirl", "noise"]
_Batch = NDArray[np.float32]
RADIUS = 32
"""Pixels that a swirl reaches: skimage's own 100 are meant for larger images."""
CLIP = 3.0
"""Bansal, Chen, Scott, Appendix B.3, clip noisy pixels here; they live in +-1."""
_ROWS = 2048  # images at a time: 25 MB of float32 at 32 x 32 x 3


def corrupt(
    kind: Corruption, images: _Batch, gamma: float, rng: np.random.Generator
) -> NDArray[np.float32]:
    """Images (n, H, W, C) in +-1, corrupted at strength gamma; at 0 the same array.

    Args:
        kind: blur, swirl or noise.
        images: as they are.
        gamma: sd of the blur in pixels, strength of the swirl in radians at its centre, or sd of
            the noise.
        rng: draws the noise; the others leave it alone.
    """
    if gamma == 0:
        return images
    out = np.empty(images.shape, np.float32)
    for first in range(0, len(images), _ROWS):
        part = slice(first, first + _ROWS)
        out[part] = _corrupted(kind, images[part], gamma, rng)
    return out


def _corrupted(
    kind: Corruption, images: _Batch, gamma: float, rng: np.random.Generator
) -> NDArray[np.floating]:
    if kind == "blur":
        from scipy.ndimage import gaussian_filter

        blurred: NDArray[np.floating] = gaussian_filter(images, gamma, axes=(1, 2))
        return blurred
    if kind == "swirl":
        n, h, w, c = images.shape
        columns = np.ascontiguousarray(images.reshape(n, h * w, c).transpose(1, 0, 2))
        swirled = _swirl_matrix(h, w, gamma) @ columns.reshape(h * w, n * c)
        return np.asarray(swirled).reshape(h, w, n, c).transpose(2, 0, 1, 3)
    return np.clip(images + gamma * rng.standard_normal(images.shape), -CLIP, CLIP)


@lru_cache(maxsize=64)
def _swirl_matrix(height: int, width: int, strength: float) -> csr_array:
    """What `skimage.transform.swirl` does, as a matrix of pixels (H W, H W).

    A bilinear warp is linear in the pixels: each column is what becomes of one pixel alone.
    """
    from scipy.sparse import csr_array
    from skimage import transform

    swirl: Any = transform.swirl
    pixels = np.eye(height * width).reshape(-1, height, width)
    columns = [swirl(pixel, strength=strength, radius=RADIUS).ravel() for pixel in pixels]
    return csr_array(np.stack(columns, axis=1).astype(np.float32))
