"""Which columns of x q does not use: true values still follow them, and q's draws do not.

Under q = p the mean normal score of the true value among q's draws is 0 at every x, so that its
regression on x has no slope. Each column's slope, beside all other columns, is compared with those
of tables in which another slot of the row plays the true value: exact for the largest of all. The
slope's own standard error is of the same labelling and consistent whatever each row's variance
(HC3), so that a q that is wrong in another way makes no slope stand out: too narrow, be it alike
at every x or for some x only. The true values themselves must follow the column, too.

It rests on slopes: on columns of x as ranks, one after another beside the others. What q ignores
in another way, as a product of two columns, is not seen here. That q's draws do not follow a
column is an estimate: the slope of their mean is less than a tenth of the true values', in every
parameter.

References:
    Some heteroskedasticity-consistent covariance matrix estimators with improved finite sample
    properties, MacKinnon & White (1985).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri, stdtr

from validation_core.relabelling.own_nulls import ASKED
from validation_core.rng import stream
from validation_core.statistics.ranks import midranks
from validation_core.types import Float, PosteriorTable

_LABELLINGS = 999
_ROWS_PER_COLUMN = 5
_USED = 0.1  # of the true values' slope, below which q's draws do not follow a column
_ALONE = 1 - 1e-9  # leverage of a row that has a direction of x to itself
MOST_COLUMNS = 100


@dataclass(frozen=True)
class UnusedInput:
    """A column of x that true values follow, as far as its p tells, and q's draws do not."""

    column: int
    parameter: int
    """The one in which it is clearest."""
    pvalue: float
    """That true values follow it, and beyond q: the larger of both, each adjusted for all columns
    and parameters."""
    used: float
    """Slope of q's mean by that of the true values: 1 where q uses it as it should."""


class _Slopes(NamedTuple):
    """Regression on the columns of x, each beside all others."""

    design: Float
    """(n, 1 + C): ones, and the columns."""
    inverse: Float
    """(1 + C, n) pseudo-inverse of it."""
    leverage: Float
    """(n,) of each row."""

    @classmethod
    def on(cls, x: Float) -> _Slopes | None:
        """That on columns (n, C); None where some depend on others, or on a row alone."""
        design = np.column_stack([np.ones(len(x)), x])
        if np.linalg.matrix_rank(design) < design.shape[1]:
            return None
        inverse = np.linalg.pinv(design)
        leverage = np.einsum("ij,ji->i", design, inverse)
        return cls(design, inverse, leverage) if leverage.max() < _ALONE else None

    def of(self, y: Float) -> Float:
        """Slopes (D, C) of numbers (n, D)."""
        return np.asarray((self.inverse @ y)[1:].T)

    def t(self, y: Float) -> Float:
        """|t| (D, C) of the slopes of numbers (n, D), by HC3."""
        fitted = self.inverse @ y
        left = (y - self.design @ fitted) / (1 - self.leverage)[:, None]
        sd = np.sqrt(np.square(self.inverse[1:]) @ np.square(left))  # (C, D)
        return np.asarray((np.abs(fitted[1:]) / np.where(sd > 0, sd, np.inf)).T)

    def pvalue(self, t: Float) -> Float:
        """p of |t| by Student's law, by Bonferroni over all of them."""
        n, terms = self.design.shape
        return np.minimum(1.0, t.size * 2 * stdtr(n - terms, -t))


def unused_inputs(table: PosteriorTable, u: Float, seed: int) -> tuple[UnusedInput, ...] | None:
    """Columns that q seems to ignore, in their order; None where x has too many for the rows.

    Those with p above ASKED, at which nothing is claimed, are left out.

    Args:
        table: theta (N, D), x (N, M), q (N, K, D).
        u: ranks (N, S, D) of the slots, the truth's first (see `ranks.slot_ranks`).
        seed: of the labellings.
    """
    n, slots, _ = u.shape
    columns = np.flatnonzero(np.ptp(table.x, axis=0) > 0)
    if not 0 < len(columns) <= min(MOST_COLUMNS, n // _ROWS_PER_COLUMN - 1):
        return None
    x = ndtri((midranks(table.x[:, columns].T.astype(np.float64)).T - 0.5) / n)
    slopes = _Slopes.on(x)
    if slopes is None:
        return None
    z, row = ndtri(u), np.arange(n)
    beyond = slopes.t(z[:, 0])
    rng = stream(seed, "mend", "inputs")
    null = np.array(
        [slopes.t(z[row, rng.integers(slots, size=n)]).max() for _ in range(_LABELLINGS)]
    )
    by_rank = (1 + (null >= beyond[..., None]).sum(axis=-1)) / (_LABELLINGS + 1)
    sd = table.theta.std(axis=0, dtype=np.float64)
    theta = table.theta / np.where(sd > 0, sd, 1.0)
    mean = table.q.mean(axis=1, dtype=np.float64) / np.where(sd > 0, sd, 1.0)
    follows = slopes.t(theta)
    pvalue = np.maximum(by_rank, slopes.pvalue(follows))
    clear = np.minimum(beyond, follows)
    theirs, own = slopes.of(theta), slopes.of(mean)  # (D, C)
    found = []
    for at, column in enumerate(columns):
        best = int(clear[:, at].argmax())
        followed = np.abs(own[:, at]).max() >= _USED * np.abs(theirs[best, at])
        if pvalue[best, at] <= ASKED and not followed:
            used = float(own[best, at] / theirs[best, at])
            found.append(UnusedInput(int(column), best, float(pvalue[best, at]), used))
    return tuple(found)
