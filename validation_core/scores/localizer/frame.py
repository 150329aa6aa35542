"""The coordinates in which a localizer measures distances."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from validation_core.types import Array, Draws

_CLIP = 30.0  # robust sds: heavy tails reach the networks as "far out", not as 1e6
_ROWS = 20_000  # draws that the scales are read off
_TAIL = 4.0  # sds beyond which a draw no longer sways the covariance
_RIDGE = 0.02  # share of the identity in the covariance, whatever the dimension


@dataclass(frozen=True, eq=False)
class Frame:
    """z = (theta - shift) @ linear and (x - x_shift) / x_scale: affine, from q's draws alone.

    No true theta enters it, so that what is measured in it on the anchors is still fair.
    """

    shift: NDArray[np.float64]  # (D,)
    linear: NDArray[np.float64]  # (D, D)
    x_shift: NDArray[np.float64]  # (M,)
    x_scale: NDArray[np.float64]  # (M,)

    def theta(self, theta: Array) -> NDArray[np.float32]:
        """Parameters (..., D) in the frame, clipped at 30 sds."""
        # Standardise before narrowing: heavy tails overflow float32.
        z = (np.asarray(theta, dtype=np.float64) - self.shift) @ self.linear
        return np.clip(z, -_CLIP, _CLIP).astype(np.float32)

    def x(self, x: Array) -> NDArray[np.float32]:
        """Data (..., M) in the frame."""
        z = (np.asarray(x, dtype=np.float64) - self.x_shift) / self.x_scale
        return np.clip(z, -_CLIP, _CLIP).astype(np.float32)

    def back(self, z: Array) -> NDArray[np.float64]:
        """Parameters whose place in the frame is z (..., D)."""
        return self.shift + np.asarray(z, np.float64) @ np.linalg.inv(self.linear)

    @classmethod
    def fit(cls, draws: Draws, *, whiten: bool) -> Frame:
        """Robust scales of q's draws and of x; `whiten` turns q's spread at an x into a sphere.

        A ball then is q's own ellipsoid at a typical x: a wrong width or a wrong correlation
        shows in it, which no ball in the parameters' own units is made for.
        """
        d = draws.q.shape[-1]
        rows = draws.q.reshape(-1, d)
        shift, scale = _robust(rows[:: max(1, len(rows) // _ROWS)])
        linear = np.diag(1 / scale)
        if whiten and draws.q.shape[1] > 1:
            linear = linear @ _whitener((draws.q - shift) / scale)
        x_scale = draws.x.std(0)
        return cls(shift, linear, draws.x.mean(0), np.where(x_scale > 0, x_scale, 1.0))


def _robust(rows: Array) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Medians and robust sds of the columns: t with nu <= 2 ruins mean and sd."""
    low, middle, high = np.quantile(rows, [0.25, 0.5, 0.75], axis=0)
    spread = (high - low) / 1.349
    spread = np.where(spread > 0, spread, rows.std(0))
    return middle, np.where(spread > 0, spread, 1.0)


def _whitener(z: Array) -> NDArray[np.float64]:
    """C^(-1/2) of the draws' covariance C about each x's own median, tails clipped."""
    n, k, d = z.shape
    keep = max(1, (n * k) // (50 * _ROWS))
    off = (z - np.median(z, axis=1, keepdims=True))[:, ::keep].reshape(-1, d)
    _, scale = _robust(off)
    off = np.clip(off, -_TAIL * scale, _TAIL * scale)
    covariance = off.T @ off / len(off)
    mean = np.trace(covariance) / d
    if not mean > 0:
        return np.eye(d)
    covariance = (1 - _RIDGE) * covariance + _RIDGE * mean * np.eye(d)
    values, vectors = np.linalg.eigh(covariance)
    # The overall size stays that of the z-scores, which the networks start from.
    return (vectors / np.sqrt(values / mean)) @ vectors.T
