"""Approximate posteriors of K data sets at once: what inference gives, and what it can be asked.

No torch: pages read them from the store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from validation_core.bayes.model import Model, _hessian, _value_and_gradient, log_joint
from validation_core.types import Array, Joint

if TYPE_CHECKING:
    from torch import Tensor


class Posterior(Protocol):
    """q(z | y_k) for k = 1..K, normalised, in unconstrained coordinates."""

    @property
    def ok(self) -> NDArray[np.bool_]:
        """Where there is a q (K,): inference may have failed on some data sets."""
        ...

    def sample(self, s: int, rngs: Sequence[np.random.Generator]) -> Array:
        """s draws for each data set, by its own generator: (K, s, D), NaN where there is no q."""
        ...

    def log_density(self, z: Array) -> Array:
        """log q(z | y_k) of z (K, S, D): (K, S), NaN where there is no q."""
        ...


@dataclass(frozen=True, eq=False)
class FullGaussian:
    """Normal with any covariance: mean (K, D), scale (K, D, D) with covariance scale scale^T.

    Scales are lower triangular with a diagonal that is not 0 (of either sign); NaN where
    inference failed.
    """

    mean: Array
    scale: Array

    @cached_property
    def ok(self) -> NDArray[np.bool_]:
        """Where all numbers are finite and the scale has an inverse (K,)."""
        diagonal = np.diagonal(self.scale, axis1=-2, axis2=-1)
        finite = np.isfinite(self.mean).all(-1) & np.isfinite(self.scale).all((-2, -1))
        return np.asarray(finite & (diagonal != 0).all(-1))

    def sample(self, s: int, rngs: Sequence[np.random.Generator]) -> Array:
        """s draws for each data set: (K, s, D)."""
        d = self.mean.shape[1]
        noise = np.stack([rng.standard_normal((s, d)) for rng in rngs])
        return np.asarray(self.mean[:, None] + noise @ np.swapaxes(self.scale, 1, 2))

    def log_density(self, z: Array) -> Array:
        """Of z (K, S, D): (K, S)."""
        log_density = np.full(z.shape[:2], np.nan)
        ok = self.ok
        scale, off = self.scale[ok], z[ok] - self.mean[ok, None]
        whitened = np.linalg.solve(scale, np.swapaxes(off, 1, 2))  # (K, D, S)
        size = np.log(np.abs(np.diagonal(scale, axis1=-2, axis2=-1))).sum(-1)
        constant = size + 0.5 * z.shape[2] * np.log(2 * np.pi)
        log_density[ok] = -0.5 * np.square(whitened).sum(1) - constant[:, None]
        return log_density


# ---- Log densities of a parameter's unconstrained coordinate: the Jacobian is in them ----


def _to_interval(u: Array, low: float, high: float) -> Array:
    """low + (high - low) sigmoid(u), so that u = logit((theta - low) / (high - low)).

    The paper divides by (low - high), where the logit has a negative argument.
    """
    return np.asarray(low + (high - low) * expit(u))


def _log_uniform(u: Tensor) -> Tensor:
    """log density of u where theta is uniform on its interval: standard logistic."""
    from torch.nn.functional import logsigmoid

    return logsigmoid(u) + logsigmoid(-u)


# ---- Where a posterior is highest, and how it curves there ----


_PRIOR = 200  # draws among which the way up starts
_STEPS, _HALVINGS = 50, 12
_FLAT = 1e-3  # curvature that a direction has at least: nothing is wider than 30
_GAIN = 1e-8  # nats that a step must promise


def _find_mode(
    model: Model, y: Array, rngs: Sequence[np.random.Generator]
) -> tuple[Tensor, Tensor]:
    """The mode of log p(z, y) for each row of y (K, M), and a scale (K, D, D) whose covariance is
    the inverse curvature there, without its signs. The truth plays no part.

    Newton's method from the likeliest of some draws of the prior, which each data set's own
    generator gives; of each step as much as climbs most.
    """
    import torch

    data = torch.from_numpy(np.ascontiguousarray(y, dtype=np.float64))
    prior = np.stack([model.simulate(_PRIOR, rng).theta for rng in rngs])
    z = _likeliest(model, torch.from_numpy(prior), data)
    shares = 0.5 ** torch.arange(_HALVINGS, dtype=z.dtype)[:, None]
    for step in range(_STEPS + 1):
        _, slope = _value_and_gradient(model, z, data)
        values, vectors = torch.linalg.eigh(_hessian(model, z, data))
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
    """Of the points z (K, S, D) the one with the highest density, for y (K, M): (K, D)."""
    import torch

    with torch.no_grad():
        value = model.unnormalised_log_joint(z, y[:, None]).nan_to_num(-torch.inf)
    return z[torch.arange(len(z)), value.argmax(1)]


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
