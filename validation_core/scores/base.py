"""How a score is learnt, and what is kept of it: the bases of recipes and of trained networks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from validation_core.keys import Specification
from validation_core.types import Array, Benchmark, PosteriorTable, TwoSamples

if TYPE_CHECKING:
    from validation_core.learn.training import Report


class Trained(Protocol):
    """A network as it is kept; one that scores has `at(beta) -> Score` as well."""

    @property
    def seconds(self) -> float:
        """How long it was trained."""
        ...

    @property
    def device(self) -> str:
        """Where."""
        ...

    @property
    def summary(self) -> Mapping[str, float]:
        """What training said of it: held-out numbers."""
        ...

    def arrays(self) -> dict[str, Array]:
        """Everything to store, by flat names."""
        ...


class Recipe(Specification):
    """How a score is learnt: a frozen value, part of the network's key."""

    @property
    def label(self) -> str:
        """What it is, for a list of trained models."""
        return ""

    @property
    def places(self) -> int:
        """Distinct x at which it asks a benchmark for draws of q."""
        return 0

    def cost(self) -> float:
        """Seconds of training, about, on one 2.x GHz core."""
        return 1.0

    def sample(self, benchmark: Benchmark, gamma: float, rng: np.random.Generator) -> Any:
        """What it learns from, drawn from a benchmark."""
        raise NotImplementedError(f"{type(self).__name__} learns from no benchmark")

    def of_table(self, train: PosteriorTable, rng: np.random.Generator) -> Any:
        """What it learns from, of the rows of a table that no test looks at."""
        del rng
        return train

    def of_blocks(self, train: TwoSamples, rng: np.random.Generator) -> Any:
        """What it learns from, of two samples.

        Raises:
            ValueError: for a recipe that needs draws at each x.
        """
        raise ValueError(
            "This method learns from draws of q at each x; got two samples p and q, which have "
            "none. Upload a table of theta, x and theta_q."
        )

    def learn_all(
        self, data: Sequence[Any], seeds: Sequence[int], report: Report | None = None
    ) -> Sequence[Trained]:
        """One network for each set of data and seed."""
        raise NotImplementedError(f"{type(self).__name__} learns nothing yet")

    def read(self, arrays: Mapping[str, Array], *, seconds: float, device: str) -> Trained:
        """What `Trained.arrays` gave."""
        raise NotImplementedError(f"{type(self).__name__} reads nothing back yet")
