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
    """Log weights of Algorithm 4, from which d follows for every M up to theirs."""

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
    several = max(1, MODEL_NUMBERS_AT_A_TIME // (z.shape[1] * max(z.shape[2], y.shape[1])))
    parts = [slice(start, start + several) for start in range(0, len(z), several)]
    return np.concatenate([log_joint(model, z[part], y[part, None]) for part in parts])
