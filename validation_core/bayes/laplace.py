"""Laplace's approximation: a normal at the mode, with the covariance of the curvature there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from validation_core.bayes.ascent import ascend
from validation_core.bayes.inference import FitProblem, Inference
from validation_core.bayes.model import Model, log_joint_gradient, log_joint_hessian
from validation_core.bayes.posterior import FullGaussian
from validation_core.types import Array

if TYPE_CHECKING:
    from torch import Tensor

_MODE_RATES = 0.01, 0.001
FLATTEST = 1e-6
"""Smallest curvature left by clipping: smaller and negative ones are raised to it."""


@dataclass(frozen=True, kw_only=True)
class Laplace(Inference, spec="laplace"):
    """Laplace's approximation N(z^, -H^-1), or with its mean adjusted by a Newton step."""

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

    def _fit(self, problem: FitProblem) -> FullGaussian:
        """Climb to the mode; nothing is random.

        A Hessian that is not negative definite at z^ is a failure, unless it is clipped.
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
        """Fit q without and with the Newton step, by one climb to the mode."""
        import torch

        data = torch.from_numpy(np.ascontiguousarray(y, dtype=np.float64))
        z = torch.zeros((len(y), model.dims[0]), dtype=torch.float64)
        ascend(
            [z], lambda step: [log_joint_gradient(model, z, data)], _MODE_RATES, iterations, report
        )
        slope, curvature = log_joint_gradient(model, z, data), log_joint_hessian(model, z, data)
        two = (replace(self, adjusted=adjusted) for adjusted in (False, True))
        return {laplace: laplace.normal(z, slope, curvature) for laplace in two}

    def normal(self, mode: Tensor, slope: Tensor, curvature: Tensor) -> FullGaussian:
        """q from the point reached (K, D), and the gradient (K, D) and Hessian (K, D, D) there."""
        import torch

        scale = (_clipped if self.clip else _lower)(-(curvature + curvature.mT) / 2)
        step = torch.einsum("kij,klj,kl->ki", scale, scale, slope)
        mean = torch.where(scale[:, :, 0].isnan(), scale[:, :, 0], mode)
        return FullGaussian((mean + step if self.adjusted else mean).numpy(), scale.numpy())


def _lower(precision: Tensor) -> Tensor:
    """Lower triangular scale (K, D, D) of an inverse precision; NaN if that is not positive
    definite.

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
    """As `_lower`, of the precision with its eigenvalues raised; NaN where it is not finite."""
    import torch

    finite = precision.isfinite().all(-1).all(-1)
    values, vectors = torch.linalg.eigh(precision[finite])
    half = vectors * values.clamp(min=FLATTEST).rsqrt()[:, None]
    scale = torch.full_like(precision, torch.nan)
    scale[finite] = torch.linalg.qr(half.mT).R.mT
    return scale
