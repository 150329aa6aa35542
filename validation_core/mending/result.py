"""What mending a table gave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtrc

from validation_core.codec import shown
from validation_core.mending.function import MendFunction
from validation_core.mending.ranks import CalibratedInterval
from validation_core.mending.unused_inputs import UnusedInput
from validation_core.types import Float, Interval


@dataclass(frozen=True, eq=False)
class Mended:
    """Weights of a table's draws, what they regain on rows that they did not learn from, and what
    other mends would. Nats are KL(p || q), mean over x."""

    rows: int
    draws: int
    """K' draws of each row that are weighed."""
    gain: Interval
    """Nats that the weights regain, with a 95% interval."""
    by_ranks: Interval
    """Nats that recalibrating each parameter's ranks regains."""
    effective: float
    """Median share of slots that are effective, 1 / (S sum w^2)."""
    before: float
    """p of relabelling within x for q's draws as they are, on the judged parts."""
    after: float
    """p of the same for the weighted draws."""
    outside: float
    """Share of true values beyond all of q's draws in some parameter."""
    outside_expected: float
    """The same if q were correct, at most."""
    intervals: tuple[CalibratedInterval, ...]
    """Of each parameter; none of very few draws."""
    unused: tuple[UnusedInput, ...] | None
    """Columns of x that q seems to ignore, each with its p; None where that was not asked."""
    log_weight: Float
    """(N, K' + 1) of the truth and of the draws of `weighed_table`, normalised over the row."""
    row_gain: Float
    """(N,) nats of each row."""
    function: Mapping[str, NDArray[np.generic]] = field(metadata=shown(hidden=True))
    """Arrays of `MendFunction`."""

    @property
    def offered(self) -> bool:
        """Whether the weights help on rows not seen: the interval lies above 0.

        Under q = p the mean is at most 0, so that this is so for fewer than 2.5 of 100 correct
        tables (a normal interval; measured in tests; of 100 correct tables of 100 to 250 rows,
        normal, heavy-tailed and skewed, none was offered one).
        """
        return self.gain.low > 0

    @property
    def outside_pvalue(self) -> float:
        """p that a correct q leaves so many true values beyond all of its draws (binomial)."""
        count = round(self.outside * self.rows)
        return float(bdtrc(count - 1, self.rows, self.outside_expected)) if count else 1.0

    @property
    def bound(self) -> float | None:
        """Nats that q is wrong by at least; None where not even 0 is excluded."""
        return self.gain.low if self.offered else None

    def mending(self) -> MendFunction:
        """What mends new draws."""
        return MendFunction.read(self.function)

    def to_json(self) -> dict[str, object]:
        """Every number, and what is concluded."""
        from validation_core.codec import fields_to_json

        return {**fields_to_json(self), "offered": self.offered}
