"""Where theta is expected at x, and how far off that is: a ridge on x and its products.

The penalty, and whether products help, are chosen for each parameter by leaving one row out,
which a ridge tells in closed form (Allen, 1974).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from validation_core.keys import part
from validation_core.types import Array

Float = NDArray[np.float64]

ROWS = 1000
"""Rows that are learnt from at most: bounds the time of a wide x."""

_PENALTIES = np.logspace(-6, 3, 19)  # times the number of rows
_PRODUCTS = 16  # columns up to which all pairs are multiplied
_SQUARES = 200  # columns up to which each is squared
_ROUNDING = 1e-9
_CLIP = 5.0  # sds: a square must not carry a far x away


@dataclass(frozen=True, eq=False)
class Mean:
    """E[theta | x], linear or quadratic in x: (n, M) to (n, D)."""

    x_shift: Float  # (M,)
    x_scale: Float  # (M,)
    shift: Float  # (F,)
    scale: Float  # (F,)
    coefficients: Float  # (F, D)
    offset: Float  # (D,)
    sd: Float  # (D,)
    """Of theta about it, each row left out in turn."""
    r2: Float  # (D,)
    """What share of theta's variance it explains, each row left out in turn."""

    def __call__(self, x: Array) -> Float:
        features = _features(np.asarray(x, np.float64), self.x_shift, self.x_scale)
        return (features - self.shift) / self.scale @ self.coefficients + self.offset

    def arrays(self) -> dict[str, Array]:
        """Everything to store, by name."""
        return dict(vars(self))

    @classmethod
    def read(cls, arrays: Mapping[str, Array], name: str) -> Mean:
        """What `arrays` gave, stored under a name."""
        return cls(**part(arrays, name))


def fit(theta: Float, x: Array) -> Mean:
    """Learn from the first rows of theta (n, D) and x (n, M), n >= 2."""
    theta, raw = theta[:ROWS], np.asarray(x[:ROWS], np.float64)
    x_shift, x_scale = raw.mean(0), _positive(raw.std(0))
    features = _features(raw, x_shift, x_scale)
    shift, scale = features.mean(0), _positive(features.std(0))
    features = (features - shift) / scale
    offset = theta.mean(0)
    best = _ridge(features[:, : raw.shape[1]], theta - offset)
    found = np.zeros((features.shape[1], theta.shape[1]))
    found[: raw.shape[1]] = best[0]
    error = best[1]
    if features.shape[1] > raw.shape[1]:
        coefficients, with_products = _ridge(features, theta - offset)
        better = with_products < error
        found[:, better] = coefficients[:, better]
        error = np.minimum(error, with_products)
    r2 = 1 - error / _positive(theta.var(0))
    return Mean(x_shift, x_scale, shift, scale, found, offset, np.sqrt(error), r2)


def _ridge(features: Float, theta: Float) -> tuple[Float, Float]:
    """Coefficients (F, D), each parameter's at its best penalty, and squared errors left out."""
    n = len(features)
    left, values, right = np.linalg.svd(features, full_matrices=False)
    real = values > _ROUNDING * values.max(initial=0.0)  # centred rows leave one direction empty
    left, values, right = left[:, real], values[real], right[real]
    along, share = left.T @ theta, left**2
    # What no direction reaches: zero but for rounding where there are more columns than rows, so
    # that what a penalty leaves must be added to it, not taken as a difference of large numbers.
    beyond = theta - left @ along
    free = np.maximum(1 - 1 / n - share.sum(1), 0.0)  # the mean's own leverage is 1 / n
    penalties = _PENALTIES * n
    errors = np.empty((len(penalties), theta.shape[1]))
    for i, penalty in enumerate(penalties):
        lost = penalty / (values**2 + penalty)
        residual = beyond + left @ (lost[:, None] * along)
        errors[i] = ((residual / np.maximum(free + share @ lost, _ROUNDING)[:, None]) ** 2).mean(0)
    best = penalties[errors.argmin(0)]  # (D,)
    weights = values[:, None] / (values[:, None] ** 2 + best)
    return right.T @ (weights * along), errors.min(0)


def _features(x: Float, shift: Float, scale: Float) -> Float:
    """x standardised and clipped, then its products: (n, F)."""
    z = np.clip((x - shift) / scale, -_CLIP, _CLIP)
    m = z.shape[1]
    if m > _SQUARES:
        return z
    rows, columns = np.triu_indices(m) if m <= _PRODUCTS else (np.arange(m), np.arange(m))
    return np.concatenate([z, z[:, rows] * z[:, columns]], axis=1)


def _positive(scale: Float) -> Float:
    return np.where(scale > 0, scale, 1.0)
