"""Inputs of a classifier: standardised, or whitened about q's mean given x."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from validation_core.learn.scaling import Standardizer, robust, whitener
from validation_core.types import Array, Float, PosteriorTable

_CLIP = 8.0  # robust sds: heavy tails reach it as "far out", not as 1e6
_TAIL = 4.0  # sds beyond which a draw no longer sways the covariance
_RIDGE = 1e-3
_SHARE = 0.01  # of the identity in the covariance, whatever the dimension
_MOST = 512  # products: beyond, only those of a coordinate with itself and with its own mean


@dataclass(frozen=True, eq=False)
class InputTransform:
    """z = ((theta - shift) / scale - x A) W and x's own scale: from q's draws and x alone."""

    theta_shift: Float  # (D,)
    theta_scale: Float  # (D,)
    x_shift: Float  # (M,)
    x_scale: Float  # (M,)
    slope: Float  # (M + 1, D): A, the constant last
    whitener: Float  # (D, D): W
    products: bool
    """Whether z's products are features too."""

    def __call__(self, theta: Array, x: Array) -> tuple[Float, Float]:
        """Inputs (..., D + M) of the hidden units and linear features (..., F).

        Args:
            theta: parameters (..., D).
            x: data, to be broadcast against them (..., M).
        """
        z, data = self.parts(theta, x)
        wide = np.broadcast_to(data, (*z.shape[:-1], data.shape[-1]))
        inputs = np.concatenate([z, wide], axis=-1)
        if not self.products:
            return inputs, inputs
        # With more data than parameters, a regression of theta on x replaces x: D numbers.
        known = data if data.shape[-1] <= z.shape[-1] else self._mean(data) @ self.whitener
        return inputs, _products(z, known)

    def parts(self, theta: Array, x: Array) -> tuple[Float, Float]:
        """z (..., D), clipped, and x in its own scale (..., M): not broadcast."""
        data = Standardizer(self.x_shift, self.x_scale, _CLIP)(x)
        mean = self._mean(data)
        z = ((theta - self.theta_shift) / self.theta_scale - mean) @ self.whitener
        return np.clip(z, -_CLIP, _CLIP), data

    def _mean(self, data: Float) -> Float:
        """Regression of theta on x: (..., D)."""
        return data @ self.slope[:-1] + self.slope[-1]

    @classmethod
    def fit(cls, draws: PosteriorTable, *, whiten: bool, products: bool = False) -> InputTransform:
        """Robust scales; `whiten` removes q's linear mean given x and makes its spread a sphere.

        Args:
            draws: of q, at their x.
            whiten: whether to.
            products: give products of coordinates as features, too.
        """
        n, _, d = draws.q.shape
        shift, scale = robust(draws.q.reshape(-1, d))
        x_shift, x_scale = robust(draws.x)
        slope, turn = np.zeros((draws.x.shape[1] + 1, d)), np.eye(d)
        if whiten:
            z = Standardizer(shift, scale, _CLIP)(draws.q)
            data = Standardizer(x_shift, x_scale, _CLIP)(draws.x)
            data = np.concatenate([data, np.ones((n, 1))], axis=1)
            ridge = _RIDGE * n * np.eye(data.shape[1])
            slope = np.linalg.solve(data.T @ data + ridge, data.T @ z.mean(axis=1))
            off = (z - (data @ slope)[:, None]).reshape(-1, d)
            turn = whitener(off, tail=_TAIL, ridge=_SHARE, unit=True)
        return cls(shift, scale, x_shift, x_scale, slope, turn, products)


def _products(z: Float, known: Float) -> Float:
    """z, its products with itself, less their mean, and with what x knows: (..., F).

    Features of x alone are left out: they cancel between the slots.
    """
    d, e = z.shape[-1], known.shape[-1]
    if d * (d + 1) // 2 + d * e > _MOST:
        same = min(d, e)
        return np.concatenate([z, z**2 - 1, z[..., :same] * known[..., :same]], axis=-1)
    i, j = np.triu_indices(d)
    own = z[..., i] * z[..., j] - (i == j)
    cross = (z[..., :, None] * known[..., None, :]).reshape(*z.shape[:-1], d * e)
    return np.concatenate([z, own, cross], axis=-1)
