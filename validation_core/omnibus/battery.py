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
from scipy.special import log_ndtr, ndtri_exp

from validation_core.omnibus.features import Block, Family, Feature, Kind
from validation_core.omnibus.places import Places, Weights
from validation_core.omnibus.slots import Pools, Slots, SlotScore, normal
from validation_core.types import Array

SHARES: Mapping[Family, float] = {
    "means": 0.28, "widths": 0.16, "shapes": 0.08, "pairs": 0.1, "norm": 0.06, "densities": 0.08,
    "learned": 0.2, "over_x": 0.14, "learned_over_x": 0.06, "observation": 0.06,
}  # fmt: skip
"""Shares of the level, of those families that there are: what is most often wrong, and what can
be told of at once, has most."""

_NUMBERS = 6_000_000  # of features times rows gathered at a time
_ROUNDING = 1e-5  # what single-precision sums in another order differ by
_TINY = 1e-9
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
    sided: NDArray[np.bool_]
    scale: NDArray[np.float32]
    """(F,) one over the sd of each sum."""
    starts: NDArray[np.int64]
    """Where each cell's features begin."""
    places: Places | None
    weights: Weights | None
    cells: tuple[Cell, ...]


@dataclass(frozen=True, eq=False)
class _Gram:
    """Products of parameters' scores, all pairs at once, where there are too many to keep."""

    rows: NDArray[np.int64]
    """(n,) of the table."""
    which: tuple[int, ...]
    """(D,) parameters."""
    z: NDArray[np.float32]
    """(D, E)."""
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
        every = [cell for part in self.parts for cell in part.cells]
        return (*every, *(self.gram.cells if self.gram else ()))

    def statistics(self, slots: Slots) -> NDArray[np.float32]:
        """The largest |z| of every cell, (B, C), for labellings (B, N)."""
        out = [self._of(part, slots) for part in self.parts]
        if self.gram is not None:
            rows = self.gram.rows
            out.append(_products(self.gram, slots[:, rows] + self.pools.first[rows]))
        return np.concatenate(out, axis=1)

    def of_truths(self, scores: Sequence[SlotScore]) -> NDArray[np.float32]:
        """What `statistics` gives of truths beside the pools: (T, C).

        Args:
            scores: of T tables, u (T, N) of all rows, or (T, n) of those a score speaks of.
        """
        named = {(score.of, score.which): score for score in scores}
        out = []
        for part in self.parts:
            rows = part.block.rows
            own = [named[name].at(rows) for name in part.block.names]
            out.append(largest(part, part.block.truths(own)))
        if self.gram is not None:
            gram = self.gram
            z = np.stack([normal(named["theta", one].at(gram.rows).u) for one in gram.which])
            out.append(_standardised(gram, z.transpose(1, 0, 2)))
        return np.concatenate(out, axis=1)

    def _of(self, part: _Part, slots: Slots) -> Array:
        rows = part.block.rows
        at = slots[:, rows] + self.pools.first[rows]
        return largest(part, np.take(part.block.values, at, axis=1))  # faster than an index

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
    stretches = part.places.coordinates * len(part.places.first)
    return 2 * len(part.block.over) * (part.places.columns.shape[1] + stretches)


def largest(part: _Part, picked: NDArray[np.float32]) -> Array:
    """The largest |z| (B, C) of each cell, for features (F, B, n) of the slots that are picked."""
    sums = picked.sum(axis=2)  # (F, B)
    z = sums * part.scale[:, None]
    np.copyto(z, np.abs(z), where=~part.sided[:, None])
    cells = np.maximum.reduceat(z, part.starts, axis=0).T
    if part.places is None or part.weights is None:
        return cells
    over = part.block.over
    _, b, n = picked.shape
    taken = np.ascontiguousarray(picked[over]).reshape(-1, n) @ part.places.columns
    best = part.places.largest(
        taken.reshape(len(over), b, -1), sums[over], part.weights, part.sided[over]
    )
    return np.concatenate([cells, best.transpose(1, 0, 2).reshape(b, -1)], axis=1)


def _products(gram: _Gram, at: NDArray[np.int64]) -> Array:
    return _standardised(gram, np.take(gram.z, at, axis=1).transpose(1, 0, 2))


def _standardised(gram: _Gram, picked: Array) -> Array:
    """|z| (B, P) of products of scores (B, D, n)."""
    products = picked @ picked.transpose(0, 2, 1)
    return np.abs(products[:, gram.a, gram.b] - gram.mean) * gram.scale


def battery(
    pools: Pools, blocks: Sequence[Block], where: Places | None,
    scores: Sequence[SlotScore] = (),
) -> Battery:  # fmt: skip
    """The statistics of these blocks.

    Args:
        pools: of the table.
        blocks: features of some rows each; the first one's rows are those of the pairs.
        where: functions of x of all rows; None looks at no x.
        scores: of which those of parameters are paired, where no block has their products.
    """
    parts = tuple(_part(block, where) for block in blocks)
    paired = any(feature.kind == "pair" for block in blocks for feature in block.features)
    theta = [score for score in scores if score.of == "theta"][:_PAIRS]
    gram = _gram(pools, blocks[0].rows, theta) if len(theta) > 1 and not paired else None
    return Battery(pools, parts, gram)


def _part(block: Block, where: Places | None) -> _Part:
    def cell(feature: Feature) -> Cell:
        return Cell(feature.family, feature.kind, feature.of, feature.which)

    order = sorted(range(len(block.features)), key=lambda i: _sortable(cell(block.features[i])))
    block = block.some(np.array(order))
    features = block.features
    sided = np.array([one.one_sided for one in features])
    whole = block.variance.sum(axis=1, dtype=np.float64)
    scale = np.where(whole > _TINY, 1 / np.sqrt(np.where(whole > _TINY, whole, 1.0)), 0.0)
    every = [cell(one) for one in features]
    starts = [i for i, one in enumerate(every) if i == 0 or one != every[i - 1]]
    cells = [every[i] for i in starts]
    over, near, weights = block.over, None, None
    if where is not None and len(over):
        near = Places(
            where.columns[block.rows], where.coordinates, where.blocks, where.first, where.last,
            where.along,
        )  # fmt: skip
        weights = near.weights(block.variance[over].astype(np.float64))
        for i in over:
            one = features[i]
            family: Family = "over_x" if one.of in ("theta", "norm") else "learned_over_x"
            cells += [Cell(family, one.kind, one.of, one.which, at) for at in near.labels]
    return _Part(
        block, sided, scale.astype(np.float32), np.array(starts), near, weights, tuple(cells)
    )


def _sortable(cell: Cell) -> tuple[str, str, str, tuple[int, ...]]:
    return cell.family, cell.of, cell.kind, cell.which


def _gram(pools: Pools, rows: NDArray[np.int64], theta: Sequence[SlotScore]) -> _Gram:
    z = np.stack([normal(score.u) for score in theta])
    a, b = np.array(list(combinations(range(len(theta)), 2))).T
    first, at, members = np.unique(pools.first[rows], return_index=True, return_counts=True)
    mean, variance = np.zeros((2, len(a)))
    # Products of z are products of matrices, and so are their squares.
    for begin, size, count in zip(first, pools.size[rows][at], members, strict=True):
        here = z[:, begin : begin + size]
        squared = np.square(here)
        middle = (here @ here.T)[a, b] / size
        mean += count * middle
        variance += count * ((squared @ squared.T)[a, b] / size - np.square(middle))
    scale = np.where(variance > _TINY, 1 / np.sqrt(np.maximum(variance, _TINY)), 0.0)
    cells = tuple(
        Cell("pairs", "pair", "theta", (theta[i].which, theta[j].which))
        for i, j in zip(a, b, strict=True)
    )
    which = tuple(score.which for score in theta)
    return _Gram(rows, which, z, mean.astype(np.float32), scale.astype(np.float32), a, b, cells)


@dataclass(frozen=True, eq=False)
class Scale:
    """How the z of families are made comparable."""

    offset: NDArray[np.float64]
    """(C,) log of each cell's effective number, less that of its family's share of the level."""
    index: NDArray[np.int64]
    """(C,) the family, among `families`."""
    families: tuple[Family, ...]

    def evidence(self, z: Array) -> NDArray[np.float32]:
        """Approximate -log p (..., C) of cells, comparable over families."""
        return np.asarray(-(np.log(2) + log_ndtr(-np.asarray(z, np.float64)) + self.offset),
                          np.float32)  # fmt: skip

    def critical(self, evidence: float, family: Family) -> float:
        """The |z| at which a cell of a family has this evidence."""
        at = int(np.flatnonzero(self.index == self.families.index(family))[0])
        return float(-ndtri_exp(-evidence - np.log(2) - self.offset[at]))


def scale(z: Array, cells: Sequence[Cell]) -> Scale:
    """Effective numbers from the z (B, C) of labellings: symmetric in them.

    Of m independent normal |z|, the median of the largest has P(|Z| < median)^m = 1/2.
    """
    families = tuple(dict.fromkeys(cell.family for cell in cells))
    index = np.array([families.index(cell.family) for cell in cells])
    total = sum(SHARES[one] for one in families)
    offset = np.zeros(len(families))
    for i, family in enumerate(families):
        middle = max(float(np.median(z[:, index == i].max(axis=1))), 1e-3)
        tail = np.exp(np.log(2) + log_ndtr(-middle))
        count = max(1.0, np.log(0.5) / np.log1p(-min(tail, 1 - 1e-12)))
        offset[i] = np.log(count) - np.log(SHARES[family] / total)
    return Scale(offset[index], index, families)


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
    z = np.empty((count + 1, len(cells)), np.float32)
    z[0] = every.statistics(every.pools.observed[None])[0]
    for part in every.pieces(count):
        z[1:][part] = every.statistics(slots[part])
        progress(part.stop / count)
    return against(z, cells)


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
    least = seen[order] - _ROUNDING * np.maximum(np.abs(seen[order]), 1.0)
    raw = (1 + (tail >= least).sum(0)) / (len(nulls) + 1)
    out = np.empty(len(seen))
    out[order] = np.maximum.accumulate(raw)
    return out
