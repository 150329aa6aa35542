"""Sizes of a feature with 95% intervals: among rows, and smoothed along x."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri, stdtrit

from validation_core.diagnosis.questions.over_x.features import OverXKind
from validation_core.localization import over_x
from validation_core.statistics import effects
from validation_core.statistics.effects import BEYOND, WIDEST
from validation_core.types import Array

FEWEST_SIZED = 5
"""Rows below which no size is estimated."""
_LEVEL = 0.95


@dataclass(frozen=True)
class FeatureSize:
    """The size of a feature among n rows with its 95% interval; None where they are too few."""

    n: int
    value: float | None = None
    low: float | None = None
    high: float | None = None
    """None too for the width of rows that do not vary."""
    open: bool = False
    """Whether the rows lie beyond all draws at one end: of a shift an end is None, and the value
    is that of q's mean and sd; of a width nothing is told."""

    def excludes(self, null: float) -> bool:
        """Whether the interval does not hold this number."""
        if self.value is None:
            return False
        above = self.low is not None and self.low > null
        return above or (self.high is not None and self.high < null)


def estimate_size(kind: OverXKind, w: Array, k: int, z: Array | None = None) -> FeatureSize:
    """Size of a feature among rows with the truth's normal scores w (m,).

    shift and width: q's bias and its width by the width it needs, as `effects.sizes` has them;
    learned: the mean of the scores, by Student's t.

    Args:
        kind: of the feature.
        w: scores of the truth's ranks among k draws.
        k: draws.
        z: z-scores (m,) of the same rows; without them a shift has no estimate beyond all draws.
    """
    m = len(w)
    if m < FEWEST_SIZED:
        return FeatureSize(m)
    if kind == "learned":
        reach = float(stdtrit(m - 1, (1 + _LEVEL) / 2))
        size, half = float(w.mean()), reach * float(w.std(ddof=1)) / m**0.5
        return FeatureSize(m, size, size - half, size + half)
    sizes = effects.sizes(ndtr(w), np.full(m, np.nan) if z is None else z, k)
    opened = bool(sizes.open)
    interval = sizes.bias if kind == "shift" else sizes.ratio
    value, low, high = (float(end) if np.isfinite(end) else None for end in interval)
    if kind == "width" and high is not None and high > WIDEST * (1 - 1e-9):
        value, low, high = min(value or WIDEST, WIDEST), low, None
    if value is None:
        return FeatureSize(m, open=opened)
    return FeatureSize(m, value, low, high, opened)


def smooth_feature(kind: OverXKind, w: Array, weights: Array, k: int = 0) -> Array:
    """Smoothed size of a feature (4, G): value, low, high, and half the room of a correct q.

    Signs and ratios are those of `estimate_size`: above 0 q sits too high, above 1 it is too wide.
    Where truths pile up beyond all k draws at one end, a shift is open at that end (infinite),
    and a width is NaN.

    Intervals are pointwise, normal, by the effective number of neighbours; for width all are
    ratios, and the room is a factor's logarithm.
    """
    total, effective = over_x.totals(weights)
    shares = weights / np.where(total > 0, total, 1.0)[:, None]
    w = np.asarray(w, np.float64)
    mean = shares @ w
    variance = np.maximum(shares @ w**2 - mean**2, 0.0)
    root = np.sqrt(np.maximum(effective, 1.0))
    far = np.zeros(len(mean), dtype=bool)
    if k and kind != "learned":
        edge = -ndtri(1 / (k + 1))
        ends = np.stack([shares @ (w > edge), shares @ (w < -edge)])
        far = (ends.max(0) - 1 / (k + 1) > BEYOND) & (ends.min(0) < 2 / (k + 1))
    if kind != "width":
        half, size = 1.96 * np.sqrt(variance) / root, -mean if kind == "shift" else mean
        low = np.where(far & (size < 0), -np.inf, size - half)
        high = np.where(far & (size >= 0), np.inf, size + half)
        return np.stack([size, low, high, 1.96 / root])
    ratio = np.where(far, np.nan, 1 / np.maximum(np.sqrt(variance), 1 / WIDEST))
    fourth = shares @ w**4 - 4 * mean * (shares @ w**3) + 6 * mean**2 * (shares @ w**2)
    fourth = fourth - 3 * mean**4
    kurtosis = fourth / np.where(variance > 0, variance, 1.0) ** 2
    half = 1.96 * np.sqrt(np.maximum(kurtosis - 1, 0.1)) / (2 * root)
    return np.stack([ratio, ratio * np.exp(-half), ratio * np.exp(half), 1.96 / (root * 2**0.5)])
