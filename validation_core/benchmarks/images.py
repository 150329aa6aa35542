"""Images: theta is an image, x its label, and q's images are blurred, swirled or noisy.

Bansal, Chen, Scott, Section 5.2 and Appendix B.3, where the images are CIFAR-10's. That is read
where the user has it; the default draws 32 x 32 crops of ten photographs instead, so that draws
are independent and never run out.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from validation_core.scores.features import FeatureClassifier
from validation_core.settings import CIFAR10
from validation_core.types import Array, Benchmark, Paper

if TYPE_CHECKING:
    from scipy.sparse import csr_array


# ---- What is done to an image, by a strength ----
#
# Blur, swirl, noise. At 0 nothing is, to the bit.


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


# ---- Where images come from: crops of ten photographs, or CIFAR-10 in a folder of the user's ----
#
# The photographs lie in the wheels of scikit-image and scikit-learn, which say who took them; they
# are read there, once for each process, and never copied.


Source = Literal["photographs", "cifar10"]

SIDE = 32
"""Pixels of an image, up and across."""
LABELS = 10

_ROW = SIDE * 3  # bytes of a row of a crop
_SKIMAGE, _SKLEARN = "skimage/data", "sklearn/datasets/images"


class _Photograph(NamedTuple):
    """A colour photograph: its file, what it is reduced by, and the part of it that is used."""

    name: str
    folder: str
    """Where a wheel puts it."""
    file: str
    reduced: int
    """Pixels up and across that become one, so that a crop holds more than one surface."""
    box: tuple[int, int, int, int] | None = None
    """Left, top, right, bottom after that: without a blank sky, or what lies around a picture."""


PHOTOGRAPHS = (
    _Photograph("astronaut", _SKIMAGE, "astronaut.png", 2),
    _Photograph("coffee", _SKIMAGE, "coffee.png", 2),
    _Photograph("cat", _SKIMAGE, "chelsea.png", 2),
    _Photograph("rocket", _SKIMAGE, "rocket.jpg", 4),
    _Photograph("retina", _SKIMAGE, "retina.jpg", 4, (53, 53, 300, 300)),
    _Photograph("motorcycle", _SKIMAGE, "motorcycle_left.png", 2),
    _Photograph("tissue", _SKIMAGE, "ihc.png", 2),
    _Photograph("galaxies", _SKIMAGE, "hubble_deep_field.jpg", 2),
    _Photograph("pagoda", _SKLEARN, "china.jpg", 2, (0, 60, 320, 214)),
    _Photograph("flower", _SKLEARN, "flower.jpg", 2, (75, 35, 230, 214)),
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
"""CIFAR-10's, in the order of its labels."""

CIFAR10_FILES = (*(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin")
_RECORD = 1 + 3 * SIDE**2  # a label, then the red, green and blue pixels
_IMAGES = 10_000  # of each file
_BYTES = _IMAGES * _RECORD


def _names(source: Source) -> tuple[str, ...]:
    """What the ten labels stand for."""
    return CLASSES if source == "cifar10" else tuple(photo.name for photo in PHOTOGRAPHS)


def missing(source: Source) -> str:
    """What is not here or cannot be read, and what to do; "" where all is."""
    if source == "photographs":
        return ""
    try:
        load_cifar10(_cifar10_folder())
    except ValueError as absent:
        return str(absent)
    return ""


class _Pixels(NamedTuple):
    """All photographs in one line of bytes."""

    windows: NDArray[np.uint8]
    """The 96 bytes from every byte on: a row of a crop that begins there."""
    first: NDArray[np.int64]
    """Of each photograph, (10,)."""
    widths: NDArray[np.int64]
    places: NDArray[np.int64]
    """Down and across, at which a crop fits: (10, 2)."""


@cache
def load_photograph(label: int) -> NDArray[np.uint8]:
    """The photograph of a label (H, W, 3), reduced and cut: what crops are taken from."""
    from PIL import Image

    name, folder, file, reduced, box = PHOTOGRAPHS[label]
    package, _, rest = folder.partition("/")
    # Found, not imported: scikit-learn would take seconds.
    spec = importlib.util.find_spec(package)
    path = Path(*(spec.submodule_search_locations or ()) if spec else (), rest, file)
    try:
        with Image.open(path) as picture:
            small = picture.convert("RGB").reduce(reduced)
    except FileNotFoundError as missing:
        raise ValueError(
            f"The photograph {name!r} is read from {folder}/{file}; got no such file. Install "
            "scikit-image and scikit-learn: pip install -r requirements.txt."
        ) from missing
    return np.asarray(small.crop(box) if box else small)


@cache
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


def crop_photographs(labels: NDArray[np.int64], u: NDArray[np.floating]) -> NDArray[np.uint8]:
    """A crop (n, 32, 32, 3) of the photograph of each label (n,).

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


def _pictures(labels: NDArray[np.int64], u: NDArray[np.floating]) -> NDArray[np.uint8]:
    """An image (n, 32, 32, 3) of CIFAR-10 of each label (n,), with replacement, by u (n,)."""
    images, members = load_cifar10(_cifar10_folder())
    counts = np.array([len(each) for each in members])
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    place = (u * counts[labels]).astype(np.int64)
    return images[np.concatenate(members)[starts[labels] + place]]


def _cifar10_folder() -> Path:
    """The folder that the environment names.

    Raises:
        ValueError: where it names none, or no folder.
    """
    folder = CIFAR10.value()
    if folder is None:
        raise ValueError(
            f"CIFAR-10 is read from the folder in the environment variable {CIFAR10.name}; it is "
            f"not set. Unpack its binary version and set {CIFAR10.name} to the folder with "
            f"{CIFAR10_FILES[0]}."
        )
    return folder


@cache
def load_cifar10(folder: Path) -> tuple[NDArray[np.uint8], tuple[NDArray[np.int64], ...]]:
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


def read_cifar10_file(
    path: Path, size: int = _BYTES
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Images (n, 32, 32, 3) and labels (n,) of one file of CIFAR-10's binary version.

    Args:
        path: the file: rows of a label and 1024 red, 1024 green, 1024 blue pixels.
        size: bytes that it holds.

    Raises:
        ValueError: where it is missing, cut short or of another size, or a label is none.
    """
    try:
        raw = np.fromfile(path, np.uint8)
    except OSError as missing:
        raise ValueError(
            f"CIFAR-10's binary version is the files {CIFAR10_FILES[0]} to {CIFAR10_FILES[-1]}; "
            f"got no {path.name} in {path.parent}. Unpack it there, or set {CIFAR10.name} to "
            "where it lies."
        ) from missing
    if raw.size != size:
        how = "is cut short" if raw.size < size else "has another size"
        raise ValueError(
            f"A file of CIFAR-10's binary version has {size:,} bytes, {size // _RECORD:,} rows "
            f"of {_RECORD:,}; {path.name} {how} at {raw.size:,}. Download and unpack it anew; the "
            "versions for Python and Matlab are not read."
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


# ---- The benchmark ----


_SHAPE = (SIDE, SIDE, 3)
_TABLE_3: Mapping[Corruption, tuple[float, ...]] = {
    "blur": (0.0, 0.36, 0.37, 0.38, 0.39),
    "swirl": (0.0, 0.25, 0.3, 0.35, 0.4, 0.5),
    "noise": (0.0, 0.001, 0.002, 0.003, 0.004, 0.005, 0.006, 0.007, 0.008),
}
"""Bansal, Chen, Scott, Table 3, on CIFAR-10."""
_CROPS: Mapping[Corruption, tuple[float, ...]] = {
    "blur": (0.0, 0.3, 0.33, 0.35, 0.37, 0.4, 0.45),
    "swirl": (0.0, 0.02, 0.04, 0.06, 0.1, 0.2),
    "noise": (0.0, 0.001, 0.002, 0.003, 0.004, 0.006),
}
"""Where power climbs from the level to 1 on the photographs."""
_DOES: Mapping[Corruption, str] = {
    "blur": "q's images are blurred by a Gaussian of sd gamma pixels",
    "swirl": "q's images are swirled by gamma radians at their centre",
    "noise": "q's images carry noise of sd gamma, where pixels run from -1 to 1",
}


@dataclass(frozen=True, kw_only=True)
class Images(Benchmark):
    """An image of a label's, and an estimator whose images are corrupted."""

    name: ClassVar[str] = "images"
    title: ClassVar[str] = "Images"
    paper: ClassVar[Paper] = Paper(
        "Bansal, Chen, Scott", 2025, "Conformal C2ST", "Section 5.2, Appendix B.3"
    )
    corruption: Corruption = field(
        default="blur",
        metadata={"label": "Corruption", "help": "What is done to q's images, by gamma."},
    )
    source: Source = field(
        default="photographs",
        metadata={
            "label": "Images",
            "help": "photographs: crops of ten that are here; cifar10: the paper's, from your "
            f"folder ({CIFAR10.name}).",
        },
    )

    def __post_init__(self) -> None:
        for name, allowed in (("corruption", Corruption), ("source", Source)):
            value, known = getattr(self, name), get_args(allowed)
            if value not in known:
                raise ValueError(
                    f"{name} is one of {', '.join(known)}; got {value!r}. Choose one of those."
                )

    @property
    def summary(self) -> str:
        """What gamma does."""
        return _DOES[self.corruption]

    @property
    def label(self) -> str:
        """Title with the images and what is done to them."""
        what = "CIFAR-10" if self.source == "cifar10" else "crops of photographs"
        return f"{self.title}, {what}, {self.corruption}"

    @property
    def gammas(self) -> tuple[float, ...]:
        """The paper's strengths on CIFAR-10; on crops those where power climbs."""
        return (_TABLE_3 if self.source == "cifar10" else _CROPS)[self.corruption]

    @property
    def axis(self) -> str:
        """Gamma on an axis."""
        return {
            "blur": "sd of the blur, gamma (pixels)",
            "swirl": "strength of the swirl, gamma (radians)",
            "noise": "sd of the noise, gamma",
        }[self.corruption]

    @property
    def dims(self) -> tuple[int, int]:
        """3072 pixels, ten labels."""
        return SIDE * SIDE * 3, LABELS

    @property
    def shape(self) -> tuple[int, int, int]:
        """Height, width and colours behind theta, which holds them row by row."""
        return _SHAPE

    @property
    def classifier(self) -> FeatureClassifier:
        """What reads the images: a head on frozen features; raw pixels would teach it little."""
        return FeatureClassifier(shape=self.shape)

    @property
    def names(self) -> tuple[str, ...]:
        """What the ten labels stand for."""
        return _names(self.source)

    def x(self, n: int, rng: np.random.Generator) -> Array:
        """Uniform labels, one-hot: (n, 10)."""
        labels = (LABELS * rng.random(n)).astype(np.int64)
        return np.eye(LABELS)[labels]

    def theta(self, x: Array, gamma: float, rng: np.random.Generator) -> NDArray[np.float32]:
        """An image of the label: (n, 3072), float32 in +-1.

        Raises:
            ValueError: where CIFAR-10 is asked for and not there.
        """
        del gamma
        return self._images(x, rng).reshape(len(x), -1)

    def q(self, x: Array, gamma: float, rng: np.random.Generator) -> NDArray[np.float32]:
        """Another image of the label, corrupted: (n, 3072). Which it is does not hang on gamma."""
        images = self._images(x, rng)
        return corrupt(self.corruption, images, gamma, rng).reshape(len(x), -1)

    def log_ratio(self, theta: Array, x: Array, gamma: float) -> None:
        """None: images have no density that anyone knows."""

    def log_p(self, theta: Array, x: Array, gamma: float) -> None:
        """None: images have no density that anyone knows."""

    def _images(self, x: Array, rng: np.random.Generator) -> NDArray[np.float32]:
        labels = np.asarray(x).argmax(axis=1)
        if self.source == "cifar10":
            raw = _pictures(labels, rng.random(len(x)))
        else:
            raw = crop_photographs(labels, rng.random((len(x), 2)))
        return _LEVELS[raw]


_LEVELS = (np.arange(256) / 127.5 - 1).astype(np.float32)
"""What the 256 values of a pixel are in +-1."""
