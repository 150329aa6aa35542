"""Real galaxies, 16 x 16 pixels each: what a prior over lensed sources is fitted to."""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Callable, Mapping
from importlib import resources
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from validation_core.types import Array

Galaxies = Literal["hubble", "probes"]

SIDE = 16
"""Pixels on a side of a galaxy's image."""
PROBES = "NPTLAB_PROBES"
"""Environment variable that names a file of galaxy images."""

_PICTURE = ("skimage", "data", "hubble_deep_field.jpg")
_SMOOTHING = 1.0  # pixels: a source is a peak of the picture seen this blurred
_BRIGHT = 10.0  # robust standard deviations of the sky above which a peak is a source
_APART = 13  # pixels of the square in which a source is the brightest
_CORE, _RIM = 5.0, 16.0  # pixels from the middle: where the taper begins, where it would be 0
_FEWEST = 32  # images, below which a covariance of 256 pixels says little


def galaxies(name: Galaxies) -> Array:
    """Images (n, 16, 16) without sky, brightness in units of the mean peak.

    An image's own peak counts by its square root, as in a square-root stretch: its light is
    divided by sqrt(own peak × mean peak), so that a few bright galaxies do not make the whole
    covariance. A raised cosine takes neighbours' light off the corners.

    Raises:
        ValueError: for `probes`, where no file is named or it does not hold galaxies.
    """
    if name == "hubble":
        return _stretched(_hubble())
    return _stretched(_without_sky(_probes()))


def _hubble() -> Array:
    """Cut-outs (n, 16, 16) around the sources of the Hubble Deep Field, sky removed.

    The picture (NASA, public domain) comes with scikit-image. Grey is the mean of its channels.
    """
    from PIL import Image

    folder = resources.files(_PICTURE[0])
    packed = folder.joinpath(*_PICTURE[1:]).read_bytes()
    grey = np.asarray(Image.open(io.BytesIO(packed)), dtype=np.float64).mean(-1)
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


def _stretched(images: Array) -> Array:
    """Images (n, 16, 16) with the brightness and the taper of `galaxies`; dark ones left out."""
    peak = images.max((1, 2))
    images, peak = images[peak > 0], peak[peak > 0]
    across = np.arange(SIDE) - (SIDE - 1) / 2
    radius = np.hypot(across[:, None], across)
    angle = np.clip((radius - _CORE) / (_RIM - _CORE), 0, 1) * np.pi / 2
    stretch = np.sqrt(peak * peak.mean())
    return np.asarray(images / stretch[:, None, None] * np.cos(angle) ** 2)


def _without_sky(images: Array) -> Array:
    """Images (n, H, W) less the median of each one's outermost pixels."""
    rim = np.ones(images.shape[1:], dtype=bool)
    rim[1:-1, 1:-1] = False
    return np.asarray(images - np.median(images[:, rim], axis=1)[:, None, None])


# ---- A user's own galaxies ----


def probes_file() -> str:
    """The file that the environment names.

    Raises:
        ValueError: where it names none.
    """
    path = os.environ.get(PROBES, "")
    if not path:
        raise ValueError(
            f"galaxies=probes reads images from a file; got no environment variable {PROBES}. Set "
            "it to a .npy, .npz or .h5 file, or take galaxies=hubble."
        )
    return path


def identity(name: Galaxies) -> str:
    """What a stored key says of the galaxies: of a user's file, which may become another, its
    place, size and time too."""
    if name == "hubble":
        return name
    path = Path(os.environ.get(PROBES, ""))
    if not path.is_file():
        return name
    about = path.stat()
    words = f"{path.resolve()} {about.st_size} {about.st_mtime_ns}"
    return f"{name}:{hashlib.sha256(words.encode()).hexdigest()[:12]}"


def _probes() -> Array:
    """The images (n, 16, 16) of that file.

    Raises:
        ValueError: unless it holds one array (n, H, W) or (n, H, W, C) of finite numbers.
    """
    path = Path(probes_file())
    read = _READERS.get(path.suffix.lower())
    if read is None or not path.is_file():
        got = "no such file" if read else f"a name that ends in {path.suffix!r}"
        raise ValueError(
            f"{PROBES} names a .npy, .npz or .h5 file of galaxy images; got {got}. Correct it."
        )
    try:
        held = read(path)
    except (OSError, ValueError) as error:
        raise ValueError(
            f"{PROBES} names a file of plain arrays; it could not be read ({error}). Save the "
            "images with numpy.save."
        ) from error
    images = held["galaxies"] if "galaxies" in held else next(iter(held.values()), np.zeros(0))
    if len(held) > 1 and "galaxies" not in held:
        raise ValueError(
            f"The file of {PROBES} holds one array, or one called galaxies; got "
            f"{', '.join(sorted(held))}. Keep one."
        )
    return reduced(_checked(images))


def _checked(images: NDArray[np.generic]) -> Array:
    """Grey images (n, H, W) as floats."""
    shape = images.shape
    fits = len(shape) in (3, 4) and shape[0] >= _FEWEST and min(shape[1:3]) >= SIDE
    if not (fits and images.dtype.kind in "fiu"):
        raise ValueError(
            f"Galaxy images are numbers of shape (n, H, W) or (n, H, W, C), n >= {_FEWEST} and H, "
            f"W >= {SIDE}; got {shape} of {images.dtype}. Bring another file."
        )
    grey = images.astype(np.float64)
    grey = grey.mean(-1) if grey.ndim == 4 else grey
    if not np.isfinite(grey).all():
        count = int((~np.isfinite(grey)).sum())
        raise ValueError(
            f"Galaxy images hold finite numbers; got {count} that are not. Leave those images out."
        )
    return grey


def reduced(images: Array) -> Array:
    """Means over areas: (n, H, W) to (n, 16, 16), pixels shared out where sides do not divide."""
    rows, columns = (_shares(size) for size in images.shape[1:])
    return np.asarray(rows @ images @ columns.T)


def _shares(size: int) -> Array:
    """How much each of `size` pixels has in each of 16 equal stretches: (16, size), rows 1."""
    edges = np.linspace(0, size, SIDE + 1)
    left, right = np.arange(size), np.arange(1, size + 1)
    overlap = np.minimum(edges[1:, None], right) - np.maximum(edges[:-1, None], left)
    return np.asarray(np.clip(overlap, 0, None) * SIDE / size)


def _npy(path: Path) -> dict[str, NDArray[np.generic]]:
    return {path.stem: np.load(path, allow_pickle=False)}


def _npz(path: Path) -> dict[str, NDArray[np.generic]]:
    with np.load(path, allow_pickle=False) as held:
        return {name: held[name] for name in held.files}


def _h5(path: Path) -> dict[str, NDArray[np.generic]]:
    import h5py

    with h5py.File(path) as held:
        arrays = {name: part for name, part in held.items() if isinstance(part, h5py.Dataset)}
        return {name: np.asarray(part[()]) for name, part in arrays.items()}


_READERS: Mapping[str, Callable[[Path], dict[str, NDArray[np.generic]]]] = {
    ".npy": _npy,
    ".npz": _npz,
    ".h5": _h5,
    ".hdf5": _h5,
}
