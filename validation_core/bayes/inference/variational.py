"""Variational inference with a normal of any covariance, importance weighted where m > 1.

q = N(mean, L L^T) from N(0, I), L lower triangular with free entries, so that log |det L| =
sum log |L_ii|. Adam climbs E log (1/m) sum_j w_j, w = p(z, y) / q(z | y) at m draws z = mean +
L eps, with rate .001 for the first half of the iterations and .0001 for the second.

The gradient is doubly reparameterised, sum_j v_j^2 (d log w_j / dz) (dz_j / dq) with q's own
numbers held inside log w and v the weights' shares: without bias for every m, and of no variance
where q is the posterior. At m = 1 that is sticking the landing. To drop the score term at m > 1
without squaring the shares is biased; to keep it is the plain gradient.

References:
    An easy to interpret diagnostic for approximate inference: symmetric divergence over
    simulations, Domke (2021), Section 5.
    Sticking the landing: simple, lower-variance gradient estimators for variational inference,
    Roeder, Wu, Duvenaud (2017).
    Doubly reparameterized gradient estimators for Monte Carlo objectives, Tucker, Lawson, Gu,
    Maddison (2018).
    Importance weighted autoencoders, Burda, Grosse, Salakhutdinov (2016).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

import numpy as np

from validation_core.bayes.inference.ascent import ascend
from validation_core.bayes.model import Model, value_and_gradient
from validation_core.bayes.posterior import FullGaussian
from validation_core.types import Array

if TYPE_CHECKING:
    from torch import Tensor

RATES = 0.001, 0.0001
Estimator = Literal["dreg", "plain"]

_NUMBERS = 1 << 20  # of noise drawn at a time


@dataclass(frozen=True, kw_only=True)
class Variational:
    """Full-rank normal. A step looks at `samples` draws: as many groups of m as they make, or at
    one group of m where m is more.
    """

    version: ClassVar[int] = 1

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
        default="dreg",
        metadata={"label": "Gradient", "help": "doubly reparameterised, or plain"},
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
        plain = ", plain gradient" if self.estimator == "plain" else ""
        return ("VI" if self.m == 1 else f"IWVI, M = {self.m}") + plain

    @property
    def groups(self) -> int:
        """Groups of m draws that a step averages over."""
        return max(1, self.samples // self.m)

    def fit(
        self, model: Model, y: Array, iterations: int, rngs: Sequence[np.random.Generator],
        report: Callable[[float], None] | None = None,
    ) -> FullGaussian:  # fmt: skip
        """q at each row of y (K, M), by noise from each one's own generator."""
        import torch

        k, d = len(y), model.dims[0]
        data = torch.from_numpy(np.ascontiguousarray(y, dtype=np.float64))[:, None]
        mean = torch.zeros((k, d), dtype=torch.float64)
        scale = torch.eye(d, dtype=torch.float64).repeat(k, 1, 1)
        noise = _Noise(rngs, (self.groups * self.m, d), iterations)
        ascend(
            (mean, scale), lambda step: self.slopes(model, mean, scale, noise.at(step), data),
            RATES, iterations, report,
        )  # fmt: skip
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
        self._several = max(1, _NUMBERS // (len(rngs) * shape[0] * shape[1]))

    def at(self, step: int) -> Tensor:
        """Of a step; steps are asked for in order."""
        import torch

        place = step % self._several
        if place == 0:
            several = min(self._several, self._steps - step)
            drawn = np.empty((several, len(self._rngs), *self._shape))
            for k, rng in enumerate(self._rngs):
                drawn[:, k] = rng.standard_normal((several, *self._shape))
            self._drawn = torch.from_numpy(drawn)
        return self._drawn[place]
