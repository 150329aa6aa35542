"""Inference algorithms for a batch of data sets, by name: frozen values, part of a key."""

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
    """K data sets to infer as one batch, and the number of iterations."""

    model: Model
    y: Array  # (K, M)
    iterations: int
    rngs: Sequence[np.random.Generator]
    report: Callable[[float], None] | None


class Inference(Specification):
    """An inference algorithm with its options: maps data to q."""

    is_exact: ClassVar[bool] = False
    """Whether q is the posterior itself."""

    @property
    def name(self) -> str:
        """Name in the registry, in figures and on the command line."""
        raise NotImplementedError

    @property
    def label(self) -> str:
        """Name with its options, for a legend."""
        raise NotImplementedError

    def fit(
        self,
        model: Model,
        y: Array,
        iterations: int,
        rngs: Sequence[np.random.Generator],
        report: Callable[[float], None] | None = None,
    ) -> Posterior:
        """Fit q at each row of y, all data sets as one batch.

        The fit of a data set does not depend on the others in its batch, but for rounding. Where
        inference fails, the posterior is not `ok`; it is never replaced.

        Args:
            model: prior and likelihood.
            y: data (K, M).
            iterations: steps of the algorithm.
            rngs: one generator for each data set.
            report: called with the fraction done.

        Raises:
            ValueError: where this inference does not apply to the model.
        """
        return self._fit(FitProblem(model, y, iterations, rngs, report))

    def _fit(self, problem: FitProblem) -> Posterior:
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class ExactPosterior(Inference, spec="exact"):
    """The exact posterior, q = p: the reference for a correct inference."""

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
