"""Features of a slot: its position among the other slots of its row, and x."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core.learn.scaling import Standardizer, robust
from validation_core.pieces import slices
from validation_core.types import Float, Integers, PosteriorTable

_Single = NDArray[np.float32]
NEAREST = (3, 7, 16)
"""Neighbours whose distances are features, as far as there are so many others."""
_FAR = 1e60  # sds
_CLIP = 8.0  # sds: limit of outlying values
_SHRUNK = 1e-4  # share of the diagonal in a row's covariance, at least
_PARAMETERS = 32  # that are standardised and whitened, at most: those whose truths are off most
_PAIRED, _PAIRED_TWICE = 12, 6  # parameters up to which products are seen, whitened ones too
_DATA = 20  # columns of x, or principal components of more
_NEVER = 1e-12
NUMBERS_AT_ONCE = 1 << 19  # of slots, or of distances, at a time: bounds memory
_SCALED = 1 << 20  # numbers of q's draws that the scale of theta is taken from


class ScoredSlots(NamedTuple):
    """Features of the scored slots of some rows, the truth in slot 0."""

    own: _Single
    """(F, n, A) features that differ between the slots of a row; theta itself last."""
    x: _Single
    """(P, n) features common to the slots of a row."""

    def rows(self) -> _Single:
        """Features (F + P, n A) of each slot, x repeated."""
        shape = (len(self.x), *self.own.shape[1:])
        wide = np.broadcast_to(self.x[:, :, None], shape)
        return np.concatenate([self.own, wide]).reshape(len(self.own) + len(self.x), -1)


@dataclass(frozen=True, eq=False)
class SlotFeatures:
    """Scales, and which parameters and directions of x are seen: fixed before any test row."""

    parameters: Integers  # (P,)
    theta_shift: Float  # (P,)
    theta_scale: Float  # (P,)
    x_shift: Float  # (M,)
    x_scale: Float  # (M,)
    axes: Float  # (M, M')
    whole: int
    """Slots of a row, the first ones, that its mean and covariance are made of."""
    context: int
    """Slots of a row, the first ones, among which neighbours are sought."""

    def __call__(self, draws: PosteriorTable, most: int) -> ScoredSlots:
        """Features of the truth and of the first `most` draws at each x."""
        parts = [self.piece(draws, rows, most) for rows in self.pieces(draws)]
        own = np.concatenate([part.own for part in parts], axis=1)
        return ScoredSlots(own, np.concatenate([part.x for part in parts], axis=1))

    def pieces(self, draws: PosteriorTable) -> Iterator[slice]:
        """Rows that are worked on together."""
        n, k = draws.q.shape[:2]
        step = max(1, NUMBERS_AT_ONCE // (min(k + 1, self.whole) * len(self.parameters)))
        return slices(n, step)

    def piece(self, draws: PosteriorTable, rows: slice, most: int) -> ScoredSlots:
        """Features of some rows."""
        sides = draws.theta[rows][:, self.parameters], draws.q[rows, : self.whole - 1]
        theta = np.concatenate([sides[0][:, None], sides[1][:, :, self.parameters]], axis=1)
        # Standardise before narrowing: heavy tails overflow float32, and far ones their squares.
        theta = (theta.astype(np.float64) - self.theta_shift) / self.theta_scale
        np.clip(theta, -_FAR, _FAR, out=theta)
        z = np.ascontiguousarray(np.moveaxis(theta, 2, 0))  # (P, r, K + 1)
        scored = min(most, z.shape[2] - 1) + 1
        alone, white, norm = standardise_among_others(z, scored)
        own = [
            alone,
            white,
            norm,
            neighbour_log_distances(z, scored, self.context),
            *_products(alone, white),
        ]
        features = np.clip(np.concatenate([*own, z[:, :, :scored]]), -_CLIP, _CLIP)
        data = Standardizer(self.x_shift, self.x_scale, _CLIP)(draws.x[rows]) @ self.axes
        return ScoredSlots(features.astype(np.float32), data.T.astype(np.float32))

    def chance(self, slots: int) -> Float:
        """With which a tree asks for each of `ScoredSlots.rows`, where a row has so many slots.

        A fifth each to standardised and whitened coordinates, to distances, to products, and to
        theta and x themselves: no kind is drowned by one of which there are many.
        """
        p, shared = len(self.parameters), len(self.parameters) + self.axes.shape[1]
        sizes = [p, p, 1 + len(_wanted(min(slots, self.context))), _product_count(p), shared]
        parts = [np.full(size, 1 / size) for size in sizes if size]
        return np.concatenate(parts) / len(parts)


def fit_slot_features(draws: PosteriorTable, *, whole: int, context: int) -> SlotFeatures:
    """Features, scaled by the rows of a learning half.

    Args:
        draws: a table.
        whole: slots of a row that its mean and covariance are made of, at most.
        context: slots of a row among which neighbours are sought, at most.
    """
    n, _, d = draws.q.shape
    parameters = _most_off(draws, whole)
    few = np.asarray(draws.q[:, : max(1, _SCALED // (n * d))], np.float64)
    shift, scale = robust(few[:, :, parameters].reshape(-1, len(parameters)))
    x = np.asarray(draws.x, np.float64)
    x_shift, x_scale = robust(x)
    axes = np.eye(x.shape[1])
    if x.shape[1] > _DATA:
        data = Standardizer(x_shift, x_scale, _CLIP)(x)
        axes = np.linalg.svd(data - data.mean(axis=0), full_matrices=False)[2][:_DATA].T
    return SlotFeatures(parameters, shift, scale, x_shift, x_scale, axes, whole, context)


def _most_off(draws: PosteriorTable, whole: int) -> Integers:
    """All parameters, or those of many whose truths differ from q's draws most, by two moments."""
    n, k, d = draws.q.shape
    if d <= _PARAMETERS:
        return np.arange(d)
    first, second = np.zeros(d), np.zeros(d)
    step = max(1, NUMBERS_AT_ONCE // (min(k, whole) * d))
    for at in range(0, n, step):
        q = np.asarray(draws.q[at : at + step, : whole - 1], np.float64)
        sd = q.std(axis=1)
        z = (draws.theta[at : at + step] - q.mean(axis=1)) / np.where(sd > 0, sd, np.inf)
        z = np.clip(z, -_CLIP, _CLIP)
        first, second = first + z.sum(axis=0), second + np.square(z).sum(axis=0)
    off = np.maximum(np.abs(first), np.abs(second - n) / np.sqrt(2))
    return np.sort(np.argsort(-off, kind="stable")[:_PARAMETERS])


def standardise_among_others(z: Float, scored: int) -> tuple[Float, Float, Float]:
    """Standardised (P, r, A), whitened (P, r, A) and norm (1, r, A) of slots z (P, r, K + 1).

    By mean, sd and Cholesky factor of the *other* slots, as downdates of rank one from all: with
    d = z_j - mean and c = (K + 1) / K, a slot's scatter is S - c d d'; with S = L L' and w =
    L^-1 d its whitened coordinates are proportional to w_i / sqrt(t_(i-1) t_i), where t_i = 1 - c
    sum_(l <= i) w_l^2. With few slots for the parameters S is shrunk towards its diagonal.
    """
    p, _, slots = z.shape
    k = slots - 1
    c, to_sd = slots / k, slots / k * np.sqrt(max(k - 1, 1))
    off = z - z.mean(axis=2, keepdims=True)
    spread = np.square(off).sum(axis=2, keepdims=True)  # (P, r, 1)
    off /= np.sqrt(np.where(spread > 0, spread, 1.0))
    share = max(_SHRUNK, 0.5 * min(1.0, p / k) ** 2)
    lower = _factor(off, share)
    d = off[:, :, :scored]
    alone = to_sd * d / np.sqrt(np.maximum(1 - c * d * d, _NEVER))
    w = _solved(lower, d)
    left = np.maximum(1 - (1 - share) * c * np.cumsum(w * w, axis=0), _NEVER)
    before = np.concatenate([np.ones((1, *left.shape[1:])), left[:-1]])
    white = to_sd * w / np.sqrt(left * before)
    norm = to_sd * np.sqrt(np.maximum(1 / left[-1:] - 1, 0.0) / ((1 - share) * c * p))
    return alone, white, norm


def _factor(off: Float, share: float) -> Float:
    """Cholesky factor (r, P, P) of the shrunk scatter of off (P, r, K + 1), of unit diagonal."""
    by_row = np.moveaxis(off, 1, 0)
    scatter = (1 - share) * (by_row @ by_row.transpose(0, 2, 1))
    i = np.arange(len(off))
    scatter[:, i, i] = 1.0
    return np.asarray(np.linalg.cholesky(scatter), dtype=np.float64)


def _solved(lower: Float, d: Float) -> Float:
    """L^-1 d (P, r, A), coordinate by coordinate: equal slots meet the same operations."""
    w = np.empty_like(d)
    for row in range(len(d)):
        rest = d[row].copy()
        for column in range(row):
            rest -= lower[:, row, column, None] * w[column]
        w[row] = rest / lower[:, row, row, None]
    return w


def neighbour_log_distances(z: Float, scored: int, context: int) -> Float:
    """Log distances (J, r, A) of slots z (P, r, K + 1) to their 3rd, 7th and 16th nearest others.

    In sds of all slots. All that are scored are among the `context` first: each lacks itself
    alone.
    """
    _, n, slots = z.shape
    count = max(scored, min(context, slots))
    wanted = _wanted(count)
    out = np.empty((len(wanted), n, scored))
    if not wanted:
        return out
    off = z - z.mean(axis=2, keepdims=True)
    sd = np.sqrt(np.square(off).mean(axis=2, keepdims=True))
    unit = (off[:, :, :count] / np.where(sd > 0, sd, 1.0)).astype(np.float32)
    step = max(1, NUMBERS_AT_ONCE // (scored * count))
    for rows in slices(n, step):
        squares = np.zeros((len(unit[0, rows]), scored, count), np.float32)
        for coordinate in unit:
            squares += np.square(coordinate[rows, :scored, None] - coordinate[rows, None, :])
        squares.partition(wanted, axis=2)  # place 0 is the slot itself
        out[:, rows] = np.moveaxis(squares[:, :, wanted], 2, 0)
    return 0.5 * np.log(out + _NEVER)


def _wanted(count: int) -> list[int]:
    return [j for j in NEAREST if j < count]


def _products(alone: Float, white: Float) -> list[Float]:
    """Products of two coordinates: a missing dependence is then one cut deep."""
    p = len(alone)
    first, second = np.tril_indices(p, -1)
    kinds = (alone, white)[: (p <= _PAIRED) + (p <= _PAIRED_TWICE)]
    return [coordinates[first] * coordinates[second] for coordinates in kinds]


def _product_count(p: int) -> int:
    return p * (p - 1) // 2 * ((p <= _PAIRED) + (p <= _PAIRED_TWICE))
