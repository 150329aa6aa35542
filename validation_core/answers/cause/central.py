"""A table's draws with the mean and shape of each row's middle: far draws hardly count."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from validation_core.answers.cause.ranks import Ranked
from validation_core.answers.injections import Pool
from validation_core.types import Array


@dataclass(frozen=True, eq=False)
class Central(Pool):
    """A pool whose injections are sized by the middle of the rows, so that a few draws far off
    do not make a shift of a tenth of an sd one of many widths.
    """

    ranked: Ranked = field(kw_only=True)

    @cached_property
    def mean(self) -> Array:
        """(n, D)."""
        middle, scale = self.ranked.scale
        return np.asarray((middle + scale * self.ranked.whitening.centre)[:, 0])

    @cached_property
    def sd(self) -> Array:
        """(n, D)."""
        spread = np.sqrt(np.einsum("ndd->nd", self.ranked.whitening.scatter))
        return np.asarray(self.ranked.scale[1][:, 0] * spread)

    @cached_property
    def chol(self) -> Array:
        """Lower factor of each row's correlation matrix: (n, D, D)."""
        scatter = self.ranked.whitening.scatter
        spread = np.sqrt(np.einsum("ndd->nd", scatter))
        return np.linalg.cholesky(scatter / (spread[:, :, None] * spread[:, None]))
