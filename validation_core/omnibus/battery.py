"""Many statistics of one labelling, and what the largest of all means: relabelling within x.

Every statistic is a standardised sum over rows of a function of the slot that plays the truth.
Statistics of one kind, one parameter and one coordinate of x are a cell; cells of one kind are a
family. Within a family the largest |z| counts; families are made comparable by an approximate
-log p, Bonferroni over an effective number and a share of the level. That only orders: the p-value
is the rank of the observed labelling's largest among those of B others, any of which is as likely
if q is right. Exact however the statistics depend on one another.

References:
    Westfall, Young, Resampling-based multiple testing (1993), Algorithm 4.1: the step-down p.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from validation_core.omnibus.features import Block, Family, Feature, Kind
from validation_core.omnibus.places import Places, Weights
from validation_core.omnibus.slots import Pools, Slots, SlotScore
from validation_core.types import Array

SHARES: Mapping[Family, float] = {
    "means": 0.5,
    "widths": 0.16,
    "shapes": 0.08,
    "pairs": 0.1,
    "norm": 0.06,
    "densities": 0.08,
    "learned": 0.2,
    "over_x": 0.14,
    "learned_over_x": 0.06,
    "observation": 0.06,
}
"""Shares of the level, of those families that there are: what is most often wrong, and what can
be told of at once, has most. Only a shift of all rows by a tenth of a sd is near the edge of what
a thousand rows show, so that means are worth more than all others (tests/benchmarks)."""

_NUMBERS = 1_000_000  # of features times rows gathered at a time
ROUNDING = 1e-5  # what single-precision sums in another order differ by
_TINY = 1e-9
_TAIL = 0.9  # quantile of the largest of a family by which families are compared
_PAIRS = 40  # parameters up to which all pairs are looked at


@dataclass(frozen=True)
class Cell:
    """What statistics have in common: a claim that a panel can make."""

    family: Family
    kind: Kind
    of: str
    which: tuple[int, ...]
    along: int | None = None
    """The coordinate of x; -1 products, -2 balls; None: over all x."""


@dataclass(frozen=True, eq=False)
class _Part:
    """A block with its places: features looked at over x come last in `cells`."""

    block: Block
    order: NDArray[np.int64]
    """(F,) of features, those of one cell together."""
    sided: NDArray[np.bool_]
    """(F,) features of which only large sums count."""
    scale: NDArray[np.float32]
    """(F,) one over the sd of each sum."""
    starts: NDArray[np.int64]
    """Where each cell's features begin in `order`."""
    places: Places | None
    weights: Weights | None
    cells: tuple[Cell, ...]


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
    a: NDArray[np.int64]
    b: NDArray[np.int64]
    cells: tuple[Cell, ...]


@dataclass(frozen=True, eq=False)
class Battery:
    """All statistics of a table."""

    pools: Pools
    parts: tuple[_Part, ...]
    gram: _Gram | None

    @property
    def cells(self) -> tuple[Cell, ...]:
        """(C,) in the order of `statistics`."""
        cells = [cell for part in self.parts for cell in part.cells]
        return (*cells, *(self.gram.cells if self.gram else ()))

    def statistics(self, slots: Slots) -> NDArray[np.float32]:
        """The largest |z| of every cell, (B, C), for labellings (B, N)."""
        out = []
        for part in self.parts:
            block = part.block
            at = (slots[:, block.rows] + self.pools.first[block.rows]).T
            values, others = (np.take(array, at, axis=0) for array in (block.values, block.others))
            out.append(largest(part, values, others))
            if part is self.parts[0] and self.gram is not None:
                last = _products(self.gram, values)
        return np.concatenate([*out, last] if self.gram is not None else out, axis=1)

    def labelled(
        self, slots: Slots, progress: Callable[[float], None] = lambda done: None
    ) -> NDArray[np.float32]:
        """What `statistics` gives of any number of labellings (B, N), some at a time."""
        z = np.empty((len(slots), len(self.cells)), np.float32)
        for part in self.pieces(len(slots)):
            z[part] = self.statistics(slots[part])
            progress(part.stop / len(slots))
        return z

    def of_truths(self, scores: Sequence[SlotScore]) -> NDArray[np.float32]:
        """What `statistics` gives of truths beside the pools: (T, C).

        Args:
            scores: of T tables, u (T, N) of all rows, or (T, n) of those a score speaks of.
        """
        by_name = {(score.of, score.which): score for score in scores}
        out = []
        for part in self.parts:
            block = part.block
            values, others = block.truths([by_name[name].at(block.rows) for name in block.names])
            out.append(largest(part, values, others))
            if part is self.parts[0] and self.gram is not None:
                last = _products(self.gram, values)
        return np.concatenate([*out, last] if self.gram is not None else out, axis=1)

    def pieces(self, count: int) -> Iterator[slice]:
        """Labellings that fit in memory together."""
        wide = max(
            len(part.block.features) * len(part.block.rows) + _over(part) for part in self.parts
        )
        step = max(1, _NUMBERS // wide)
        for begin in range(0, count, step):
            yield slice(begin, min(begin + step, count))


def _over(part: _Part) -> int:
    """Numbers that one labelling needs over x."""
    if part.places is None:
        return 0
    return 4 * part.block.over * part.places.columns.shape[1]


def largest(
    part: _Part, picked: NDArray[np.float32], others: NDArray[np.float32]
) -> NDArray[np.float32]:
    """The largest |z| (B, C) of each cell, for features (n, B, F') and others (n, B, F - F') of
    the slots that are picked."""
    sums = np.concatenate([picked.sum(axis=0), others.sum(axis=0)], axis=1)  # (B, F)
    z = sums * part.scale
    np.abs(z, out=z, where=~part.sided)
    cells = np.maximum.reduceat(z[:, part.order], part.starts, axis=1)
    if part.places is None or part.weights is None:
        return cells
    n, b, over = picked.shape
    # One product of large matrices, many times faster than one for each labelling.
    along = (part.places.columns.T @ picked.reshape(n, -1)).reshape(-1, b, over)
    best = part.places.largest(
        np.ascontiguousarray(along.transpose(0, 2, 1)),
        np.ascontiguousarray(sums[:, :over].T),
        part.weights,
        part.sided[:over],
    )
    return np.concatenate([cells, best.transpose(2, 1, 0).reshape(b, -1)], axis=1)


def _products(gram: _Gram, picked: NDArray[np.float32]) -> NDArray[np.float32]:
    """The |z| (B, P) of all pairs, for features (n, B, F') of the slots that are picked."""
    z = np.ascontiguousarray(picked[..., : gram.count].transpose(1, 2, 0))  # (B, D, n)
    products = z @ z.transpose(0, 2, 1)
    return np.abs(products[:, gram.a, gram.b] - gram.mean) * gram.scale


def battery(pools: Pools, blocks: Sequence[Block], where: Places | None) -> Battery:
    """The statistics of these blocks.

    Args:
        pools: of the table.
        blocks: features of some rows each; the first one's parameters are paired.
        where: functions of x of all rows; None looks at no x.
    """
    parts = tuple(_part(block, where) for block in blocks)
    paired = any(feature.kind == "pair" for feature in blocks[0].features)
    count = min(blocks[0].means, _PAIRS)
    gram = _gram(pools, blocks[0], count) if count > 1 and not paired else None
    return Battery(pools, parts, gram)


def _part(block: Block, where: Places | None) -> _Part:
    def cell(feature: Feature) -> Cell:
        return Cell(feature.family, feature.kind, feature.of, feature.which)

    feature_cells = [cell(feature) for feature in block.features]
    order = sorted(range(len(feature_cells)), key=lambda i: _sortable(feature_cells[i]))
    starts = [
        at
        for at, i in enumerate(order)
        if at == 0 or feature_cells[i] != feature_cells[order[at - 1]]
    ]
    cells = [feature_cells[order[at]] for at in starts]
    sided = np.array([feature.one_sided for feature in block.features])
    whole = block.variance.sum(axis=0, dtype=np.float64)
    scale = np.where(whole > _TINY, 1 / np.sqrt(np.where(whole > _TINY, whole, 1.0)), 0.0)
    near, weights = None, None
    if where is not None and block.over:
        near = where.of(block.rows)
        weights = near.weights(block.variance[:, : block.over].T.astype(np.float64))
        for feature in block.features[: block.over]:
            family: Family = "over_x" if feature.of in ("theta", "norm") else "learned_over_x"
            cells += [
                Cell(family, feature.kind, feature.of, feature.which, at) for at in near.labels
            ]
    return _Part(
        block,
        np.array(order),
        sided,
        scale.astype(np.float32),
        np.array(starts),
        near,
        weights,
        tuple(cells),
    )


def _sortable(cell: Cell) -> tuple[str, str, str, tuple[int, ...]]:
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


@dataclass(frozen=True, eq=False)
class Scale:
    """How the z of families are made comparable."""

    offset: NDArray[np.float64]
    """(C,) log of each cell's effective number, less that of its family's share of the level."""

    def evidence(self, z: Array) -> NDArray[np.float32]:
        """Approximate -log p (..., C) of cells, comparable over families."""
        return np.asarray(
            -(np.log(2) + log_ndtr(-np.asarray(z, np.float64)) + self.offset), np.float32
        )


def scale(z: Array, cells: Sequence[Cell]) -> Scale:
    """Effective numbers from the z (B, C) of labellings: symmetric in them.

    Of m independent normal |z|, the quantile of the largest at t has P(|Z| < quantile)^m = t. It
    is read in the tail: many statistics over few rows reach farther there than normal ones.
    """
    families = tuple(dict.fromkeys(cell.family for cell in cells))
    index = np.array([families.index(cell.family) for cell in cells])
    total = sum(SHARES[family] for family in families)
    offset = np.zeros(len(families))
    for i, family in enumerate(families):
        high = max(float(np.quantile(z[:, index == i].max(axis=1), _TAIL)), 1e-3)
        tail = np.exp(np.log(2) + log_ndtr(-high))
        count = max(1.0, np.log(_TAIL) / np.log1p(-min(tail, 1 - 1e-12)))
        offset[i] = np.log(count) - np.log(SHARES[family] / total)
    return Scale(offset[index])


@dataclass(frozen=True, eq=False)
class Tested:
    """The observed labelling among B others."""

    z: Array
    """(C,) the largest |z| of each cell."""
    evidence: Array
    """(C,) comparable -log p."""
    adjusted: Array
    """(C,) p, adjusted for everything that was looked at."""
    null: Array
    """(B,) the largest evidence of each labelling."""
    scale: Scale

    @property
    def pvalue(self) -> float:
        """Of the largest of all: exact."""
        return float(self.adjusted.min())


def calibrated(
    every: Battery, count: int, rng: np.random.Generator, progress: Callable[[float], None]
) -> Tested:
    """The observed labelling against `count` others."""
    slots = every.pools.labellings(count, rng)
    cells = every.cells
    observed = every.statistics(every.pools.observed[None])
    return against(np.concatenate([observed, every.labelled(slots, progress)]), cells)


def against(z: NDArray[np.float32], cells: Sequence[Cell]) -> Tested:
    """The first of labellings (B + 1, C) among all of them."""
    comparable = scale(z, cells)
    evidence = comparable.evidence(z)
    adjusted = step_down(evidence[0], evidence[1:])
    return Tested(z[0], evidence[0], adjusted, evidence[1:].max(axis=1), comparable)


def step_down(seen: Array, nulls: Array) -> Array:
    """Westfall and Young's adjusted p of statistics (T,) from nulls (B, T)."""
    order = np.argsort(-seen, kind="stable")
    # The largest of those that are not larger, in each null table.
    tail = np.maximum.accumulate(nulls[:, order[::-1]], axis=1)[:, ::-1]
    least = seen[order] - ROUNDING * np.maximum(np.abs(seen[order]), 1.0)
    raw = (1 + (tail >= least).sum(0)) / (len(nulls) + 1)
    out = np.empty(len(seen))
    out[order] = np.maximum.accumulate(raw)
    return out
