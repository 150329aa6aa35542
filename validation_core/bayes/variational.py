"""Variational inference with a normal of any covariance: the ELBO, importance weighted where
m > 1, or a Rényi bound of another order.

The Rényi bound of order alpha is log E_q w^(1 - alpha) / (1 - alpha), with w = p(z, y) / q(z | y):
the ELBO for alpha -> 1; nearer to 0 it asks of q to cover more of p. For alpha < 0 it lies above
log p(y) and is minimised: alpha = -1 is the chi-square bound. Reparametrised twice, its gradient
is alpha E_q[w^(1 - alpha) slope] / E_q w^(1 - alpha), where slope is that of log w along z.

References:
    Rényi divergence variational inference, Li and Turner (2016).
    Variational inference via chi upper bound minimization, Dieng and others (2017).
    Doubly reparameterized gradient estimators, Tucker and others (2019).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from validation_core.bayes.ascent import ascend
from validation_core.bayes.inference import FitProblem, Inference
from validation_core.bayes.model import Model, value_and_gradient
from validation_core.bayes.posterior import FullGaussian

if TYPE_CHECKING:
    from torch import Tensor

_RATES = 0.001, 0.0001
GradientEstimator = Literal["dreg", "plain"]
NOISE_NUMBERS_AT_A_TIME = 1 << 20  # of noise drawn at a time
GROUPS = 5
"""Groups of M draws that a step averages over, where the draws of VI make fewer than two."""


@dataclass(frozen=True, kw_only=True)
class Variational(Inference, spec="variational"):
    """Variational inference with a full-rank normal.

    A step averages over `samples` draws, in groups of m, or over one group of m where m is larger;
    for alpha other than 1 it weighs all of them by w^(1 - alpha).
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
            "help": "Divided into groups of M, or one group of M where that is more. One group "
            "of many leaves a gradient of one or two: 5 M serve from M = 6 on",
        },
    )
    estimator: GradientEstimator = field(
        default="dreg", metadata={"label": "Gradient", "help": "doubly reparameterised, or plain"}
    )

    alpha: float = field(
        default=1.0,
        metadata={
            "label": "Order of the Rényi bound",
            "help": "1: the ELBO; from 1 to 0 q covers more of p; -1: the chi-square upper bound",
            "later": True,
        },
    )

    def __post_init__(self) -> None:
        if self.alpha != 1 and (
            self.m > 1 or self.estimator != "dreg" or self.alpha == 0 or abs(self.alpha) == np.inf
        ):
            raise ValueError(
                f"A Rényi bound has a finite order other than 0, m = 1 and estimator=dreg; got "
                f"alpha = {self.alpha:g}, m = {self.m} and {self.estimator}. Leave alpha out, or "
                f"leave out the others."
            )
        if self.m < 1 or self.samples < 1:
            raise ValueError(
                f"a step weighs m >= 1 draws and takes samples >= 1; got m = {self.m}, samples = "
                f"{self.samples}; m = 1 is variational inference without importance weights"
            )
        if self.estimator not in get_args(GradientEstimator):
            raise ValueError(
                f"a gradient is one of {', '.join(get_args(GradientEstimator))}; got "
                f"{self.estimator!r}"
            )

    @property
    def name(self) -> str:
        if self.alpha != 1:
            return "chi" if self.alpha == -1 else "renyi"
        return "vi" if self.m == 1 else "iwvi"

    @property
    def label(self) -> str:
        if self.alpha != 1:
            return "χ² VI" if self.alpha == -1 else f"Rényi VI, α = {self.alpha:g}"
        suffix = ", plain gradient" if self.estimator == "plain" else ""
        return ("VI" if self.m == 1 else f"IWVI, M = {self.m}") + suffix

    @property
    def groups(self) -> int:
        """Groups of m draws that a step averages over."""
        return max(1, self.samples // self.m)

    def _fit(self, problem: FitProblem) -> FullGaussian:
        import torch

        model, y, iterations, rngs, report = problem
        k, d = len(y), model.dims[0]
        data = torch.from_numpy(np.ascontiguousarray(y, dtype=np.float64))[:, None]
        mean = torch.zeros((k, d), dtype=torch.float64)
        scale = torch.eye(d, dtype=torch.float64).repeat(k, 1, 1)
        noise = _Noise(rngs, (self.groups * self.m, d), iterations)
        ascend(
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
        """Ascent directions in mean and scale, estimated from reparametrised draws: gradients of
        the bound, over alpha where that is not 1.

        Args:
            model: prior and likelihood.
            mean: (K, D).
            scale: (K, D, D).
            eps: standard normal noise (K, groups m, D) of the draws z = mean + scale eps.
            y: data (K, 1, M).

        Returns:
            Gradients (K, D) and (K, D, D).
        """
        import torch

        value, push = value_and_gradient(model, torch.baddbmm(mean[:, None], eps, scale.mT), y)
        if self.estimator == "dreg":
            # -d log q / dz = L^-T eps
            push += torch.linalg.solve_triangular(scale, eps, upper=False, left=False)
        if self.alpha != 1:
            push *= self._shares(value, eps, eps.shape[1])
        elif self.m > 1:
            share = self._shares(value, eps, self.m)
            push *= share.square() if self.estimator == "dreg" else share
        if self.alpha == 1:
            push /= self.groups if self.m > 1 else eps.shape[1]
        on_scale = torch.bmm(push.mT, eps).tril_()
        if self.estimator == "plain":
            # log q = -log |det L| - eps^2 / 2 where it moves along with the draws
            on_scale.diagonal(dim1=-2, dim2=-1).add_(scale.diagonal(dim1=-2, dim2=-1).reciprocal())
        return push.sum(1), on_scale

    def _shares(self, value: Tensor, eps: Tensor, size: int) -> Tensor:
        """Share of each draw in its group of that size (K, S, 1): w, or w^(1 - alpha), over the
        group's sum; log |det L| cancels.
        """
        k, s = value.shape
        power = 1.0 if self.alpha == 1 else 1 - self.alpha
        weight = power * (value + 0.5 * eps.square().sum(-1))
        return weight.reshape(k, s // size, size).softmax(-1).reshape(k, s, 1)


def trained_with(m: int) -> Variational:
    """Importance weighted VI with the usual draws of a step: those of VI, where they make two
    groups of m or more, else `GROUPS` groups.

    One group of 20 leaves a gradient that seldom rests on more than a draw or two: on concrete its
    noise keeps q 0.95 nats from a posterior that VI finds.
    """
    usual = Variational(m=m)
    return usual if usual.samples >= 2 * m else replace(usual, samples=GROUPS * m)


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
        """Noise of one step; steps are requested in order."""
        import torch

        place = step % self._several
        if place == 0:
            several = min(self._several, self._steps - step)
            noise = np.empty((several, len(self._rngs), *self._shape))
            for k, rng in enumerate(self._rngs):
                noise[:, k] = rng.standard_normal((several, *self._shape))
            self._drawn = torch.from_numpy(noise)
        return self._drawn[place]
