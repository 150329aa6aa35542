"""Which columns of x q does not use: true values still follow them, and q's draws do not.

Under q = p the mean normal score of the true value among q's draws is 0 at every x, so that its
regression on x has no slope. Each column's slope, beside all other columns, is compared with those
of tables in which another slot of the row plays the true value: exact for the largest of all. The
slope's own standard error is of the same labelling, so that a q that is wrong alike at every x
(too narrow, say) makes no slope stand out.

It rests on slopes: on columns of x as ranks, one after another beside the others. What q ignores
in another way, as a product of two columns, is not seen here. That q's draws do not follow a
column is an estimate: the slope of their mean is less than a tenth of the true values', in every
parameter.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from validation_core.rng import stream
from validation_core.statistics.ranks import midranks
from validation_core.types import Float, Integers, PosteriorTable

_LABELLINGS = 999
_ROWS_PER_COLUMN = 5
_USED = 0.1  # of the true values' slope, below which q's draws do not follow a column
MOST_COLUMNS = 100


@dataclass(frozen=True)
class UnusedInput:
    """A column of x that true values follow and q's draws do not."""

    column: int
    parameter: int
    """The one in which it is clearest."""
    pvalue: float
    """That true values follow it beyond q, adjusted for all columns and parameters."""
    used: float
    """Slope of q's mean by that of the true values: 1 where q uses it as it should."""


def unused_inputs(
    table: PosteriorTable, u: Float, seed: int, alpha: float = 0.05
) -> tuple[UnusedInput, ...] | None:
    """Columns that q ignores, in their order; None where x has too many for the rows.

    Args:
        table: theta (N, D), x (N, M), q (N, K, D).
        u: ranks (N, S, D) of the slots, the truth's first (see `ranks.slot_ranks`).
        seed: of the labellings.
        alpha: level of all columns together.
    """
    n, slots, _ = u.shape
    columns = np.flatnonzero(np.ptp(table.x, axis=0) > 0)
    if not 0 < len(columns) <= min(MOST_COLUMNS, n // _ROWS_PER_COLUMN - 1):
        return None
    x = ndtri((midranks(table.x[:, columns].T.astype(np.float64)).T - 0.5) / n)
    design = np.column_stack([np.ones(n), x])
    if np.linalg.matrix_rank(design) < design.shape[1]:
        return None
    slopes = np.linalg.pinv(design)  # (1 + C, n)
    size = np.sqrt(np.square(slopes[1:]).sum(axis=1))
    z = ndtri(u)
    row = np.arange(n)

    def largest(chosen: Integers) -> Float:
        """|t| (D, C) of each slope for slots (n,) that play the true value."""
        y = z[row, chosen]  # (n, D)
        fitted = slopes @ y
        left = y - design @ fitted
        sd = np.sqrt(np.square(left).sum(axis=0) / (n - design.shape[1]))
        t = np.abs(fitted[1:]) / (size[:, None] * np.where(sd > 0, sd, np.inf))
        return np.asarray(t.T, np.float64)

    observed = largest(np.zeros(n, np.int64))
    rng = stream(seed, "mend", "inputs")
    null = np.array([largest(rng.integers(slots, size=(n,))).max() for _ in range(_LABELLINGS)])
    pvalue = (1 + (null >= observed[..., None]).sum(axis=-1)) / (_LABELLINGS + 1)
    sd = table.theta.std(axis=0, dtype=np.float64)[:, None]
    sd = np.where(sd > 0, sd, 1.0)
    theirs = (slopes @ table.theta.astype(np.float64))[1:].T / sd  # (D, C)
    own = (slopes @ table.q.mean(axis=1, dtype=np.float64))[1:].T / sd
    found = []
    for at, column in enumerate(columns):
        best = int(observed[:, at].argmax())
        followed = np.abs(own[:, at]).max() >= _USED * np.abs(theirs[best, at])
        if pvalue[best, at] <= alpha and not followed:
            used = float(own[best, at] / theirs[best, at])
            found.append(UnusedInput(int(column), best, float(pvalue[best, at]), used))
    return tuple(found)
