"""Hamiltonian Monte Carlo: draws from the posterior of each simulated data set.

The true z of simulated data is one exact draw of p(z | y). Hamiltonian Monte Carlo leaves that
law as it is, so that every state of a chain that starts at the truth is an exact draw as well,
at once and however slowly the chain mixes: there is nothing to burn in, only neighbours that
resemble each other. For that the chain's own settings must not know the truth. They are tuned by
a pilot that sees y alone and starts at the mode; the step then stays fixed.

Several chains leave the truth side by side and are kept once they have forgotten each other.

References:
    MCMC using Hamiltonian dynamics, Neal (2011).
    The no-U-turn sampler, Hoffman & Gelman (2014), Section 3.2: the tuning of the step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from validation_core.bayes.mode import find_mode
from validation_core.bayes.model import Model, value_and_gradient
from validation_core.types import Array

if TYPE_CHECKING:
    from torch import Tensor


_TARGET = 0.8  # acceptance that the step is tuned to
_LENGTH = np.pi  # of the longest trajectory, where the posterior has sd 1: half a turn
_MOST = 64  # steps of a trajectory
_TUNE, _SPREAD = 40, 80  # states of a pilot's chain for the step, and for the covariance
_APART = 25  # states until chains from one truth are kept


class _HMCDraws(NamedTuple):
    """Draws of K posteriors, with their acceptance."""

    z: Array
    """(K, n, D), one chain after the other; the order within a chain is the chain's."""
    acceptance: Array
    """Share of proposals that were accepted (K,)."""


def draws(
    model: Model,
    y: Array,
    start: Array,
    n: int,
    rngs: Sequence[np.random.Generator],
    *,
    chains: int = 16,
) -> _HMCDraws:
    """Draw n states of p(z | y) for each row of y, by chains that start at the true z.

    Args:
        model: prior and likelihood.
        y: simulated data (K, M).
        start: the true z (K, D) that the data were simulated from.
        n: states for each data set.
        rngs: one generator for each data set.
        chains: number of chains that start at each truth.

    Returns:
        Draws (K, n, D), with acceptance rates.

    Raises:
        ValueError: if n is below 1, or the density is 0 at a start.
    """
    import torch

    if n < 1 or chains < 1:
        raise ValueError(f"draws come from one chain or more; got n = {n} and {chains} chains")
    data = torch.from_numpy(np.ascontiguousarray(y, dtype=np.float64))
    mode, root = find_mode(model, y, rngs)
    target = WhitenedTarget(model, data[:, None], root)

    several = min(chains, n)
    pilot = HMCChains(target, mode[:, None].repeat(1, several, 1), rngs, np.full(len(y), 0.5))
    target, step = _tuned(target, pilot)

    truth = torch.from_numpy(np.ascontiguousarray(start, dtype=np.float64))
    chain = HMCChains(target, truth[:, None].repeat(1, several, 1), rngs, step)
    if not chain.value.isfinite().all():
        lost = int((~chain.value.isfinite().all(1)).sum())
        raise ValueError(
            f"a chain starts where the model has a density; {lost} of {len(y)} starts have none; "
            f"start each at the z that its data were simulated from"
        )
    long = -(-n // several)
    chain.run(_APART)
    states = chain.run(long)  # (K, several, long, D)
    return _HMCDraws(states.reshape(len(y), several * long, -1)[:, :n], chain.acceptance)


@dataclass(frozen=True, eq=False)
class WhitenedTarget:
    """K posteriors in whitened coordinates u, with z = root u."""

    model: Model
    y: Tensor
    root: Tensor

    def at(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """log p(z, y) at z (K, C, D), up to a function of y, and its gradient in u."""
        value, slope = value_and_gradient(self.model, z, self.y)
        return value, slope @ self.root

    def moved(self, z: Tensor, by: Tensor) -> Tensor:
        return z + by @ self.root.mT


class Target(Protocol):
    """K log densities in whitened coordinates."""

    def at(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """Log density at z (K, C, D), up to a function of y, and its gradient in u."""
        ...

    def moved(self, z: Tensor, by: Tensor) -> Tensor:
        """z moved by a vector of whitened coordinates."""
        ...


class HMCChains:
    """C chains for each of K targets; the step may be changed between states."""

    def __init__(
        self, target: Target, z: Tensor, rngs: Sequence[np.random.Generator], step: Array
    ) -> None:
        self.target, self.z, self.rngs, self.step = target, z, rngs, step
        self.value, self.slope = target.at(z)
        self._accepted: list[Array] = []

    @property
    def acceptance(self) -> Array:
        """Mean acceptance probability of the proposals so far (K,)."""
        return np.asarray(np.mean(self._accepted, axis=0))

    def run(self, states: int) -> Array:
        """Run each chain for `states` states: (K, C, states, D)."""
        positions = []
        for _ in range(states):
            self.advance()
            positions.append(self.z.numpy())
        return np.stack(positions, axis=2)

    def advance(self) -> Array:
        """Advance every chain by one state; the mean acceptance probability (K,)."""
        import torch

        k, c, d = self.z.shape
        push = np.empty((k, c, d))
        luck = np.empty((k, c))
        steps = np.empty(k, dtype=int)
        most = np.clip(np.ceil(_LENGTH / self.step), 1, _MOST).astype(int)
        for i, rng in enumerate(self.rngs):
            push[i], luck[i] = rng.standard_normal((c, d)), rng.random(c)
            # Random, so that no trajectory comes back to where it began in every direction.
            steps[i] = rng.integers(1, most[i] + 1)
        p = torch.from_numpy(push)
        z, value, slope, q = self.trajectory(p, steps)
        gain = value - self.value - 0.5 * (q.square() - p.square()).sum(-1)
        chance = gain.clamp(max=0).exp().nan_to_num(0.0)
        yes = torch.from_numpy(luck) < chance
        self.z = torch.where(yes[..., None], z, self.z)
        self.value = torch.where(yes, value, self.value)
        self.slope = torch.where(yes[..., None], slope, self.slope)
        acceptance = chance.mean(1).numpy()
        self._accepted.append(acceptance)
        return acceptance

    def trajectory(
        self, p: Tensor, steps: NDArray[np.int_]
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Leapfrog integration; data sets that have done their own steps stay in place."""
        import torch

        z, value, slope = self.z, self.value, self.slope
        step, left = torch.from_numpy(self.step)[:, None, None], torch.from_numpy(steps)
        for i in range(int(steps.max())):
            half = p + 0.5 * step * slope
            new = self.target.moved(z, step * half)
            new_value, new_slope = self.target.at(new)
            on = (left > i)[:, None]
            z, p = (
                torch.where(on[..., None], new, z),
                torch.where(on[..., None], half + 0.5 * step * new_slope, p),
            )
            value = torch.where(on, new_value, value)
            slope = torch.where(on[..., None], new_slope, slope)
        return z, value, slope, p


def _tuned(target: WhitenedTarget, pilot: HMCChains) -> tuple[WhitenedTarget, Array]:
    """Whitening coordinates and step for each posterior, tuned on a pilot's states."""
    import torch

    _tune(pilot)
    states = pilot.run(_SPREAD).swapaxes(1, 2)  # (K, states, C, D)
    states = states.reshape(len(states), -1, states.shape[-1])
    root = _spread(states, target.root.numpy())
    target = WhitenedTarget(target.model, target.y, torch.from_numpy(root))
    pilot = HMCChains(target, pilot.z, pilot.rngs, pilot.step)
    return target, _tune(pilot)


def _tune(chain: HMCChains) -> Array:
    """Tune the step by dual averaging to the target acceptance, averaged over the second half."""
    centre = np.log(10 * chain.step)
    behind, log_steps = np.zeros(len(centre)), []
    for i in range(_TUNE):
        behind += (_TARGET - chain.advance() - behind) / (i + 1 + 10)
        log_step = centre - np.sqrt(i + 1) / 0.05 * behind
        chain.step = np.exp(log_step)
        log_steps.append(log_step)
    chain.step = np.exp(np.mean(log_steps[_TUNE // 2 :], axis=0))
    return chain.step


def _spread(states: Array, before: Array) -> Array:
    """Scale matrix of states (K, n, D), shrunk towards the previous one (K, D, D)."""
    n, d = states.shape[1:]
    off = states - states.mean(1, keepdims=True)
    share = n / (n + 20 * d)
    covariance = share * np.swapaxes(off, 1, 2) @ off / n
    covariance += (1 - share) * before @ np.swapaxes(before, 1, 2)
    return np.linalg.cholesky(covariance)
