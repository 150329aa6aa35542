"""Ways to infer a posterior, all data sets at once, by name: frozen values, part of a key."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Protocol

import numpy as np

from validation_core.bayes import closed
from validation_core.bayes.inference.exact import Exact
from validation_core.bayes.inference.laplace import Laplace
from validation_core.bayes.inference.variational import Variational
from validation_core.bayes.model import Model
from validation_core.bayes.posterior import Posterior
from validation_core.types import Array

__all__ = ["ALGORITHMS", "Exact", "Inference", "Laplace", "Variational", "possible"]


class Inference(Protocol):
    """From data to q."""

    version: ClassVar[int]

    @property
    def name(self) -> str:
        """What the registry, the figures' colours and the command line call it."""
        ...

    @property
    def label(self) -> str:
        """Name with its options, as a legend shows it."""
        ...

    def fit(
        self, model: Model, y: Array, iterations: int, rngs: Sequence[np.random.Generator],
        report: Callable[[float], None] | None = None,
    ) -> Posterior:  # fmt: skip
        """q at each row of y (K, M), K data sets as one batch; each has a generator of its own.

        What is found for a data set does not depend on which others are there, but for rounding.
        Where inference fails the posterior is not `ok`: it is never mended in silence.

        Raises:
            ValueError: where this model has no such posterior.
        """
        ...


def possible(model: Model, inference: Inference) -> bool:
    """Whether an inference is there for a model: the exact one is not for all."""
    return not isinstance(inference, Exact) or closed(model.name)


ALGORITHMS: dict[str, Inference] = {
    one.name: one
    for one in (Laplace(), Laplace(adjusted=True), Variational(), Variational(m=10), Exact())
}
