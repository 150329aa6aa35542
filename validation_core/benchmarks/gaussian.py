"""The Gaussian family: theta given x is normal, q perturbs it in one of seven ways.

Chen, Bansal, Scott, CoLT, Section 4 and Appendix C.2; Bansal, Chen, Scott, Appendix B.1.
x ~ N(1, I_M), mu = W1 x, S = |w2'x| Sigma with Sigma_ij = 0.9^|i-j|, theta ~ N(mu, S). The
papers give W2 the wrong shape; W1 (D, M) and w2 (M,) are standard normal, drawn once
from a seed that depends on the dimensions only. Curved, p and q both pass through one fixed map
(CoLT, Appendix C.5): theta = f(theta~), with theta~ from the family and its perturbation.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import logsumexp

from validation_core.benchmarks.perturbations import (
    PERTURBATIONS,
    Perturbation,
    log_mixture,
    with_mirror,
)
from validation_core.rng import stream
from validation_core.shared_arrays import read_only
from validation_core.types import Array, Benchmark, GammaDomain, Paper

HIDDEN = 128
"""Sines in the hidden layer."""


class _CurvedMap(NamedTuple):
    """Frozen weights of the map f in dimension D."""

    inward: Array  # (128, D)
    phase: Array  # (128,)
    outward: Array  # (D, 128)
    offset: Array  # (D,)

    def __call__(self, theta: Array, gain: float = 1.0) -> Array:
        """f(theta~) = outward sin(gain (inward theta~ + phase)) + offset: (n, D) of (n, D).

        The gain, which the paper does not have, multiplies the argument of the sines, their phase
        included: 1 is the paper's map, near 0 it is nearly affine, and the larger the gain, the
        more curved, until the map folds.
        """
        return np.sin(gain * (theta @ self.inward.T + self.phase)) @ self.outward.T + self.offset


@lru_cache(maxsize=16)
@read_only
def curved_map(dim: int) -> _CurvedMap:
    """The map of R^dim to itself, from a seed that is the dimension."""
    rng = stream(0, "curved", dim)
    first, second = 1 / np.sqrt(dim), 1 / np.sqrt(HIDDEN)
    return _CurvedMap(
        inward=rng.uniform(-first, first, (HIDDEN, dim)),
        phase=rng.uniform(-first, first, HIDDEN),
        outward=rng.uniform(-second, second, (dim, HIDDEN)),
        offset=rng.uniform(-second, second, dim),
    )


DIMENSIONS = ((3, 3), (10, 10), (50, 10), (100, 100))
"""The papers' settings, as (dimension of x, dimension of theta)."""
_FLOOR = 1e-12  # |w2'x| can come near 0; densities need it away from there


class _GaussianParameters(NamedTuple):
    """Fixed parameters of the family for one pair of dimensions."""

    w1: Array  # (D, M)
    w2: Array  # (M,)
    chol: Array  # (D, D), lower, of Sigma
    narrow: Array  # (D,), eigenvector of Sigma's smallest eigenvalue
    lam_min: float


@lru_cache(maxsize=16)
def gaussian_parameters(dim_x: int, dim_theta: int) -> _GaussianParameters:
    """W1, w2, the factor of Sigma and its narrowest direction, seeded by the dimensions."""
    rng = stream(0, "gaussian", dim_x, dim_theta)
    index = np.arange(dim_theta)
    sigma = 0.9 ** np.abs(index[:, None] - index)
    values, vectors = np.linalg.eigh(sigma)
    return _GaussianParameters(
        w1=rng.standard_normal((dim_theta, dim_x)),
        w2=rng.standard_normal(dim_x),
        chol=np.linalg.cholesky(sigma),
        narrow=vectors[:, 0],
        lam_min=float(values[0]),
    )


@dataclass(frozen=True, kw_only=True)
class Gaussian(Benchmark):
    """Gaussian posterior with a perturbed estimator, optionally bent by a fixed map.

    Examples:
        >>> benchmark = npt.Gaussian(perturbation="mean_shift", dim_theta=2)
        >>> x = benchmark.x(5, rng)
        >>> benchmark.theta(x, 0.3, rng).shape, benchmark.q(x, 0.3, rng).shape
        ((5, 2), (5, 2))
    """

    name: ClassVar[str] = "gaussian"
    title: ClassVar[str] = "Gaussian family"
    paper: ClassVar[Paper] = Paper(
        "Chen, Bansal, Scott", 2025, "Conditional localization test", "Section 4, Appendix C.2"
    )
    perturbation: Perturbation = field(
        default="mean_shift",
        metadata={"label": "Perturbation", "help": "How q departs from p as gamma grows."},
    )
    dim_x: int = field(
        default=3, metadata={"label": "Dimension of x", "min": 1, "max": 1000, "help": "M"}
    )
    dim_theta: int = field(
        default=3, metadata={"label": "Dimension of theta", "min": 1, "max": 1000, "help": "D"}
    )
    curved: bool = field(
        default=False,
        metadata={
            "label": "Curved",
            "help": "Both p and q pass through one fixed map with a hidden layer of sines.",
        },
    )
    gain: float = field(
        default=1.0,
        metadata={
            "label": "Gain of the curved map",
            "min": 0.1,
            "max": 10.0,
            "help": "Multiplies what goes into the sines: 1 is the paper's, more is more curved.",
        },
    )

    def __post_init__(self) -> None:
        if self.perturbation not in PERTURBATIONS:
            raise ValueError(
                f"perturbation is one of {', '.join(PERTURBATIONS)}; got "
                f"{self.perturbation!r}. Choose one of those."
            )
        for name in ("dim_x", "dim_theta"):
            if not 1 <= getattr(self, name) <= 1000:
                raise ValueError(
                    f"{name} lies between 1 and 1000; got {getattr(self, name)}. Choose within."
                )
        if not 0.1 <= self.gain <= 10:
            raise ValueError(f"gain lies between 0.1 and 10; got {self.gain}. Choose within.")

    @property
    def summary(self) -> str:
        """Effect of gamma on q, in one sentence."""
        straight = PERTURBATIONS[self.perturbation].summary
        return straight + ", before a fixed map bends both p and q" * self.curved

    @property
    def label(self) -> str:
        """Family, perturbation, dimensions of x and theta, and curvature."""
        title = PERTURBATIONS[self.perturbation].title
        bent = f", curved, gain {self.gain:g}" * self.curved
        return f"Gaussian, {title}, ({self.dim_x}, {self.dim_theta}){bent}"

    @property
    def gammas(self) -> tuple[float, ...]:
        """CoLT's grid (Table 2) for this perturbation."""
        return PERTURBATIONS[self.perturbation].gammas

    @property
    def domain(self) -> GammaDomain | None:
        """The gammas at which this perturbation has a q."""
        return PERTURBATIONS[self.perturbation].domain

    @property
    def dims(self) -> tuple[int, int]:
        """Dimensions (D, M) of theta and x; the papers write them the other way round."""
        return self.dim_theta, self.dim_x

    def x(self, n: int, rng: np.random.Generator) -> Array:
        """Draw x from N(1, I): (n, M)."""
        return 1 + rng.standard_normal((n, self.dim_x))

    def theta(self, x: Array, gamma: float, rng: np.random.Generator) -> Array:
        """Draw theta once from p(.|x) at each x, bent where the family is curved: (n, D)."""
        straight: Array = self.mean(x) + self.noise(x, rng)
        if self.perturbation == "mode_collapse":
            straight = with_mirror(straight, self.mean(x), gamma, rng)
        return self._bent(straight)

    def q(self, x: Array, gamma: float, rng: np.random.Generator) -> Array:
        """Draw theta once from q_gamma(.|x) at each x, perturbed and then bent: (n, D)."""
        return self._bent(PERTURBATIONS[self.perturbation].q(self, x, gamma, rng))

    def log_ratio(self, theta: Array, x: Array, gamma: float) -> Array | None:
        """log p - log q (n,), exactly 0 at gamma = 0 except for the blind prior.

        None for the curved family: its map is not one to one, so densities do not carry over.
        """
        if self.curved:
            return None
        if gamma == 0 and self.perturbation != "blind_prior":
            return np.zeros(len(theta))
        return PERTURBATIONS[self.perturbation].log_ratio(self, theta, x, gamma)

    def log_p(self, theta: Array, x: Array, gamma: float) -> Array | None:
        """log p(theta|x), normalised: (n,). None for the curved family, as for the ratio."""
        if self.curved:
            return None
        chol = self.fixed.chol
        constant = self.dim_theta / 2 * np.log(2 * np.pi) + np.log(np.diag(chol)).sum()
        normal: Array = self.log_normal(theta, x) - constant
        if self.perturbation == "mode_collapse":
            normal = normal + log_mixture(self, theta, x, gamma)
        return np.asarray(normal)

    def _bent(self, straight: Array) -> Array:
        return curved_map(self.dim_theta)(straight, self.gain) if self.curved else straight

    @property
    def fixed(self) -> _GaussianParameters:
        """Parameters W1, w2 and the factor of Sigma."""
        return gaussian_parameters(self.dim_x, self.dim_theta)

    def mean(self, x: Array) -> Array:
        """Posterior mean mu (n, D) at x."""
        return x @ self.fixed.w1.T

    def scale(self, x: Array) -> Array:
        """Factor |w2'x| (n,) of the covariance, not of the standard deviation."""
        return np.maximum(np.abs(x @ self.fixed.w2), _FLOOR)

    def noise(self, x: Array, rng: np.random.Generator) -> Array:
        """Draw once from N(0, S) at each x: (n, D)."""
        white = rng.standard_normal((len(x), self.dim_theta))
        return np.sqrt(self.scale(x))[:, None] * (white @ self.fixed.chol.T)

    def whiten(self, vectors: Array, x: Array) -> Array:
        """Whitened vectors S^(-1/2) v at each x; squared lengths are Mahalanobis distances."""
        solved = solve_triangular(self.fixed.chol, vectors.T, lower=True).T
        return solved / np.sqrt(self.scale(x))[:, None]

    def log_normal(self, theta: Array, x: Array) -> Array:
        """log N(theta; mu, S) up to the constant that does not depend on x: (n,)."""
        squared = (self.whiten(theta - self.mean(x), x) ** 2).sum(-1)
        return -squared / 2 - self.dim_theta / 2 * np.log(self.scale(x))

    def log_marginal(self, theta: Array) -> Array:
        """log p(theta) up to the same constant, averaged over 4000 fixed draws of x: (n,)."""
        x = self._prior_x
        scale = self.scale(x)
        a = solve_triangular(self.fixed.chol, theta.T, lower=True)  # (D, n)
        b = solve_triangular(self.fixed.chol, self.mean(x).T, lower=True)  # (D, 4000)
        squared = (a**2).sum(0)[:, None] + (b**2).sum(0) - 2 * a.T @ b
        log_density = -squared / (2 * scale) - self.dim_theta / 2 * np.log(scale)
        return np.asarray(logsumexp(log_density, axis=1) - np.log(len(x)))

    @cached_property
    def _prior_x(self) -> Array:
        return self.x(4000, stream(0, "blind_prior", self.dim_x, self.dim_theta))
