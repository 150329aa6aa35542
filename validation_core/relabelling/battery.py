"""Many statistics of one labelling.

Every statistic is a standardised sum over rows of a feature of the slot that plays the truth (see
`features`). A feature's mean over the slots of a row, and its variance, hold for every labelling.
Beside these sums stand sums of their squares over parameters, or over parameters and coordinates
of x (many weak errors, none of which stands out), and how many slots lie outside the range of
those that play the truth (see `magnitudes.Support`). Statistics of one kind, one parameter and one
coordinate of x are a cell; cells of one kind are a family.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, pdtr, pdtrc

from validation_core.pieces import slices
from validation_core.relabelling.families import (
    ALL,
    EVERYWHERE,
    OWN,
    WHITENED,
    Family,
    StatisticKind,
)
from validation_core.relabelling.features import Block, Feature, MovedSlots
from validation_core.relabelling.magnitudes import Support
from validation_core.relabelling.normal_scores import normal_scores
from validation_core.relabelling.places import ContrastWeights, XFunctions
from validation_core.relabelling.pools import Pools, SlotNumbers, SlotRanks
from validation_core.types import Array, Integers

_NUMBERS = 4_000_000  # of features times rows gathered at a time: wide products are fast ones
_TINY = 1e-9
_PAIRS = 40  # parameters up to which all pairs are tested
_SELDOM = 25.0  # variance of a count up to which its law is Poisson's rather than normal
_RIDGE = 1e-3
_FAMILY_OVER_X: Mapping[str, Family] = {"theta": "over_x", "norm": "over_x", OWN: "own_over_x"}


@dataclass(frozen=True)
class Cell:
    """A claim that a panel can make, shared by several statistics."""

    family: Family
    kind: StatisticKind
    of: str
    which: tuple[int, ...]
    along: int | None = None
    """The coordinate of x; -1 products, -2 balls, EVERYWHERE; None: over all x."""


@dataclass(frozen=True, eq=False)
class _BlockStatistics:
    """A block with its functions of x: features tested over x come last in `cells`."""

    block: Block
    order: Integers
    """(F,) of features, those of one cell together."""
    sided: NDArray[np.bool_]
    """(F,) features of which only large sums count."""
    scale: NDArray[np.float32]
    """(F,) one over the sd of each sum."""
    starts: Integers
    """The first feature of each cell in `order`."""
    counted: Integers
    """Features whose sums are small counts,"""
    expected: NDArray[np.float32]
    """and what each is expected to be."""
    places: XFunctions | None
    weights: ContrastWeights | None
    squares: tuple[_Squares, ...]
    """Sums over parameters of squared statistics, where there are several."""
    cells: tuple[Cell, ...]
    """Features over all x, squares of them, features over x, squares of those."""


@dataclass(frozen=True, eq=False)
class _Squares:
    """Sums over parameters of one kind's squared standardised statistics."""

    kind: StatisticKind
    features: Integers
    """(D,) one for each parameter."""
    whitening: NDArray[np.float32]
    """(D, D) matrix that decorrelates the statistics of right tables (Hotelling)."""


@dataclass(frozen=True, eq=False)
class _Gram:
    """Products of parameters' places, the first features of the first part: all pairs at once,
    where there are too many to keep."""

    count: int
    """Parameters."""
    mean: NDArray[np.float32]
    """(P,) sum over rows of the pools' means."""
    scale: NDArray[np.float32]
    """(P,)."""
    a: Integers
    b: Integers
    cells: tuple[Cell, ...]


@dataclass(frozen=True, eq=False)
class Battery:
    """All statistics of a table."""

    pools: Pools
    parts: tuple[_BlockStatistics, ...]
    gram: _Gram | None
    support: Support | None = None

    @property
    def cells(self) -> tuple[Cell, ...]:
        """(C,) in the order of `statistics`."""
        cells = [cell for part in self.parts for cell in part.cells]
        cells += self.gram.cells if self.gram else ()
        if self.support is not None:
            parameters = self.parts[0].block.parameters
            kinds = self.support.kinds
            cells += [
                Cell("support", kind, "theta", (which,))
                for kind, which in zip(kinds, parameters, strict=True)
            ]
        return tuple(cells)

    def statistics(self, slots: SlotNumbers) -> NDArray[np.float32]:
        """The largest |z| of every cell, (B, C), for labellings (B, N); of `squares` the sum."""
        out, last = [], []
        for part in self.parts:
            block = part.block
            at = (slots[:, block.rows] + self.pools.first[block.rows]).T
            values, others = (np.take(array, at, axis=0) for array in (block.values, block.others))
            out.append(_largest(part, values, others.sum(axis=0)))
            if part is self.parts[0]:
                last = [_products(self.gram, values)] if self.gram is not None else []
                last += [self.support.statistics(at)] if self.support is not None else []
        return np.concatenate([*out, *last], axis=1)

    def over_x_permuted(self, orders: SlotNumbers) -> NDArray[np.float32]:
        """`statistics` of the observed labelling's cells over x (B, C'), with rows permuted among
        the x, each with its features and their variances: their law if errors were alike at every
        x.

        A row's variance is that of its slots, the truth among them: it goes where the feature
        goes, or sums of permuted features would spread less than the observed one.

        Args:
            orders: (B, N) permutations of the rows.
        """
        out = []
        for part in self.parts:
            if part.places is None:
                continue
            block = part.block
            at = self.pools.observed[block.rows] + self.pools.first[block.rows]
            ranks = orders[:, block.rows].argsort(axis=1).argsort(axis=1).T  # of these rows alone
            variance = block.variance[:, : block.over]
            out.append(_over_x(part, block.values[at][ranks], variance[ranks]))
        return np.concatenate(out, axis=1) if out else np.empty((len(orders), 0), np.float32)

    def statistics_in_pieces(
        self, slots: SlotNumbers, progress: Callable[[float], None] = lambda done: None
    ) -> NDArray[np.float32]:
        """`statistics` of any number of labellings (B, N), some at a time."""
        z = np.empty((len(slots), len(self.cells)), np.float32)
        for part in self.pieces(len(slots)):
            z[part] = self.statistics(slots[part])
            progress(part.stop / len(slots))
        return z

    def statistics_of_truths(
        self, scores: Sequence[SlotRanks], moved: Integers | None = None
    ) -> NDArray[np.float32]:
        """`statistics` of truths beside the pools: (T, C).

        Args:
            scores: of T tables, u (T, N) of all rows, or (T, n) of those a score speaks of; or of
                whole pools, the truth first (P, T, N).
            moved: (T, N) the slots that the truths are, where they were moved.
        """
        by_name = {(score.of, score.which): score for score in scores}
        out: list[NDArray[np.float32]] = []
        last: list[NDArray[np.float32]] = []
        for part in self.parts:
            block = part.block
            read = [by_name[name].of_rows(block.rows) for name in block.names]
            slots = None
            if moved is not None:
                places = moved[:, block.rows] + self.pools.first[block.rows]
                slots = MovedSlots(places, (1 / self.pools.size[block.rows]).astype(np.float32))
            truths = block.truths(read, slots)
            out.append(_largest(part, truths.values, truths.sums, truths.raised))
            if part is self.parts[0]:
                last = []
                if (gram := self.gram) is not None:
                    moves = slots and _pairs_moved(gram, block, read, truths.values, slots)
                    last.append(_products(gram, truths.values, moves))
                if self.support is not None:
                    own = [score.magnitude.value for score in read if score.magnitude is not None]
                    own = [value if value.ndim == 2 else value[0] for value in own]
                    last.append(self.support.of_truths(np.stack(own), slots and slots.places))
        return np.concatenate([*out, *last], axis=1)

    def pieces(self, count: int) -> Iterator[slice]:
        """Labellings that fit in memory together."""
        wide = max(
            len(part.block.features) * len(part.block.rows) + _numbers_over_x(part)
            for part in self.parts
        )
        return slices(count, max(1, _NUMBERS // wide))


def _numbers_over_x(part: _BlockStatistics) -> int:
    """Numbers per labelling over x, from which memory is estimated."""
    if part.places is None:
        return 0
    return 4 * part.block.over * part.places.columns.shape[1]


def _largest(
    part: _BlockStatistics,
    picked: NDArray[np.float32],
    others: NDArray[np.float32],
    raised: NDArray[np.float32] | None = None,
) -> NDArray[np.float32]:
    """The largest |z| (B, C) of each cell, for features (n, B, F') of the slots that are picked,
    and sums (B, F - F') of the others over rows, which are expected to be as much higher as
    `raised`."""
    sums = np.concatenate([picked.sum(axis=0), others], axis=1)  # (B, F)
    z = sums * part.scale
    squares = [np.square(z[:, one.features]).sum(axis=1) for one in part.squares]
    squares += [np.square(z[:, one.features] @ one.whitening).sum(axis=1) for one in part.squares]
    np.abs(z, out=z, where=~part.sided)
    if len(part.counted):
        expected = part.expected
        if raised is not None:
            expected = np.maximum(expected + raised[:, part.counted - part.block.over], 0)
        z[:, part.counted] = _z_of_counts(sums[:, part.counted] + expected, expected)
    cells = np.maximum.reduceat(z[:, part.order], part.starts, axis=1)
    parts = [cells, np.stack(squares, axis=1)] if squares else [cells]
    if part.places is not None:
        parts.append(_over_x(part, picked))
    return np.concatenate(parts, axis=1)


def _over_x(
    part: _BlockStatistics,
    picked: NDArray[np.float32],
    variance: NDArray[np.float32] | None = None,
) -> NDArray[np.float32]:
    """The largest |z| (B, C') of each cell over x, for features (n, B, F').

    Args:
        part: the block with its functions of x.
        picked: features of the slots that are picked.
        variance: (n, B, F') of each row's features; None where they are the block's own.
    """
    assert part.places is not None
    assert part.weights is not None
    n, b, over = picked.shape
    # One product of large matrices, many times faster than one for each labelling.
    along = (part.places.columns.T @ picked.reshape(n, -1)).reshape(-1, b, over)
    whole, sided = picked.sum(axis=0), part.sided[:over]
    if variance is None:
        best, trends = part.places.largest(
            np.ascontiguousarray(along.transpose(0, 2, 1)),
            np.ascontiguousarray(whole.T),
            part.weights,
            sided,
        )
    else:  # features of one labelling with variances of their own
        weights = part.places.weights(variance.reshape(n, -1).T.astype(np.float64))
        best, trends = (
            largest.reshape(-1, b, over).transpose(0, 2, 1)
            for largest in part.places.largest(
                along.reshape(-1, b * over, 1), whole.reshape(-1, 1), weights, np.tile(sided, b)
            )
        )
    largest = best.transpose(2, 1, 0).reshape(b, -1)
    sums = [np.square(trends[:, one.features]).sum(axis=(0, 1)) for one in part.squares]
    return np.concatenate([largest, np.stack(sums, axis=1)], axis=1) if sums else largest


def _z_of_counts(count: Array, expected: Array) -> Array:
    """The normal |z| as improbable as Poisson counts (B, F), too large or too small."""
    whole = np.round(count).astype(np.float64)  # a single float ends at 1e-45
    p = np.minimum(pdtrc(np.maximum(whole - 1, 0), expected), pdtr(whole, expected))
    p = np.where(whole < 1, pdtr(0, expected), p)
    return np.asarray(-ndtri(np.clip(p, 1e-300, 0.5)))


def _products(
    gram: _Gram, picked: NDArray[np.float32], higher: Array | None = None
) -> NDArray[np.float32]:
    """The |z| (B, P) of all pairs, for features (n, B, F') of the slots that are picked, where the
    means of their pools are so much higher (B, P)."""
    off = _pair_sums(gram, picked) - gram.mean
    return np.abs(off if higher is None else off - higher) * gram.scale


def _pair_sums(
    gram: _Gram, values: NDArray[np.float32], weights: Array | float = 1.0
) -> NDArray[np.float32]:
    """Sums (B, P) over rows of pairs' products, for features (n, B, F')."""
    z = np.ascontiguousarray(values[..., : gram.count].transpose(1, 2, 0))  # (B, D, n)
    return np.asarray(((z * weights) @ z.transpose(0, 2, 1))[:, gram.a, gram.b])


def _pairs_moved(
    gram: _Gram,
    block: Block,
    read: Sequence[SlotRanks],
    picked: NDArray[np.float32],
    moved: MovedSlots,
) -> NDArray[np.float32]:
    """By how much the pools' mean products (B, P) are higher where a slot was moved."""
    if read[0].u.ndim == 2:
        before = np.take(block.values, moved.places.T, axis=0)
        return _pair_sums(gram, picked, moved.share) - _pair_sums(gram, before, moved.share)
    slots = np.stack([score.u for score in read if score.of == "theta"], axis=-1)  # (P, B, n, D)
    sums = [_pair_sums(gram, normal_scores(u.transpose(1, 0, 2)), moved.share) for u in slots]
    return np.asarray(np.sum(sums, axis=0) - gram.mean)


def assemble(
    pools: Pools, blocks: Sequence[Block], where: XFunctions | None, support: Support | None = None
) -> Battery:
    """The statistics of these blocks.

    Args:
        pools: of the table.
        blocks: features of some rows each; the first one's parameters are paired.
        where: functions of x of all rows; None looks at no x.
        support: the range of every parameter of the first block.
    """
    parts = _parts(pools, blocks, where)
    paired = any(feature.kind == "pair" for feature in blocks[0].features)
    count = min(blocks[0].means, _PAIRS)
    gram = _gram(pools, blocks[0], count) if count > 1 and not paired else None
    return Battery(pools, parts, gram, support)


def assemble_over_x(pools: Pools, blocks: Sequence[Block], where: XFunctions) -> Battery:
    """The statistics over x of these blocks, to be permuted among the x."""
    return Battery(pools, _parts(pools, blocks, where), None)


def _parts(
    pools: Pools, blocks: Sequence[Block], where: XFunctions | None
) -> tuple[_BlockStatistics, ...]:
    return tuple(
        _block_statistics(block, where, _expected_plays(pools, block.rows)) for block in blocks
    )


def _expected_plays(pools: Pools, rows: Integers) -> Array:
    """Expected number of these rows' truths that each slot (E,) plays."""
    first, size, pool = pools.distinct
    return np.repeat(np.bincount(pool[rows], minlength=len(first)) / size, size)


def _block_statistics(block: Block, where: XFunctions | None, played: Array) -> _BlockStatistics:
    def cell(feature: Feature) -> Cell:
        return Cell(feature.family, feature.kind, feature.of, feature.which)

    feature_cells = [cell(feature) for feature in block.features]
    order = sorted(range(len(feature_cells)), key=lambda i: _sort_key(feature_cells[i]))
    starts = [
        at
        for at, i in enumerate(order)
        if at == 0 or feature_cells[i] != feature_cells[order[at - 1]]
    ]
    cells = [feature_cells[order[at]] for at in starts]
    sided = np.array([feature.one_sided for feature in block.features])
    whole = block.variance.sum(axis=0, dtype=np.float64)
    scale = np.where(whole > _TINY, 1 / np.sqrt(np.where(whole > _TINY, whole, 1.0)), 0.0)
    counts = np.array([feature.counts for feature in block.features])
    counted = np.flatnonzero(counts & (whole < _SELDOM))
    squares = _squares(block, scale, played)
    cells += [Cell("together", one.kind, of, ()) for of in (ALL, WHITENED) for one in squares]
    near, weights = None, None
    if where is not None and block.over:
        near = where.of(block.rows)
        weights = near.weights(block.variance[:, : block.over].T.astype(np.float64))
        for feature in block.features[: block.over]:
            family = _FAMILY_OVER_X.get(feature.of, "learned_over_x")
            cells += [
                Cell(family, feature.kind, feature.of, feature.which, at) for at in near.labels
            ]
        cells += [Cell("together_over_x", one.kind, ALL, (), EVERYWHERE) for one in squares]
    return _BlockStatistics(
        block=block,
        order=np.array(order),
        sided=sided,
        scale=scale.astype(np.float32),
        starts=np.array(starts),
        counted=counted,
        expected=block.mean[:, counted].sum(axis=0, dtype=np.float64).astype(np.float32),
        places=near,
        weights=weights,
        squares=squares,
        cells=tuple(cells),
    )


def _squares(block: Block, scale: Array, played: Array) -> tuple[_Squares, ...]:
    """Places and widths of several parameters, which are the features that come first."""
    out = []
    for kind in ("mean", "width"):
        at = np.array([
            i for i, feature in enumerate(block.features[: block.over])
            if feature.kind == kind and feature.of == "theta" and len(feature.which) == 1
            and feature.family != "observation"
        ], int)  # fmt: skip
        if len(at) < 2:
            continue
        z = block.values[:, at] * scale[at]
        covariance = z.T @ (z * played[:, None])
        covariance = (1 - _RIDGE) * covariance + _RIDGE * np.eye(len(at))
        inverse = np.linalg.inv(np.linalg.cholesky(covariance.astype(np.float64)))
        out.append(_Squares(kind, at, np.asarray(inverse.T, np.float32)))
    return tuple(out)


def _sort_key(cell: Cell) -> tuple[str, str, str, tuple[int, ...]]:
    return cell.family, cell.of, cell.kind, cell.which


def _gram(pools: Pools, block: Block, count: int) -> _Gram:
    """The products of so many parameters' places: block's first features."""
    a, b = np.array(list(combinations(range(count), 2))).T
    rows = block.rows
    first, which, members = np.unique(pools.first[rows], return_index=True, return_counts=True)
    mean, variance = np.zeros((2, count, count))
    # Products of places are products of matrices, and so are their squares.
    for begin, size, number in zip(first, pools.size[rows][which], members, strict=True):
        z = block.values[begin : begin + size, :count]
        squared = np.square(z)
        middle = z.T @ z / size
        mean += number * middle
        variance += number * (squared.T @ squared / size - np.square(middle))
    mean, variance = mean[a, b], variance[a, b]
    scale = np.where(variance > _TINY, 1 / np.sqrt(np.maximum(variance, _TINY)), 0.0)
    which_of = [feature.which[0] for feature in block.features[:count]]
    cells = tuple(
        Cell("pairs", "pair", "theta", (which_of[i], which_of[j]))
        for i, j in zip(a, b, strict=True)
    )
    return _Gram(count, mean.astype(np.float32), scale.astype(np.float32), a, b, cells)
