"""Corruptions of images by a strength: blur, swirl and noise. At strength 0 nothing changes, bit
for bit.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from validation_core.pieces import slices

if TYPE_CHECKING:
    from scipy.sparse import csr_array


Corruption = Literal["blur", "swirl", "noise"]
_Batch = NDArray[np.float32]
RADIUS = 32
"""Pixels that a swirl reaches; scikit-image's own 100 are meant for larger images."""
CLIP = 3.0
"""Bansal, Chen, Scott, Appendix B.3, clip noisy pixels here; they live in +-1."""
_ROWS = 2048  # images at a time: 25 MB of float32 at 32 x 32 x 3


def corrupt(
    kind: Corruption, images: _Batch, gamma: float, rng: np.random.Generator
) -> NDArray[np.float32]:
    """Corrupt images (n, H, W, C) in [-1, 1] at strength gamma; at 0 returns the same array.

    Args:
        kind: blur, swirl or noise.
        images: the clean images.
        gamma: sd of the blur in pixels, strength of the swirl in radians at its centre, or sd of
            the noise.
        rng: draws the noise; the others leave it alone.
    """
    if gamma == 0:
        return images
    out = np.empty(images.shape, np.float32)
    for part in slices(len(images), _ROWS):
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
    """The linear map of a swirl about the image's centre, as a matrix over pixels (H W, H W).

    A pixel at distance r takes the colour of the place at the same distance, turned by
    strength exp(-5 r / (RADIUS ln 2)) radians, as scikit-image's `transform.swirl` does.
    A bilinear warp is linear in the pixels: each column is the warp of one pixel alone.
    """
    from scipy.ndimage import map_coordinates
    from scipy.sparse import csr_array

    down, across = np.indices((height, width), dtype=np.float64)
    rows, columns = down - height / 2, across - width / 2
    distance = np.sqrt(columns**2 + rows**2)
    turned = strength * np.exp(-distance / (RADIUS / 5 * np.log(2))) + np.arctan2(rows, columns)
    source = np.stack(
        [height / 2 + distance * np.sin(turned), width / 2 + distance * np.cos(turned)]
    )
    pixels = np.eye(height * width).reshape(-1, height, width)
    warped = [map_coordinates(pixel, source, order=1, mode="mirror").ravel() for pixel in pixels]
    return csr_array(np.stack(warped, axis=1).astype(np.float32))
