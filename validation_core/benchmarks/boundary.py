"""The toy example of the conformal paper, with closed forms where they exist.

Bansal, Chen, Scott, Fig. 1. p = N(0, I), q = N((gamma, 0), I) on (theta, x). The
score is -((theta - 1/4 - c) cos b + x sin b): a shift c of the boundary biases the threshold and
leaves every ranking alone, a turn b takes the signal out of the score. Under p the score is
normal with mean (1/4 + c) cos b, under q with mean (1/4 + c - gamma) cos b, both of variance 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.special import gammaln, ndtr, ndtri, owens_t, xlog1py, xlogy

from validation_core.shared_arrays import read_only
from validation_core.statistics import two_sample_laws
from validation_core.types import Array, Benchmark, Paper

GAMMA = 0.5
"""The paper's shift of q."""

MIDPOINT = 0.25
"""Position of the boundary at c = 0: half way between the two means of the paper's gamma."""


@dataclass(frozen=True, kw_only=True)
class Boundary(Benchmark):
    """Two normals a shift apart: the posterior ignores x, and q's mean is off by gamma.

    Examples:
        >>> benchmark = npt.Boundary()
        >>> x = benchmark.x(4000, rng)
        >>> bool(benchmark.q(x, 0.5, rng).mean() > benchmark.theta(x, 0.5, rng).mean() + 0.4)
        True
    """

    name: ClassVar[str] = "boundary"
    title: ClassVar[str] = "Two shifted normals"
    paper: ClassVar[Paper] = Paper("Bansal, Chen, Scott", 2025, "Conformal C2ST", "Fig. 1")

    @property
    def summary(self) -> str:
        """Effect of gamma on q, in one sentence."""
        return "q moves the mean of theta by gamma posterior standard deviations"

    @property
    def gammas(self) -> tuple[float, ...]:
        """0 to 1 in steps of a tenth; the paper shows 0.5."""
        return tuple(round(0.1 * step, 1) for step in range(11))

    @property
    def dims(self) -> tuple[int, int]:
        """Dimensions of theta and of x: 1 and 1."""
        return 1, 1

    def x(self, n: int, rng: np.random.Generator) -> Array:
        """Standard normal: (n, 1)."""
        return rng.standard_normal((n, 1))

    def theta(self, x: Array, gamma: float, rng: np.random.Generator) -> Array:
        """Standard normal at every x: (n, 1)."""
        return rng.standard_normal((len(x), 1))

    def q(self, x: Array, gamma: float, rng: np.random.Generator) -> Array:
        """Normal about gamma: (n, 1)."""
        return gamma + rng.standard_normal((len(x), 1))

    def log_ratio(self, theta: Array, x: Array, gamma: float) -> Array:
        """gamma^2/2 - gamma theta: (n,)."""
        return np.asarray(gamma**2 / 2 - gamma * theta[:, 0])

    def log_p(self, theta: Array, x: Array, gamma: float) -> Array:
        """-theta^2/2 - log(2 pi)/2, at every x: (n,)."""
        return np.asarray(-(theta[:, 0] ** 2) / 2 - np.log(2 * np.pi) / 2)


class _ScoreMeans(NamedTuple):
    """Means of the score under p and under q; both variances are 1."""

    p: Array
    q: Array


def score_means(offset: Array | float, angle: Array | float, gamma: float = GAMMA) -> _ScoreMeans:
    """Means of the score under p and under q.

    Args:
        offset: shifts c of the boundary, in posterior standard deviations.
        angle: turns of the boundary in radians; broadcasts with `offset`.
        gamma: bias of q.
    """
    along = np.cos(angle)
    middle = MIDPOINT + np.asarray(offset)
    return _ScoreMeans(np.asarray(middle * along), np.asarray((middle - gamma) * along))


def class_accuracies(
    offset: Array | float, angle: Array | float, gamma: float = GAMMA
) -> tuple[Array, Array]:
    """Accuracies by class: shares of p's draws with a score above 0, and of q's draws below 0.

    Args:
        offset: shifts c of the boundary, in posterior standard deviations.
        angle: turns of the boundary in radians; broadcasts with `offset`.
        gamma: bias of q.
    """
    means = score_means(offset, angle, gamma)
    return ndtr(means.p), ndtr(-means.q)


def exact_auc(angle: Array | float, gamma: float = GAMMA) -> Array:
    """AUC P(a draw of p outscores a draw of q) = Phi(gamma cos b / sqrt 2), at every offset.

    Args:
        angle: turns b of the boundary, in radians.
        gamma: bias of q.
    """
    return np.asarray(ndtr(gamma * np.cos(angle) / np.sqrt(2)))


def c2st_power(
    offset: Array | float,
    angle: Array | float,
    n: int,
    *,
    gamma: float = GAMMA,
    alpha: float = 0.05,
    per_class: bool = False,
) -> Array:
    """Exact power of C2ST with n draws of each class, summed over the binomial counts that reject.

    Args:
        offset: shifts c of the boundary, in posterior standard deviations.
        angle: turns of the boundary in radians; broadcasts with `offset`.
        n: test draws of each class.
        gamma: bias of q.
        alpha: level of the test.
        per_class: whether the null's variance is estimated class by class, instead of that of a
            fair coin.
    """
    right_p, right_q = class_accuracies(offset, angle, gamma)
    of_p, of_q = _binomial(n, right_p), _binomial(n, right_q)  # (..., n + 1)
    region = rejection_region(n, alpha, per_class)
    return np.asarray(np.clip(((of_p @ region) * of_q).sum(-1), 0.0, 1.0))


def _binomial(n: int, rate: Array) -> Array:
    """Binomial probabilities of 0 to n hits at rates (...): (..., n + 1)."""
    hits, each = np.arange(n + 1), np.asarray(rate)[..., None]
    ways = gammaln(n + 1) - gammaln(hits + 1) - gammaln(n - hits + 1)
    return np.asarray(np.exp(ways + xlogy(hits, each) + xlog1py(n - hits, -each)))


@lru_cache(maxsize=32)
@read_only
def rejection_region(n: int, alpha: float, per_class: bool) -> Array:
    """Pairs of hits (of p's draws, of q's draws) that C2ST rejects: (n + 1, n + 1) of 0 and 1."""
    if n < two_sample_laws.SMALL:
        p_hits, q_hits = np.meshgrid(*[np.arange(n + 1.0)] * 2, indexing="ij")
        law = two_sample_laws.conditional if per_class else two_sample_laws.accuracy
        return (law(p_hits, n - q_hits, n, n) <= alpha).astype(float)
    share = np.arange(n + 1) / n
    excess = (share[:, None] + share) / 2 - 0.5
    if not per_class:
        return (excess > ndtri(1 - alpha) / np.sqrt(8 * n)).astype(float)
    variance = share * (1 - share) / n
    sd = np.sqrt((variance[:, None] + variance) / 4)
    return (excess > ndtri(1 - alpha) * sd).astype(float)


def multiple_power(
    angle: Array | float, n: int, *, gamma: float = GAMMA, alpha: float = 0.05
) -> Array:
    """Power of Multiple with n draws of each class, by its normal limit; offsets do not change it.

    The mean Mann-Whitney difference over its true standard deviation, rejected where it passes
    the quantile times the limit of the test's own sigma.

    Args:
        angle: turns of the boundary, in radians.
        n: test draws of each class.
        gamma: bias of q.
        alpha: level of the test.
    """
    area = exact_auc(angle, gamma)
    spread = placement_variance(angle, gamma)
    true_sd = np.sqrt(2 * spread / n)
    own_sd = np.sqrt(spread / n + 1 / (12 * n))
    return np.asarray(ndtr((area - 0.5 - ndtri(1 - alpha) * own_sd) / true_sd))


def placement_variance(angle: Array | float, gamma: float = GAMMA) -> Array:
    """Variance of G_q(S) for S from p: of Phi(Z + d), with d the distance of the means.

    E Phi(Z + d)^2 is a bivariate normal probability at correlation 1/2, by Owen's T.
    """
    h = gamma * np.cos(angle) / np.sqrt(2)
    area = ndtr(h)
    return np.asarray(area - 2 * owens_t(h, np.sqrt(1 / 3)) - area**2)
