"""The posterior itself, where it has a closed form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from validation_core.bayes.model import Model
from validation_core.bayes.posterior import Posterior
from validation_core.types import Array


@dataclass(frozen=True, kw_only=True)
class Exact:
    """q = p: what the diagnostic says of an inference that is right."""

    version: ClassVar[int] = 1

    @property
    def name(self) -> str:
        return "exact"

    @property
    def label(self) -> str:
        return "Exact posterior"

    def fit(
        self, model: Model, y: Array, iterations: int, rngs: Sequence[np.random.Generator],
        report: Callable[[float], None] | None = None,
    ) -> Posterior:  # fmt: skip
        """The posterior at each row of y (K, M); iterations play no part.

        Raises:
            ValueError: where the model has none in closed form.
        """
        del iterations, rngs, report
        found = model.exact(y)
        if found is None:
            raise ValueError(
                f"An exact posterior needs a closed form, which {model.title} has not; take "
                f"heart_transplants or concrete, or another inference"
            )
        return found
