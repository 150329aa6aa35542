"""What log Binomial(y | n, sigmoid(eta)) has in common wherever a model uses it.

log p is y eta + n log sigmoid(-eta) + log_ways, all by log sigmoid: under a wide prior most
chances are 0 or 1 in floating point, and their logarithms are not. (torch's softplus would do, but
rounds from 20 on, an error of 2e-9.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


def log_ways(n: Tensor, y: Tensor) -> Tensor:
    """log of n choose y, summed over the last axis: (..., I) gives (...)."""
    import torch

    return (torch.lgamma(n + 1) - torch.lgamma(y + 1) - torch.lgamma(n - y + 1)).sum(-1)
