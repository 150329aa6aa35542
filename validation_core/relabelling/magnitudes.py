"""Distance of a slot from the others of its row: errors that leave every rank unchanged.

A rank within a row says nothing of distance. True values 30 sd away, q's draws on a grid, and
draws where the prior is zero are seen by the raw values alone: a slot's distance from its row's
median, its distance to the nearest other slot, and how many of all slots lie outside the range of
those that play the truth. Each treats the slots of a row alike, so that relabelling stays exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, ndtri_exp, pdtr

from validation_core.types import Array, Integers

FAR = (4.0, 10.0)
"""Distances from the row's median, in its robust sd, beyond which slots are counted."""
_FARTHEST = 1e30  # distances are capped here
_NEAREST = 1e-6  # robust sds: nearer points coincide
_MAD = 1.4826  # times the median absolute deviation is the sd of a normal law


_Counts = NDArray[np.integer]


class Magnitudes(NamedTuple):
    """Values and distances of one parameter's slots (E,), or of truths (T, N) beside them."""

    value: Array
    far: NDArray[np.float32]
    """|value - median of the row's slots|, in their robust sd."""
    gap: NDArray[np.float32]
    """Log distance to the nearest other slot of the row, in their robust sd."""

    def at(self, index: Integers) -> Magnitudes:
        """The magnitudes at some places of the last axis."""
        return Magnitudes(*(part[..., index] for part in self))


def centres(values: Array) -> tuple[Array, Array]:
    """Median and robust sd (n, 1) of rows (n, P): the sd about the median where most are equal."""
    centre = np.median(values, axis=-1, keepdims=True).astype(np.float64)
    with np.errstate(over="ignore"):
        off = np.abs(values - centre)
        spread = _MAD * np.median(off, axis=-1, keepdims=True)
        if not np.all(spread > 0):
            unit = np.maximum(off.max(axis=-1, keepdims=True), 1e-300)
            sd = unit * np.sqrt(np.square(off / unit).mean(axis=-1, keepdims=True))
            spread = np.where(spread > 0, spread, sd)
    return centre, np.where((spread > 0) & np.isfinite(spread), spread, 1.0)


def magnitudes(values: Array, chosen: Integers) -> Magnitudes:
    """Magnitudes of the chosen slots of rows (n, P), each (n, C)."""
    centre, spread = centres(values)
    order = np.argsort(values, axis=-1, kind="stable")
    ordered = np.take_along_axis(values, order, axis=-1)
    gap = np.empty(values.shape)
    np.put_along_axis(gap, order, _nearest(ordered), axis=-1)
    few = values[:, chosen]
    return Magnitudes(few, _far(few, centre, spread), _log_gap(gap[:, chosen], spread))


def magnitudes_beside(
    ordered: Array, truth: Array, below: _Counts | None = None, own_below: _Counts | None = None
) -> Magnitudes:
    """Magnitudes of truths (T, N) whose rows' draws are the slots.

    Args:
        ordered: every row's draws (N, K), ascending.
        truth: (N, T).
        below: (N, T) draws of the row below each truth, where they have been counted.
        own_below: (N, T) draws below the draw of the row that plays the truth, which is no
            neighbour; None: none does.
    """
    centre, spread = centres(ordered)
    n, k = ordered.shape
    rows = np.arange(n)[:, None]
    # The nearest of the others: one of two on either side, whichever of them is not its own draw.
    place = _searched(ordered, truth) if below is None else below
    around = place[..., None] + np.arange(-2, 2)
    there = (around >= 0) & (around < k)
    if own_below is not None:
        there &= around != own_below[..., None]
    near = ordered[rows[..., None], np.clip(around, 0, k - 1)]
    with np.errstate(over="ignore"):
        gap = np.where(there, np.abs(near - truth[..., None]), np.inf).min(axis=-1)
    gap = np.where(np.isfinite(gap), gap, 0.0)
    return Magnitudes(truth.T, _far(truth, centre, spread).T, _log_gap(gap, spread).T)


def _searched(ordered: Array, values: Array) -> _Counts:
    """Places of values (N, T) in their ascending rows (N, K)."""
    return np.stack([row.searchsorted(some) for row, some in zip(ordered, values, strict=True)])


def _nearest(ordered: Array) -> Array:
    """Distance (n, P) to the nearest other value of ascending rows (n, P)."""
    if ordered.shape[-1] < 2:
        return np.zeros(ordered.shape)
    with np.errstate(over="ignore"):
        steps = np.diff(ordered, axis=-1).astype(np.float64)
    first, last = steps[:, :1], steps[:, -1:]
    return np.concatenate([first, np.minimum(steps[:, 1:], steps[:, :-1]), last], axis=-1)


def _far(values: Array, centre: Array, spread: Array) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):
        return np.minimum(np.abs(values - centre) / spread, _FARTHEST).astype(np.float32)


def _log_gap(gap: Array, spread: Array) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):
        relative = np.minimum(gap / spread, _FARTHEST)
    return np.log(relative + _NEAREST).astype(np.float32)


class Outside(NamedTuple):
    """Slots of one parameter outside the range of those that play the truth, or the bounds."""

    below: int
    above: int
    slots: int
    """Slots of all tested rows."""
    low: float
    high: float
    """The range."""


@dataclass(frozen=True, eq=False)
class Support:
    """Test of how many slots of a parameter lie outside the range of those that play the truth.

    If q is right, each of the k lowest slots plays the truth with the chance of any other, so that
    none does with probability (1 - N / E)^k. Where the prior's bounds are given nothing is learned
    from the truths: the number of those among all slots beyond the bounds is nearly Poisson's, and
    few of them, of many such slots, speak against q. Either number treats the slots of a row
    alike, so that its law over labellings is exact whatever the bounds are.
    """

    values: Array
    """(E, D) of all pools' slots."""
    ordered: tuple[Array, ...]
    """(D,) of the rows that are tested, ascending."""
    log_other: float
    """log(1 - N / E): that a slot does not play the truth."""
    bounds: Array
    """(D, 2) the prior's bounds, infinite where they are not known."""

    @classmethod
    def of(
        cls, values: Array, tested: NDArray[np.bool_], rows: int, bounds: Array | None = None
    ) -> Support:
        """The test from values (E, D), the slots (E,) that belong to the tested rows' pools, and
        the prior's bounds (D, 2); None for none."""
        ordered = tuple(np.sort(some) for some in values[tested].T)
        share = rows / max(int(tested.sum()), rows + 1)
        known = np.tile([-np.inf, np.inf], (values.shape[1], 1)) if bounds is None else bounds
        return cls(values, ordered, float(np.log1p(-share)), known)

    @property
    def kinds(self) -> tuple[Literal["range", "bounds"], ...]:
        """Of each parameter's test."""
        return tuple("bounds" if known else "range" for known in self._bounded)

    @property
    def _bounded(self) -> NDArray[np.bool_]:
        return np.asarray(np.isfinite(self.bounds).any(axis=1))

    def statistics(self, at: Integers) -> NDArray[np.float32]:
        """|z| (B, D) of labellings whose slots that play the truth are `at` (n, B)."""
        truth = self.values[at]
        z = self._standardised(truth.min(axis=0), truth.max(axis=0))
        for j in np.flatnonzero(self._bounded).tolist():
            z[:, j] = self._of_bounds(j, self._beyond(truth[..., j], j).sum(axis=0))
        return z

    def of_truths(self, values: Array, moved: Integers | None = None) -> NDArray[np.float32]:
        """|z| (T, D) of truths (D, T, n); slots (T, n) that they were moved from are none."""
        low, high = values.min(axis=-1), values.max(axis=-1)
        gone = np.zeros((2, *low.shape), np.int64)
        if moved is not None:
            before = np.moveaxis(self.values[moved], -1, 0)
            gone[0] = (before < low[..., None]).sum(axis=-1)
            gone[1] = (before > high[..., None]).sum(axis=-1)
        z = self._standardised(low.T, high.T, gone.transpose(0, 2, 1))
        for j in np.flatnonzero(self._bounded).tolist():
            beyond = self._beyond(values[j], j).sum(axis=-1)
            more = 0
            if moved is not None:
                more = beyond - self._beyond(self.values[moved, j], j).sum(axis=-1)
            z[:, j] = self._of_bounds(j, beyond, more)
        return z

    def _beyond(self, values: Array, parameter: int) -> NDArray[np.bool_]:
        """Which values lie outside the parameter's bounds."""
        low, high = self.bounds[parameter]
        return np.asarray((values < low) | (values > high))

    def _of_bounds(
        self, parameter: int, count: Integers, more: Integers | int = 0
    ) -> NDArray[np.float32]:
        """Normal |z| (B,) of so few (B,) slots beyond the bounds that play the truth, where more
        slots lie there than in the table."""
        below, above = self._counts(self.ordered[parameter], *self.bounds[parameter])
        expected = -np.expm1(self.log_other) * np.maximum(below + above + more, 0.0)
        return np.asarray(np.maximum(-ndtri(pdtr(count, expected).clip(1e-300)), 0), np.float32)

    def outside(self, parameter: int, at: Integers) -> Outside:
        """Slots outside the range, of one parameter by its place, under one labelling (n,)."""
        truth, ordered = self.values[at, parameter], self.ordered[parameter]
        low, high = (
            self.bounds[parameter] if self._bounded[parameter] else (truth.min(), truth.max())
        )
        below, above = self._counts(ordered, low, high)
        return Outside(int(below), int(above), len(ordered), float(low), float(high))

    @staticmethod
    def _counts(ordered: Array, low: Array, high: Array) -> tuple[Integers, Integers]:
        below = np.asarray(ordered.searchsorted(low, side="left"), np.int64)
        within = np.asarray(ordered.searchsorted(high, side="right"), np.int64)
        return below, len(ordered) - within

    def _standardised(
        self, low: Array, high: Array, gone: Integers | int = 0
    ) -> NDArray[np.float32]:
        """Normal |z| (B, D) as improbable as the number beyond either end (B, D), or both; so many
        slots there (2, B, D) are in the table no more."""
        counts = [
            self._counts(ordered, low[:, at], high[:, at])
            for at, ordered in enumerate(self.ordered)
        ]
        below, above = -self.log_other * (np.array(counts).transpose(1, 2, 0) - gone)
        both = below + above
        log_p = np.minimum(-np.maximum(below, above), np.log1p(both) - both)
        return np.asarray(-ndtri_exp(log_p - np.log(2)), np.float32)
