"""The mode of a posterior by damped Newton steps, with the curvature there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from validation_core.bayes.model import Model, log_joint_hessian, value_and_gradient
from validation_core.types import Array

if TYPE_CHECKING:
    from torch import Tensor

_PRIOR = 200  # draws among which the way up starts
_STEPS, _HALVINGS = 50, 12
_FLAT = 1e-3  # curvature that a direction has at least: nothing is wider than 30
_GAIN = 1e-8  # nats that a step must promise


def find_mode(
    model: Model, y: Array, rngs: Sequence[np.random.Generator]
) -> tuple[Tensor, Tensor]:
    """Mode of log p(z, y) for each row of y, and a scale from the curvature there.

    Damped Newton steps from the draw of the prior with the highest density; each step is cut to
    the fraction that climbs most. The truth is not used.

    Args:
        model: prior and likelihood.
        y: data (K, M).
        rngs: one generator for each data set, for the draws of the prior.

    Returns:
        Modes (K, D), and scales (K, D, D) whose covariance is the inverse of the Hessian with its
        eigenvalues made positive.
    """
    import torch

    data = torch.from_numpy(np.ascontiguousarray(y, dtype=np.float64))
    prior = np.stack([model.simulate(_PRIOR, rng).theta for rng in rngs])
    z = _likeliest(model, torch.from_numpy(prior), data)
    shares = 0.5 ** torch.arange(_HALVINGS, dtype=z.dtype)[:, None]
    for step in range(_STEPS + 1):
        _, slope = value_and_gradient(model, z, data)
        values, vectors = torch.linalg.eigh(log_joint_hessian(model, z, data))
        root = vectors * values.abs().clamp(min=_FLAT).rsqrt()[:, None]
        move = torch.einsum("kij,klj,kl->ki", root, root, slope)
        # Those that have arrived stay, however long the others take.
        moving = (slope * move).sum(-1, keepdim=True) > _GAIN
        if step == _STEPS or not moving.any():
            break
        tried = torch.cat([z[:, None], z[:, None] + shares * move[:, None]], 1)
        z = torch.where(moving, _likeliest(model, tried, data), z)
    return z, root.contiguous()


def _likeliest(model: Model, z: Tensor, y: Tensor) -> Tensor:
    """The point among z (K, S, D) with the highest density, for y (K, M): (K, D)."""
    import torch

    with torch.no_grad():
        value = model.unnormalised_log_joint(z, y[:, None]).nan_to_num(-torch.inf)
    return z[torch.arange(len(z)), value.argmax(1)]


MODEL_NUMBERS_AT_A_TIME = 1 << 20  # that a model may hold at a time
