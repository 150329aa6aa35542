"""How far from the middle of its pool a slot lies, in all parameters together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from validation_core.pieces import slices
from validation_core.types import Array, Integers

WHITENED = 60
"""Parameters up to which a row's covariance is worth its time."""
FEW = 50
"""Slots of a pool up to which one that is moved changes the norms of the others."""
_NUMBERS = 1_000_000  # of slots worked on at a time
_OUT = 1e6  # sds: no point lies farther out


def norms(values: Array) -> Array:
    """Squared Mahalanobis norms (n, P) of values (n, P, D) in the pool's own mean and covariance.

    Both treat all slots alike. Few slots leave the covariance singular: it is shrunk to its
    diagonal by (D / P)^2, at most to half; beyond WHITENED parameters the diagonal stands alone.
    In single precision.
    """
    n, slots, d = values.shape
    out = np.empty((n, slots))
    for part in slices(n, max(1, _NUMBERS // (slots * d))):
        out[part] = np.square(_Whitened.of(values[part]).slots).sum(axis=2)
    # Equal points are worked out in different lanes: single precision makes them ties again.
    return out.astype(np.float32)


@dataclass(frozen=True, eq=False)
class _Whitened:
    """Slots (n, P, D) of pools, in coordinates in which their squared lengths are their norms."""

    slots: Array
    centre: Array
    """(n, 1, D)."""
    unit: Array
    """(n, 1, D) of any size: norms are the same in any unit, squares are not."""
    sd: Array
    """(n, 1, D) in that unit."""
    factor: Array | None
    """Lower factors (n, D, D) of the shrunk correlation matrices; None for the identity."""
    shrink: float
    """Off the diagonal."""

    @classmethod
    def of(cls, values: Array) -> _Whitened:
        off: Array = values.astype(np.float64)
        unit = np.abs(off).max(axis=1, keepdims=True)
        unit = np.where(unit > 0, unit, 1.0)
        off /= unit
        mean = off.mean(axis=1, keepdims=True)
        off -= mean
        sd = np.sqrt(np.square(off).mean(axis=1, keepdims=True))
        sd = np.where(sd > 0, sd, 1.0)
        off /= sd
        _, slots, d = values.shape
        if not 1 < d <= WHITENED:
            return cls(off, mean, unit, sd, None, 1.0)
        shrink = min(0.5, (d / slots) ** 2) + 1e-4
        correlation = (1 - shrink) / slots * (off.transpose(0, 2, 1) @ off)
        correlation[:, np.arange(d), np.arange(d)] = 1.0
        factor = np.linalg.cholesky(correlation)
        return cls(_solved(factor, off), mean, unit, sd, factor, shrink)

    def points(self, values: Array) -> Array:
        """Points (n, T, D), which may lie anywhere, in these coordinates."""
        with np.errstate(over="ignore"):
            off = (values.astype(np.float64) / self.unit - self.centre) / self.sd
        off = np.clip(off, -_OUT, _OUT)
        return off if self.factor is None else _solved(self.factor, off)


def _solved(factor: Array, off: Array) -> Array:
    return np.linalg.solve(factor, off.transpose(0, 2, 1)).transpose(0, 2, 1)


@dataclass(frozen=True, eq=False)
class _MovedPools:
    """T pools of each row, in each of which one slot b was moved to a: all (n, T).

    Mean and covariance change by terms of a and b alone, so that norms in the new ones follow
    from products with a and b in the old ones (Woodbury). The shrunk part of the covariance stays
    as it was.
    """

    aa: Array
    ab: Array
    bb: Array
    slots: int
    shrink: float

    def norms(self, a: Array, b: Array, size: Array) -> Array:
        """Norms of points from their products with a and b and their old norms: (..., n, T)."""
        p, kept = self.slots, 1 - self.shrink
        kaa, kab = (p + 1) / kept + self.aa, 1 / kept + self.ab
        kbb = (1 - p) / kept + self.bb
        moved = (self.aa - 2 * self.ab + self.bb) / p**2
        off_a, off_b = a - (self.aa - self.ab) / p, b - (self.ab - self.bb) / p
        gained = kbb * off_a**2 - 2 * kab * off_a * off_b + kaa * off_b**2
        return np.asarray(
            size - 2 * (a - b) / p + moved - gained / (kaa * kbb - kab**2), np.float32
        )


def _moved_pools(
    values: Array, which: Integers, points: Array, numbers: int
) -> Iterator[tuple[slice, _Whitened, Array, _MovedPools]]:
    """Some rows at a time, `numbers` of each: their slots, the moved ones and their pools."""
    n, slots, _ = values.shape
    for part in slices(n, max(1, _NUMBERS // numbers)):
        white = _Whitened.of(values[part])
        a = white.points(np.moveaxis(points[:, part], 0, 1))
        b = np.take_along_axis(white.slots, which[:, part].T[..., None], axis=1)
        aa, ab, bb = (np.einsum("ntd,ntd->nt", *two) for two in ((a, a), (a, b), (b, b)))
        yield part, white, a, _MovedPools(aa, ab, bb, slots, white.shrink)


def moved_norms(values: Array, which: Integers, points: Array) -> Array:
    """Norms (n, T) of points that take the place of a slot, each in the pool that it is then in.

    Args:
        values: of all slots of pools (n, P, D).
        which: the slot (T, n) whose place it takes.
        points: (T, n, D).
    """
    out = np.empty(which.T.shape, np.float32)
    for part, _, _, pools in _moved_pools(values, which, points, len(which) * values.shape[2]):
        out[part] = pools.norms(pools.aa, pools.ab, pools.aa)
    return out


def moved_norm_ranks(values: Array, which: Integers, points: Array) -> NDArray[np.float32]:
    """Mid-ranks u (T, n) of the points' norms among the slots that stay, all in the new pool.

    Few slots tell mean and covariance with one of them moved from those before. As `moved_norms`.
    """
    slots = values.shape[1]
    out = np.empty(which.shape, np.float32)
    for part, white, a, pools in _moved_pools(values, which, points, len(which) * slots):
        own = which[:, part]
        with_a = np.moveaxis(white.slots @ a.transpose(0, 2, 1), 1, 0)  # (P, n, T)
        gram = white.slots @ white.slots.transpose(0, 2, 1)
        with_b = np.moveaxis(np.take_along_axis(gram, own.T[:, None], axis=2), 1, 0)
        size = np.einsum("npd,npd->pn", white.slots, white.slots)[..., None]
        others = pools.norms(with_a, with_b, size)
        truth = pools.norms(pools.aa, pools.ab, pools.aa)
        np.put_along_axis(others, own.T[None], np.nan, axis=0)  # a slot that moved is not there
        u = ((others < truth).sum(axis=0) + 0.5 * (1 + (others == truth).sum(axis=0))) / slots
        out[:, part] = u.T
    return out
