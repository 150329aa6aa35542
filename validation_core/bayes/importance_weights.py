"""Log importance weights of draws of an approximate posterior."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from validation_core.bayes.mode import MODEL_NUMBERS_AT_A_TIME
from validation_core.bayes.model import Model, log_joint
from validation_core.bayes.posterior import Posterior
from validation_core.types import Array, Joint


class LogWeights(NamedTuple):
    """Log importance weights of Algorithm 4 (Domke 2021), for terms d of every M up to theirs."""

    truth: Array
    """(K, M): the true z first, then M - 1 draws of q."""
    draws: Array
    """(K, M): draws of q."""
    drawn: Array
    """(K, D): the first of those draws, z~ of Algorithm 1."""


def sampled_log_weights(
    model: Model,
    posterior: Posterior,
    pairs: Joint,
    most: int,
    rngs: Sequence[np.random.Generator],
) -> LogWeights:
    """Log weights log p(z, y) - log q(z | y) of K simulated truths and of draws of q.

    Both densities may lack factors of y alone, but no factor of z, Jacobians included. Weights are
    NaN where inference failed.

    Args:
        model: prior and likelihood.
        posterior: q at each of the K data sets.
        pairs: simulated truths z as theta (K, D), with their data y as x (K, M').
        most: largest M.
        rngs: one generator for each data set.
    """
    draws = posterior.sample(2 * most - 1, rngs)
    # the truth is one of the first M, the rest of them follow it: z_2 .. z_M, not z_1 .. z_M
    points = np.concatenate([pairs.theta[:, None], draws], axis=1)
    log_weights = _log_joint(model, points, pairs.x) - posterior.log_density(points)
    return LogWeights(log_weights[:, :most], log_weights[:, most:], draws[:, most - 1])


def _log_joint(model: Model, z: Array, y: Array) -> Array:
    """log p(z, y) of z (K, S, D) and y (K, M), in batches that bound the memory."""
    several = max(1, MODEL_NUMBERS_AT_A_TIME // (z.shape[1] * max(z.shape[2], y.shape[1])))
    parts = [slice(start, start + several) for start in range(0, len(z), several)]
    return np.concatenate([log_joint(model, z[part], y[part, None]) for part in parts])
