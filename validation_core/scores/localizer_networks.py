"""The networks of a localizer: its frame of reference, its centre, and its embedding."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from validation_core.learn import perceptron
from validation_core.learn.perceptron import Parameters, Tensors
from validation_core.learn.scaling import Standardizer, moments, robust, whitener
from validation_core.scores.localizer import Embedding, Localizer
from validation_core.types import Array, PosteriorTable

_CLIP = 30.0  # robust sds: heavy tails reach the networks as "far out", not as 1e6
_FITTED_ROWS = 20_000  # draws that the scales are read off
_TAIL = 4.0  # sds beyond which a draw no longer sways the covariance
_RIDGE = 0.02  # share of the identity in the covariance, whatever the dimension
_FEATURES = 64  # frequencies of the fourier embedding; each gives a sine and a cosine
# Their range, in radians per sd of q's spread: from a bend of the whole to its finest branch.
_SCALES = (3.0, 30.0)
_FOURIER_HIDDEN = (128, 128)


EQUAL_RANKS = 1e-5  # relative: rounding of matrix products may separate ties by so much


@dataclass(frozen=True, eq=False)
class LocalizerFrame:
    """z = (theta - shift) @ linear and (x - x_shift) / x_scale: affine, from q's draws alone.

    No true theta enters it, so that measurements in it on the anchors stay unbiased.
    """

    shift: NDArray[np.float64]  # (D,)
    linear: NDArray[np.float64]  # (D, D)
    x_shift: Array  # (M,)
    x_scale: Array  # (M,)

    def theta(self, theta: Array) -> NDArray[np.float32]:
        """Parameters (..., D) in the frame, clipped at 30 sds."""
        # Standardise before narrowing: heavy tails overflow float32.
        z = (np.asarray(theta, dtype=np.float64) - self.shift) @ self.linear
        return np.clip(z, -_CLIP, _CLIP).astype(np.float32)

    def x(self, x: Array) -> NDArray[np.float32]:
        """Data (..., M) in the frame."""
        return Standardizer(self.x_shift, self.x_scale, _CLIP)(x).astype(np.float32)

    def back(self, z: Array) -> NDArray[np.float64]:
        """Parameters whose place in the frame is z (..., D)."""
        return self.shift + np.asarray(z, np.float64) @ np.linalg.inv(self.linear)

    @classmethod
    def fit(cls, draws: PosteriorTable, *, whiten: bool) -> LocalizerFrame:
        """Robust scales of q's draws and of x; `whiten` turns q's spread at an x into a sphere.

        A ball then is q's own ellipsoid at a typical x: a wrong width or a wrong correlation
        shows in it, which no ball in the parameters' own units is made for.
        """
        d = draws.q.shape[-1]
        rows = draws.q.reshape(-1, d)
        shift, scale = robust(rows[:: max(1, len(rows) // _FITTED_ROWS)])
        linear = np.diag(1 / scale)
        if whiten and draws.q.shape[1] > 1:
            linear = linear @ _whitened((draws.q - shift) / scale)
        return cls(shift, linear, *moments(draws.x))


def _whitened(z: Array) -> NDArray[np.float64]:
    """C^(-1/2) of the draws' covariance C about each x's own median, tails clipped."""
    n, k, d = z.shape
    keep = max(1, (n * k) // (50 * _FITTED_ROWS))
    off = (z - np.median(z, axis=1, keepdims=True))[:, ::keep].reshape(-1, d)
    # The overall size stays that of the z-scores, which the networks start from.
    return whitener(off, tail=_TAIL, ridge=_RIDGE, unit=False)


def build_initial_centre(
    recipe: Localizer, m: int, d: int, rng: np.random.Generator
) -> Parameters:
    """Initial centre: a network of x that is 0 nearly everywhere, and a linear map of x."""
    parameters = perceptron.perceptron(rng, [m, *[recipe.hidden] * recipe.layers, d])
    parameters[f"bias{recipe.layers}"] *= 0
    return {**parameters, "linear": np.zeros((m, d), np.float32), "shift": np.zeros(d, np.float32)}


def build_initial_embedding(
    kind: Embedding, d: int, rng: np.random.Generator, outputs: int = 0
) -> Parameters:
    """Initial phi: `mlp` a random map, `residual` and `fourier` the identity.

    Args:
        kind: of the embedding.
        d: dimension of theta.
        rng: draws the weights.
        outputs: dimension of phi, further ones of the identity being 0; 0 for d.

    Raises:
        ValueError: if the identity has more dimensions than phi.
    """
    if kind == "identity":
        return {}
    width = outputs or d
    if kind == "mlp":
        return perceptron.perceptron(rng, [d, 256, 256, 256, width])
    if width < d:
        raise ValueError(
            f"phi {kind} begins as the identity, in at least the {d} dimensions of theta; got "
            f"{width}. Take {d} or more, or the embedding mlp."
        )
    if kind == "residual":
        return perceptron.zero_last_layer(perceptron.perceptron(rng, [d, 256, 256, 256, width]))
    scales = np.geomspace(*_SCALES, _FEATURES)
    frequency = rng.standard_normal((d, _FEATURES)) * scales / np.sqrt(d)
    return {
        **perceptron.zero_last_layer(
            perceptron.perceptron(rng, [2 * _FEATURES, *_FOURIER_HIDDEN, width])
        ),
        "frequency": frequency.astype(np.float32),
    }


def centre_at(parameters: Tensors, x: Tensor) -> Tensor:
    """theta_l(x) in the frame: x (n, M) to (n, D)."""
    return perceptron.forward(parameters, x) + torch.addmm(
        parameters["shift"], x, parameters["linear"]
    )


def embed_theta(kind: Embedding, parameters: Tensors, z: Tensor) -> Tensor:
    """phi of places in the frame: (n, D) to (n, D), or to as many dimensions as phi has."""
    if kind == "identity":
        return z
    if kind == "mlp":
        return perceptron.forward(parameters, z)
    if kind == "residual":
        return _beside(z, perceptron.forward(parameters, z))
    angle = z @ parameters["frequency"]
    learnt = perceptron.forward(parameters, torch.cat([torch.sin(angle), torch.cos(angle)], dim=1))
    return _beside(z, learnt)


def _beside(z: Tensor, learnt: Tensor) -> Tensor:
    """z (n, D), with zeros in further dimensions, plus what is learnt (n, outputs)."""
    further = learnt.shape[1] - z.shape[1]
    return (torch.nn.functional.pad(z, (0, further)) if further else z) + learnt
