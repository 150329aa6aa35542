"""Columns of theta_q in another order than those of theta.

The mean of the posterior correlates with its parameter more than any other function of x does, so
that true values which follow another column's draws far better than their own are no error of
size: the columns are exchanged.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import scipy  # its parts load at first use
from numpy.typing import NDArray

from validation_core.types import Array

_MOST, _FEWEST = 50, 20  # parameters, rows
_FOLLOWS = 0.3  # correlation of true values with the draws of another column
_GAIN = 0.25  # of that over the correlation with their own
_SURE = 6.0  # standard errors


class ColumnOrder(NamedTuple):
    """The order of theta_q's columns in which true values follow their draws."""

    order: tuple[int, ...]
    """(D,) the column of theta_q that belongs to each parameter."""
    fits: tuple[float, ...]
    """(D,) correlations in this order,"""
    saved: tuple[float, ...]
    """and in the order that was saved."""

    @property
    def moved(self) -> tuple[int, ...]:
        """Parameters whose draws stand in another column."""
        return tuple(i for i, j in enumerate(self.order) if i != j)


def exchanged_columns(theta: Array, centres: Array) -> Iterator[ColumnOrder]:
    """Find the order of columns that fits where the saved one does not; at most one.

    Args:
        theta: true values (n, D), finite.
        centres: means (n, D) of the draws at each row.
    """
    n, d = theta.shape
    if not 2 <= d <= _MOST or n < _FEWEST:
        return
    related = _ranks(theta).T @ _ranks(centres) / n
    order: NDArray[np.intp] = scipy.optimize.linear_sum_assignment(related, maximize=True)[1]
    fits, saved = related[np.arange(d), order], related.diagonal()
    moved = order != np.arange(d)
    sure = _SURE / np.sqrt(n)
    if not moved.any() or fits[moved].min() < max(_FOLLOWS, sure):
        return
    if (fits - saved)[moved].min() > max(_GAIN, sure):
        yield ColumnOrder(tuple(order.tolist()), tuple(map(float, fits)), tuple(map(float, saved)))


def _ranks(columns: Array) -> Array:
    """Ranks (n, D) with mean 0 and variance 1, 0 where nothing varies."""
    ranks = columns.argsort(axis=0, kind="stable").argsort(axis=0, kind="stable")
    scaled = (ranks - ranks.mean(0)) / ranks.std(0)
    return np.asarray(np.where(np.ptp(columns, axis=0) > 0, scaled, 0.0))
