"""Domke's diagnostic on simulated data: terms d whose mean is the symmetric divergence, in nats.

(z, y) is drawn from the model, inference sees y alone, and z~ from q(z | y). With the log
weight w = log p(z, y) - log q(z | y), d = w(z) - w(z~) has the mean KL(p || q) + KL(q || p),
averaged over y: what depends on y alone cancels. Covariates are held fixed throughout
(Algorithm 2; without any it is Algorithm 1).

References:
    An easy to interpret diagnostic for approximate inference: symmetric divergence over
    simulations, Domke (2021), Algorithms 1, 2 and 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from validation_core.bayes.model import Model, log_joint
from validation_core.bayes.posterior import Posterior
from validation_core.types import Array, Joint

_NUMBERS = 1 << 20  # that a model may hold at a time


class LogWeights(NamedTuple):
    """Log weights of Algorithm 4, from which d follows for every M up to theirs."""

    truth: Array
    """(K, M): the true z first, then M - 1 draws of q."""
    draws: Array
    """(K, M): draws of q."""
    drawn: Array
    """(K, D): the first of those draws, z~ of Algorithm 1."""


def log_weights(
    model: Model,
    posterior: Posterior,
    pairs: Joint,
    most: int,
    rngs: Sequence[np.random.Generator],
) -> LogWeights:
    """Log weights of K simulated pairs, z theta (K, D) and y x (K, M'), for M up to `most`.

    What depends on y alone may be missing from either density; all that depends on z must be
    there, Jacobians too. Where there is no q they are NaN.
    """
    draws = posterior.sample(2 * most - 1, rngs)
    # the truth is one of the first M, the rest of them follow it: z_2 .. z_M, not z_1 .. z_M
    points = np.concatenate([pairs.theta[:, None], draws], axis=1)
    log_weights = _log_joint(model, points, pairs.x) - posterior.log_density(points)
    return LogWeights(log_weights[:, :most], log_weights[:, most:], draws[:, most - 1])


def _log_joint(model: Model, z: Array, y: Array) -> Array:
    """log p(z, y) of z (K, S, D) and y (K, M), some data sets at a time: models may need an array
    of S x M numbers for each.
    """
    several = max(1, _NUMBERS // (z.shape[1] * max(z.shape[2], y.shape[1])))
    parts = [slice(start, start + several) for start in range(0, len(z), several)]
    return np.concatenate([log_joint(model, z[part], y[part, None]) for part in parts])
