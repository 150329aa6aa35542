"""Ways to infer a posterior, all data sets at once, by name: frozen values, part of a key."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple, get_args

import numpy as np

from validation_core import keys
from validation_core.bayes import closed
from validation_core.bayes.model import (
    Model,
    log_joint_gradient,
    log_joint_hessian,
    value_and_gradient,
)
from validation_core.bayes.posterior import FullGaussian, Posterior
from validation_core.keys import Specification
from validation_core.types import Array

if TYPE_CHECKING:
    from torch import Tensor


class _FitProblem(NamedTuple):
    """What is inferred, and how long: K data sets as one batch."""

    model: Model
    y: Array  # (K, M)
    iterations: int
    rngs: Sequence[np.random.Generator]
    report: Callable[[float], None] | None


class Inference(Specification):
    """From data to q."""

    is_exact: ClassVar[bool] = False
    """Whether q is the posterior itself."""

    @property
    def name(self) -> str:
        """What the registry, the figures' colours and the command line call it."""
        raise NotImplementedError

    @property
    def label(self) -> str:
        """Name with its options, as a legend shows it."""
        raise NotImplementedError

    def fit(
        self,
        model: Model,
        y: Array,
        iterations: int,
        rngs: Sequence[np.random.Generator],
        report: Callable[[float], None] | None = None,
    ) -> Posterior:
        """q at each row of y (K, M), K data sets as one batch; each has a generator of its own.

        What is found for a data set does not depend on which others are there, but for rounding.
        Where inference fails the posterior is not `ok`: it is never mended in silence.

        Raises:
            ValueError: where this model has no such posterior.
        """
        return self._fit(_FitProblem(model, y, iterations, rngs, report))

    def _fit(self, problem: _FitProblem) -> Posterior:
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class ExactPosterior(Inference, spec="exact"):
    """q = p: what the diagnostic says of an inference that is right."""

    is_exact: ClassVar[bool] = True

    @property
    def name(self) -> str:
        return "exact"

    @property
    def label(self) -> str:
        return "Exact posterior"

    def _fit(self, problem: _FitProblem) -> Posterior:
        posterior = problem.model.exact(problem.y)
        if posterior is None:
            raise ValueError(
                f"An exact posterior needs a closed form, which {problem.model.title} has not; "
                f"take heart_transplants or concrete, or another inference"
            )
        return posterior


# ---- Climbing with Adam: two rates, each for half of the steps (Domke 2021, Section 5) ----


_REPORT = 100  # steps between two reports


def _ascend(
    at: Sequence[Tensor],
    slopes: Callable[[int], Sequence[Tensor]],
    rates: tuple[float, float],
    iterations: int,
    report: Callable[[float], None] | None = None,
) -> None:
    """Move the tensors `at` in place along their slopes.

    One Adam throughout: its moments live on where the rate changes. It works on each number by
    itself, so that data sets climb together as they would alone.

    Adam divides by the root of what squared slopes were over the last thousand steps or so: where
    the first are far steeper than the rest, steps stay much shorter than the rates. Log theta of
    heart_transplants falls by 4.4 at most in Laplace's 3000 iterations, however far its mode.

    Args:
        at: where to start.
        slopes: of what is climbed, one for each tensor, at a step of which only the number is
            given: the tensors are where that step finds them.
        rates: for the first half of the steps, rounded down, and for the rest.
    """
    from validation_core.learn.training import Adam

    adam = Adam([(at, rates[0])])
    for step in range(iterations):
        if step == iterations // 2:
            adam.set_lr(rates[1])
        for tensor, slope in zip(at, slopes(step), strict=True):
            tensor.grad = -slope
        adam.step()
        if report and step % _REPORT == 0:
            report(step / iterations)


# ---- Laplace's approximation: a normal at the mode, as wide as the curvature there says ----


_MODE_RATES = 0.01, 0.001

FLATTEST = 1e-6
"""Curvature to which smaller and negative ones are raised where it is asked for."""


@dataclass(frozen=True, kw_only=True)
class Laplace(Inference, spec="laplace"):
    """N(z^, -H^-1), or with the mean adjusted by a Newton step."""

    adjusted: bool = field(
        default=False, metadata={"label": "Adjusted", "help": "Mean moved by one Newton step"}
    )
    clip: bool = field(
        default=False,
        metadata={
            "label": "Clip the curvature",
            "help": f"Raise eigenvalues of -H to {FLATTEST:g}: a q where there is none, wide "
            f"without reason along directions that curve the wrong way",
        },
    )

    @property
    def name(self) -> str:
        return "adjusted_" * self.adjusted + "laplace" + "_clipped" * self.clip

    @property
    def label(self) -> str:
        return ("Adjusted Laplace" if self.adjusted else "Laplace") + (
            f", curvature clipped at {FLATTEST:g}" * self.clip
        )

    def _fit(self, problem: _FitProblem) -> FullGaussian:
        """Nothing is random. A Hessian that is not negative definite at z^ is a failure: there is
        no q, unless it is clipped.
        """
        model, y, iterations, _, report = problem
        return self.both(model, y, iterations, report)[self]

    def both(
        self,
        model: Model,
        y: Array,
        iterations: int,
        report: Callable[[float], None] | None = None,
    ) -> dict[Laplace, FullGaussian]:
        """q without and with the Newton step, of one climb."""
        import torch

        data = torch.from_numpy(np.ascontiguousarray(y, dtype=np.float64))
        z = torch.zeros((len(y), model.dims[0]), dtype=torch.float64)
        _ascend(
            [z], lambda step: [log_joint_gradient(model, z, data)], _MODE_RATES, iterations, report
        )
        slope, curvature = log_joint_gradient(model, z, data), log_joint_hessian(model, z, data)
        two = (replace(self, adjusted=adjusted) for adjusted in (False, True))
        return {laplace: laplace.normal(z, slope, curvature) for laplace in two}

    def normal(self, mode: Tensor, slope: Tensor, curvature: Tensor) -> FullGaussian:
        """q of where the climb ended (K, D), and of the gradient (K, D) and Hessian (K, D, D)
        there.
        """
        import torch

        scale = (_clipped if self.clip else _lower)(-(curvature + curvature.mT) / 2)
        step = torch.einsum("kij,klj,kl->ki", scale, scale, slope)
        mean = torch.where(scale[:, :, 0].isnan(), scale[:, :, 0], mode)
        return FullGaussian((mean + step if self.adjusted else mean).numpy(), scale.numpy())


def _lower(precision: Tensor) -> Tensor:
    """Lower triangular scale of its inverse (K, D, D), NaN where it is not positive definite.

    Cholesky's factor from the last row upwards is upper triangular, U U^T, and U^-T the scale:
    nothing is factored twice.
    """
    import torch

    factor, info = torch.linalg.cholesky_ex(precision.flip(-1, -2))
    upper = factor.flip(-1, -2)
    identity = torch.eye(upper.shape[-1], dtype=upper.dtype).expand_as(upper)
    scale = torch.linalg.solve_triangular(upper, identity, upper=True).mT
    failed = (info != 0) | ~scale.isfinite().all(-1).all(-1)
    return scale.masked_fill(failed[:, None, None], torch.nan)


def _clipped(precision: Tensor) -> Tensor:
    """The same of the precision with its eigenvalues raised, NaN where it is not finite."""
    import torch

    finite = precision.isfinite().all(-1).all(-1)
    values, vectors = torch.linalg.eigh(precision[finite])
    half = vectors * values.clamp(min=FLATTEST).rsqrt()[:, None]
    scale = torch.full_like(precision, torch.nan)
    scale[finite] = torch.linalg.qr(half.mT).R.mT
    return scale


# ---- Variational inference with a normal of any covariance, importance weighted where m > 1 ----


_RATES = 0.001, 0.0001
Estimator = Literal["dreg", "plain"]

NOISE_NUMBERS_AT_A_TIME = 1 << 20  # of noise drawn at a time


@dataclass(frozen=True, kw_only=True)
class Variational(Inference, spec="variational"):
    """Full-rank normal. A step looks at `samples` draws: as many groups of m as they make, or at
    one group of m where m is more.
    """

    m: int = field(
        default=1, metadata={"label": "M", "min": 1, "max": 100, "help": "Draws that are weighed"}
    )
    samples: int = field(
        default=10,
        metadata={
            "label": "Draws of a step",
            "min": 1,
            "max": 1000,
            "help": "Divided into groups of M, or one group of M where that is more",
        },
    )
    estimator: Estimator = field(
        default="dreg", metadata={"label": "Gradient", "help": "doubly reparameterised, or plain"}
    )

    def __post_init__(self) -> None:
        if self.m < 1 or self.samples < 1:
            raise ValueError(
                f"a step weighs m >= 1 draws and takes samples >= 1; got m = {self.m}, samples = "
                f"{self.samples}; m = 1 is variational inference without importance weights"
            )
        if self.estimator not in get_args(Estimator):
            raise ValueError(
                f"a gradient is one of {', '.join(get_args(Estimator))}; got {self.estimator!r}"
            )

    @property
    def name(self) -> str:
        return "vi" if self.m == 1 else "iwvi"

    @property
    def label(self) -> str:
        suffix = ", plain gradient" if self.estimator == "plain" else ""
        return ("VI" if self.m == 1 else f"IWVI, M = {self.m}") + suffix

    @property
    def groups(self) -> int:
        """Groups of m draws that a step averages over."""
        return max(1, self.samples // self.m)

    def _fit(self, problem: _FitProblem) -> FullGaussian:
        import torch

        model, y, iterations, rngs, report = problem
        k, d = len(y), model.dims[0]
        data = torch.from_numpy(np.ascontiguousarray(y, dtype=np.float64))[:, None]
        mean = torch.zeros((k, d), dtype=torch.float64)
        scale = torch.eye(d, dtype=torch.float64).repeat(k, 1, 1)
        noise = _Noise(rngs, (self.groups * self.m, d), iterations)
        _ascend(
            (mean, scale),
            lambda step: self.slopes(model, mean, scale, noise.at(step), data),
            _RATES,
            iterations,
            report,
        )
        return FullGaussian(mean.numpy(), scale.numpy())

    def slopes(
        self, model: Model, mean: Tensor, scale: Tensor, eps: Tensor, y: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Gradients of the bound in mean (K, D) and scale (K, D, D), y (K, 1, M), at noise eps
        (K, groups m, D) that the draws z = mean + scale eps come from.
        """
        import torch

        value, push = value_and_gradient(model, torch.baddbmm(mean[:, None], eps, scale.mT), y)
        if self.estimator == "dreg":
            # -d log q / dz = L^-T eps
            push += torch.linalg.solve_triangular(scale, eps, upper=False, left=False)
        if self.m > 1:
            share = self._shares(value, eps)
            push *= share.square() if self.estimator == "dreg" else share
        push /= self.groups if self.m > 1 else eps.shape[1]
        on_scale = torch.bmm(push.mT, eps).tril_()
        if self.estimator == "plain":
            # log q = -log |det L| - eps^2 / 2 where it moves along with the draws
            on_scale.diagonal(dim1=-2, dim2=-1).add_(scale.diagonal(dim1=-2, dim2=-1).reciprocal())
        return push.sum(1), on_scale

    def _shares(self, value: Tensor, eps: Tensor) -> Tensor:
        """Of each draw in the weight of its group (K, groups m, 1); log |det L| cancels."""
        k, s = value.shape
        weight = value + 0.5 * eps.square().sum(-1)
        return weight.reshape(k, s // self.m, self.m).softmax(-1).reshape(k, s, 1)


class _Noise:
    """Standard normal noise of each step (K, S, D), drawn for many steps at a time.

    A data set reads its own generator from front to back, whatever the others and however many
    steps are drawn at once.
    """

    def __init__(
        self, rngs: Sequence[np.random.Generator], shape: tuple[int, int], steps: int
    ) -> None:
        self._rngs, self._shape, self._steps = rngs, shape, steps
        self._several = max(1, NOISE_NUMBERS_AT_A_TIME // (len(rngs) * shape[0] * shape[1]))

    def at(self, step: int) -> Tensor:
        """Of a step; steps are asked for in order."""
        import torch

        place = step % self._several
        if place == 0:
            several = min(self._several, self._steps - step)
            noise = np.empty((several, len(self._rngs), *self._shape))
            for k, rng in enumerate(self._rngs):
                noise[:, k] = rng.standard_normal((several, *self._shape))
            self._drawn = torch.from_numpy(noise)
        return self._drawn[place]


def possible(model: Model, inference: Inference) -> bool:
    """Whether an inference is there for a model: the exact one is not for all."""
    return not isinstance(inference, ExactPosterior) or closed(model.name)


ALGORITHMS: dict[str, Inference] = keys.by_name(
    Laplace(), Laplace(adjusted=True), Variational(), Variational(m=10), ExactPosterior()
)
