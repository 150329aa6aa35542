"""Neighbours of an observation, whether it lies among them, and x in few coordinates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from validation_core.localization.over_x import nearest_rows, totals
from validation_core.pieces import slices
from validation_core.types import Array

WIDE = 64
"""Columns of x up to which networks read each; of more, principal components."""
COMPONENTS = 16
_AT_ONCE = 2_000_000  # numbers of x worked on at a time
_ROWS = 1000  # that components are learnt from
_TYPICAL = 300  # rows whose nearest neighbours set the scale
_LISTED = 20
_FARTHEST = 1e6  # sds of a column that a place is away from its mean, as far as distances go
_ALONE = 0.2  # of the nearest rows' number: below it, one row outweighs the others


class Reduced(NamedTuple):
    """A linear map of x (n, M) to few numbers (n, C), learnt from rows that no test reads."""

    shift: Array
    """(M,)."""
    matrix: Array
    """(M, C); (M, 0) where x stays as it is."""

    def __call__(self, x: Array) -> Array:
        if not self.matrix.shape[1]:
            return x
        out = np.zeros((len(x), self.matrix.shape[1]))
        for part in _columns(x):
            out += (x[:, part] - self.shift[part].astype(np.float64)) @ self.matrix[part]
        return out


def reduced(x: Array) -> Reduced:
    """Principal components of the standardised columns of x (n, M), where there are many."""
    m = x.shape[1]
    if m <= WIDE:
        return Reduced(np.zeros(m, np.float32), np.zeros((m, 0), np.float32))
    few = x[:_ROWS]
    shift, scale = np.zeros(m), np.zeros(m)
    gram = np.zeros((len(few), len(few)))
    for part in _columns(few):
        rows = few[:, part].astype(np.float64)
        shift[part], scale[part] = rows.mean(0), rows.std(0)
        z = (rows - shift[part]) / np.where(scale[part] > 0, scale[part], np.inf)
        gram += z @ z.T
    value, vector = np.linalg.eigh(gram)
    some = np.flatnonzero(value > 1e-9 * max(float(value[-1]), 1e-300))[::-1][:COMPONENTS]
    turn = vector[:, some] / np.sqrt(value[some])  # (n, C)
    matrix = np.zeros((m, len(some)))
    inverse = 1 / np.where(scale > 0, scale, np.inf)
    for part in _columns(few):
        z = (few[:, part] - shift[part]) * inverse[part]
        matrix[part] = (z.T @ turn) * inverse[part][:, None]
    return Reduced(shift, matrix)


def distances(x: Array, at: Array) -> Array:
    """Root mean square distances (P, n) of rows x (n, M) from places (P, M), in columns' sds."""
    total = np.zeros((len(at), len(x)))
    for part in _columns(x):
        rows = x[:, part].astype(np.float64)
        scale, level = rows.std(0), rows.mean(0)
        safe = np.where(scale > 0, scale, np.inf)
        # About their mean: squares of a level that dwarfs the spread leave nothing of it.
        z, here = (rows - level) / safe, (at[:, part].astype(np.float64) - level) / safe
        here = np.clip(here, -_FARTHEST, _FARTHEST)
        cross = np.square(z).sum(1) - 2 * here @ z.T + np.square(here).sum(1)[:, None]
        total += np.maximum(cross, 0)
    return np.sqrt(total / max(1, x.shape[1]))


def weights(x: Array, at: Array) -> Array:
    """Tricube weights (P, n) of the rows x (n, M) that are nearest to places (P, M).

    In many columns all rows but the place's own are about as far as the farthest of the nearest,
    and would weigh nothing: the nearest then weigh alike.
    """
    kernel = nearest_rows(distances(x, at))
    counted = kernel > 0
    alone = totals(kernel)[1] < _ALONE * counted.sum(1)
    return np.where(alone[:, None], counted.astype(kernel.dtype), kernel)


def central_row(x: Array) -> int:
    """The row nearest to the median of all."""
    median = np.concatenate([np.median(x[:, part], axis=0) for part in _columns(x)] or [x[0]])
    return int(distances(x, median[None])[0].argmin())


class Standing(NamedTuple):
    """Position of an observation among the rows."""

    nearest: float
    """Distance to the nearest row, in sds a column."""
    usual: float
    """Of a row from its nearest, in the median."""
    farther: float
    """The share of rows that have no nearer one."""
    outside: tuple[int, ...]
    """The first columns in which it lies outside the range of all rows."""
    outside_count: int


def standing(x: Array, at: Array) -> Standing:
    """Position of an observation (M,) among the rows x (n, M)."""
    far = distances(x, at[None])[0]
    few = x[np.linspace(0, len(x) - 1, min(_TYPICAL, len(x))).astype(int)]
    own = _nearest_other(x, few) if len(x) > 1 else np.zeros(1)
    outside: list[int] = []
    for part in _columns(x):
        out = (at[part] < x[:, part].min(axis=0)) | (at[part] > x[:, part].max(axis=0))
        outside += [int(column) + part.start for column in np.flatnonzero(out)]
    nearest = float(far.min())
    return Standing(
        nearest=nearest,
        usual=float(np.median(own)),
        farther=float((own >= nearest * (1 - 1e-9)).mean()),
        outside=tuple(outside[:_LISTED]),
        outside_count=len(outside),
    )


def _nearest_other(x: Array, few: Array) -> Array:
    """Distances of some rows of x (n, M) from their nearest other row, a few at a time."""
    step = max(1, _AT_ONCE // len(x))
    parts = slices(len(few), step)
    return np.concatenate(
        [np.partition(distances(x, few[part]), 1, axis=1)[:, 1] for part in parts]
    )


def _columns(x: Array) -> Iterator[slice]:
    """Pieces of x's columns, of a bounded size."""
    step = max(1, _AT_ONCE // max(1, len(x)))
    return slices(x.shape[1], step)
