"""What a localizer is made of: coordinates, centre, phi, distances, and how far ranks are off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from validation_core import statistics
from validation_core.learn import nets
from validation_core.learn.nets import Parameters, Tensors
from validation_core.learn.optim import Adam
from validation_core.learn.standardizer import Standardizer, moments, robust, whitener
from validation_core.scores.localizer import Embedding, Localizer
from validation_core.types import Array, PosteriorTable

_CLIP = 30.0  # robust sds: heavy tails reach the networks as "far out", not as 1e6
_ROWS = 20_000  # draws that the scales are read off
_TAIL = 4.0  # sds beyond which a draw no longer sways the covariance
_RIDGE = 0.02  # share of the identity in the covariance, whatever the dimension

_FEATURES = 64  # frequencies of the fourier embedding; each gives a sine and a cosine
# Their range, in radians per sd of q's spread: from a bend of the whole to its finest branch.
_SCALES = (3.0, 30.0)
_FOURIER_HIDDEN = (128, 128)

_CHECK_DRAWS = 200  # of q at an anchor that a check ranks the truth among
_POINTS = 4096  # through the networks at a time: more leave the cache, and take memory

_BLUR = 0.05  # square root of Sinkhorn's epsilon, in units of U
# geomloss's annealing: its own 0.5 stops a quarter below the fixed point near uniform ranks.
_SCALING = 0.9


@dataclass(frozen=True, eq=False)
class Whitening:
    """z = (theta - shift) @ linear and (x - x_shift) / x_scale: affine, from q's draws alone.

    No true theta enters it, so that what is measured in it on the anchors is still fair.
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
    def fit(cls, draws: PosteriorTable, *, whiten: bool) -> Whitening:
        """Robust scales of q's draws and of x; `whiten` turns q's spread at an x into a sphere.

        A ball then is q's own ellipsoid at a typical x: a wrong width or a wrong correlation
        shows in it, which no ball in the parameters' own units is made for.
        """
        d = draws.q.shape[-1]
        rows = draws.q.reshape(-1, d)
        shift, scale = robust(rows[:: max(1, len(rows) // _ROWS)])
        linear = np.diag(1 / scale)
        if whiten and draws.q.shape[1] > 1:
            linear = linear @ _whitened((draws.q - shift) / scale)
        return cls(shift, linear, *moments(draws.x))


def _whitened(z: Array) -> NDArray[np.float64]:
    """C^(-1/2) of the draws' covariance C about each x's own median, tails clipped."""
    n, k, d = z.shape
    keep = max(1, (n * k) // (50 * _ROWS))
    off = (z - np.median(z, axis=1, keepdims=True))[:, ::keep].reshape(-1, d)
    # The overall size stays that of the z-scores, which the networks start from.
    return whitener(off, tail=_TAIL, ridge=_RIDGE, unit=False)


def centre_parameters(recipe: Localizer, m: int, d: int, rng: np.random.Generator) -> Parameters:
    """A network of x that says 0 nearly everywhere, and a linear map of x beside it."""
    parameters = nets.perceptron(rng, [m, *[recipe.hidden] * recipe.layers, d])
    parameters[f"bias{recipe.layers}"] *= 0
    return {**parameters, "linear": np.zeros((m, d), np.float32), "shift": np.zeros(d, np.float32)}


def embedding_parameters(kind: Embedding, d: int, rng: np.random.Generator) -> Parameters:
    """What phi begins with: `mlp` a random map, `residual` and `fourier` the identity."""
    if kind == "identity":
        return {}
    if kind == "mlp":
        return nets.perceptron(rng, [d, 256, 256, 256, d])
    if kind == "residual":
        return nets.silenced(nets.perceptron(rng, [d, 256, 256, 256, d]))
    scales = np.geomspace(*_SCALES, _FEATURES)
    frequency = rng.standard_normal((d, _FEATURES)) * scales / np.sqrt(d)
    return {
        **nets.silenced(nets.perceptron(rng, [2 * _FEATURES, *_FOURIER_HIDDEN, d])),
        "frequency": frequency.astype(np.float32),
    }


def centre_at(parameters: Tensors, x: Tensor) -> Tensor:
    """theta_l(x) in the frame: x (n, M) to (n, D)."""
    return nets.forward(parameters, x) + torch.addmm(parameters["shift"], x, parameters["linear"])


def embed(kind: Embedding, parameters: Tensors, z: Tensor) -> Tensor:
    """phi of places in the frame: (n, D) to (n, D)."""
    if kind == "identity":
        return z
    if kind == "mlp":
        return nets.forward(parameters, z)
    if kind == "residual":
        return z + nets.forward(parameters, z)
    angle = z @ parameters["frequency"]
    return z + nets.forward(parameters, torch.cat([torch.sin(angle), torch.cos(angle)], dim=1))


def optimiser(recipe: Localizer, centre: Tensors, phi: Tensors, steps: int) -> Adam:
    """Adam with a rate for each network: along a cosine to 0, or constant as in the paper."""
    groups = [(centre.values(), recipe.lr), (phi.values(), recipe.lr_embedding)]
    return Adam(groups, over=steps if recipe.keep_best else None)


class Rows(NamedTuple):
    """Anchors in the frame: theta (n, D), x (n, M), q (n, K, D)."""

    theta: Tensor
    x: Tensor
    q: Tensor

    def take(self, which: NDArray[np.intp], draws: NDArray[np.intp] | slice) -> Rows:
        """Some anchors and some of their draws."""
        rows = torch.from_numpy(which)
        return Rows(self.theta[rows], self.x[rows], self.q[rows][:, draws])


def in_frame(frame: Whitening, draws: PosteriorTable, device: str) -> Rows:
    """A table's rows as tensors in a frame."""
    arrays = (frame.theta(draws.theta), frame.x(draws.x), frame.theta(draws.q))
    return Rows(*(torch.from_numpy(array).to(device) for array in arrays))


def distances(
    recipe: Localizer, centre: Tensors, phi: Tensors, rows: Rows
) -> tuple[Tensor, Tensor]:
    """Distances of the truth (n,) and of q's draws (n, K) from their centres."""
    n, k, d = rows.q.shape
    at = centre_at(centre, rows.x)
    z = torch.cat([at, rows.theta, rows.q.reshape(-1, d)])
    mapped = embed(recipe.embedding, phi, z)  # in one pass: small ones cost as much
    middle, truth, draws = mapped[:n], mapped[n : 2 * n], mapped[2 * n :].reshape(n, k, -1)
    # The small number keeps the root's slope finite where a point is the centre.
    return (
        ((truth - middle).square().sum(-1) + 1e-12).sqrt(),
        ((draws - middle[:, None]).square().sum(-1) + 1e-12).sqrt(),
    )


def ranks(recipe: Localizer, centre: Tensors, phi: Tensors, rows: Rows) -> NDArray[np.float64]:
    """Mid-ranks (n,) of the truth among at most 200 draws; no tie is broken while training."""
    few = rows._replace(q=rows.q[:, :_CHECK_DRAWS])
    parts = []
    step = max(1, _POINTS // max(1, few.q.shape[1]))
    with torch.no_grad():
        for i in range(0, len(few.theta), step):
            part = Rows(*(tensor[i : i + step] for tensor in few))
            truth, draws = distances(recipe, centre, phi, part)
            below = (draws < truth[:, None]).sum(1) + 0.5 * (draws == truth[:, None]).sum(1)
            parts.append((below + 0.5) / (draws.shape[1] + 1))
    return torch.cat(parts).double().cpu().numpy()


def distance(recipe: Localizer, centre: Tensors, phi: Tensors, parts: Sequence[Rows]) -> float:
    """Kolmogorov distance of the ranks of all these anchors from uniform."""
    u = np.concatenate([ranks(recipe, centre, phi, part) for part in parts])
    return float(statistics.ks(u).statistic)


def w2(u: Tensor) -> Tensor:
    """Squared 2-Wasserstein distance of ranks u (n,) from the uniform grid (i - 1/2) / n.

    In one dimension the optimal plan sorts: exact, and the limit of twice Sinkhorn's divergence
    as its blur goes to 0.
    """
    return (torch.sort(u).values - _grid(u)).square().mean()


def sinkhorn(u: Tensor) -> Tensor:
    """Debiased Sinkhorn divergence of ranks u (n,) from the grid, at cost |a - b|^2 / 2.

    Chen, Bansal, Scott, CoLT, Algorithm 1, through geomloss. Tends to w2(u) / 2.
    """
    return _loss(_BLUR, _SCALING)(u[:, None], _grid(u)[:, None])


@cache
def _loss(blur: float, scaling: float) -> torch.nn.Module:
    from geomloss import SamplesLoss

    return SamplesLoss("sinkhorn", p=2, blur=blur, scaling=scaling, backend="tensorized")


def _grid(u: Tensor) -> Tensor:
    n = len(u)
    return (torch.arange(n, device=u.device, dtype=u.dtype) + 0.5) / n


def soft_ranks(truth: Tensor, draws: Tensor, tau: float) -> Tensor:
    """Ranks (n,) of the truth's distance (n,) among its draws' (n, K), with a gradient.

    Forward the exact rank, ties counting half, so that a phi that has collapsed earns 1/2;
    backward the sigmoid of differences over tau sds of each row's own draws: straight-through, and
    blind to phi's scale.
    """
    with torch.no_grad():
        spread = draws.std(dim=1, keepdim=True, correction=0)
        softness = tau * torch.where(spread > 0, spread, draws.std(correction=0)) + 1e-12
        hard = (draws < truth[:, None]).to(draws.dtype)
        hard += 0.5 * (draws == truth[:, None])
    soft = torch.sigmoid((truth[:, None] - draws) / softness)
    return (soft + (hard - soft.detach())).mean(dim=1)
