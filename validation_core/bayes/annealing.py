"""Annealed importance sampling from q to the posterior, as an augmented inference.

A chain of T states z_1 .. z_T begins at a draw of q; its t-th move leaves
q(z | y)^(1 - t/T) p(z, y)^(t/T) as it is. With every state but the last as the hidden h, the log
weight of Algorithm 3 (Domke 2021) is the mean of log p(z_t, y) - log q(z_t | y) over the states:
on average below log p(y). The same chain run backwards from a draw of the posterior, such as the
true z of simulated data, gives one on average above it. T = 1 is
Algorithm 1; as T grows the two meet where the moves mix.

References:
    Annealed importance sampling, Neal (1998).
    Sandwiching the marginal likelihood using bidirectional Monte Carlo, Grosse and others (2015).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from validation_core.bayes.hmc import HMCChains, WhitenedTarget
from validation_core.bayes.model import Model, log_joint
from validation_core.bayes.posterior import FullGaussian
from validation_core.types import Array

if TYPE_CHECKING:
    from torch import Tensor

STEP = 0.5
"""Leapfrog step in standard deviations of q: fixed, so that no move knows the truth."""


class AnnealedWeights(NamedTuple):
    """Log weights (K,) of chains of T states, in nats; NaN where there is no q."""

    truth: Array
    """Backwards from the true z: on average an upper bound on log p(y)."""
    draws: Array
    """Forwards from a draw of q: on average a lower bound."""


@dataclass(frozen=True, eq=False)
class AnnealedTarget:
    """The bridge between a normal q and the posterior, in coordinates that whiten q.

    Args:
        posterior: log p(z, y), whitened by q's scale.
        mean: of q (K, 1, D).
        power: share of log p in the log density, the rest is log q's.
    """

    posterior: WhitenedTarget
    mean: Tensor
    power: float

    def at(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """Log density at z (K, C, D), up to a function of y, and its gradient."""
        import torch

        value, slope = self.posterior.at(z)
        u = torch.linalg.solve_triangular(self.posterior.root, (z - self.mean).mT, upper=False).mT
        rest = 1 - self.power
        return self.power * value - rest * 0.5 * u.square().sum(-1), self.power * slope - rest * u

    def moved(self, z: Tensor, by: Tensor) -> Tensor:
        return self.posterior.moved(z, by)


def annealed_weights(
    model: Model,
    q: FullGaussian,
    y: Array,
    starts: tuple[Array, Array],
    states: int,
    rngs: tuple[Sequence[np.random.Generator], Sequence[np.random.Generator]],
) -> AnnealedWeights:
    """Log weights of K chains back from the truths, and of K chains from draws of q.

    Args:
        model: prior and likelihood.
        q: the normal at each of K data sets.
        y: data (K, M).
        starts: the true z and q's draws, (K, D) each.
        states: T, of each chain.
        rngs: a generator for each data set and side.
    """
    ok = q.ok
    powers = np.arange(1, states) / states
    weights = np.full((2, len(y)), np.nan)
    for side, order in enumerate((powers[::-1], powers)):
        if ok.any():
            mine = [rng for rng, there in zip(rngs[side], ok, strict=True) if there]
            weights[side, ok] = _mean_log_weight(
                model, FullGaussian(q.mean[ok], q.scale[ok]), y[ok], starts[side][ok], order, mine
            )
    return AnnealedWeights(*weights)


def _mean_log_weight(
    model: Model,
    q: FullGaussian,
    y: Array,
    start: Array,
    powers: Array,
    rngs: Sequence[np.random.Generator],
) -> Array:
    """Mean of log p - log q over a chain's states, the moves in this order of powers: (K,)."""
    import torch

    data, mean, root = (
        torch.from_numpy(np.ascontiguousarray(part, dtype=np.float64))
        for part in (y, q.mean, q.scale)
    )
    posterior = WhitenedTarget(model, data[:, None], root)
    z = torch.from_numpy(np.ascontiguousarray(start, dtype=np.float64))[:, None]
    states = [z]
    for power in powers:
        target = AnnealedTarget(posterior, mean[:, None], float(power))
        chain = HMCChains(target, z, rngs, np.full(len(y), STEP))
        chain.advance()
        z = chain.z
        states.append(z)
    visited = torch.cat(states, 1).numpy()
    log_weight = log_joint(model, visited, y[:, None]) - q.log_density(visited)
    return np.asarray(log_weight.mean(1))
