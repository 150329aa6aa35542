"""Parameters on the real line: maps to their ranges, with the Jacobian in the log density."""

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


def logistic_log_density(u: Tensor) -> Tensor:
    """log density of u where theta is uniform on its interval: standard logistic."""
    from torch.nn.functional import logsigmoid

    return logsigmoid(u) + logsigmoid(-u)
