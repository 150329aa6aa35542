"""Ways to infer a posterior, all data sets at once, by name: frozen values, part of a key."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from validation_core.bayes.model import Model
from validation_core.bayes.posterior import Posterior
from validation_core.keys import Specification
from validation_core.types import Array


class FitProblem(NamedTuple):
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
        return self._fit(FitProblem(model, y, iterations, rngs, report))

    def _fit(self, problem: FitProblem) -> Posterior:
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

    def _fit(self, problem: FitProblem) -> Posterior:
        posterior = problem.model.exact(problem.y)
        if posterior is None:
            raise ValueError(
                f"An exact posterior needs a closed form, which {problem.model.title} has not; "
                f"take heart_transplants or concrete, or another inference"
            )
        return posterior
