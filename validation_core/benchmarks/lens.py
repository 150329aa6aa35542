"""The linear map of a gravitational lens, its blur included."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np

from validation_core.benchmarks.galaxies import SIDE
from validation_core.types import Array

Lens = Literal["isothermal", "affine"]
Bias = Literal["turned lens", "convolved likelihood"]
PIXELS = SIDE**2
"""Dimensions of theta, and of x."""
RIDGE = 0.02**2
"""Variance added to every pixel of the prior, in units of the mean peak: 256 pixels have a
covariance of full rank, and a galaxy's dark corners some light."""
EINSTEIN = 0.45
"""Einstein radius; the image reaches from -1 to 1."""
AXIS_RATIO = 0.75
"""Axis ratio of the lens's isodensity ellipses."""
ANGLE = 0.6
"""Radians by which the lens is turned."""
TURNED: Mapping[Lens, float] = {"isothermal": 0.6, "affine": 0.15}
"""Radians by which the turned lens is turned further: less where all of the image turns."""
SOURCE = 0.6
"""Half the side of the source's window: rays from all of the image but its corners meet it."""
BLUR = 1.0
"""Standard deviation of the blur, in pixels of the image."""
NOISE = 0.1
"""Standard deviation of the noise, in units of the mean peak: some 18 of the 256 directions of
theta are settled by x, the others left to the prior."""
WARP = ((0.85, -0.30), (0.40, 0.75))
"""Matrix of the affine lens: a rotation, a shear and a magnification of image positions."""


def lens_matrix(lens: Lens, turned: float = 0.0) -> Array:
    """The linear map A (M, D) of a lens rotated by `turned` radians, its blur included.

    Every pixel of the image reads the source where its ray ends, then comes the blur. Lensing
    keeps surface brightness: before the blur, a row sums to 1 where its ray meets the window.
    """
    rays = _isothermal_rays(turned) if lens == "isothermal" else affine_rays(turned)
    return np.asarray(_blur() @ bilinear_weights(*rays))


def pixel_coordinates() -> tuple[Array, Array]:
    """Coordinates x and y (M,) of the image's pixels, in [-1, 1], row by row."""
    across = (np.arange(SIDE) + 0.5) / SIDE * 2 - 1
    x, y = np.meshgrid(across, across)
    return x.ravel(), y.ravel()


def _isothermal_rays(turned: float) -> tuple[Array, Array]:
    """Source positions of the rays through the image's pixels, in [-1, 1] over its window.

    Deflection of a singular isothermal ellipsoid (Kormann, Schneider, Bartelmann 1994).
    """
    x, y = pixel_coordinates()
    cos, sin = np.cos(ANGLE + turned), np.sin(ANGLE + turned)
    along, across = cos * x + sin * y, cos * y - sin * x
    squashed = np.sqrt(1 - AXIS_RATIO**2)
    psi = np.hypot(AXIS_RATIO * along, across)
    strength = EINSTEIN * np.sqrt(AXIS_RATIO) / squashed
    along = along - strength * np.arctan(squashed * along / psi)
    across = across - strength * np.arctanh(squashed * across / psi)
    return (cos * along - sin * across) / SOURCE, (sin * along + cos * across) / SOURCE


def affine_rays(turned: float) -> tuple[Array, Array]:
    """Source positions under the affine map: the position in the image, turned, times WARP."""
    x, y = pixel_coordinates()
    cos, sin = np.cos(turned), np.sin(turned)
    x, y = cos * x + sin * y, cos * y - sin * x
    (a, b), (c, d) = WARP
    return a * x + b * y, c * x + d * y


def bilinear_weights(x: Array, y: Array) -> Array:
    """Bilinear weights (M, D) of the source's pixels at positions (M,); 0 outside the source."""
    column, row = (x + 1) * SIDE / 2 - 0.5, (y + 1) * SIDE / 2 - 0.5
    weights = np.zeros((len(x), SIDE, SIDE))
    rays = np.arange(len(x))
    for down in (0, 1):
        for right in (0, 1):
            i, j = np.floor(row).astype(int) + down, np.floor(column).astype(int) + right
            share = (1 - np.abs(row - i)) * (1 - np.abs(column - j))
            inside = (i >= 0) & (i < SIDE) & (j >= 0) & (j < SIDE)
            weights[rays[inside], i[inside], j[inside]] += share[inside]
    return weights.reshape(len(x), -1)


def _blur() -> Array:
    """Gaussian blur as a matrix (M, M); light may leave the image."""
    apart = np.arange(SIDE)[:, None] - np.arange(SIDE)
    whole = np.exp(-0.5 * (np.arange(-4 * SIDE, 4 * SIDE + 1) / BLUR) ** 2).sum()
    line = np.exp(-0.5 * (apart / BLUR) ** 2) / whole
    return np.asarray(np.kron(line, line))
