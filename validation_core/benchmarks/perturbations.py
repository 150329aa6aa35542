"""Seven perturbations of a Gaussian posterior, each a sampler with its exact log ratio.

Chen, Bansal, Scott, CoLT, Appendix C.2 and Table 2; log ratios derived here. With
mu and S the mean and covariance of theta given x, and Q = (theta - mu)' S^-1 (theta - mu).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from scipy.special import gammaln

from validation_core.types import Array, GammaDomain

if TYPE_CHECKING:
    from validation_core.benchmarks.gaussian import Gaussian

Perturbation = Literal[
    "mean_shift",
    "covariance_scaling",
    "anisotropic",
    "heavy_tail",
    "additional_mode",
    "mode_collapse",
    "blind_prior",
]


def with_mirror(draws: Array, mean: Array, gamma: float, rng: np.random.Generator) -> Array:
    """Replace each draw, with probability gamma, by the same noise around -mean.

    Args:
        draws: draws (n, D) about `mean`.
        mean: posterior means (n, D).
        gamma: weight of the mirrored mode, 0 to 1.
        rng: selects the draws.
    """
    flip = rng.random(len(draws)) < gamma
    return draws - 2 * mean * flip[:, None]


def _mean_shift(b: Gaussian, x: Array, gamma: float, rng: np.random.Generator) -> Array:
    return (1 + gamma) * b.mean(x) + b.noise(x, rng)


def _covariance_scaling(b: Gaussian, x: Array, gamma: float, rng: np.random.Generator) -> Array:
    return b.mean(x) + np.sqrt(1 + gamma) * b.noise(x, rng)


def _anisotropic(b: Gaussian, x: Array, gamma: float, rng: np.random.Generator) -> Array:
    along = np.sqrt(gamma) * rng.standard_normal((len(x), 1))
    return b.mean(x) + b.noise(x, rng) + along * b.fixed.narrow


def _heavy_tail(b: Gaussian, x: Array, gamma: float, rng: np.random.Generator) -> Array:
    if gamma == 0:
        return b.mean(x) + b.noise(x, rng)
    nu = 1 / gamma
    stretch = np.sqrt(nu / rng.chisquare(nu, size=(len(x), 1)))  # one per draw, not per coordinate
    return b.mean(x) + stretch * b.noise(x, rng)


def _additional_mode(b: Gaussian, x: Array, gamma: float, rng: np.random.Generator) -> Array:
    mean = b.mean(x)
    return with_mirror(mean + b.noise(x, rng), mean, gamma, rng)


def _collapsed(b: Gaussian, x: Array, gamma: float, rng: np.random.Generator) -> Array:
    del gamma
    return b.mean(x) + b.noise(x, rng)


def _blind_prior(b: Gaussian, x: Array, gamma: float, rng: np.random.Generator) -> Array:
    del gamma
    other = b.x(len(x), rng)
    return b.mean(other) + b.noise(other, rng)


def _mean_shift_ratio(b: Gaussian, theta: Array, x: Array, gamma: float) -> Array:
    centred, mean = b.whiten(theta - b.mean(x), x), b.whiten(b.mean(x), x)
    return -gamma * (mean * centred).sum(-1) + gamma**2 * (mean**2).sum(-1) / 2


def _covariance_scaling_ratio(b: Gaussian, theta: Array, x: Array, gamma: float) -> Array:
    return b.dim_theta / 2 * np.log1p(gamma) - _squared(b, theta, x) * gamma / (2 * (1 + gamma))


def _anisotropic_ratio(b: Gaussian, theta: Array, x: Array, gamma: float) -> Array:
    lam = b.scale(x) * b.fixed.lam_min
    along = (theta - b.mean(x)) @ b.fixed.narrow
    return 0.5 * np.log1p(gamma / lam) - 0.5 * along**2 * gamma / (lam * (lam + gamma))


def _heavy_tail_ratio(b: Gaussian, theta: Array, x: Array, gamma: float) -> Array:
    nu, d, squared = 1 / gamma, b.dim_theta, _squared(b, theta, x)
    normaliser = gammaln(nu / 2) - gammaln((nu + d) / 2) + d / 2 * np.log(nu / 2)
    return normaliser - squared / 2 + (nu + d) / 2 * np.log1p(squared / nu)


def _additional_mode_ratio(b: Gaussian, theta: Array, x: Array, gamma: float) -> Array:
    return -log_mixture(b, theta, x, gamma)


def _mode_collapse_ratio(b: Gaussian, theta: Array, x: Array, gamma: float) -> Array:
    return log_mixture(b, theta, x, gamma)


def log_mixture(b: Gaussian, theta: Array, x: Array, gamma: float) -> Array:
    """Log ratio of a mixture with a mirrored mode to the posterior N(mu, S).

    log((1 - gamma) + gamma N(theta; -mu, S) / N(theta; mu, S)): (n,).
    """
    mirror = -2 * (b.whiten(theta, x) * b.whiten(b.mean(x), x)).sum(-1)
    with np.errstate(divide="ignore"):
        return np.logaddexp(np.log1p(-gamma), np.log(gamma) + mirror)


def _blind_prior_ratio(b: Gaussian, theta: Array, x: Array, gamma: float) -> Array:
    """Log ratio for q the marginal of theta, estimated by a log-mean-exp over 4000 fixed x."""
    del gamma
    chunks = [b.log_marginal(part) for part in np.array_split(theta, -(-len(theta) // 256))]
    return b.log_normal(theta, x) - np.concatenate(chunks)


def _squared(b: Gaussian, theta: Array, x: Array) -> Array:
    return (b.whiten(theta - b.mean(x), x) ** 2).sum(-1)


class _Perturbed(NamedTuple):
    """A perturbation: description, the papers' grid of gamma, q's sampler, log p - log q, and the
    gammas at which q exists: None for all.
    """

    title: str
    summary: str
    gammas: tuple[float, ...]
    q: Callable[[Gaussian, Array, float, np.random.Generator], Array]
    log_ratio: Callable[[Gaussian, Array, Array, float], Array]
    domain: GammaDomain | None = None


PERTURBATIONS: dict[Perturbation, _Perturbed] = {
    "mean_shift": _Perturbed(
        "mean shift",
        "q's mean is (1 + gamma) mu",
        (0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3),
        _mean_shift,
        _mean_shift_ratio,
    ),
    "covariance_scaling": _Perturbed(
        "covariance scaling",
        "q's covariance is (1 + gamma) S",
        (0, 0.2, 0.4, 0.6, 0.8, 1, 1.2, 1.4),
        _covariance_scaling,
        _covariance_scaling_ratio,
        GammaDomain("the relative excess of q's covariance", -1, with_low=False),
    ),
    "anisotropic": _Perturbed(
        "anisotropic",
        "q adds variance gamma along the direction in which p is narrowest",
        (0, 0.5, 1, 1.5, 2, 2.5, 3),
        _anisotropic,
        _anisotropic_ratio,
        GammaDomain("a variance that q adds", 0),
    ),
    "heavy_tail": _Perturbed(
        "heavy tail",
        "q is Student's t with 1 / gamma degrees of freedom",
        (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6),
        _heavy_tail,
        _heavy_tail_ratio,
        GammaDomain("one over q's degrees of freedom", 0),
    ),
    "additional_mode": _Perturbed(
        "additional mode",
        "q puts mass gamma on a second mode at -mu",
        (0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4),
        _additional_mode,
        _additional_mode_ratio,
        GammaDomain("the mass of q's second mode", 0, 1),
    ),
    "mode_collapse": _Perturbed(
        "mode collapse",
        "p has mass gamma on a second mode at -mu, which q misses",
        (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6),
        _collapsed,
        _mode_collapse_ratio,
        GammaDomain("the mass of the mode that q misses", 0, 1),
    ),
    "blind_prior": _Perturbed(
        "blind prior",
        "q ignores x and draws from the marginal of theta; gamma plays no part",
        (1,),
        _blind_prior,
        _blind_prior_ratio,
    ),
}
