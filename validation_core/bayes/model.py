"""A Bayesian model: what simulates (z, y), and its log density where inference works.

z are unconstrained coordinates, so that every density of z carries the Jacobian of the way back to
the parameters' own scale. Everything is float64, and any leading axes broadcast: K data sets and
S points at each are one array, z (K, S, D) with y (K, 1, M)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

import numpy as np

from validation_core import keys
from validation_core.keys import Specification
from validation_core.rng import stream
from validation_core.types import Array, Joint, Paper

if TYPE_CHECKING:
    from torch import Tensor

    from validation_core.bayes.posterior import Posterior


# ---- Covariates of the two regressions: the real ones of the UCI repository, or a stand-in ----
#
# The files ship with the program (`validation_core/data/uci`, CC BY 4.0); the stand-in is random
# numbers of the same raw shape, from a seed that never changes. In a model's key stands the digest
# of the real numbers, or nothing for the stand-in, so that other numbers make another key.


class _DesignShape(NamedTuple):
    """What a model's covariates look like before they are standardised, and their file."""

    rows: int
    columns: int
    constant: int
    """Columns that hold one number throughout: they are left out."""
    file: str
    """Numbers with commas between; the label or response in the last column is not read."""
    header: int = 0
    """Lines of names."""

    @property
    def dims(self) -> tuple[int, int]:
        """Coefficients, of which one is the intercept, and rows."""
        return self.columns - self.constant + 1, self.rows


SHAPES: Mapping[str, _DesignShape] = {
    "ionosphere": _DesignShape(351, 34, 1, "ionosphere.data"),
    "concrete": _DesignShape(1030, 8, 0, "Concrete_Data.csv", header=1),
}

Design = Literal["real", "stand-in"]

OPTION: Mapping[str, str] = {
    "label": "Covariates",
    "help": "Of ionosphere and concrete: those of the UCI repository, or random numbers of the "
    "same shape.",
    "stored": "digest",
}
"""Metadata of a field `design` whose class has a property `digest`."""

_FOLDER = Path(__file__).parents[1] / "data" / "uci"


@cache
def real_covariates(name: str) -> Array:
    """Raw covariates (rows, columns) of a model."""
    shape = SHAPES[name]
    with (_FOLDER / shape.file).open(encoding="utf-8-sig") as file:
        return np.loadtxt(file, delimiter=",", skiprows=shape.header, usecols=range(shape.columns))


@cache
def digest(name: str, design: Design) -> str:
    """What a key holds of a model's covariates: empty for the stand-in, or where it has none."""
    return keys.digest(raw=real_covariates(name)) if name in SHAPES and design == "real" else ""


def read(name: str, design: str) -> Design:
    """Which covariates a model of that name has, of a word or of what a key holds.

    Raises:
        ValueError: for anything else.
    """
    words: tuple[Design, ...] = ("real", "stand-in")
    for word in words:
        if design == word or design == digest(name, word):
            return word
    raise ValueError(f"design is {' or '.join(words)}; got {design!r}. Take one of these.")


@cache
def design_matrix(name: str, design: Design) -> Array:
    """X (n, D), read-only: an intercept, then each column that varies, with mean 0, variance 1."""
    raw = real_covariates(name) if design == "real" else synthetic_covariates(name)
    varying = raw[:, np.ptp(raw, axis=0) > 0]
    scaled = (varying - varying.mean(0)) / varying.std(0)
    x = np.concatenate([np.ones((len(raw), 1)), scaled], 1)
    x.setflags(write=False)
    return x


def synthetic_covariates(name: str) -> Array:
    """Raw covariates from a fixed seed: correlated, ionosphere's second column constant.

    The eigenvalues of their correlation fall as rank^-1.2, as the real ionosphere's do about.
    """
    shape = SHAPES[name]
    rng = stream(0, "stand-in", name)
    count = shape.columns - shape.constant
    mixed, _ = np.linalg.qr(rng.standard_normal((count, count)))
    spread = np.arange(1.0, count + 1) ** -0.6
    varying = rng.standard_normal((shape.rows, count)) * spread @ mixed
    return varying if not shape.constant else np.insert(varying, 1, 0.0, axis=1)


# ---- The base of every model ----


PAPER = Paper(
    "Domke",
    2021,
    "An easy to interpret diagnostic for approximate inference: symmetric divergence over "
    "simulations",
    "Section 7",
)
"""Where the models come from."""


class Model(Specification):
    """A prior and a likelihood: a frozen value, part of the key of what is inferred with it."""

    name: ClassVar[str]
    title: ClassVar[str]
    paper: ClassVar[Paper]

    @property
    def summary(self) -> str:
        """What is known, what is inferred, and what is held fixed, in one sentence."""
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

    def simulate(self, n: int, rng: np.random.Generator) -> Joint:
        """n draws of (z, y), covariates fixed: theta (n, D) holds z, x (n, M) holds y."""
        raise NotImplementedError

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
    """log p(z, y) of z (..., D) and y (..., M), normalised over both: (...)."""
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
    """What of log p(z, y) depends on z (..., D), and its gradient there: (...) and (..., D)."""
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


# ---- Regressions on covariates, each of which has a weight ----


@dataclass(frozen=True, kw_only=True)
class CovariateRegression(Model):
    """An intercept and a weight for each covariate that varies."""

    paper: ClassVar[Paper] = PAPER

    design: Design = field(default="real", metadata=OPTION)

    def __post_init__(self) -> None:
        object.__setattr__(self, "design", read(self.name, self.design))

    @property
    def digest(self) -> str:
        """Of the covariates, in its key."""
        return digest(self.name, self.design)

    @property
    def label(self) -> str:
        return self.title if self.design == "real" else f"{self.title}, stand-in covariates"

    @property
    def names(self) -> tuple[str, ...]:
        return "intercept", *(f"w {j}" for j in range(1, self.dims[0]))

    @property
    def dims(self) -> tuple[int, int]:
        return SHAPES[self.name].dims

    @property
    def covariates(self) -> Array:
        """X (n, D)."""
        return design_matrix(self.name, self.design)
