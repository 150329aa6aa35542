"""Frozen features of images, and the classifier on them: a small head, where pixels are too many.

Bansal, Chen, Scott, Appendix B.3, take the 2048 features of an Inception V3. The default here is
a filter bank, which has no weights to fetch; two networks trained on ImageNet are there where
their packages are.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from validation_core.pieces import slices
from validation_core.scores.filter_bank import bank_feature_count, bank_features
from validation_core.scores.network_features import network_features, weights_missing
from validation_core.types import ImageShape

FeatureKind = Literal["filters", "pretrained", "inception"]
TITLES: dict[FeatureKind, str] = {
    "filters": "Filter bank, no weights",
    "pretrained": "EfficientNet-Lite0, ImageNet",
    "inception": "Inception V3, ImageNet",
}
IMAGES_DESCRIBED_AT_ONCE = 256  # images described at a time: their spectra stay in a core's cache


def extract(kind: FeatureKind, images: NDArray[np.floating]) -> NDArray[np.float32]:
    """Features (n, F) of images (n, H, W, C) in +-1, in passes whose memory is bounded.

    Raises:
        ValueError: for images of two, four or more colours, or where a package that the kind
            needs is not installed, with its name.
    """
    if images.ndim != 4 or images.shape[-1] not in (1, 3):
        raise ValueError(
            f"Images are grey or have three colours, (n, height, width, 1 or 3); got shape "
            f"{images.shape}. Reshape rows of theta to it."
        )
    if words := missing(kind):
        raise ValueError(words)
    out = np.empty((len(images), count(kind, _shape(images))), np.float32)
    for part in slices(len(images), IMAGES_DESCRIBED_AT_ONCE):
        if kind == "filters":
            out[part] = bank_features(images[part])
        else:
            out[part] = network_features(kind, images[part])
    return out


def _shape(images: NDArray[np.floating]) -> ImageShape:
    h, w, c = images.shape[1:]
    return h, w, c


def count(kind: FeatureKind, shape: ImageShape) -> int:
    """Number of features F of an image."""
    return {"filters": bank_feature_count(shape), "pretrained": 1280, "inception": 2048}[kind]


def missing(kind: FeatureKind) -> str:
    """Packages that this kind of features lacks, and how to install them; "" for none."""
    if kind == "filters":
        return ""
    return weights_missing(kind)
