"""Many statistics of one labelling, and the law of their maximum: relabelling within x.

Every statistic is a standardised sum over rows of a function of the ranks of the slot that plays
the truth, which has mean 0 over its pool:

    mean     Phi^-1(u): above 0 where the truth lies above q's draws, so that q sits too low
    width    Phi^-1(|2 u - 1|) and Phi^-1(u)^2 - 1: above 0 where q is too narrow
    shape    third and fourth Hermite polynomial and the outermost ranks: skew and tails
    pair     product of two parameters' scores: correlation that q lacks, or has too much
    far      distance from the row's median, and whether it is gross: outliers
    gap      log distance to the nearest other slot: draws that are rounded or repeated
    score    of a learned score, one-sided as high looks like the truth; and steps 1{u > c}

A function's mean over the slots of a row, and its variance, hold for every labelling. Beside these
sums stand sums of their squares over parameters, or over parameters and coordinates of x (many
weak errors, none of which stands out), and how many slots lie outside the range of those that play
the truth (see `magnitudes.Support`). Statistics of one kind, one parameter and one coordinate of x
are a cell; cells of one kind are a family. Within a family the largest |z| counts; families are
made comparable by an approximate -log p, Bonferroni over an effective number and a share of the
level. That only orders: the p-value is the rank of the observed labelling's largest among those of
B others, any of which is as likely if q is right. Exact however the statistics depend on one
another.

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
from scipy.special import gammaincc, log_ndtr, ndtri, pdtr, pdtrc

from validation_core.relabelling.magnitudes import FAR, Support
from validation_core.relabelling.places import ContrastWeights, XFunctions
from validation_core.relabelling.pools import Pools, SlotRanks, Slots, normal_scores
from validation_core.types import Array

Kind = Literal["mean", "width", "shape", "pair", "score", "far", "gap", "range"]
Family = Literal[
    "means",
    "widths",
    "shapes",
    "pairs",
    "together",
    "norm",
    "outliers",
    "spacing",
    "support",
    "densities",
    "learned",
    "over_x",
    "together_over_x",
    "learned_over_x",
    "observation",
]

SHARES: Mapping[Family, float] = {
    "means": 0.55,
    "widths": 0.16,
    "shapes": 0.04,
    "pairs": 0.12,
    "together": 0.3,
    "norm": 0.03,
    "outliers": 0.06,
    "spacing": 0.005,
    "support": 0.03,
    "densities": 0.08,
    "learned": 0.2,
    "over_x": 0.16,
    "together_over_x": 0.01,
    "learned_over_x": 0.06,
    "observation": 0.06,
}
"""Weights within the level, of those families that are tested together: the most common errors
have most. Only a shift of all rows by a tenth of a sd is barely visible in a thousand rows, so
that means are worth more than all others (benchmarks); gross errors need little."""

LEARNED = ("classifier", "slots", "dc", "colt", "tarp")
"""Scores that are learned on other rows, by name."""
RATIOS = ("classifier", "slots", "dc", "log_ratio")  # high looks like the truth
ROUNDING = 1e-5  # by which single-precision sums in another order differ
_NUMBERS = 1_000_000  # of features times rows gathered at a time
_TINY = 1e-9
_USUAL = 0.99  # quantile of a sum of squares beyond which its size is not counted
_TAIL = 0.9  # quantile of the largest of a family by which families are compared
_PAIRS = 40  # parameters up to which all pairs are tested
_STEPS = (0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95, 0.98)
_OUTER = 0.96  # of |2 u - 1|
_EDGE = 1e-6
_PAIRED_OVER_X = 6  # parameters up to which their products are tested over x
_SELDOM = 25.0  # variance of a count up to which its law is Poisson's rather than normal
_RIDGE = 1e-3
ALL, WHITENED = "theta", "whitened"
"""Terms of the sums of squares over parameters: their statistics, or these decorrelated."""
EVERYWHERE = -3
"""Along all coordinates of x together."""
SUMS: tuple[Family, ...] = ("together", "together_over_x")
"""Families of sums of squares."""


@dataclass(frozen=True)
class _Feature:
    """One function of a slot."""

    family: Family
    kind: Kind
    of: str
    which: tuple[int, ...] = ()
    one_sided: bool = False
    over_x: bool = False
    """Whether it is tested over x too; the first function of each kind is."""
    counts: bool = False
    """Whether it is 1 or 0: where it is seldom 1, the law of its sum is Poisson's."""


Of = Callable[[Array], Array | NDArray[np.bool_]]
Valued = tuple[_Feature, Callable[[], Array | NDArray[np.bool_]]]
"""A feature, and the function that computes its values (E,)."""


@dataclass(frozen=True, eq=False)
class Block:
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
    def parameters(self) -> list[int]:
        """Those that its scores are of."""
        return [which for of, which in self.names if of == "theta"]

    @property
    def means(self) -> int:
        """Places of parameters, which come first of all."""
        return sum(feature.family == "means" for feature in self.features)


def width_scores(u: Array) -> Array:
    """Normal scores of |2 u - 1|: above 0 where u is farther out than half of all are."""
    return normal_scores(np.clip(np.abs(2 * u - 1), _EDGE, 1 - _EDGE))


def _skew(u: Array) -> Array:
    z = normal_scores(u)
    return z * (np.square(z) - 3)


_MARGINAL: tuple[tuple[Kind, Of, bool], ...] = (
    ("mean", normal_scores, True),
    ("width", width_scores, True),
    ("width", lambda u: np.square(normal_scores(u)) - 1, False),
    ("shape", _skew, False),
    ("shape", lambda u: np.abs(2 * u - 1) > _OUTER, False),
)


def _of_score(score: SlotRanks) -> list[Valued]:
    """The functions of one score's ranks."""
    own = () if score.which < 0 else (score.which,)
    u = score.u
    if score.of in ("theta", "norm"):
        family: dict[str, Family] = {"mean": "means", "width": "widths", "shape": "shapes"}
        ranked: list[Valued] = [
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
        return ranked + _of_magnitude(score)
    group: Family = "learned" if score.of in LEARNED else "densities"
    sided = score.of in RATIOS
    some: list[Valued] = [
        (
            _Feature(group, "score", score.of, own, one_sided=sided, over_x=True),
            partial(normal_scores, u),
        )
    ]
    some += [
        (_Feature(group, "score", score.of, own), partial(np.greater, u, step)) for step in _STEPS
    ]
    if score.raw is not None:
        raw = score.raw
        some.append((_Feature(group, "score", score.of, own, one_sided=True), lambda: raw))
    return some


def _of_magnitude(score: SlotRanks) -> list[Valued]:
    """How far out a parameter's slots lie, and how near to one another."""
    if score.magnitude is None:
        return []
    far, gap, own = score.magnitude.far, score.magnitude.gap, (score.which,)
    entries: list[Valued] = [
        (_Feature("outliers", "far", score.of, own, counts=True), partial(np.greater, far, bound))
        for bound in FAR
    ]
    entries.append((_Feature("outliers", "far", score.of, own), partial(np.log1p, far)))
    entries.append((_Feature("spacing", "gap", score.of, own), lambda: gap))
    return entries


def features_near(pools: Pools, rows: NDArray[np.int64], scores: Sequence[SlotRanks]) -> Block:
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


def feature_block(pools: Pools, rows: NDArray[np.int64], scores: Sequence[SlotRanks]) -> Block:
    """All features of these scores at these rows."""
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
            out += width_scores(score.u)
        return out

    return [(_Feature(family, "width", "theta", over_x=over_x), wide)] if len(theta) > 1 else []


def _product(a: SlotRanks, b: SlotRanks) -> Array:
    return normal_scores(a.u) * normal_scores(b.u)


def _ordered(every: Sequence[Valued]) -> list[Valued]:
    return sorted(every, key=lambda one: (one[0].family != "means", not one[0].over_x))


def _block(
    pools: Pools,
    rows: NDArray[np.int64],
    scores: Sequence[SlotRanks],
    measured: Callable[[Sequence[SlotRanks]], list[Valued]],
) -> Block:
    """Features in their order, one after the other: of large tables two copies would not fit."""
    entries = _ordered(measured(scores))
    first, size, inverse = pools.distinct
    over = sum(feature.over_x for feature, _ in entries)
    values = np.empty((pools.total, over), np.float32)
    others = np.empty((pools.total, len(entries) - over), np.float32)
    variance, mean = (np.empty((len(rows), len(entries)), np.float32) for _ in range(2))
    for at, (_, function) in enumerate(entries):
        column = np.array(function(), np.float32)
        with np.errstate(invalid="ignore"):  # NaN where a row has no score
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
    return Block(rows, features, values, others, variance, mean, names, measured)


@dataclass(frozen=True)
class Cell:
    """A claim that a panel can make, shared by several statistics."""

    family: Family
    kind: Kind
    of: str
    which: tuple[int, ...]
    along: int | None = None
    """The coordinate of x; -1 products, -2 balls, EVERYWHERE; None: over all x."""


@dataclass(frozen=True, eq=False)
class _BlockStatistics:
    """A block with its functions of x: features tested over x come last in `cells`."""

    block: Block
    order: NDArray[np.int64]
    """(F,) of features, those of one cell together."""
    sided: NDArray[np.bool_]
    """(F,) features of which only large sums count."""
    scale: NDArray[np.float32]
    """(F,) one over the sd of each sum."""
    starts: NDArray[np.int64]
    """Where each cell's features begin in `order`."""
    counted: NDArray[np.int64]
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

    kind: Kind
    features: NDArray[np.int64]
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
    a: NDArray[np.int64]
    b: NDArray[np.int64]
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
            cells += [Cell("support", "range", "theta", (which,)) for which in parameters]
        return tuple(cells)

    def statistics(self, slots: Slots) -> NDArray[np.float32]:
        """The largest |z| of every cell, (B, C), for labellings (B, N); of `squares` the sum."""
        out, last = [], []
        for part in self.parts:
            block = part.block
            at = (slots[:, block.rows] + self.pools.first[block.rows]).T
            values, others = (np.take(array, at, axis=0) for array in (block.values, block.others))
            out.append(_largest(part, values, others))
            if part is self.parts[0]:
                last = [_products(self.gram, values)] if self.gram is not None else []
                last += [self.support.statistics(at)] if self.support is not None else []
        return np.concatenate([*out, *last], axis=1)

    def over_x_permuted(self, orders: Slots) -> NDArray[np.float32]:
        """`statistics` of the observed labelling's cells over x (B, C'), with rows'
        features permuted among the x: their law if errors were alike at every x.

        Args:
            orders: (B, N) permutations of the rows.
        """
        out = []
        for part in self.parts:
            if part.places is None or part.weights is None:
                continue
            block = part.block
            at = self.pools.observed[block.rows] + self.pools.first[block.rows]
            sd = np.sqrt(block.variance[:, : block.over])
            unit = np.where(sd > 0, sd, 1.0)
            own = (block.values[at] / unit)[:, None]
            ranks = orders[:, block.rows].argsort(axis=1).argsort(axis=1).T  # of these rows alone
            picked = np.ascontiguousarray(own[ranks, 0] * sd[:, None])
            out.append(_over_x(part, picked))
        return np.concatenate(out, axis=1) if out else np.empty((len(orders), 0), np.float32)

    def labelled(
        self, slots: Slots, progress: Callable[[float], None] = lambda done: None
    ) -> NDArray[np.float32]:
        """`statistics` of any number of labellings (B, N), some at a time."""
        z = np.empty((len(slots), len(self.cells)), np.float32)
        for part in self.pieces(len(slots)):
            z[part] = self.statistics(slots[part])
            progress(part.stop / len(slots))
        return z

    def of_truths(self, scores: Sequence[SlotRanks]) -> NDArray[np.float32]:
        """`statistics` of truths beside the pools: (T, C).

        Args:
            scores: of T tables, u (T, N) of all rows, or (T, n) of those a score speaks of.
        """
        by_name = {(score.of, score.which): score for score in scores}
        out, last = [], []
        for part in self.parts:
            block = part.block
            read = [by_name[name].at(block.rows) for name in block.names]
            values, others = block.truths(read)
            out.append(_largest(part, values, others))
            if part is self.parts[0]:
                last = [_products(self.gram, values)] if self.gram is not None else []
                own = [score.magnitude.value for score in read if score.magnitude is not None]
                last += [self.support.of_truths(np.stack(own))] if self.support is not None else []
        return np.concatenate([*out, *last], axis=1)

    def pieces(self, count: int) -> Iterator[slice]:
        """Labellings that fit in memory together."""
        wide = max(
            len(part.block.features) * len(part.block.rows) + _over(part) for part in self.parts
        )
        step = max(1, _NUMBERS // wide)
        for begin in range(0, count, step):
            yield slice(begin, min(begin + step, count))


def _over(part: _BlockStatistics) -> int:
    """Numbers per labelling over x, from which memory is estimated."""
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
    squares = [np.square(z[:, one.features]).sum(axis=1) for one in part.squares]
    squares += [np.square(z[:, one.features] @ one.whitening).sum(axis=1) for one in part.squares]
    np.abs(z, out=z, where=~part.sided)
    if len(part.counted):
        count = sums[:, part.counted] + part.expected
        z[:, part.counted] = _of_count(count, part.expected)
    cells = np.maximum.reduceat(z[:, part.order], part.starts, axis=1)
    parts = [cells, np.stack(squares, axis=1)] if squares else [cells]
    if part.places is not None:
        parts.append(_over_x(part, picked))
    return np.concatenate(parts, axis=1)


def _over_x(part: _BlockStatistics, picked: NDArray[np.float32]) -> NDArray[np.float32]:
    """The largest |z| (B, C') of each cell over x, for features (n, B, F')."""
    assert part.places is not None
    assert part.weights is not None
    n, b, over = picked.shape
    # One product of large matrices, many times faster than one for each labelling.
    along = (part.places.columns.T @ picked.reshape(n, -1)).reshape(-1, b, over)
    best, trends = part.places.largest(
        np.ascontiguousarray(along.transpose(0, 2, 1)),
        np.ascontiguousarray(picked.sum(axis=0).T),
        part.weights,
        part.sided[:over],
    )
    largest = best.transpose(2, 1, 0).reshape(b, -1)
    sums = [np.square(trends[:, one.features]).sum(axis=(0, 1)) for one in part.squares]
    return np.concatenate([largest, np.stack(sums, axis=1)], axis=1) if sums else largest


def _of_count(count: Array, expected: Array) -> Array:
    """The normal |z| as improbable as Poisson counts (B, F), too large or too small."""
    whole = np.round(count).astype(np.float64)  # a single float ends at 1e-45
    p = np.minimum(pdtrc(np.maximum(whole - 1, 0), expected), pdtr(whole, expected))
    p = np.where(whole < 1, pdtr(0, expected), p)
    return np.asarray(-ndtri(np.clip(p, 1e-300, 0.5)))


def _products(gram: _Gram, picked: NDArray[np.float32]) -> NDArray[np.float32]:
    """The |z| (B, P) of all pairs, for features (n, B, F') of the slots that are picked."""
    z = np.ascontiguousarray(picked[..., : gram.count].transpose(1, 2, 0))  # (B, D, n)
    products = z @ z.transpose(0, 2, 1)
    return np.abs(products[:, gram.a, gram.b] - gram.mean) * gram.scale


def assembled(
    pools: Pools, blocks: Sequence[Block], where: XFunctions | None, support: Support | None = None
) -> Battery:
    """The statistics of these blocks.

    Args:
        pools: of the table.
        blocks: features of some rows each; the first one's parameters are paired.
        where: functions of x of all rows; None looks at no x.
        support: the range of every parameter of the first block.
    """
    parts = tuple(_part(block, where, _played(pools, block.rows)) for block in blocks)
    paired = any(feature.kind == "pair" for feature in blocks[0].features)
    count = min(blocks[0].means, _PAIRS)
    gram = _gram(pools, blocks[0], count) if count > 1 and not paired else None
    return Battery(pools, parts, gram, support)


def _played(pools: Pools, rows: NDArray[np.int64]) -> Array:
    """Expected number of these rows' truths that each slot (E,) plays."""
    first, size, pool = pools.distinct
    return np.repeat(np.bincount(pool[rows], minlength=len(first)) / size, size)


def _part(block: Block, where: XFunctions | None, played: Array) -> _BlockStatistics:
    def cell(feature: _Feature) -> Cell:
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
    counts = np.array([feature.counts for feature in block.features])
    counted = np.flatnonzero(counts & (whole < _SELDOM))
    squares = _squares(block, scale, played)
    cells += [Cell("together", one.kind, of, ()) for of in (ALL, WHITENED) for one in squares]
    near, weights = None, None
    if where is not None and block.over:
        near = where.of(block.rows)
        weights = near.weights(block.variance[:, : block.over].T.astype(np.float64))
        for feature in block.features[: block.over]:
            family: Family = "over_x" if feature.of in ("theta", "norm") else "learned_over_x"
            cells += [
                Cell(family, feature.kind, feature.of, feature.which, at) for at in near.labels
            ]
        cells += [Cell("together_over_x", one.kind, ALL, (), EVERYWHERE) for one in squares]
    return _BlockStatistics(
        block,
        np.array(order),
        sided,
        scale.astype(np.float32),
        np.array(starts),
        counted,
        block.mean[:, counted].sum(axis=0, dtype=np.float64).astype(np.float32),
        near,
        weights,
        squares,
        tuple(cells),
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
class EvidenceScale:
    """Scales that make the z of families comparable."""

    offset: NDArray[np.float64]
    """(C,) log of each cell's effective number, less that of its family's share of the level."""
    sums: NDArray[np.int64]
    """Cells that are sums of squares."""
    unit: NDArray[np.float64]
    """Of these: c, where the sum is about c times chi-squared,"""
    freedom: NDArray[np.float64]
    """with so many degrees of freedom (Satterthwaite, 1946)."""

    def normal(self, z: Array) -> NDArray[np.float32]:
        """Statistics (..., C) with sums of squares as the |z| of equal probability."""
        out = np.array(z, np.float32)
        chance = gammaincc(self.freedom / 2, z[..., self.sums] / (2 * self.unit))
        out[..., self.sums] = -ndtri(np.clip(chance, 1e-300, 1.0) / 2)
        return out

    def evidence(self, z: Array) -> NDArray[np.float32]:
        """Approximate -log p (..., C) of the output of `normal`, comparable over families."""
        return np.asarray(
            -(np.log(2) + log_ndtr(-np.asarray(z, np.float64)) + self.offset), np.float32
        )


def evidence_scale(z: Array, cells: Sequence[Cell]) -> EvidenceScale:
    """Effective numbers from the statistics (B, C) of labellings: symmetric in them.

    Of m independent normal |z|, the quantile of the largest at t has P(|Z| < quantile)^m = t. It
    is read in the tail: many statistics over few rows reach farther there than normal ones.
    """
    families = tuple(dict.fromkeys(cell.family for cell in cells))
    index = np.array([families.index(cell.family) for cell in cells])
    total = sum(SHARES[family] for family in families)
    sums = np.flatnonzero([cell.family in SUMS for cell in cells])
    # One labelling far beyond all others does not inform about their law.
    usual = np.minimum(z[:, sums], np.quantile(z[:, sums], _USUAL, axis=0)).astype(np.float64)
    mean, variance = (np.maximum(m, _TINY) for m in (usual.mean(axis=0), usual.var(axis=0)))
    comparable = EvidenceScale(
        np.zeros(len(cells)), sums, variance / (2 * mean), 2 * mean**2 / variance
    )
    z = comparable.normal(z)
    offset = np.zeros(len(families))
    for i, family in enumerate(families):
        high = max(float(np.quantile(z[:, index == i].max(axis=1), _TAIL)), 1e-3)
        tail = np.exp(np.log(2) + log_ndtr(-high))
        count = max(1.0, np.log(_TAIL) / np.log1p(-min(tail, 1 - 1e-12)))
        offset[i] = np.log(count) - np.log(SHARES[family] / total)
    return replace(comparable, offset=offset[index])


@dataclass(frozen=True, eq=False)
class CalibratedTest:
    """The observed labelling among B others."""

    z: Array
    """(C,) the largest |z| of each cell."""
    evidence: Array
    """(C,) comparable -log p."""
    nulls: Array
    """(B, C) the same of each labelling."""
    adjusted: Array
    """(C,) p, adjusted for all cells."""
    scale: EvidenceScale

    @property
    def null(self) -> Array:
        """(B,) the largest evidence of each labelling."""
        return np.asarray(self.nulls.max(axis=1))

    @property
    def pvalue(self) -> float:
        """Exact p-value of the largest of all."""
        return float(self.adjusted.min())


def calibrated(
    every: Battery, count: int, rng: np.random.Generator, progress: Callable[[float], None]
) -> CalibratedTest:
    """The observed labelling against `count` others."""
    slots = every.pools.labellings(count, rng)
    observed = every.statistics(every.pools.observed[None])
    raw = np.concatenate([observed, every.labelled(slots, progress)])
    comparable = evidence_scale(raw, every.cells)
    z = comparable.normal(raw)
    evidence = comparable.evidence(z)
    adjusted = step_down(evidence[0], evidence[1:])
    return CalibratedTest(z[0], evidence[0], evidence[1:], adjusted, comparable)


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
