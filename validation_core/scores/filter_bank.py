"""Features of images from a bank of oriented filters.

Responses of an image at every scale, orientation and place, without learned weights.

Logarithms of energies: of Gabor wavelets over the whole image, of each coefficient of its
blocks' cosine transforms, of fine and coarse detail block by block; and coarse mean colours. A
blur, a swirl's interpolation and noise all change energies of fine detail by a factor, which a
logarithm makes a shift.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core.shared_arrays import read_only

_Floats = NDArray[np.float32]
SCALES, ORIENTATIONS = 5, 6
_TOP = 0.5  # cycles a pixel, of the finest wavelet: the highest there is
_OCTAVES = 0.75  # between the scales
_LOG_WIDTH, _ANGLE_WIDTH = 0.4, np.pi / 10  # of a wavelet in log frequency, in angle
_BLOCK = 8  # pixels of a block's side, at most
_CELLS = 4  # coarse mean colours, up and across, at most
_FLOOR = 1e-4
"""Amplitude that is nothing: a pixel of 8 bits moves in steps of 0.008."""
_OPPONENT = np.array([[1, 1, 1], [1, 0, -1], [1, -2, 1]]) / np.sqrt([[3], [2], [6]])
"""Brightness and two colours, orthonormal: noise is the same in each, photographs are not."""


class _Bank(NamedTuple):
    """Filters for images of one shape."""

    window: _Floats
    """(H, W): without it the frame would be the strongest edge."""
    energies: _Floats
    """(frequencies, wavelets): power at each frequency to the energy of each wavelet."""
    cosines: _Floats
    """(b, b), orthonormal."""
    block: int
    cells: int


def bank_feature_count(shape: tuple[int, int, int]) -> int:
    """Numbers that describe an image of this shape (H, W, C)."""
    h, w, c = shape
    block, cells = _divisor(h, w, _BLOCK), _divisor(h, w, _CELLS)
    blocks = (h // block) * (w // block)
    return int(c * (SCALES * ORIENTATIONS + block**2 - 1 + 2 * blocks + cells**2))


def bank_features(images: NDArray[np.floating]) -> _Floats:
    """Features (n, F) of images (n, H, W, C), grey or coloured; F as `bank_feature_count` says."""
    bank = _bank(*images.shape[1:3])
    planes = _planes(images)  # (n, C, H, W)
    parts = (_wavelets(planes, bank), *_blocks(planes, bank), _means(planes, bank.cells))
    return np.concatenate([part.reshape(len(images), -1) for part in parts], axis=1)


def wavelet_transfer(height: int, width: int, scale: int, orientation: int) -> NDArray[np.float64]:
    """The transfer function of one wavelet at every frequency (H, W), in the order of numpy fft2.

    Real and symmetric: a Gaussian in the logarithm of the frequency and in the angle.
    """
    fy, fx = np.meshgrid(np.fft.fftfreq(height), np.fft.fftfreq(width), indexing="ij")
    frequency = np.hypot(fy, fx)
    octaves = np.log2(np.maximum(frequency, 1e-9) / _TOP) + _OCTAVES * scale
    turn = np.arctan2(fy, fx) - np.pi * orientation / ORIENTATIONS
    apart = np.abs((turn + np.pi / 2) % np.pi - np.pi / 2)  # of lines, not of arrows
    gain = np.exp(-0.5 * (octaves / _LOG_WIDTH) ** 2 - 0.5 * (apart / _ANGLE_WIDTH) ** 2)
    gain = np.where(frequency > 0, gain, 0.0)
    # Of f and of -f the same, also at the highest frequency, which is its own mirror image.
    mirrored = np.roll(gain[::-1, ::-1], (1, 1), axis=(0, 1))
    return np.asarray((gain + mirrored) / 2)


def hann_window(height: int, width: int) -> NDArray[np.float64]:
    """The Hann window (H, W) that multiplies every image, its mean square 1."""
    window = np.outer(*(np.sin(np.pi * (np.arange(n) + 0.5) / n) ** 2 for n in (height, width)))
    return np.asarray(window / np.sqrt((window**2).mean()))


@lru_cache(maxsize=8)
@read_only
def _bank(height: int, width: int) -> _Bank:
    half = width // 2 + 1
    # A real image has each frequency twice but for the first and, if even, the last column.
    twice = np.full(half, 2.0)
    twice[0] = 1
    if width % 2 == 0:
        twice[-1] = 1
    gains = [
        (wavelet_transfer(height, width, scale, orientation)[:, :half] ** 2 * twice).ravel()
        for scale in range(SCALES)
        for orientation in range(ORIENTATIONS)
    ]
    block = _divisor(height, width, _BLOCK)
    place = (np.arange(block) + 0.5) * np.pi / block
    cosines = np.sqrt(2 / block) * np.cos(np.arange(block)[:, None] * place)
    cosines[0] /= np.sqrt(2)
    return _Bank(
        hann_window(height, width).astype(np.float32),
        # Parseval: the mean square over the image is the sum of powers over (H W)^2.
        (np.stack(gains, axis=1) / (height * width) ** 2).astype(np.float32),
        cosines.astype(np.float32),
        block,
        _divisor(height, width, _CELLS),
    )


def _divisor(height: int, width: int, most: int) -> int:
    """The largest number up to `most` that divides both."""
    return max(side for side in range(1, most + 1) if height % side == width % side == 0)


def _planes(images: NDArray[np.floating]) -> _Floats:
    """(n, H, W, C) -> (n, C, H, W), colours as brightness and two differences."""
    planes = np.asarray(images, np.float32)
    if planes.shape[-1] == 3:
        planes = planes @ _OPPONENT.T.astype(np.float32)
    return np.ascontiguousarray(planes.transpose(0, 3, 1, 2))


def _wavelets(planes: _Floats, bank: _Bank) -> _Floats:
    """Half the log mean square of each wavelet's response: (n, C, wavelets)."""
    from scipy.fft import rfft2

    centred = planes - planes.mean(axis=(2, 3), keepdims=True)
    spectrum = rfft2(centred * bank.window)
    power = np.square(spectrum.real) + np.square(spectrum.imag)
    energies = power.reshape(*planes.shape[:2], -1) @ bank.energies
    return np.asarray(0.5 * np.log(energies + np.float32(_FLOOR**2)))


def _blocks(planes: _Floats, bank: _Bank) -> tuple[_Floats, _Floats]:
    """Log mean absolute coefficients over blocks (n, C, b b - 1); in each block, of coarse and of
    fine ones (n, C, 2, blocks)."""
    n, c, h, w = planes.shape
    b = bank.block
    tiles = planes.reshape(n, c, h // b, b, w // b, b).transpose(0, 1, 2, 4, 3, 5)
    both = np.kron(bank.cosines, bank.cosines)  # (b b, b b): both axes at once
    sizes = np.abs(np.ascontiguousarray(tiles).reshape(-1, b * b) @ both.T)
    sizes = sizes.reshape(n, c, -1, b * b)
    order = np.add.outer(np.arange(b), np.arange(b)).ravel()
    groups = np.stack([(order > 0) & (order < b), order >= b], axis=1).astype(np.float32)
    local = sizes @ (groups / groups.sum(axis=0))  # (n, C, blocks, 2)
    floor = np.float32(_FLOOR)
    return np.log(sizes.mean(axis=2)[..., 1:] + floor), np.log(local.swapaxes(2, 3) + floor)


def _means(planes: _Floats, cells: int) -> _Floats:
    """Mean colours of a coarse grid: (n, C, cells, cells)."""
    n, c, h, w = planes.shape
    return planes.reshape(n, c, cells, h // cells, cells, w // cells).mean(axis=(3, 5))
