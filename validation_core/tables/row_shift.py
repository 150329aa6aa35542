"""Rows of q's draws in another order than the true values: shifted, reversed, or nested otherwise.

Only orders that a slip makes are looked for: all rows moved on by some, from last to first, or
rows of a batches of b saved as b batches of a. A free match of rows to draws would fit any q.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core.types import Array

_COLUMNS, _FEWEST = 50, 50  # parameters, rows
_FOLLOWS = 0.3  # correlation of one parameter with its draws' centre in the other order
_SURE = 7.0  # standard errors of the mean correlation: many orders are tried
_NONE = 0.3  # of the mean correlation found, in the saved order at most
_SMOOTH = 0.3  # correlation of consecutive rows from which rows are a series


class RowOrder(NamedTuple):
    """The order of rows in which true values follow q's draws."""

    rows: NDArray[np.intp]
    """(N,) row of theta_q that belongs to each row of theta."""
    code: str
    """The reordering of an array a, in Python."""
    back: str
    """Its inverse."""
    words: str
    """The mistake: `they are 1 row late`."""
    fits: float
    """Mean correlation over parameters in this order,"""
    largest: float = 0.0
    """the largest,"""
    saved: float = 0.0
    """and that one in the saved order."""


def moved_rows(theta: Array, centres: Array) -> Iterator[RowOrder]:
    """Find an order of rows in which true values follow their draws as they do not now.

    Args:
        theta: true values (N, D); numbers that are not finite tell nothing.
        centres: means (N, D) of the draws at each row.
    """
    n = len(theta)
    if n < _FEWEST:
        return
    truth, middle = (_ranks(columns[:, :_COLUMNS]) for columns in (theta, centres))
    varies = (truth != 0).any(0) & (middle != 0).any(0)
    truth, middle = truth[:, varies], middle[:, varies]
    if not varies.any() or (truth[1:] * truth[:-1]).mean() > _SMOOTH:
        return
    best = max(_orders(truth, middle), key=lambda one: one.fits)
    columns = (truth * middle[best.rows]).mean(0)
    saved = (truth * middle).mean(0)
    if best.fits < _SURE / np.sqrt(truth.size) or saved.mean() > _NONE * best.fits:
        return
    if columns.max() > _FOLLOWS:
        at = columns.argmax()
        yield best._replace(largest=float(columns[at]), saved=float(saved[at]))


def _orders(truth: Array, middle: Array) -> Iterator[RowOrder]:
    """The best shift, the reverse, and other nestings of batches."""
    n = len(truth)
    across = np.fft.rfft(truth, axis=0).conj() * np.fft.rfft(middle, axis=0)
    by_shift = np.fft.irfft(across, n, axis=0).mean(1) / n
    shift = int(by_shift.argmax())
    signed = shift if shift <= n // 2 else shift - n
    late = "late" if signed > 0 else "early"
    count = abs(signed)
    yield RowOrder(
        np.roll(np.arange(n), -signed),
        f"np.roll(a, {-signed}, axis=0)",
        f"np.roll(a, {signed}, axis=0)",
        f"they are {count:,} row{'s' * (count > 1)} {late}",
        float(by_shift[shift]),
    )
    backwards = np.arange(n)[::-1]
    reverse = "they run from last to first"
    fits = _related(truth, middle[::-1])
    yield RowOrder(backwards, "a[::-1]", "a[::-1]", reverse, fits)
    for batch in range(2, n // 2 + 1):
        if n % batch:
            continue
        rows = np.arange(n).reshape(n // batch, batch).T.reshape(-1)
        fits = _related(truth, middle[rows])
        code, back = (
            f"a.reshape({a}, {b}, *a.shape[1:]).swapaxes(0, 1).reshape(a.shape)"
            for a, b in ((n // batch, batch), (batch, n // batch))
        )
        nested = f"they are nested as {n // batch} x {batch}, theta as {batch} x {n // batch}"
        yield RowOrder(rows, code, back, nested, fits)


def largest_correlation(values: Array, x: Array) -> float:
    """The largest rank correlation, either way, of columns (N, D) with columns (N, M) of x."""
    some = x[:, np.linspace(0, x.shape[1] - 1, min(_COLUMNS, x.shape[1])).astype(int)]
    related = _ranks(values[:, :_COLUMNS]).T @ _ranks(some) / len(x)
    return float(np.abs(related).max(initial=0.0))


def _related(a: Array, b: Array) -> float:
    """Mean over columns of the correlation of standardised columns."""
    return float((a * b).mean())


def _ranks(columns: Array) -> Array:
    """Ranks (n, C) of the finite numbers of each column, with mean 0 and variance 1; 0 elsewhere
    and where nothing varies."""
    out = np.zeros(columns.shape)
    for j, column in enumerate(columns.T):
        finite = np.isfinite(column)
        if finite.sum() > 1 and np.ptp(column[finite]) > 0:
            ranks = np.unique(column[finite], return_inverse=True)[1].astype(np.float64)
            out[finite, j] = (ranks - ranks.mean()) / ranks.std()
    return out
