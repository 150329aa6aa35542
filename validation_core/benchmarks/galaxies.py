"""Galaxies of 16 x 16 pixels from a Hubble image, for the prior over lensed sources."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
from scipy import ndimage

from validation_core.types import Array

Galaxies = Literal["hubble", "probes"]
SIDE = 16
"""Pixels on a side of a galaxy's image."""
_PICTURE = Path(__file__).parents[1] / "data" / "photographs" / "galaxies.jpg"
_SMOOTHING = 1.0  # pixels: a source is a peak of the picture seen this blurred
_BRIGHT = 10.0  # robust standard deviations of the sky above which a peak is a source
_APART = 13  # pixels of the square in which a source is the brightest
_CORE, _RIM = 5.0, 16.0  # pixels from the middle: where the taper begins, where it would be 0
FEWEST_GALAXIES = 32  # images, below which a covariance of 256 pixels says little


def hubble_galaxies() -> Array:
    """Cut out the sources of the Hubble Deep Field, sky removed: (n, 16, 16).

    The picture (NASA, public domain) ships with the program. Grey is the mean of its channels.
    """
    from PIL import Image

    with Image.open(_PICTURE) as picture:
        grey = np.asarray(picture, dtype=np.float64).mean(-1)
    sky = float(np.median(grey))
    spread = 1.4826 * float(np.median(np.abs(grey - sky)))
    smooth = ndimage.gaussian_filter(grey, _SMOOTHING)
    highest = ndimage.maximum_filter(smooth, _APART)
    rows, columns = np.nonzero((smooth == highest) & (smooth > sky + _BRIGHT * spread))
    half = SIDE // 2
    height, width = grey.shape
    inside = (rows >= half) & (rows <= height - half) & (columns >= half)
    inside &= columns <= width - half
    places = zip(rows[inside], columns[inside], strict=True)
    return np.stack([grey[r - half : r + half, c - half : c + half] for r, c in places]) - sky


def stretched(images: Array) -> Array:
    """Images (n, 16, 16) with the brightness and taper of `load_galaxies`, without dark ones."""
    peak = images.max((1, 2))
    images, peak = images[peak > 0], peak[peak > 0]
    across = np.arange(SIDE) - (SIDE - 1) / 2
    radius = np.hypot(across[:, None], across)
    angle = np.clip((radius - _CORE) / (_RIM - _CORE), 0, 1) * np.pi / 2
    stretch = np.sqrt(peak * peak.mean())
    return np.asarray(images / stretch[:, None, None] * np.cos(angle) ** 2)


def without_sky(images: Array) -> Array:
    """Images (n, H, W), less the median of each image's outermost pixels."""
    rim = np.ones(images.shape[1:], dtype=bool)
    rim[1:-1, 1:-1] = False
    return np.asarray(images - np.median(images[:, rim], axis=1)[:, None, None])
