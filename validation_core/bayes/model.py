"""A Bayesian model: a simulator of (z, y), and the log joint density that inference uses.

z are unconstrained coordinates, so that every density of z carries the Jacobian of the way back to
the parameters' own scale. Everything is float64, and any leading axes broadcast: K data sets and
S points at each are one array, z (K, S, D) with y (K, 1, M).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from validation_core.keys import Specification
from validation_core.types import Array, Joint, Paper

if TYPE_CHECKING:
    from torch import Tensor

    from validation_core.bayes.posterior import Posterior

PAPER = Paper(
    "Domke",
    2021,
    "An easy to interpret diagnostic for approximate inference: symmetric divergence over "
    "simulations",
    "Section 7",
)
"""Source of the models."""


class Model(Specification):
    """A prior and a likelihood: a frozen value, part of the key of results inferred with it."""

    name: ClassVar[str]
    title: ClassVar[str]
    paper: ClassVar[Paper]

    @property
    def summary(self) -> str:
        """Data, unknowns and fixed quantities, in one sentence."""
        raise NotImplementedError

    @property
    def label(self) -> str:
        """Title with its options; says "stand-in" where its covariates are not the real ones."""
        raise NotImplementedError

    @property
    def names(self) -> tuple[str, ...]:
        """The D unconstrained coordinates, as a figure's axis shows them."""
        raise NotImplementedError

    @property
    def dims(self) -> tuple[int, int]:
        """(D, M): coordinates of z, numbers in y."""
        raise NotImplementedError

    def sample_prior(self, n: int, rng: np.random.Generator) -> Array:
        """n draws of z from the prior (n, D)."""
        raise NotImplementedError

    def simulate_data(self, z: Array, rng: np.random.Generator) -> Array:
        """Data simulated once at each row of z, covariates fixed: (n, M)."""
        raise NotImplementedError

    def simulate(self, n: int, rng: np.random.Generator) -> Joint:
        """n draws of (z, y), covariates fixed: theta (n, D) holds z, x (n, M) holds y."""
        z = self.sample_prior(n, rng)
        return Joint(z, self.simulate_data(z, rng))

    def unnormalised_log_joint(self, z: Tensor, y: Tensor) -> Tensor:
        """The part of log p(z, y) that depends on z (..., D): (...)."""
        raise NotImplementedError

    def log_normaliser(self, y: Tensor) -> Tensor:
        """The rest of log p(z, y), so that the sum is normalised over z and y (..., M): (...)."""
        raise NotImplementedError

    def exact(self, y: Array) -> Posterior | None:
        """p(z | y) at each row of y (K, M), where it has a closed form."""
        raise NotImplementedError


def log_joint(model: Model, z: Array, y: Array) -> Array:
    """Log joint density log p(z, y), normalised over both.

    Args:
        model: prior and likelihood.
        z: unconstrained parameters (..., D).
        y: data (..., M), with broadcasting leading axes.

    Returns:
        Log densities (...), in nats.
    """
    import torch

    at, data = _as_tensor(z), _as_tensor(y)
    with torch.no_grad():
        log_density: Array = (
            model.unnormalised_log_joint(at, data) + model.log_normaliser(data)
        ).numpy()
    return log_density


def log_joint_gradient(model: Model, z: Tensor, y: Tensor) -> Tensor:
    """Gradient of log p(z, y) in z (..., D): (..., D)."""
    return value_and_gradient(model, z, y)[1]


def value_and_gradient(model: Model, z: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Part of log p(z, y) that depends on z (..., D), and its gradient: (...) and (..., D)."""
    import torch

    at = z.detach().requires_grad_(True)
    value = model.unnormalised_log_joint(at, y)
    (slope,) = torch.autograd.grad(value.sum(), at)
    return value.detach(), slope


def log_joint_hessian(model: Model, z: Tensor, y: Tensor) -> Tensor:
    """Second derivatives of log p(z, y) at z (K, D), y (K, M): (K, D, D)."""
    import torch

    at = z.detach().requires_grad_(True)
    (slope,) = torch.autograd.grad(
        model.unnormalised_log_joint(at, y).sum(), at, create_graph=True
    )
    rows = [
        torch.autograd.grad(slope[:, d].sum(), at, retain_graph=True)[0] for d in range(z.shape[1])
    ]
    return torch.stack(rows, dim=1)


def _as_tensor(array: Array) -> Tensor:
    import torch

    return torch.from_numpy(np.ascontiguousarray(array, dtype=np.float64))
