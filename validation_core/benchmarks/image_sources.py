"""Sources of images: crops of ten photographs, or CIFAR-10 in a folder of the user.

The photographs ship with the program (`validation_core/data/photographs`, whose README says who
took them). Each is read once in a process.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core.settings import CIFAR10
from validation_core.shared_arrays import read_only
from validation_core.types import Integers

Source = Literal["photographs", "cifar10"]
SIDE = 32
"""Pixels of an image, up and across."""
LABELS = 10
_ROW = SIDE * 3  # bytes of a row of a crop
_SHIPPED = Path(__file__).parents[1] / "data" / "photographs"


class _Photograph(NamedTuple):
    """A colour photograph: its file and its reduction."""

    name: str
    file: str
    reduced: int = 1
    """Pixels up and across that become one, so that a crop holds more than one surface."""


PHOTOGRAPHS = (
    _Photograph("astronaut", "astronaut.png"),
    _Photograph("coffee", "coffee.png"),
    _Photograph("cat", "cat.png"),
    _Photograph("rocket", "rocket.png"),
    _Photograph("retina", "retina.png"),
    _Photograph("motorcycle", "motorcycle.png"),
    _Photograph("tissue", "tissue.png"),
    # Whole: `benchmarks.galaxies` cuts its sources out of this one.
    _Photograph("galaxies", "galaxies.jpg", 2),
    _Photograph("pagoda", "pagoda.png"),
    _Photograph("flower", "flower.png"),
)
CLASSES = (
    "airplane",
    "automobile",
    "bird",
    "cat",
    "deer",
    "dog",
    "frog",
    "horse",
    "ship",
    "truck",
)
"""Names of CIFAR-10's classes, in the order of its labels."""
CIFAR10_FILES = (*(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin")
_RECORD = 1 + 3 * SIDE**2  # a label, then the red, green and blue pixels
_IMAGES = 10_000  # of each file
CIFAR10_BYTES = _IMAGES * _RECORD
"""Size of each of its files."""


def source_names(source: Source) -> tuple[str, ...]:
    """Names of the ten labels."""
    return CLASSES if source == "cifar10" else tuple(photo.name for photo in PHOTOGRAPHS)


def missing(source: Source) -> str:
    """Why a source cannot be read, and what to do; "" where it can."""
    if source == "photographs":
        return ""
    try:
        load_cifar10(_cifar10_folder())
    except ValueError as absent:
        return str(absent)
    return ""


class _Pixels(NamedTuple):
    """All photographs in one array of bytes."""

    windows: NDArray[np.uint8]
    """The 96 bytes from every byte on: a row of a crop that begins there."""
    first: Integers
    """First byte of each photograph, (10,)."""
    widths: Integers
    places: Integers
    """Down and across, at which a crop fits: (10, 2)."""


@cache
@read_only
def load_photograph(label: int) -> NDArray[np.uint8]:
    """Load the photograph of a label (H, W, 3), reduced."""
    from PIL import Image

    _, file, reduced = PHOTOGRAPHS[label]
    with Image.open(_SHIPPED / file) as picture:
        return np.asarray(picture.convert("RGB").reduce(reduced))


@cache
@read_only
def _pixels() -> _Pixels:
    pictures = [load_photograph(label) for label in range(LABELS)]
    flat = np.concatenate([picture.ravel() for picture in pictures])
    shapes = np.array([picture.shape[:2] for picture in pictures])
    sizes = [picture.size for picture in pictures]
    return _Pixels(
        np.lib.stride_tricks.sliding_window_view(flat, _ROW),
        np.concatenate([[0], np.cumsum(sizes)[:-1]]),
        shapes[:, 1],
        shapes - SIDE + 1,
    )


def crop_photographs(labels: Integers, u: NDArray[np.floating]) -> NDArray[np.uint8]:
    """Crop 32 x 32 pixels from the photograph of each label: (n, 32, 32, 3).

    Args:
        labels: 0 to 9.
        u: (n, 2) uniform on [0, 1): where the crop lies, down and across; every place at which
            one fits is as likely as any other.
    """
    pixels = _pixels()
    corner = (u * pixels.places[labels]).astype(np.int64)
    stride = 3 * pixels.widths[labels]
    first = pixels.first[labels] + corner[:, 0] * stride + 3 * corner[:, 1]
    rows = first[:, None] + stride[:, None] * np.arange(SIDE)
    return np.asarray(pixels.windows[rows].reshape(-1, SIDE, SIDE, 3))


def source_images(labels: Integers, u: NDArray[np.floating]) -> NDArray[np.uint8]:
    """Draw a CIFAR-10 image of each label, with replacement: (n, 32, 32, 3).

    Args:
        labels: (n,), 0 to 9.
        u: (n,) uniform on [0, 1), which image.
    """
    images, members = load_cifar10(_cifar10_folder())
    counts = np.array([len(each) for each in members])
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    place = (u * counts[labels]).astype(np.int64)
    return images[np.concatenate(members)[starts[labels] + place]]


def _cifar10_folder() -> Path:
    """The folder named by the environment variable.

    Raises:
        ValueError: where it names none, or no folder.
    """
    folder = CIFAR10.value()
    if folder is None:
        raise ValueError(
            "CIFAR-10 does not come with NPT Lab. Where you run NPT Lab yourself: download its "
            f"binary version, unpack it, and start NPT Lab with {CIFAR10.name} set to the folder "
            f"with {CIFAR10_FILES[0]}."
        )
    return folder


@cache
@read_only
def load_cifar10(folder: Path) -> tuple[NDArray[np.uint8], tuple[Integers, ...]]:
    """Load CIFAR-10 from a folder: images (n, 32, 32, 3), and the indices of each label's."""
    images, labels = zip(
        *(read_cifar10_file(folder / name) for name in CIFAR10_FILES), strict=True
    )
    every = np.concatenate(labels)
    members = tuple(np.flatnonzero(every == label) for label in range(LABELS))
    if empty := [CLASSES[label] for label in range(LABELS) if not len(members[label])]:
        raise ValueError(
            f"CIFAR-10 has images of ten labels; got none of {', '.join(empty)} in {folder}. "
            "Unpack its binary version anew."
        )
    return np.concatenate(images), members


def read_cifar10_file(path: Path) -> tuple[NDArray[np.uint8], Integers]:
    """Read one file of CIFAR-10's binary version: images (n, 32, 32, 3) and labels (n,).

    Args:
        path: the file: rows of a label and 1024 red, 1024 green, 1024 blue pixels.

    Raises:
        ValueError: where the file is missing or of another size, or a label is not 0 to 9.
    """
    try:
        raw = np.fromfile(path, np.uint8)
    except OSError as missing:
        raise ValueError(
            f"CIFAR-10's binary version is the files {CIFAR10_FILES[0]} to {CIFAR10_FILES[-1]}; "
            f"got no {path.name} in {path.parent}. Unpack it there, or set {CIFAR10.name} to "
            "where it lies."
        ) from missing
    if raw.size != CIFAR10_BYTES:
        how = "is cut short" if raw.size < CIFAR10_BYTES else "has another size"
        raise ValueError(
            f"A file of CIFAR-10's binary version has {CIFAR10_BYTES:,} bytes, "
            f"{CIFAR10_BYTES // _RECORD:,} rows of {_RECORD:,}; {path.name} {how} at "
            f"{raw.size:,}. Download and unpack it anew; the versions for Python and Matlab are "
            "not read."
        )
    rows = raw.reshape(-1, _RECORD)
    labels = rows[:, 0].astype(np.int64)
    if labels.max() >= LABELS:
        place = int((labels >= LABELS).argmax())
        raise ValueError(
            f"Labels of CIFAR-10 are 0 to {LABELS - 1}; got {labels[place]} in row {place + 1} of "
            f"{path.name}. Download and unpack it anew."
        )
    planes = rows[:, 1:].reshape(-1, 3, SIDE, SIDE)
    return np.ascontiguousarray(planes.transpose(0, 2, 3, 1)), labels
