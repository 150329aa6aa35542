"""A two-stage normal whose approximation has no density of its own: the augmented divergence.

Where q draws h first and z given h, q(z | x) is an integral over h, and log q(z | x) cannot be
had. Algorithm 3 gives the truth an h too, from any r(h | z, x), and compares the pairs: with
p(z, x) r(h | z, x) for p and q(z, h | x) for q,

    SKL(z, h) = SKL(z) + E SKL(h | z) >= SKL(z),

equal where r is q's own law of h given z. (The paper's Corollary 3 prints h ~ p(h | x), which
forgets z: what it estimates is no divergence.)

The integral of this example is known, so that the bound can be compared with the divergence it
bounds: z ~ N(0, 1), x | z ~ N(z, 1); q draws h ~ N(x / 2 + shift, s1^2) and z | h ~ N(h, s2^2).

References:
    An easy to interpret diagnostic for approximate inference: symmetric divergence over
    simulations, Domke (2021), Algorithm 3, Corollary 3.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from validation_core.types import Array

POSTERIOR = 0.5
"""Variance of z given x, whose mean is x / 2."""


@dataclass(frozen=True, kw_only=True)
class TwoStageNormal:
    """A q(z, h | x) that draws h first, and an r(h | z, x), q's own law of h given z, perturbed.

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
        """Variance of z under q; its mean is x / 2 + shift."""
        return self.first + self.second

    @property
    def own(self) -> float:
        """Variance of h given z under q."""
        return self.first * self.second / self.variance

    def skl(self) -> float:
        """SKL(z) in nats, the same at every x."""
        return float(_skl(self.shift, POSTERIOR, self.variance))

    def bound(self, off: ArrayLike = 0.0, stretch: ArrayLike = 1.0) -> Array:
        """Augmented divergence SKL(z, h) in nats, in closed form: (...)."""
        away, c = np.asarray(off, dtype=np.float64), np.asarray(stretch, dtype=np.float64)
        _checked(c)
        return np.asarray(self.skl() + _skl(away, c, 1.0))

    def simulate(
        self, n: int, rng: np.random.Generator, off: float = 0.0, stretch: float = 1.0
    ) -> Array:
        """Simulate n terms d (n,) of Algorithm 3, whose mean is `bound(off, stretch)`."""
        _checked(np.asarray(stretch))
        z, x = _pairs(n, rng)
        h = self._r_draws(z, x, off, stretch, rng)
        h_q = x / 2 + self.shift + np.sqrt(self.first) * rng.standard_normal(n)
        z_q = h_q + np.sqrt(self.second) * rng.standard_normal(n)
        weights = [self.log_weight(at, by, x, off, stretch) for at, by in ((z, h), (z_q, h_q))]
        return np.asarray(weights[0] - weights[1])

    def marginal(self, n: int, rng: np.random.Generator) -> Array:
        """Simulate n terms d (n,) of Algorithm 1, by z's density, unknown for other mixtures."""
        z, x = _pairs(n, rng)
        mean = x / 2 + self.shift
        z_q = mean + np.sqrt(self.variance) * rng.standard_normal(n)
        weights = [_log_joint(at, x) - _log_normal(at, mean, self.variance) for at in (z, z_q)]
        return np.asarray(weights[0] - weights[1])

    def log_weight(
        self, z: Array, h: Array, x: Array, off: float = 0.0, stretch: float = 1.0
    ) -> Array:
        """Log weight log p(z, x) + log r(h | z, x) - log q(z, h | x)."""
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
    """Symmetric divergence of two normals in nats, from the gap of their means and variances."""
    u, v = np.asarray(one, dtype=np.float64), np.asarray(two, dtype=np.float64)
    return np.asarray(0.5 * ((u - v) ** 2 + np.square(gap) * (u + v)) / (u * v))


def _log_joint(z: Array, x: Array) -> Array:
    return _log_normal(z, 0.0, 1.0) + _log_normal(x, z, 1.0)


def _log_normal(at: Array, mean: Array | float, variance: float) -> Array:
    return np.asarray(-0.5 * (np.square(at - mean) / variance + np.log(2 * np.pi * variance)))
