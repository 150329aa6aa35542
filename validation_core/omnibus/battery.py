"""Many statistics of one labelling, and what the largest of all means: relabelling within x.

Every statistic is a standardised sum over rows of a function of the ranks of the slot that plays
the truth, which has mean 0 over its pool:

    mean     Phi^-1(u): above 0 where the truth lies above q's draws, so that q sits too low
    width    Phi^-1(|2 u - 1|) and Phi^-1(u)^2 - 1: above 0 where q is too narrow
    shape    third and fourth Hermite polynomial and the outermost ranks: skew and tails
    pair     product of two parameters' scores: correlation that q lacks, or has too much
    score    of a learned score, one-sided as high looks like the truth; and steps 1{u > c}

A function's mean over the slots of a row, and its variance, hold for every labelling. Statistics
of one kind, one parameter and one coordinate of x are a cell; cells of one kind are a family.
Within a family the largest |z| counts; families are made comparable by an approximate -log p,
Bonferroni over an effective number and a share of the level. That only orders: the p-value is the
rank of the observed labelling's largest among those of B others, any of which is as likely if q is
right. Exact however the statistics depend on one another.

References:
    Westfall, Young, Resampling-based multiple testing (1993), Algorithm 4.1: the step-down p.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from validation_core.omnibus.places import (
    SlotRanks,
    Slots,
    _ContrastWeights,
    _normal,
    _Pools,
    _XFunctions,
)
from validation_core.types import Array

Kind = Literal["mean", "width", "shape", "pair", "score"]
Family = Literal[
    "means",
    "widths",
    "shapes",
    "pairs",
    "norm",
    "densities",
    "learned",
    "over_x",
    "learned_over_x",
    "observation",
]

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

LEARNED = ("classifier", "slots", "dc", "colt", "tarp")
"""Scores that are learned on other rows, by name."""
RATIOS = ("classifier", "slots", "dc", "log_ratio")  # high looks like the truth
ROUNDING = 1e-5  # what single-precision sums in another order differ by
_NUMBERS = 1_000_000  # of features times rows gathered at a time
_TINY = 1e-9
_TAIL = 0.9  # quantile of the largest of a family by which families are compared
_PAIRS = 40  # parameters up to which all pairs are looked at
_STEPS = (0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95, 0.98)
_OUTER = 0.96  # of |2 u - 1|
_EDGE = 1e-6
_PAIRED_OVER_X = 6  # parameters up to which their products are looked at over x


@dataclass(frozen=True)
class _Feature:
    """One function of a slot."""

    family: Family
    kind: Kind
    of: str
    which: tuple[int, ...] = ()
    one_sided: bool = False
    over_x: bool = False
    """Whether it is looked at over x too; its first function of each kind is."""


Of = Callable[[Array], Array | NDArray[np.bool_]]
Valued = tuple[_Feature, Callable[[], Array | NDArray[np.bool_]]]
"""A feature, and what works out its values (E,)."""


@dataclass(frozen=True, eq=False)
class _Block:
    """Features of the slots of some rows."""

    rows: NDArray[np.int64]
    """(n,) of the table."""
    features: tuple[_Feature, ...]
    values: NDArray[np.float32]
    """(E, F') of all slots of all pools, mean 0 over every pool, of the features that are looked
    at over x, which come first; one slot's stand together, so that a labelling gathers rows."""
    others: NDArray[np.float32]
    """(E, F - F') of the other features."""
    variance: NDArray[np.float32]
    """(n, F) of each row, over its pool."""
    mean: NDArray[np.float32]
    """(n, F) of each row, over its pool, that the values have been freed of."""
    names: tuple[tuple[str, int], ...]
    """Of whom, and of which parameter, the scores are that they are made of."""
    measured: Callable[[Sequence[SlotRanks]], list[Valued]]
    """The features of scores."""

    def truths(
        self, scores: Sequence[SlotRanks]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Features (n, T, F') and (n, T, F - F') of truths with scores u (T, n) beside these
        rows' pools."""
        entries = _ordered(self.measured(scores))
        out = np.empty((*scores[0].u.shape[::-1], len(entries)), np.float32)
        for at, (_, function) in enumerate(entries):
            out[..., at] = np.asarray(function(), np.float32).T - self.mean[:, at, None]
        return np.ascontiguousarray(out[..., : self.over]), out[..., self.over :]

    @property
    def over(self) -> int:
        """F'."""
        return self.values.shape[1]

    @property
    def means(self) -> int:
        """Places of parameters, which come first of all."""
        return sum(feature.family == "means" for feature in self.features)


def _width(u: Array) -> Array:
    """Normal scores of |2 u - 1|: above 0 where u is farther out than half of all are."""
    return _normal(np.clip(np.abs(2 * u - 1), _EDGE, 1 - _EDGE))


def _skew(u: Array) -> Array:
    z = _normal(u)
    return z * (np.square(z) - 3)


_MARGINAL: tuple[tuple[Kind, Of, bool], ...] = (
    ("mean", _normal, True),
    ("width", _width, True),
    ("width", lambda u: np.square(_normal(u)) - 1, False),
    ("shape", _skew, False),
    ("shape", lambda u: np.abs(2 * u - 1) > _OUTER, False),
)


def _of_score(score: SlotRanks) -> list[Valued]:
    """The functions of one score's ranks."""
    own = () if score.which < 0 else (score.which,)
    u = score.u
    if score.of in ("theta", "norm"):
        family: dict[str, Family] = {"mean": "means", "width": "widths", "shape": "shapes"}
        return [
            (
                _Feature(
                    "norm" if score.of == "norm" else family[kind],
                    kind,
                    score.of,
                    own,
                    over_x=over,
                ),
                partial(function, u),
            )
            for kind, function, over in _MARGINAL
        ]
    group: Family = "learned" if score.of in LEARNED else "densities"
    sided = score.of in RATIOS
    some: list[Valued] = [
        (
            _Feature(group, "score", score.of, own, one_sided=sided, over_x=True),
            partial(_normal, u),
        )
    ]
    some += [
        (_Feature(group, "score", score.of, own), partial(np.greater, u, step)) for step in _STEPS
    ]
    if score.raw is not None:
        raw = score.raw
        some.append((_Feature(group, "score", score.of, own, one_sided=True), lambda: raw))
    return some


def _near(pools: _Pools, rows: NDArray[np.int64], scores: Sequence[SlotRanks]) -> _Block:
    """Place and width of every parameter at the rows nearest to an observation."""

    def measured(scores: Sequence[SlotRanks]) -> list[Valued]:
        entries = [
            (replace(feature, family="observation", over_x=False), values)
            for score in scores
            for feature, values in _of_score(score)
            if feature.kind in ("mean", "width")
        ]
        return [*entries, *_together(scores, "observation", over_x=False)]

    some = [score for score in scores if score.of in ("theta", "norm")]
    return _block(pools, rows, some, measured)


def block(pools: _Pools, rows: NDArray[np.int64], scores: Sequence[SlotRanks]) -> _Block:
    """All features of these scores, which say something of these rows."""
    return _block(pools, rows, scores, _measured)


def _measured(scores: Sequence[SlotRanks]) -> list[Valued]:
    entries = [entry for score in scores for entry in _of_score(score)]
    entries += _together(scores, "widths", over_x=True)
    theta = [score for score in scores if score.of == "theta"]
    if 1 < len(theta) <= _PAIRED_OVER_X:
        for a, b in combinations(theta, 2):
            pair = _Feature("pairs", "pair", "theta", (a.which, b.which), over_x=True)
            entries.append((pair, partial(_product, a, b)))
    return entries


def _together(scores: Sequence[SlotRanks], family: Family, *, over_x: bool) -> list[Valued]:
    """The width of all parameters together, where there are several."""
    theta = [score for score in scores if score.of == "theta"]

    def wide() -> Array:
        out = np.zeros(theta[0].u.shape, np.float32)
        for score in theta:
            out += _width(score.u)
        return out

    return [(_Feature(family, "width", "theta", over_x=over_x), wide)] if len(theta) > 1 else []


def _product(a: SlotRanks, b: SlotRanks) -> Array:
    return _normal(a.u) * _normal(b.u)


def _ordered(every: Sequence[Valued]) -> list[Valued]:
    return sorted(every, key=lambda one: (one[0].family != "means", not one[0].over_x))


def _block(
    pools: _Pools,
    rows: NDArray[np.int64],
    scores: Sequence[SlotRanks],
    measured: Callable[[Sequence[SlotRanks]], list[Valued]],
) -> _Block:
    """Features in their order, one after the other: of large tables two copies would not fit."""
    entries = _ordered(measured(scores))
    first, inverse = np.unique(pools.first, return_inverse=True)
    size = np.diff(np.append(first, pools.total))
    over = sum(feature.over_x for feature, _ in entries)
    values = np.empty((pools.total, over), np.float32)
    others = np.empty((pools.total, len(entries) - over), np.float32)
    variance, mean = (np.empty((len(rows), len(entries)), np.float32) for _ in range(2))
    for at, (_, function) in enumerate(entries):
        column = np.array(function(), np.float32)
        with np.errstate(invalid="ignore"):  # NaN where a score says nothing of a row
            middle = np.add.reduceat(column, first, dtype=np.float64) / size
            column -= np.repeat(middle, size)
            squares = np.add.reduceat(np.square(column), first, dtype=np.float64) / size
        if at < over:
            values[:, at] = column
        else:
            others[:, at - over] = column
        variance[:, at], mean[:, at] = squares[inverse[rows]], middle[inverse[rows]]
    names = tuple((score.of, score.which) for score in scores)
    features = tuple(feature for feature, _ in entries)
    return _Block(rows, features, values, others, variance, mean, names, measured)


@dataclass(frozen=True)
class _Cell:
    """What statistics have in common: a claim that a panel can make."""

    family: Family
    kind: Kind
    of: str
    which: tuple[int, ...]
    along: int | None = None
    """The coordinate of x; -1 products, -2 balls; None: over all x."""


@dataclass(frozen=True, eq=False)
class _BlockStatistics:
    """A block with its places: features looked at over x come last in `cells`."""

    block: _Block
    order: NDArray[np.int64]
    """(F,) of features, those of one cell together."""
    sided: NDArray[np.bool_]
    """(F,) features of which only large sums count."""
    scale: NDArray[np.float32]
    """(F,) one over the sd of each sum."""
    starts: NDArray[np.int64]
    """Where each cell's features begin in `order`."""
    places: _XFunctions | None
    weights: _ContrastWeights | None
    cells: tuple[_Cell, ...]


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
    cells: tuple[_Cell, ...]


@dataclass(frozen=True, eq=False)
class Battery:
    """All statistics of a table."""

    pools: _Pools
    parts: tuple[_BlockStatistics, ...]
    gram: _Gram | None

    @property
    def cells(self) -> tuple[_Cell, ...]:
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
            out.append(_largest(part, values, others))
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

    def of_truths(self, scores: Sequence[SlotRanks]) -> NDArray[np.float32]:
        """What `statistics` gives of truths beside the pools: (T, C).

        Args:
            scores: of T tables, u (T, N) of all rows, or (T, n) of those a score speaks of.
        """
        by_name = {(score.of, score.which): score for score in scores}
        out = []
        for part in self.parts:
            block = part.block
            values, others = block.truths([by_name[name].at(block.rows) for name in block.names])
            out.append(_largest(part, values, others))
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


def _over(part: _BlockStatistics) -> int:
    """Numbers that one labelling needs over x."""
    if part.places is None:
        return 0
    return 4 * part.block.over * part.places.columns.shape[1]


def _largest(
    part: _BlockStatistics, picked: NDArray[np.float32], others: NDArray[np.float32]
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


def _battery(pools: _Pools, blocks: Sequence[_Block], where: _XFunctions | None) -> Battery:
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


def _part(block: _Block, where: _XFunctions | None) -> _BlockStatistics:
    def cell(feature: _Feature) -> _Cell:
        return _Cell(feature.family, feature.kind, feature.of, feature.which)

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
                _Cell(family, feature.kind, feature.of, feature.which, at) for at in near.labels
            ]
    return _BlockStatistics(
        block,
        np.array(order),
        sided,
        scale.astype(np.float32),
        np.array(starts),
        near,
        weights,
        tuple(cells),
    )


def _sortable(cell: _Cell) -> tuple[str, str, str, tuple[int, ...]]:
    return cell.family, cell.of, cell.kind, cell.which


def _gram(pools: _Pools, block: _Block, count: int) -> _Gram:
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
        _Cell("pairs", "pair", "theta", (which_of[i], which_of[j]))
        for i, j in zip(a, b, strict=True)
    )
    return _Gram(count, mean.astype(np.float32), scale.astype(np.float32), a, b, cells)


@dataclass(frozen=True, eq=False)
class EvidenceScale:
    """How the z of families are made comparable."""

    offset: NDArray[np.float64]
    """(C,) log of each cell's effective number, less that of its family's share of the level."""

    def evidence(self, z: Array) -> NDArray[np.float32]:
        """Approximate -log p (..., C) of cells, comparable over families."""
        return np.asarray(
            -(np.log(2) + log_ndtr(-np.asarray(z, np.float64)) + self.offset), np.float32
        )


def scale(z: Array, cells: Sequence[_Cell]) -> EvidenceScale:
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
    return EvidenceScale(offset[index])


@dataclass(frozen=True, eq=False)
class _OmnibusTest:
    """The observed labelling among B others."""

    z: Array
    """(C,) the largest |z| of each cell."""
    evidence: Array
    """(C,) comparable -log p."""
    adjusted: Array
    """(C,) p, adjusted for everything that was looked at."""
    null: Array
    """(B,) the largest evidence of each labelling."""
    scale: EvidenceScale

    @property
    def pvalue(self) -> float:
        """Of the largest of all: exact."""
        return float(self.adjusted.min())


def _calibrated(
    every: Battery, count: int, rng: np.random.Generator, progress: Callable[[float], None]
) -> _OmnibusTest:
    """The observed labelling against `count` others."""
    slots = every.pools.labellings(count, rng)
    cells = every.cells
    observed = every.statistics(every.pools.observed[None])
    return _against(np.concatenate([observed, every.labelled(slots, progress)]), cells)


def _against(z: NDArray[np.float32], cells: Sequence[_Cell]) -> _OmnibusTest:
    """The first of labellings (B + 1, C) among all of them."""
    comparable = scale(z, cells)
    evidence = comparable.evidence(z)
    adjusted = step_down(evidence[0], evidence[1:])
    return _OmnibusTest(z[0], evidence[0], adjusted, evidence[1:].max(axis=1), comparable)


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
