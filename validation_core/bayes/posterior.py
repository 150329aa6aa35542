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

from validation_core.bayes.model import Model, log_joint, log_joint_hessian, value_and_gradient
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


def to_interval(u: Array, low: float, high: float) -> Array:
    """low + (high - low) sigmoid(u), so that u = logit((theta - low) / (high - low)).

    The paper divides by (low - high), where the logit has a negative argument.
    """
    return np.asarray(low + (high - low) * expit(u))


def logistic_log_density(u: Tensor) -> Tensor:
    """log density of u where theta is uniform on its interval: standard logistic."""
    from torch.nn.functional import logsigmoid

    return logsigmoid(u) + logsigmoid(-u)


# ---- Where a posterior is highest, and how it curves there ----


_PRIOR = 200  # draws among which the way up starts
_STEPS, _HALVINGS = 50, 12
_FLAT = 1e-3  # curvature that a direction has at least: nothing is wider than 30
_GAIN = 1e-8  # nats that a step must promise


def find_mode(
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
    """Of the points z (K, S, D) the one with the highest density, for y (K, M): (K, D)."""
    import torch

    with torch.no_grad():
        value = model.unnormalised_log_joint(z, y[:, None]).nan_to_num(-torch.inf)
    return z[torch.arange(len(z)), value.argmax(1)]


MODEL_NUMBERS_AT_A_TIME = 1 << 20  # that a model may hold at a time


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
    several = max(1, MODEL_NUMBERS_AT_A_TIME // (z.shape[1] * max(z.shape[2], y.shape[1])))
    parts = [slice(start, start + several) for start in range(0, len(z), several)]
    return np.concatenate([log_joint(model, z[part], y[part, None]) for part in parts])


# ---- Draws of a simulated data set's own posterior, without knowing its normaliser ----
#
# The true z of simulated data is one exact draw of p(z | y). Hamiltonian Monte Carlo leaves that
# law as it is, so that every state of a chain that starts at the truth is an exact draw as well,
# at once and however slowly the chain mixes: there is nothing to burn in, only neighbours that
# resemble each other. For that the chain's own settings must not know the truth. They are tuned by
# a pilot that sees y alone and starts at the mode; the step then stays fixed.
#
# Several chains leave the truth side by side and are kept once they have forgotten each other.
#
# References:
#     MCMC using Hamiltonian dynamics, Neal (2011).
#     The no-U-turn sampler, Hoffman & Gelman (2014), Section 3.2: the tuning of the step.


_TARGET = 0.8  # acceptance that the step is tuned to
_LENGTH = np.pi  # of the longest trajectory, where the posterior has sd 1: half a turn
_MOST = 64  # steps of a trajectory
_TUNE, _SPREAD = 40, 80  # states of a pilot's chain for the step, and for the covariance
_APART = 25  # states until chains from one truth are kept


class _HMCDraws(NamedTuple):
    """Draws of K posteriors, and how good they are."""

    z: Array
    """(K, n, D), one chain after the other; the order within a chain is the chain's."""
    acceptance: Array
    """Share of proposals that were accepted (K,)."""
    effective_sample_size: Array
    """Independent draws that give a mean as exactly (K, D)."""
    step: Array
    """Of the leapfrog, in standard deviations of the posterior, roughly (K,)."""


def draws(
    model: Model,
    y: Array,
    start: Array,
    n: int,
    rngs: Sequence[np.random.Generator],
    *,
    chains: int = 16,
) -> _HMCDraws:
    """n states for each row of y (K, M), from its true z `start` (K, D), by its own generator.

    Args:
        model: what has the density.
        y: simulated data.
        start: the z that they were simulated from.
        n: states for each data set.
        rngs: a generator for each.
        chains: how many leave each truth.

    Raises:
        ValueError: if there is nothing to draw, or a start has no density.
    """
    import torch

    if n < 1 or chains < 1:
        raise ValueError(f"draws come from one chain or more; got n = {n} and {chains} chains")
    data = torch.from_numpy(np.ascontiguousarray(y, dtype=np.float64))
    mode, root = find_mode(model, y, rngs)
    target = WhitenedTarget(model, data[:, None], root)

    several = min(chains, n)
    pilot = HMCChains(target, mode[:, None].repeat(1, several, 1), rngs, np.full(len(y), 0.5))
    target, step = _tuned(pilot)

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
    return _HMCDraws(
        states.reshape(len(y), several * long, -1)[:, :n],
        chain.acceptance,
        estimate_effective_sample_size(states),
        step,
    )


@dataclass(frozen=True, eq=False)
class WhitenedTarget:
    """K posteriors in coordinates u, z = root u, in which they are about as wide everywhere."""

    model: Model
    y: Tensor
    root: Tensor

    def at(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """log p(z, y) up to what depends on y of z (K, C, D), and its gradient in u."""
        value, slope = value_and_gradient(self.model, z, self.y)
        return value, slope @ self.root

    def moved(self, z: Tensor, by: Tensor) -> Tensor:
        return z + by @ self.root.mT


class HMCChains:
    """C chains for each of K targets; the step may be changed between states."""

    def __init__(
        self, target: WhitenedTarget, z: Tensor, rngs: Sequence[np.random.Generator], step: Array
    ) -> None:
        self.target, self.z, self.rngs, self.step = target, z, rngs, step
        self.value, self.slope = target.at(z)
        self._accepted: list[Array] = []

    @property
    def acceptance(self) -> Array:
        """Mean chance of a proposal (K,)."""
        return np.asarray(np.mean(self._accepted, axis=0))

    def run(self, states: int) -> Array:
        """The states that follow (K, C, states, D)."""
        positions = []
        for _ in range(states):
            self.advance()
            positions.append(self.z.numpy())
        return np.stack(positions, axis=2)

    def advance(self) -> Array:
        """One state on; the mean chance of the proposals (K,)."""
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
        z, value, slope, q = self._trajectory(p, steps)
        gain = value - self.value - 0.5 * (q.square() - p.square()).sum(-1)
        chance = gain.clamp(max=0).exp().nan_to_num(0.0)
        yes = torch.from_numpy(luck) < chance
        self.z = torch.where(yes[..., None], z, self.z)
        self.value = torch.where(yes, value, self.value)
        self.slope = torch.where(yes[..., None], slope, self.slope)
        acceptance = chance.mean(1).numpy()
        self._accepted.append(acceptance)
        return acceptance

    def _trajectory(
        self, p: Tensor, steps: NDArray[np.int_]
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Leapfrog; data sets whose own number of steps is behind them stay where they are."""
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


def _tuned(pilot: HMCChains) -> tuple[WhitenedTarget, Array]:
    """Coordinates and step that suit the posterior, by what a pilot meets."""
    import torch

    _tune(pilot)
    states = pilot.run(_SPREAD).swapaxes(1, 2)  # (K, states, C, D)
    states = states.reshape(len(states), -1, states.shape[-1])
    root = _spread(states, pilot.target.root.numpy())
    target = WhitenedTarget(pilot.target.model, pilot.target.y, torch.from_numpy(root))
    pilot = HMCChains(target, pilot.z, pilot.rngs, pilot.step)
    return target, _tune(pilot)


def _tune(chain: HMCChains) -> Array:
    """Dual averaging of the step to the acceptance aimed at; the average of its second half."""
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
    """Scale of states (K, n, D), with a share of what was taken for it before (K, D, D)."""
    n, d = states.shape[1:]
    off = states - states.mean(1, keepdims=True)
    share = n / (n + 20 * d)
    covariance = share * np.swapaxes(off, 1, 2) @ off / n
    covariance += (1 - share) * before @ np.swapaxes(before, 1, 2)
    return np.linalg.cholesky(covariance)


# ---- How many independent draws a set of Markov chains is worth ----


def estimate_effective_sample_size(chains: Array) -> Array:
    """Independent draws whose mean would be as exact as that of chains (..., C, n, D): (..., D).

    Autocovariances by the Fourier transform, averaged over chains about their common mean, and
    summed in pairs while these are positive and do not grow. NaN where all states are the same or
    a chain has fewer than four; at most what independent draws would often seem to be worth.

    References:
        Practical Markov chain Monte Carlo, Geyer (1992): the initial monotone sequence.
    """
    c, n, d = chains.shape[-3:]
    if n < 4:
        return np.full((*chains.shape[:-3], d), np.nan)
    off = chains - chains.mean((-3, -2), keepdims=True)
    power = np.square(np.abs(np.fft.rfft(off, 2 * n, axis=-2)))
    summed = np.fft.irfft(power, 2 * n, axis=-2)[..., :n, :].mean(-3)
    # Divided by the products that there are, not by n: chains are many and short here.
    covariance = summed / np.arange(n, 0, -1)[:, None]
    variance = covariance[..., :1, :]
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = np.where(variance > 0, covariance / variance, np.nan)
    pairs = correlation[..., : n // 2 * 2, :]
    pairs = pairs.reshape(*pairs.shape[:-2], n // 2, 2, d).sum(-2)
    pairs = np.minimum.accumulate(pairs, axis=-2)
    pairs = np.where(
        np.minimum.accumulate(pairs > 0, axis=-2), pairs, np.where(np.isnan(pairs), np.nan, 0.0)
    )
    time = np.maximum(2 * pairs.sum(-2) - 1, 1 / np.log10(c * n))
    return np.asarray(c * n / time)
