"""How far ranks are from uniform, as something to climb: exact W2, or Sinkhorn."""

from __future__ import annotations

from functools import cache

import torch
from torch import Tensor

BLUR = 0.05
"""Square root of Sinkhorn's epsilon, in units of U."""
SCALING = 0.9
"""geomloss's annealing: its own 0.5 stops a quarter below the fixed point near uniform ranks."""


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
    return _loss(BLUR, SCALING)(u[:, None], _grid(u)[:, None])


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
