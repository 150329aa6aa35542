"""Two small models whose posterior is known, and the exact divergence of normals."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import torch

from validation_core.bayes.posterior import FullGaussian
from validation_core.keys import Specification
from validation_core.types import Joint, Paper


@dataclass(frozen=True, kw_only=True)
class Conjugate(Specification):
    """z ~ N(0, 1), x | z ~ N(z, 1): the posterior is N(x / 2, 1 / 2)."""

    name: ClassVar[str] = "conjugate"
    title: ClassVar[str] = "Conjugate normal"
    paper: ClassVar[Paper] = Paper("Domke", 2021, "An easy to interpret diagnostic")
    version: ClassVar[int] = 1
    summary: ClassVar[str] = "A mean"
    label: ClassVar[str] = "Conjugate normal"
    names: ClassVar[tuple[str, ...]] = ("z",)
    dims: ClassVar[tuple[int, int]] = (1, 1)

    def sample_prior(self, n, rng):
        return rng.standard_normal((n, 1))

    def simulate_data(self, z, rng):
        return z + rng.standard_normal(z.shape)

    def simulate(self, n, rng):
        z = self.sample_prior(n, rng)
        return Joint(z, self.simulate_data(z, rng))

    def unnormalised_log_joint(self, z, y):
        return -0.5 * (z.square() + (y - z).square())[..., 0]

    def log_normaliser(self, y):
        return y.new_full(y.shape[:-1], -np.log(2 * np.pi))

    def exact(self, y):
        return off(y, 0.0, 0.5)


def off(y, shift, variance):
    """q = N(x / 2 + shift, variance) at each x (K, 1)."""
    return FullGaussian(y / 2 + shift, np.full((len(y), 1, 1), np.sqrt(variance)))


@dataclass(frozen=True, kw_only=True, eq=False)
class Quadratic(Specification):
    """log p(z, y) = -(z - y)' A (z - y) / 2 up to a constant: the posterior is N(y, A^-1)."""

    curvature: np.ndarray = field(default_factory=lambda: np.array([[3.0, 1.2], [1.2, 2.0]]))

    @property
    def dims(self):
        return len(self.curvature), len(self.curvature)

    def unnormalised_log_joint(self, z, y):
        away = z - y
        return -0.5 * (away * (away @ torch.tensor(self.curvature))).sum(-1)

    def log_normaliser(self, y):
        return y.new_zeros(y.shape[:-1])

    def exact(self, y):
        scale = np.linalg.cholesky(np.linalg.inv(self.curvature))
        return FullGaussian(y, np.broadcast_to(scale, (len(y), *scale.shape)))


def gaussian_skl(q1, q2):
    """KL(q1 || q2) + KL(q2 || q1) at each data set (K,), in nats; NaN where either is missing."""
    values = np.full(len(q1.mean), np.nan)
    ok = q1.ok & q2.ok
    off = (q1.mean - q2.mean)[ok, :, None]
    first, two = q1.scale[ok], q2.scale[ok]
    ratio, back = np.linalg.solve(two, first), np.linalg.solve(first, two)
    # tr(S2^-1 S1) + tr(S1^-1 S2) - 2 D as a square, which is exact where the two hardly differ
    spread = np.square(ratio - np.swapaxes(back, 1, 2)).sum((1, 2))
    apart = [np.square(np.linalg.solve(scale, off)).sum((1, 2)) for scale in (first, two)]
    values[ok] = 0.5 * (spread + apart[0] + apart[1])
    return values
