"""Functions of x along which a feature of slots is tested.

Coordinates are x's columns and, where there are many, q's means. For relabelling these are means
of all slots, the truth among them: they are the same whichever slot plays the truth, so that the
verdict is exact. But where q is wrong, ranks depend on them even if the error is the same at every
x. Where a change over x is to be told from such an error (`own_nulls`, and the scan of the
question where over x), q's means come from draws that no truth is ranked among: given x they are
independent of the ranks, whether q is right or wrong.

Along each coordinate: its rank, the rank's sign and square, and every stretch of 5% to 50% of the
rows; products of two ranks; balls around rows. All are contrasts: effects equal at every x
cancel from them and are tested separately.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core.relabelling.pools import mid_ranks
from validation_core.types import Array, Integers

Mask = NDArray[np.bool_]

COLUMNS = 20
"""Columns of x up to which each is a coordinate."""
CHOSEN = 10
"""Columns that are kept of more: those that q's means follow most."""
COMPONENTS = 5
MEANS = 10
ASIDE = 50
"""Draws of q that means are taken from, at most: a quarter of those there are."""
_FEWEST_ASIDE = 5
_AT_ONCE = 2_000_000  # numbers of x worked on at a time
_BLOCKS = (40, 20, 10)
_SECONDS = 1.2  # that a battery may take over x, about; then fewer blocks, then fewer coordinates
_MULTIPLIED, _STRETCHED = 2e-11, 2.5e-9  # seconds for a multiplication, and for one stretch's sum
_FEWEST = 4  # coordinates, whatever the time
_SHORTEST, _LONGEST = 0.05, 0.5
_LEAST_ROWS = 10
_PRODUCTS = 6  # coordinates whose products are tested
_CENTRES = 48
_SHARES = (0.05, 0.1, 0.2)
_TINY = 1e-9


class XCoordinates(NamedTuple):
    """C coordinates of n rows."""

    values: Array
    """(n, C)."""
    kinds: tuple[str, ...]
    """(C,) x: a column; component: a principal component of x; mean: q's mean of a parameter."""
    which: tuple[int, ...]
    """(C,) which column, component or parameter, from 0."""


def draws_set_aside(k: int, columns: int) -> int:
    """Number of k draws kept from the ranks to estimate q's means; 0: means are not read."""
    few = min(ASIDE, k // 4)
    return few if columns > 2 and few >= _FEWEST_ASIDE else 0


def coordinates(x: Array, means: Array, spread: Array) -> XCoordinates:
    """Coordinates that order rows x (n, M); constant columns are left out.

    One or two columns: these. Up to COLUMNS: these, and q's mean of up to MEANS parameters.
    More: CHOSEN columns, COMPONENTS principal components of the standardised columns, and q's
    means. Where x never varies its first column stands for it; without x there are none.

    Args:
        x: data (n, M).
        means: q's means at each x (n, D); (n, 0) where they are not read.
        spread: q's variances (n, D).
    """
    n, m = x.shape
    if not m:
        return XCoordinates(np.zeros((n, 0)), (), ())
    columns, projected = (
        (np.arange(m), np.zeros((n, 0)))
        if m <= COLUMNS
        else _many(x, means[:, _most_predictable_means(means, spread)])
    )
    parts: list[tuple[str, Integers, Array]] = [
        ("x", columns, np.asarray(x[:, columns], np.float64)),
        ("component", np.arange(projected.shape[1]), projected),
    ]
    if m > 2 and means.shape[1]:
        parameters = _most_predictable_means(means, spread)
        parts.append(("mean", parameters, means[:, parameters]))
    values = np.concatenate([part[2] for part in parts], axis=1)
    kinds = [kind for kind, which, _ in parts for _ in which]
    which = [int(place) for _, places, _ in parts for place in places]
    varies = np.flatnonzero(np.ptp(values, axis=0) > 0)
    varies = varies if len(varies) else np.zeros(1, int)
    return XCoordinates(
        values[:, varies], tuple(kinds[i] for i in varies), tuple(which[i] for i in varies)
    )


def moments(draws: Array) -> tuple[Array, Array]:
    """Mean and variance (n, D) of draws (n, A, D); (n, 0) of none."""
    if not draws.shape[1]:
        nothing = np.zeros((len(draws), 0))
        return nothing, nothing
    return draws.mean(axis=1, dtype=np.float64), draws.var(axis=1, dtype=np.float64)


def _most_predictable_means(means: Array, spread: Array) -> Integers:
    """Up to MEANS parameters, those best predicted by x, in their own order."""
    if means.shape[1] <= MEANS:
        return np.arange(means.shape[1])
    inside = spread.mean(0)
    ratio = means.var(0) / np.where(inside > 0, inside, np.inf)
    return np.sort(np.argsort(-ratio, kind="stable")[:MEANS])


def _many(x: Array, means: Array) -> tuple[Integers, Array]:
    """CHOSEN columns that the means follow most (without means, evenly spaced); components (n, C).

    The n x n Gram matrix has the components of any number of columns; x is read in pieces.
    """
    n, m = x.shape
    follow = _standard(means)
    gram, closest = np.zeros((n, n)), np.zeros(m)
    step = max(1, _AT_ONCE // n)
    for first in range(0, m, step):
        part = _standard(np.asarray(x[:, first : first + step], np.float64))
        gram += part @ part.T
        if follow.size:
            closest[first : first + step] = np.abs(part.T @ follow).max(axis=1)
    value, vector = np.linalg.eigh(gram)
    some = np.flatnonzero(value > 1e-9 * max(value[-1], 1e-300))[::-1][:COMPONENTS]
    projected = vector[:, some] * np.sqrt(value[some])
    projected = projected * np.sign(projected[np.abs(projected).argmax(0), range(len(some))])
    if not follow.size:
        return np.linspace(0, m - 1, CHOSEN).astype(int), projected
    return np.sort(np.argsort(-closest, kind="stable")[:CHOSEN]), projected


def _standard(values: Array) -> Array:
    off = values - values.mean(0)
    scale = off.std(0)
    return off / np.where(scale > 0, scale, np.inf)


@dataclass(frozen=True, eq=False)
class XFunctions:
    """Functions of the x of n rows: H columns that sums are taken with."""

    columns: NDArray[np.float32]
    """(n, H): blocks of every coordinate, then smooth functions, products and balls."""
    coordinates: int
    blocks: int
    """Blocks of each coordinate."""
    first: Integers
    """(W,) blocks `first` to `last` - 1 are a stretch; all of one length, then of the next."""
    last: Integers
    along: Integers
    """(H - C G,) of the other columns: the coordinate; -1 of products, -2 of balls."""

    @property
    def labels(self) -> list[int]:
        """Coordinate of each cell, in the order of `largest`: coordinates, then -1 and -2."""
        others = sorted({int(axis) for axis in self.along if axis < 0}, reverse=True)
        return [*range(self.coordinates), *others]

    def of(self, rows: Integers) -> XFunctions:
        """The same functions at some of the rows."""
        if np.array_equal(rows, np.arange(len(self.columns))):
            return self
        return replace(self, columns=self.columns[rows])

    def largest(
        self,
        sums: NDArray[np.float32],
        whole: NDArray[np.float32],
        weight: ContrastWeights,
        one_sided: Mask,
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The largest standardised contrast (A, F, B) along each coordinate, products and balls;
        and those with the coordinates' own ranks (C, F, B): trends.

        Args:
            sums: with the columns, of features, (H, F, B).
            whole: of features over all rows, (F, B).
            weight: the output of `weights`.
            one_sided: (F,) features of which only large contrasts count.
        """
        blocks = self.coordinates * self.blocks
        best = self._stretched(sums[:blocks], whole, weight, one_sided)
        other = sums[blocks:] - weight.other_mean[..., None] * whole
        other *= weight.other_scale[..., None]
        _unsigned(other, one_sided)
        trends = other[: self.coordinates]
        out = [best]
        for at in self.labels[self.coordinates :]:
            out.append(other[self.along == at].max(axis=0)[None])
        for at in range(self.coordinates):
            np.maximum(best[at], other[self.along == at].max(axis=0), out=best[at])
        return np.concatenate(out), trends

    def _stretched(
        self,
        sums: NDArray[np.float32],
        whole: NDArray[np.float32],
        weight: ContrastWeights,
        one_sided: Mask,
    ) -> NDArray[np.float32]:
        """The largest contrast (C, F, B) of all stretches, those of one length at a time.

        A length's contrasts are a difference of two slices: no gather. The largest and the least
        are kept for each block that a stretch begins at, and compared once at the end.
        """
        c, g = self.coordinates, self.blocks
        _, f, b = sums.shape
        inside = np.zeros((c, g + 1, f, b), np.float32)
        np.cumsum(sums.reshape(c, g, f, b), axis=1, out=inside[:, 1:])
        inside -= weight.share[..., None] * whole
        lengths = np.unique(self.last - self.first)
        work = np.empty((c, g + 1 - lengths[0], f, b), np.float32)
        most, least = np.full_like(work, -np.inf), np.full_like(work, np.inf)
        begin = 0
        for length in lengths:
            count = g + 1 - length
            off, high, low = work[:, :count], most[:, :count], least[:, :count]
            np.subtract(inside[:, length:], inside[:, :count], out=off)
            off *= weight.scale[:, begin : begin + count, :, None]
            np.maximum(high, off, out=high)
            np.minimum(low, off, out=low)
            begin += count
        best = most.max(axis=1)
        np.maximum(best, -least.min(axis=1), out=best, where=~one_sided[:, None])
        return best

    def weights(self, variance: Array) -> ContrastWeights:
        """Variances of the sums, from those of features (F, n) in each row."""
        f = len(variance)
        blocks = self.coordinates * self.blocks
        whole = variance.sum(axis=1, dtype=np.float64)
        safe = np.where(whole > _TINY, whole, 1.0)
        by = np.zeros((f, self.coordinates, self.blocks + 1))
        rows = np.zeros((self.coordinates, self.blocks + 1))
        counted = self.columns[:, :blocks]
        by[..., 1:] = (variance @ counted).reshape(f, self.coordinates, -1).cumsum(axis=-1)
        rows[:, 1:] = counted.sum(axis=0, dtype=np.float64).reshape(self.coordinates, -1).cumsum(1)
        by /= safe[:, None, None]
        share = by[..., self.last] - by[..., self.first]
        count = rows[..., self.last] - rows[..., self.first]
        n = len(self.columns)
        enough = (count >= max(_LEAST_ROWS, 0.9 * _SHORTEST * n)) & (n - count >= _LEAST_ROWS)
        spread = safe[:, None, None] * share * (1 - share)
        enough = enough & (spread > _TINY) & (whole > _TINY)[:, None, None]
        scale = np.where(enough, 1 / np.sqrt(np.where(enough, spread, 1.0)), 0.0)
        other = self.columns[:, blocks:].astype(np.float64)
        mean = variance @ other / safe[:, None]
        squares = variance @ np.square(other) - safe[:, None] * mean**2
        good = (squares > _TINY * safe[:, None]) & (whole > _TINY)[:, None]
        other_scale = np.where(good, 1 / np.sqrt(np.where(good, squares, 1.0)), 0.0)
        turned = (by.transpose(1, 2, 0), scale.transpose(1, 2, 0), mean.T, other_scale.T)
        return ContrastWeights(*(np.ascontiguousarray(array, np.float32) for array in turned))


@dataclass(frozen=True, eq=False)
class ContrastWeights:
    """Factors that turn sums into standardised contrasts."""

    share: NDArray[np.float32]
    """(C, G + 1, F) of the variance before each block."""
    scale: NDArray[np.float32]
    """(C, W, F) one over the sd; 0 where too few rows."""
    other_mean: NDArray[np.float32]
    """(H', F) weighted means of the other columns."""
    other_scale: NDArray[np.float32]
    """(H', F)."""


def _unsigned(contrasts: NDArray[np.float32], one_sided: Mask) -> None:
    """Absolute values, in place, of the two-sided features of contrasts (H, F, B)."""
    if not one_sided.any():
        np.abs(contrasts, out=contrasts)
    elif not one_sided.all():
        np.abs(contrasts, out=contrasts, where=~one_sided[:, None])


def affordable(n: int, coordinates: int, features: int, labellings: int) -> tuple[int, int]:
    """Blocks of each coordinate, and the number of coordinates, within the time allowed."""

    def seconds(c: int, g: int) -> float:
        columns = c * (g + 3) + _CENTRES * len(_SHARES)
        work = _MULTIPLIED * n * columns + _STRETCHED * c * len(_stretches(g)[0])
        return features * labellings * work

    for g in _BLOCKS:
        if seconds(coordinates, g) <= _SECONDS:
            return g, coordinates
    c = coordinates
    while c > _FEWEST and seconds(c, g) > _SECONDS:
        c -= 1
    return g, c


def _stretches(g: int) -> tuple[Integers, Integers]:
    """First and last block of every stretch of 5% to 50% of g blocks, the shortest first."""
    lengths = range(max(1, round(_SHORTEST * g)), int(np.ceil(_LONGEST * g)) + 1)
    first = [np.arange(g + 1 - length) for length in lengths]
    last = [length + starts for length, starts in zip(lengths, first, strict=True)]
    return np.concatenate(first), np.concatenate(last)


def functions_of_x(
    values: Array, rng: np.random.Generator, blocks: int = _BLOCKS[0]
) -> XFunctions:
    """Functions of coordinates (n, C).

    Equal values stay together: a coordinate of few values has fewer blocks with rows in them.
    """
    n, c = values.shape
    g = max(2, min(blocks, n // _LEAST_ROWS))
    rank = mid_ranks(values.T).T.astype(np.float64)
    r = np.sqrt(12) * (rank - 0.5)
    inside = np.zeros((n, c, g), np.float32)
    at = np.minimum((rank * g).astype(int), g - 1)
    np.put_along_axis(inside, at[..., None], 1.0, axis=2)
    smooth = [r, np.sign(r), np.square(r)]
    along = [*range(c)] * 3
    several = list(combinations(range(min(c, _PRODUCTS)), 2))
    if several:
        a, b = np.array(several).T
        smooth.append(r[:, a] * r[:, b])
        along += [-1] * len(several)
        discs = _balls(r[:, :_PRODUCTS], rng)
        smooth.append(discs)
        along += [-2] * discs.shape[1]
    parts = [inside.reshape(n, c * g), *(functions.astype(np.float32) for functions in smooth)]
    columns = np.concatenate(parts, axis=1)
    return XFunctions(columns, c, g, *_stretches(g), np.array(along))


def _balls(r: Array, rng: np.random.Generator) -> Array:
    """1 where a row lies among the nearest to a centre: (n, V)."""
    n = len(r)
    centres = r[rng.permutation(n)[:_CENTRES]]
    far = np.square(r[:, None] - centres).sum(axis=2)
    counts = [max(_LEAST_ROWS, round(share * n)) for share in _SHARES]
    ordered = np.sort(far, axis=0)
    balls = [far <= ordered[min(count, n) - 1] for count in counts]
    return np.concatenate(balls, axis=1).astype(np.float64)
