"""The models of Domke (2021), Section 7, each with its prior, its simulator and its log density.

Peregrine falcons and hospitals (binomial), heart transplants, ionosphere and concrete
(regressions), and a two-stage normal whose augmented divergence is known exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import digamma, expit, gammaln, log_expit, polygamma

from validation_core.bayes.model import PAPER, CovariateRegression, Model
from validation_core.bayes.posterior import FullGaussian, logistic_log_density, to_interval
from validation_core.types import Array, Joint, Paper

if TYPE_CHECKING:
    from torch import Tensor


# ---- Binomial regression: breeding success of peregrine falcons over 40 years ----
#
# Domke (2021), Section 7: alpha, beta_1, beta_2 ~ N(0, 10^2), and of n_i pairs in year i
# y_i ~ Binomial(n_i, sigmoid(alpha + beta_1 t_i + beta_2 t_i^2)) succeed, with t_i from -1 to 1.
# (The paper prints the predictor without its sigmoid.) Most chances drawn from so wide a prior are
# close to 0 or 1, which leaves skewed posteriors. Only n_i and t_i are held fixed; y is simulated.


class PeregrineCounts(NamedTuple):
    """One row for each of 40 years."""

    t: Array
    """Year, scaled to about -1 to 1."""
    n: Array
    """Pairs."""
    y: Array
    """Those that reproduced: shown to readers, never used by the diagnostic."""


PEREGRINES = PeregrineCounts(
    (np.arange(1964.0, 2004) - 1983.5) / 19.5,
    np.array([
        34.0, 45, 39, 36, 20, 18, 21, 20, 17, 20, 23, 27, 29, 39, 43, 47, 57, 56, 63, 70,
        82, 90, 95, 107, 114, 121, 132, 134, 143, 150, 154, 172, 163, 164, 161, 137, 157, 153,
        191, 193,
    ]),
    np.array([
        19.0, 18, 22, 19, 8, 7, 9, 11, 10, 12, 15, 19, 21, 27, 32, 35, 42, 36, 52, 44,
        58, 54, 59, 72, 80, 81, 95, 101, 92, 114, 74, 79, 115, 102, 102, 76, 104, 64, 107, 104,
    ]),
)  # fmt: skip
"""Peregrine falcons of the French Jura, 1964 to 2003: Kery and Schaub (2012), Bayesian population
analysis using WinBUGS, file falcons.txt."""

BOOK = PeregrineCounts(
    np.arange(-19.0, 21) / 20,
    np.array([
        43.0, 83, 53, 91, 95, 24, 62, 91, 64, 57, 97, 56, 74, 66, 28, 92, 40, 23, 46, 96,
        91, 75, 71, 100, 72, 77, 64, 68, 43, 32, 97, 92, 75, 84, 22, 58, 81, 37, 45, 39,
    ]),
    np.array([
        27.0, 42, 35, 55, 61, 19, 41, 74, 43, 42, 73, 37, 48, 49, 19, 72, 30, 18, 31, 71,
        63, 51, 48, 73, 49, 54, 43, 59, 30, 24, 62, 55, 51, 47, 14, 27, 45, 20, 26, 19,
    ]),
)  # fmt: skip
"""Simulated in Section 3.5.1 of the same book; public collections of models carry these numbers
under the falcons' name."""


SD = 10.0
"""Of each coefficient under the prior."""


@dataclass(frozen=True, kw_only=True)
class GLMBinomial(Model, spec="glm_binomial"):
    """Three coefficients of a parabola in time, on the scale of log odds."""

    name: ClassVar[str] = "glm_binomial"
    title: ClassVar[str] = "Peregrine falcons"
    paper: ClassVar[Paper] = PAPER
    data: Literal["peregrine", "book"] = field(
        default="peregrine",
        metadata={
            "label": "Years and pairs",
            "help": "peregrine: the real counts of pairs in the French Jura, 1964 to 2003; book: "
            "the simulated ones of the book's exercise, which public collections give that name",
            "choices": ("peregrine", "book"),
        },
    )

    def __post_init__(self) -> None:
        if self.data not in ("peregrine", "book"):
            raise ValueError(
                f"Binomial regression is on the years of peregrine or of book; got "
                f"{self.data!r}; take one of the two"
            )

    @property
    def summary(self) -> str:
        return (
            "Log odds of breeding success as a parabola in time, from successes among known "
            "numbers of pairs in 40 years"
        )

    @property
    def label(self) -> str:
        return self.title if self.data == "peregrine" else f"{self.title}, the book's simulation"

    @property
    def names(self) -> tuple[str, ...]:
        return "alpha", "beta 1", "beta 2"

    @property
    def dims(self) -> tuple[int, int]:
        return 3, len(self.counts.n)

    @property
    def counts(self) -> PeregrineCounts:
        """Years, pairs and the successes that were observed."""
        return PEREGRINES if self.data == "peregrine" else BOOK

    @cached_property
    def powers(self) -> Array:
        """1, t, t^2: (40, 3)."""
        return np.vander(self.counts.t, 3, increasing=True)

    def simulate(self, n: int, rng: np.random.Generator) -> Joint:
        """theta = coefficients (n, 3), x = successes (n, 40)."""
        z = SD * rng.standard_normal((n, 3))
        y = rng.binomial(self.counts.n.astype(int), expit(z @ self.powers.T))
        return Joint(z, y.astype(float))

    def unnormalised_log_joint(self, z: Tensor, y: Tensor) -> Tensor:
        """What depends on z (..., 3); the data enter by their sums with 1, t and t^2."""
        from torch.nn.functional import logsigmoid

        powers, pairs = self._tensors
        failures = logsigmoid(z @ -powers.T) @ pairs
        return (z * (y @ powers)).sum(-1) + failures - z.square().sum(-1) / (2 * SD**2)

    def log_normaliser(self, y: Tensor) -> Tensor:
        """What does not."""
        return _log_ways(self._tensors[1], y) - 3 * np.log(SD * np.sqrt(2 * np.pi))

    def exact(self, y: Array) -> None:
        """None: there is no closed form."""
        del y

    @cached_property
    def _tensors(self) -> tuple[Tensor, Tensor]:
        import torch

        return torch.tensor(self.powers), torch.tensor(self.counts.n)


# ---- What log Binomial(y | n, sigmoid(eta)) has in common wherever a model uses it ----


def _log_ways(n: Tensor, y: Tensor) -> Tensor:
    """log of n choose y, summed over the last axis: (..., I) gives (...)."""
    import torch

    return (torch.lgamma(n + 1) - torch.lgamma(y + 1) - torch.lgamma(n - y + 1)).sum(-1)


OMEGA = 0.25, 1.0
MU = -3.0, 3.0

OPERATIONS = np.array([143.0, 187, 323, 122, 164, 405, 239, 482, 195, 177, 581, 301])
"""n_i of the Bristol inquiry: open-heart operations on children under 1 year, 1991 to 1995."""
OBSERVED = np.array([41.0, 25, 24, 23, 25, 42, 24, 53, 26, 25, 58, 31])
"""Deaths; unit 1 is Bristol."""

UNITS = len(OPERATIONS)


@dataclass(frozen=True, kw_only=True)
class Hospitals(Model, spec="hospitals"):
    """A spread, a centre, and twelve log odds around it."""

    name: ClassVar[str] = "hospitals"
    title: ClassVar[str] = "Hospitals"
    paper: ClassVar[Paper] = PAPER

    @property
    def summary(self) -> str:
        return (
            "Log odds of death in 12 hospitals, their centre and spread, from the deaths among "
            "known numbers of operations"
        )

    @property
    def label(self) -> str:
        return self.title

    @property
    def names(self) -> tuple[str, ...]:
        return "logit omega", "logit mu", *(f"eta {i + 1}" for i in range(UNITS))

    @property
    def dims(self) -> tuple[int, int]:
        return 2 + UNITS, UNITS

    def simulate(self, n: int, rng: np.random.Generator) -> Joint:
        """theta = (logit omega, logit mu, eta_1..eta_12) (n, 14), x = deaths (n, 12).

        The logits are of the place in the interval: standard logistic under the prior.
        """
        above = rng.logistic(size=(n, 2))
        omega, mu = to_interval(above[:, :1], *OMEGA), to_interval(above[:, 1:], *MU)
        eta = mu + omega * rng.standard_normal((n, UNITS))
        y = rng.binomial(OPERATIONS.astype(int), expit(eta))
        return Joint(np.concatenate([above, eta], 1), y.astype(float))

    def unnormalised_log_joint(self, z: Tensor, y: Tensor) -> Tensor:
        """What depends on z (..., 14)."""
        from torch.nn.functional import logsigmoid

        above, eta = z[..., :2], z[..., 2:]
        place = above.sigmoid()
        omega = OMEGA[0] + (OMEGA[1] - OMEGA[0]) * place[..., :1]
        mu = MU[0] + (MU[1] - MU[0]) * place[..., 1:]
        around = -0.5 * ((eta - mu) / omega).square().sum(-1) - UNITS * omega.squeeze(-1).log()
        deaths = (y * eta).sum(-1) + logsigmoid(-eta) @ self._operations
        return logistic_log_density(above).sum(-1) + around + deaths

    def log_normaliser(self, y: Tensor) -> Tensor:
        """What does not."""
        return _log_ways(self._operations, y) - 0.5 * UNITS * np.log(2 * np.pi)

    def exact(self, y: Array) -> None:
        """None: there is no closed form."""
        del y

    @cached_property
    def _operations(self) -> Tensor:
        import torch

        return torch.tensor(OPERATIONS)


# ---- Heart transplants: survival of the operation, and years lived after it ----
#
# BUGS Book, Example 3.5.1, with the prior of Domke (2021), Section 7: p ~ Uniform(0, 1), theta ~
# Gamma(1/3, 1/3) (shape, rate), y ~ Binomial(10, p) survive the operation and each of 8 lives
# s_i ~ Exponential(theta) years more (theta a rate). The 8 are simulated whatever y is: they are
# covariates of the data's shape, not survivors of this y. Coordinates u = logit p, v = log theta.


OPERATED, SURVIVORS = 10, 8
SHAPE = RATE = 1 / 3

OBSERVED_DEATHS = np.array([8.0, 2, 3, 4, 4, 6, 7, 10, 12])
"""The book's data: y, then the years of the 8 survivors."""


@dataclass(frozen=True, kw_only=True)
class HeartTransplants(Model, spec="heart_transplants"):
    """Two parameters, independent in the posterior, which is known exactly."""

    name: ClassVar[str] = "heart_transplants"
    title: ClassVar[str] = "Heart transplants"
    paper: ClassVar[Paper] = PAPER

    @property
    def summary(self) -> str:
        return (
            "Chance to survive a transplant and rate of dying after it, from 10 operations and "
            "the years that 8 patients lived"
        )

    @property
    def label(self) -> str:
        return self.title

    @property
    def names(self) -> tuple[str, ...]:
        return "logit p", "log theta"

    @property
    def dims(self) -> tuple[int, int]:
        return 2, 1 + SURVIVORS

    def simulate(self, n: int, rng: np.random.Generator) -> Joint:
        """theta = (logit p, log theta) (n, 2), x = (y, s_1..s_8) (n, 9)."""
        u = rng.logistic(size=n)
        v = _log_gamma(SHAPE, n, rng) - np.log(RATE)
        y = rng.binomial(OPERATED, np.exp(log_expit(u)))
        s = rng.standard_exponential((n, SURVIVORS)) * np.exp(-v)[:, None]
        return Joint(np.stack([u, v], 1), np.concatenate([y[:, None], s], 1))

    def unnormalised_log_joint(self, z: Tensor, y: Tensor) -> Tensor:
        """What depends on z (..., 2)."""
        from torch.nn.functional import logsigmoid

        u, v = z[..., 0], z[..., 1]
        lived, years = y[..., 0], y[..., 1:].sum(-1)
        survive = lived * logsigmoid(u) + (OPERATED - lived) * logsigmoid(-u)
        return (
            logistic_log_density(u) + survive + (SHAPE + SURVIVORS) * v - (RATE + years) * v.exp()
        )

    def log_normaliser(self, y: Tensor) -> Tensor:
        """What does not."""
        import torch

        lived = y[..., 0]
        ways = gammaln(OPERATED + 1) - torch.lgamma(lived + 1)
        return ways - torch.lgamma(OPERATED - lived + 1) + SHAPE * np.log(RATE) - gammaln(SHAPE)

    def exact(self, y: Array) -> _HeartPosterior:
        """p ~ Beta(y + 1, 11 - y), theta ~ Gamma(a + 8, b + sum s)."""
        lived = y[:, 0]
        return _HeartPosterior(lived + 1, OPERATED - lived + 1, RATE + y[:, 1:].sum(1))


@dataclass(frozen=True, eq=False)
class _HeartPosterior:
    """logit of Beta(a, b) and log of Gamma(1/3 + 8, rate), independent; a, b, rate (K,)."""

    a: Array
    b: Array
    rate: Array

    @property
    def ok(self) -> NDArray[np.bool_]:
        return np.ones(len(self.a), bool)

    def sample(self, s: int, rngs: Sequence[np.random.Generator]) -> Array:
        """s draws for each data set: (K, s, 2)."""
        draws = [
            np.stack(
                [
                    _log_gamma(a, s, rng) - _log_gamma(b, s, rng),
                    _log_gamma(SHAPE + SURVIVORS, s, rng) - np.log(rate),
                ],
                1,
            )
            for a, b, rate, rng in zip(self.a, self.b, self.rate, rngs, strict=True)
        ]
        return np.stack(draws)

    def log_density(self, z: Array) -> Array:
        """Of z (K, S, 2): (K, S)."""
        u, v = z[..., 0], z[..., 1]
        a, b, rate, shape = self.a[:, None], self.b[:, None], self.rate[:, None], SHAPE + SURVIVORS
        beta = gammaln(a + b) - gammaln(a) - gammaln(b) + a * log_expit(u) + b * log_expit(-u)
        return np.asarray(beta + shape * (np.log(rate) + v) - gammaln(shape) - rate * np.exp(v))

    def moments(self) -> tuple[Array, Array]:
        """Means and variances (K, 2) of (u, v)."""
        shape = np.full(len(self.a), SHAPE + SURVIVORS)
        means = digamma(self.a) - digamma(self.b), digamma(shape) - np.log(self.rate)
        spread = polygamma(1, self.a) + polygamma(1, self.b), polygamma(1, shape)
        return np.stack(means, 1), np.stack(spread, 1)


def _log_gamma(shape: float, n: int, rng: np.random.Generator) -> Array:
    """Logarithms of Gamma(shape, 1) draws (n,): small shapes underflow before the logarithm."""
    return np.log(rng.standard_gamma(shape + 1, n)) - rng.standard_exponential(n) / shape


# ---- Ionosphere: logistic regression of good and bad radar returns on 33 numbers of each ----
#
# Domke (2021), Section 7: w ~ N(0, I) and y_i ~ Bernoulli(sigmoid(x_i w)) for the 351 rows of the
# UCI data. Only the covariates are held fixed; labels are simulated. The paper does not say how
# columns are scaled: here each has mean 0 and variance 1, the constant one is left out, and an
# intercept comes first, so that w has 34 entries.


@dataclass(frozen=True, kw_only=True)
class Ionosphere(CovariateRegression, spec="ionosphere"):
    """An intercept and 33 weights."""

    name: ClassVar[str] = "ionosphere"
    title: ClassVar[str] = "Ionosphere"

    @property
    def summary(self) -> str:
        return (
            "Weights of a logistic regression, from the labels of 351 radar returns with known "
            "covariates"
        )

    def simulate(self, n: int, rng: np.random.Generator) -> Joint:
        """theta = w (n, 34), x = labels 0 or 1 (n, 351)."""
        w = rng.standard_normal((n, self.dims[0]))
        chance = expit(w @ self.covariates.T)
        return Joint(w, (rng.random(chance.shape) < chance).astype(float))

    def unnormalised_log_joint(self, z: Tensor, y: Tensor) -> Tensor:
        """What depends on z (..., 34); the labels enter by their sums with each covariate."""
        from torch.nn.functional import logsigmoid

        x, minus = self._signed
        failures = logsigmoid(z @ minus.T).sum(-1)
        return (z * (y @ x)).sum(-1) + failures - 0.5 * z.square().sum(-1)

    def log_normaliser(self, y: Tensor) -> Tensor:
        """What does not."""
        return y.new_full(y.shape[:-1], -0.5 * self.dims[0] * np.log(2 * np.pi))

    def exact(self, y: Array) -> None:
        """None: there is no closed form."""
        del y

    @cached_property
    def _signed(self) -> tuple[Tensor, Tensor]:
        """X and -X: to negate every linear predictor instead takes a pass over all of them."""
        import torch

        x = torch.tensor(self.covariates)
        return x, -x


NOISE = 1.0
"""s^2, a variance."""


@dataclass(frozen=True, kw_only=True)
class Concrete(CovariateRegression, spec="concrete"):
    """An intercept and 8 weights, whose posterior is normal and known."""

    name: ClassVar[str] = "concrete"
    title: ClassVar[str] = "Concrete"

    @property
    def summary(self) -> str:
        return (
            "Weights of a linear regression, from the strengths of 1030 samples of concrete with "
            "known covariates and noise"
        )

    def simulate(self, n: int, rng: np.random.Generator) -> Joint:
        """theta = w (n, 9), x = strengths (n, 1030)."""
        w = rng.standard_normal((n, self.dims[0]))
        mean = w @ self.covariates.T
        return Joint(w, mean + np.sqrt(NOISE) * rng.standard_normal(mean.shape))

    def unnormalised_log_joint(self, z: Tensor, y: Tensor) -> Tensor:
        """What depends on z (..., 9); the strengths enter by their sums with each covariate."""
        x, precision = self._tensors
        return (z * (y @ x / NOISE - 0.5 * (z @ precision))).sum(-1)

    def log_normaliser(self, y: Tensor) -> Tensor:
        """What does not."""
        d, n = self.dims
        noise = y.square().sum(-1) / NOISE + n * np.log(2 * np.pi * NOISE)
        return -0.5 * (noise + d * np.log(2 * np.pi))

    def exact(self, y: Array) -> FullGaussian:
        """N(S X'y / s^2, S) at each row of y (K, 1030)."""
        x = self.covariates
        covariance = np.linalg.inv(x.T @ x / NOISE + np.eye(x.shape[1]))
        scale = np.linalg.cholesky((covariance + covariance.T) / 2)
        mean = y @ x @ covariance / NOISE
        return FullGaussian(mean, np.broadcast_to(scale, (len(y), *scale.shape)))

    @cached_property
    def _tensors(self) -> tuple[Tensor, Tensor]:
        """X and X'X / s^2 + I."""
        import torch

        x = torch.tensor(self.covariates)
        return x, x.T @ x / NOISE + torch.eye(self.dims[0], dtype=x.dtype)


# ---- An approximation without a density of its own: the augmented divergence, from above ----
#
# Where q draws h first and z given h, q(z | x) is an integral over h, and log q(z | x) cannot be
# had. Algorithm 3 gives the truth an h too, from any r(h | z, x), and compares the pairs: with
# p(z, x) r(h | z, x) for p and q(z, h | x) for q,
#
#     SKL(z, h) = SKL(z) + E SKL(h | z) >= SKL(z),
#
# equal where r is q's own law of h given z. (The paper's Corollary 3 prints h ~ p(h | x), which
# forgets z: what it estimates is no divergence.)
#
# The example is one where the integral is known, so that the bound can be seen next to what it
# bounds: z ~ N(0, 1), x | z ~ N(z, 1); q draws h ~ N(x / 2 + shift, s1^2) and z | h ~ N(h, s2^2).
#
# References:
#     An easy to interpret diagnostic for approximate inference: symmetric divergence over
#     simulations, Domke (2021), Algorithm 3, Corollary 3.


POSTERIOR = 0.5
"""Variance of z given x, whose mean is x / 2."""


@dataclass(frozen=True, kw_only=True)
class TwoStageNormal:
    """q(z, h | x), and r(h | z, x), q's own law of h given z put off by as much as is asked.

    Everywhere `off` is in standard deviations of q's own law, `stretch` a factor on its variance;
    0 and 1 leave it as it is.

    Args:
        shift: of q's mean from the posterior's.
        first: s1^2, the variance of h.
        second: s2^2, that of z given h.
    """

    shift: float = 0.3
    first: float = 0.5
    second: float = 0.3

    def __post_init__(self) -> None:
        if not (self.first > 0 and self.second > 0 and np.isfinite(self.shift)):
            raise ValueError(
                f"q draws h with a variance above 0, then z with another; got {self.first:g} and "
                f"{self.second:g}, shifted by {self.shift:g}"
            )

    @property
    def variance(self) -> float:
        """Of z under q, whose mean is x / 2 + shift."""
        return self.first + self.second

    @property
    def own(self) -> float:
        """Variance of q's own law of h given z."""
        return self.first * self.second / self.variance

    def skl(self) -> float:
        """SKL(z) in nats, the same at every x."""
        return float(_skl(self.shift, POSTERIOR, self.variance))

    def bound(self, off: ArrayLike = 0.0, stretch: ArrayLike = 1.0) -> Array:
        """SKL(z, h) in nats (...), exactly."""
        away, c = np.asarray(off, dtype=np.float64), np.asarray(stretch, dtype=np.float64)
        _checked(c)
        return np.asarray(self.skl() + _skl(away, c, 1.0))

    def simulate(
        self, n: int, rng: np.random.Generator, off: float = 0.0, stretch: float = 1.0
    ) -> Array:
        """n terms d (n,) of Algorithm 3, whose mean is `bound(off, stretch)`."""
        _checked(np.asarray(stretch))
        z, x = _pairs(n, rng)
        h = self._r_draws(z, x, off, stretch, rng)
        h_q = x / 2 + self.shift + np.sqrt(self.first) * rng.standard_normal(n)
        z_q = h_q + np.sqrt(self.second) * rng.standard_normal(n)
        weights = [self.log_weight(at, by, x, off, stretch) for at, by in ((z, h), (z_q, h_q))]
        return np.asarray(weights[0] - weights[1])

    def marginal(self, n: int, rng: np.random.Generator) -> Array:
        """n terms d (n,) of Algorithm 1, with the density of z that other mixtures lack."""
        z, x = _pairs(n, rng)
        mean = x / 2 + self.shift
        z_q = mean + np.sqrt(self.variance) * rng.standard_normal(n)
        weights = [_log_joint(at, x) - _log_normal(at, mean, self.variance) for at in (z, z_q)]
        return np.asarray(weights[0] - weights[1])

    def log_weight(
        self, z: Array, h: Array, x: Array, off: float = 0.0, stretch: float = 1.0
    ) -> Array:
        """log p(z, x) + log r(h | z, x) - log q(z, h | x)."""
        r = _log_normal(h, self._own_mean(z, x) + off * np.sqrt(self.own), stretch * self.own)
        q = _log_normal(h, x / 2 + self.shift, self.first) + _log_normal(z, h, self.second)
        return np.asarray(_log_joint(z, x) + r - q)

    def _r_draws(
        self, z: Array, x: Array, off: float, stretch: float, rng: np.random.Generator
    ) -> Array:
        noise = off + np.sqrt(stretch) * rng.standard_normal(len(z))
        return np.asarray(self._own_mean(z, x) + np.sqrt(self.own) * noise)

    def _own_mean(self, z: Array, x: Array) -> Array:
        share = self.first / self.variance
        return np.asarray((1 - share) * (x / 2 + self.shift) + share * z)


def _checked(stretch: Array) -> None:
    if not (stretch > 0).all():
        raise ValueError(
            f"stretch is a factor on a variance, above 0; got {np.min(stretch):g}; 1 is q's own"
        )


def _pairs(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    z = rng.standard_normal(n)
    return z, z + rng.standard_normal(n)


def _skl(gap: ArrayLike, one: ArrayLike, two: ArrayLike) -> Array:
    """Between normals by the gap between their means and their variances (...)."""
    u, v = np.asarray(one, dtype=np.float64), np.asarray(two, dtype=np.float64)
    return np.asarray(0.5 * ((u - v) ** 2 + np.square(gap) * (u + v)) / (u * v))


def _log_joint(z: Array, x: Array) -> Array:
    return _log_normal(z, 0.0, 1.0) + _log_normal(x, z, 1.0)


def _log_normal(at: Array, mean: Array | float, variance: float) -> Array:
    return np.asarray(-0.5 * (np.square(at - mean) / variance + np.log(2 * np.pi * variance)))
