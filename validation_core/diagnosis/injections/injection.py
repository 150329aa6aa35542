"""An injection: one named defect that can be put into a table at any strength."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from validation_core.diagnosis.injections.draw_pool import DrawIndices, DrawPool
from validation_core.types import Array

Apply = Callable[[DrawPool, DrawIndices, float, np.random.Generator], Array]
Pick = Callable[[DrawPool, DrawIndices, float, np.random.Generator], DrawIndices]
NatsOfStrength = Callable[[DrawPool, float], float | None]
Spread = Literal["one", "two", "all", ""]


def _by_tables(
    pool: DrawPool, which: DrawIndices, strength: float, rng: np.random.Generator
) -> Array:
    del pool, which, strength, rng
    raise ValueError(
        "A truth that is chosen leaves other draws beside it, and is not moved; got a call for "
        "where it was moved to. Call `tables`, which says what was chosen."
    )


@dataclass(frozen=True, kw_only=True)
class Injection:
    """One defect at a size: `tables` makes the truths of T trials.

    It moves the draws that play the truth (`apply`), or has others play it (`pick`), where it can:
    a truth that is moved onto another draw would stand there twice, which no defect does.
    """

    name: str
    cause: str
    """Name of the cause that it is a case of, one of ten."""
    title: str
    """The defect as in `q is TITLE`, or `q TITLE`: too wide; misses a mode."""
    unit: str
    """Unit of the strength; `nats` for one whose strength is shown as its `nats`."""
    strengths: tuple[float, ...]
    """Growing: the first is caught by nobody, the last by everybody."""
    apply: Apply = _by_tables
    """Truths (T, n, D) from the places (T, n) of draws."""
    pick: Pick | None = None
    """Instead, other places (T, n) of draws, from the same numbers at all strengths."""
    spread: Spread = ""
    """Number of parameters that it sits in; empty for a defect of none, or of a direction."""
    nats: NatsOfStrength | None = None
    """KL of truth from q, mean over rows, at a strength; None where it is not known."""
    exact: bool = False
    """Whether `nats` holds whatever q is; otherwise it holds if q is near normal."""
    least_dims: int = 1
    """Parameters that it needs."""

    @property
    def neutral(self) -> float:
        """The strength that changes nothing: 1 for a factor, 0 for all others."""
        return 1.0 if self.strengths[0] >= 1 else 0.0

    def tables(
        self, pool: DrawPool, which: DrawIndices, strength: float, rng: np.random.Generator
    ) -> tuple[DrawIndices, Array | None]:
        """Draws (T, n) that play the truth, and where they were moved (T, n, D): None for not.

        Args:
            pool: the table's draws.
            which: draws picked evenly (T, n): (T, n) of the answer too.
            strength: how much of it.
            rng: the same state at all strengths, so that they differ by the strength alone.
        """
        if self.pick is not None:
            return self.pick(pool, which, strength, rng), None
        return which, pool.on_values(self.apply(pool, which, strength, rng), rng)
