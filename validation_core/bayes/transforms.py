"""Log densities of a parameter's unconstrained coordinate: the Jacobian is in them.

References:
    An easy to interpret diagnostic for approximate inference: symmetric divergence over
    simulations, Domke (2021), Section 5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from validation_core.types import Array

if TYPE_CHECKING:
    from torch import Tensor


def to_interval(u: Array, low: float, high: float) -> Array:
    """low + (high - low) sigmoid(u), so that u = logit((theta - low) / (high - low)).

    The paper divides by (low - high), where the logit has a negative argument.
    """
    return np.asarray(low + (high - low) * expit(u))


def log_uniform(u: Tensor) -> Tensor:
    """log density of u where theta is uniform on its interval: standard logistic."""
    from torch.nn.functional import logsigmoid

    return logsigmoid(u) + logsigmoid(-u)
