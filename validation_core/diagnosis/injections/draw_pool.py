"""q's draws with each row's centre, widths and shape, worked out once for all injections."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from validation_core.pieces import slices
from validation_core.rng import stream
from validation_core.tables.repeats import draw_ties
from validation_core.types import Array

DrawIndices = NDArray[np.intp]
S = TypeVar("S", bound=np.generic)

_ROWS = 256  # worked on at a time
_GROUP = 0.05  # of a row's draws, that are a group
_GAP = 3.0  # times their width, between two groups far apart


@dataclass(frozen=True, eq=False)
class DrawPool:
    """q's draws (n, K, D) and x (n, M), with each row's mean, widths and shape worked out once."""

    q: Array
    x: Array
    direction_seed: int | None = None
    """Seed of the one direction that all trials share, which a network can learn; None gives each
    trial a direction of its own."""

    def directions(
        self, which: DrawIndices, rng: np.random.Generator
    ) -> tuple[int, np.random.Generator]:
        """Number of directions that trials (T, n) take, and the generator that draws them."""
        return (len(which), rng) if self.direction_seed is None else (1, self._shared())

    def _shared(self) -> np.random.Generator:
        """The generator of the direction that all trials share."""
        assert self.direction_seed is not None
        return stream(self.direction_seed, "way")

    @cached_property
    def parameter(self) -> int | None:
        """The one parameter that holds what is put into one; None where trials differ in it."""
        if self.direction_seed is None:
            return None
        return draw_parameter(self.moving, self._shared())

    @cached_property
    def moving(self) -> DrawIndices:
        """Places of the parameters whose draws vary at some x, as a fixed one's do not; all where
        none does."""
        moves = np.zeros(self.q.shape[2], bool)
        for rows in slices(len(self.q), _ROWS):
            moves |= (self.q[rows] != self.q[rows, :1]).any((0, 1))
            if moves.all():  # as a rule after the first rows
                break
        return np.flatnonzero(moves if moves.any() else ~moves)

    def by_rows(self, of: Callable[[slice], NDArray[S]]) -> NDArray[S]:
        """A function of some rows at a time, its values joined: no copy of all draws is made."""
        return np.concatenate([of(rows) for rows in slices(len(self.q), _ROWS)])

    def draws(self, rows: slice) -> Array:
        """Some rows' draws in double precision: (m, K, D)."""
        return np.asarray(self.q[rows], dtype=np.float64)

    def standard_draws(self, rows: slice) -> Array:
        """(theta - mean) / sd of some rows' draws: (m, K, D)."""
        return (self.draws(rows) - self.mean[rows, None]) / self.sd[rows, None]

    @cached_property
    def mean(self) -> Array:
        """Each row's mean: (n, D)."""
        return self.by_rows(lambda rows: self.draws(rows).mean(1))

    @cached_property
    def sd(self) -> Array:
        """Each row's standard deviations, 1 where all draws agree: (n, D)."""
        sd = self.by_rows(lambda rows: self.draws(rows).std(1))
        return np.where(sd > 0, sd, 1.0)

    @cached_property
    def width(self) -> Array:
        """Half of what holds the middle 68% of each row's draws, a posterior sd that no far draw
        moves: (n, D); 0 where all draws agree.

        Of draws in two groups far apart it is that of the groups about their own medians: the gap
        between two modes, or around an angle's wrapped ends, is no posterior sd.
        """
        return self.by_rows(lambda rows: _widths_within(self.draws(rows)))

    @cached_property
    def chol(self) -> Array:
        """Lower factor of each row's correlation matrix: (n, D, D).

        Few draws leave it singular: off the diagonal it is shrunk by (D / K)^2, at most to half.
        """
        _, k, d = self.q.shape
        shrink = min(0.5, (d / k) ** 2) + 1e-6

        def factors(rows: slice) -> Array:
            u = self.standard_draws(rows)
            r = np.swapaxes(u, 1, 2) @ u * ((1 - shrink) / k)
            r[:, np.arange(d), np.arange(d)] = 1.0
            return np.linalg.cholesky(r)

        return self.by_rows(factors)

    @cached_property
    def inverse(self) -> Array:
        """Inverse of `chol`: (n, D, D)."""
        return np.linalg.inv(self.chol)

    @cached_property
    def followed(self) -> Array:
        """Uncorrelated standardised directions of x, at most 10: (n, r); r = 0 for constant x."""
        x = np.asarray(self.x, dtype=np.float64)[:, :1000]
        sd = x.std(0)
        x = (x - x.mean(0))[:, sd > 0] / sd[sd > 0]
        if not x.size:
            return np.zeros((len(x), 0))
        left, size, _ = np.linalg.svd(x, full_matrices=False)
        return left[:, :10][:, size[:10] > 1e-6 * size[0]] * np.sqrt(len(x))

    @cached_property
    def _values(self) -> tuple[NDArray[np.generic] | None, ...]:
        """Of each parameter the values (V,) that draws have where those of a row are often equal,
        None where hardly any are, or where they repeat in their row alone."""
        return tuple(
            np.unique(self.q[..., j]) if how == "values" else None
            for j, how in enumerate(draw_ties(self.q))
        )

    def on_values(self, theta: Array, rng: np.random.Generator) -> Array:
        """Truths (T, n, D) at values that draws have, of parameters whose draws are often equal.

        One of the two values next to each is drawn, so that the mean stays: true values between
        whole numbers are found by that alone, whatever else is wrong with q.
        """
        out = theta
        for j, values in enumerate(self._values):
            if values is None:
                continue
            out, uniform = out.copy() if out is theta else out, rng.random(theta.shape[:2])
            out[..., j] = _rounded(values, self.q[..., j].T, theta[..., j], uniform)
        return out

    def take(self, which: DrawIndices) -> Array:
        """The draws that play the truth: (T, n, D) of their places (T, n)."""
        return np.asarray(self.q[np.arange(len(self.q)), which], dtype=np.float64)

    def standard(self, theta: Array) -> Array:
        """(theta - mean) / sd of each row: (T, n, D)."""
        return (theta - self.mean) / self.sd

    def white(self, theta: Array) -> Array:
        """Rows' whitened coordinates: (T, n, D) of theta (T, n, D)."""
        return transform_rows(self.inverse, self.standard(theta))

    def coloured(self, white: Array) -> Array:
        """theta (T, n, D) from whitened coordinates (T, n, D)."""
        return self.mean + self.sd * transform_rows(self.chol, white)


def _rounded(values: NDArray[np.generic], draws: Array, theta: Array, uniform: Array) -> Array:
    """Either value (V,), ascending, next to theta, by a uniform number, so that the mean is theta.

    What is less than a step beyond the ends of its row's draws (K, ...) stays there, as no true
    value may lie farther out (counts below those in x); what is farther goes on in steps.
    """
    if len(values) < 2:
        return theta
    ticks = np.asarray(values, np.float64)
    least, most = draws.min(axis=0), draws.max(axis=0)
    step = float(np.median(np.diff(ticks)))
    at = np.clip(ticks.searchsorted(theta, side="right") - 1, 0, len(ticks) - 2)
    low, high = ticks[at], ticks[at + 1]
    inside = np.where(uniform < (theta - low) / (high - low), high, low)
    end = np.clip(theta, least, most)
    beyond = theta - end
    outside = end + step * np.floor(beyond / step + uniform)
    inside = np.where(beyond == 0, inside, end)
    return np.where(np.abs(beyond) < step, inside, outside)


def draw_parameter(places: DrawIndices, rng: np.random.Generator) -> int:
    """One of the parameters at these places, by its place."""
    return int(places[rng.integers(len(places), size=1)[0]])


def _widths_within(q: Array) -> Array:
    """Half of the middle 68% of rows (n, K, D), of two groups far apart about their medians."""
    low, high = np.quantile(q, [0.16, 0.84], axis=1)
    widths = (high - low) / 2
    k = q.shape[1]
    least = max(2, round(_GROUP * k))
    if k < 2 * least + 1:
        return widths
    ordered = np.sort(q, axis=1)
    gaps = np.diff(ordered[:, least - 1 : k - least + 1], axis=1)  # enough draws on both sides
    at = gaps.argmax(1)
    wide = np.take_along_axis(gaps, at[:, None], axis=1)[:, 0]
    for i, j in zip(*np.nonzero(2 * wide > widths), strict=True):
        first, second = np.split(ordered[i, :, j], [least + at[i, j]])
        off = np.concatenate([part - np.median(part) for part in (first, second)])
        within = np.diff(np.quantile(off, [0.16, 0.84]))[0] / 2
        if wide[i, j] > _GAP * within:
            widths[i, j] = within
    return widths


def transform_rows(matrices: Array, vectors: Array) -> Array:
    """Each row's matrix (n, D, D) times its vectors (T, n, D)."""
    turned = np.swapaxes(vectors, 0, 1) @ np.swapaxes(matrices, 1, 2)
    return np.swapaxes(turned, 0, 1)
