"""What a member of the ensemble gives back, and what a trained witness says of its members."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core.keys import part
from validation_core.types import Array


class Fit(NamedTuple):
    """One member: what it predicts of rows it did not learn from, and itself as arrays."""

    held: NDArray[np.float64]
    """(n,) predictions of each row by the model of the other folds."""
    r2: float
    """Share of the labels' variance that they explain, at their best scale."""
    arrays: Mapping[str, NDArray[Any]]
    """The model of all rows."""


@dataclass(frozen=True)
class Told:
    """Held-out numbers of a witness, which its arrays carry along."""

    weights: Mapping[str, float]
    """Share of each member, of sum 1."""
    r2: Mapping[str, float]
    """Of each member, and of `ensemble`."""

    @property
    def summary(self) -> Mapping[str, float]:
        """`r2` of the whole; `weight NAME` and `r2 NAME` of each member."""
        told = {"r2": self.r2["ensemble"]}
        for name in self.weights:
            told |= {f"weight {name}": self.weights[name], f"r2 {name}": self.r2[name]}
        return told

    def arrays(self) -> dict[str, Array]:
        """One number each, by flat names."""
        named = {"weights": self.weights, "r2": self.r2}
        return {
            f"{part}.{n}": np.array([v]) for part, own in named.items() for n, v in own.items()
        }

    @classmethod
    def read(cls, arrays: Mapping[str, Array]) -> Told:
        """What `arrays` gave."""
        parts = (part(arrays, name) for name in ("weights", "r2"))
        return cls(*({name: float(v[0]) for name, v in own.items()} for own in parts))
