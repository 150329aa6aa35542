"""A user's own galaxy images, read from a file."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from validation_core.benchmarks.galaxies import (
    FEWEST_GALAXIES,
    SIDE,
    Galaxies,
    hubble_galaxies,
    stretched,
    without_sky,
)
from validation_core.benchmarks.galaxy_images import downsample
from validation_core.settings import PROBES
from validation_core.types import Array


def probes_file() -> Path:
    """The file named by the environment variable.

    Raises:
        ValueError: where it names none.
    """
    path = PROBES.value()
    if path is None:
        raise ValueError(
            f"galaxies=probes reads images from a file; got no environment variable {PROBES.name}."
            " Set it to a .npy, .npz or .h5 file, or take galaxies=hubble."
        )
    return path


def galaxies_identity(name: Galaxies) -> str:
    """Identity of the galaxies for a key: for a user's file, its place, size and time too."""
    if name == "hubble":
        return name
    path = Path(PROBES.text())
    if not path.is_file():
        return name
    about = path.stat()
    words = f"{path.resolve()} {about.st_size} {about.st_mtime_ns}"
    return f"{name}:{hashlib.sha256(words.encode()).hexdigest()[:12]}"


def read_probes() -> Array:
    """Read the images (n, 16, 16) of the user's file.

    Raises:
        ValueError: unless it holds one array (n, H, W) or (n, H, W, C) of finite numbers.
    """
    path = probes_file()
    try:
        held = _READERS[path.suffix.lower()](path)
    except (OSError, ValueError) as error:
        raise ValueError(
            f"{PROBES.name} names a file of plain arrays; it could not be read ({error}). Save "
            "the images with numpy.save."
        ) from error
    images = held["galaxies"] if "galaxies" in held else next(iter(held.values()), np.zeros(0))
    if len(held) > 1 and "galaxies" not in held:
        raise ValueError(
            f"The file of {PROBES.name} holds one array, or one called galaxies; got "
            f"{', '.join(sorted(held))}. Keep one."
        )
    return downsample(_checked(images))


def _checked(images: NDArray[np.generic]) -> Array:
    """Grey images (n, H, W) as floats."""
    shape = images.shape
    fits = len(shape) in (3, 4) and shape[0] >= FEWEST_GALAXIES and min(shape[1:3]) >= SIDE
    if not (fits and images.dtype.kind in "fiu"):
        raise ValueError(
            f"Galaxy images are numbers of shape (n, H, W) or (n, H, W, C), n >= "
            f"{FEWEST_GALAXIES} and H, W >= {SIDE}; got {shape} of {images.dtype}. Bring another "
            f"file."
        )
    grey = images.astype(np.float64)
    grey = grey.mean(-1) if grey.ndim == 4 else grey
    if not np.isfinite(grey).all():
        count = int((~np.isfinite(grey)).sum())
        raise ValueError(
            f"Galaxy images hold finite numbers; got {count} that are not. Leave those images out."
        )
    return grey


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


def load_galaxies(name: Galaxies) -> Array:
    """Images (n, 16, 16) without sky, brightness in units of the mean peak.

    An image's own peak counts by its square root, as in a square-root stretch: its light is
    divided by sqrt(own peak × mean peak), so that a few bright galaxies do not make the whole
    covariance. A raised cosine takes neighbours' light off the corners.

    Raises:
        ValueError: for `probes`, where no file is named or it does not hold galaxies.
    """
    if name == "hubble":
        return stretched(hubble_galaxies())
    return stretched(without_sky(read_probes()))
