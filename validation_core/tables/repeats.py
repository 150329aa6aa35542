"""Numbers that tests would misread: rows and draws that repeat, mixed precisions, far ranges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
import scipy  # its parts load at first use: a child that reads files needs none
from numpy.typing import NDArray

from validation_core.rng import hashed, stream
from validation_core.tables.scales import other_scales
from validation_core.types import Array, PosteriorTable

Fault = Literal[
    "chain", "repeated draws", "repeated simulations", "truth among draws", "other scale"
]
"""What makes ranks mislead whatever q is."""

_FEW = 4  # distinct values: too few to tell a grid from chance
_SHARE = 0.01  # of rows: fewer hardly make a test surer
_ROWS, _COLUMNS, _DRAWS = 200, 20, 1000  # looked at for order and repeats within rows
_CORRELATED = 0.1  # between consecutive draws: less hardly moves a rank
_SURE = 6.0  # standard errors of a correlation that is there
_PARAMETERS = 100  # looked at for a grid
_DISTINCT = 0.9  # share of draws
_MOST = 0.5  # of rows
_PRINTED = 200  # numbers looked at for how many digits they have


def is_on_grid(column: Array) -> bool:
    """Whole numbers, or numbers rounded to some step: they tie by right."""
    values = np.unique(column).astype(np.float64)
    steps = np.diff(values)
    unit = steps.min(initial=np.inf)
    if len(values) < _FEW or _of_few_digits(values):
        return True
    if unit < 8 * np.finfo(np.float32).eps * np.abs(values).max():
        return False
    return bool(np.abs(steps / unit - np.rint(steps / unit)).max() < 0.05)


def _of_few_digits(values: Array) -> bool:
    """Whether all were rounded to float16, or to three decimal digits as %.3g prints them."""
    with np.errstate(over="ignore", under="ignore"):
        if (values.astype(np.float16) == values).all():
            return True
        some = values[np.linspace(0, len(values) - 1, min(len(values), _PRINTED)).astype(np.intp)]
        printed = np.array([float(f"{value:.3g}") for value in some])
        return bool((printed.astype(np.float32) == some.astype(np.float32)).all())


def row_codes(rows: Array) -> NDArray[np.intp]:
    """(N,): the same number for the same row."""
    flat = np.ascontiguousarray(rows)
    bytewise = flat.view(np.dtype((np.void, flat.dtype.itemsize * flat.shape[1])))[:, 0]
    inverse: NDArray[np.intp] = np.unique(bytewise, return_inverse=True)[1].reshape(-1)
    return inverse


def repeated_simulations(theta: Array, x: Array) -> NDArray[np.bool_]:
    """(N,): rows that hold the theta and x of an earlier row, which is the same simulation.

    A row that learns and its copy that is tested would make a right q look wrong. What lies on a
    grid repeats by right; of a single simulation alone nothing is left out, but refused later.
    """
    n = len(theta)
    repeated = np.zeros(n, dtype=bool)
    known = row_codes(theta)
    earlier: set[tuple[int, bytes]] = set()
    for i in np.flatnonzero(np.bincount(known)[known] > 1):
        simulation = (int(known[i]), x[i].tobytes())
        repeated[i] = simulation in earlier
        earlier.add(simulation)
    if not repeated.any() or repeated.sum() == n - 1:
        return np.zeros(n, dtype=bool)
    columns = [*theta.T[:_PARAMETERS], *x.T[:_COLUMNS]]
    grid = all(is_on_grid(column) for column in columns)
    return np.zeros(n, dtype=bool) if grid else repeated


def dropped_repeat_warnings(found: NDArray[np.bool_]) -> tuple[str, ...]:
    """What is said of rows (N,) that were left out because they repeat another."""
    lost = int(found.sum())
    return (
        f"{lost:,} of {len(found):,} rows repeat the theta and x of another row exactly: the same "
        f"simulation counted twice would make every test surer than it should be, so that the "
        f"first alone is kept. Save each once.",
    ) * bool(lost)


def copies_of_theta(theta: Array) -> NDArray[np.bool_]:
    """(N,): rows left out so that no two have one theta, where most rows share theirs.

    Several simulations of one theta are several rows of one draw from the prior: its posteriors
    agree, ranks do too, and what takes rows for independent rejects a correct q. One row of each
    theta, picked at random whatever its x, is a draw from the joint law. A theta repeats by right
    on a grid, at a bound of the prior and at a single number that has mass: nothing is left out.
    """
    n = len(theta)
    shared, _ = _sharing(theta)
    if shared.sum() < max(1, _MOST * n):
        return np.zeros(n, dtype=bool)
    codes = row_codes(theta)
    order = stream(0, "one row of each theta").permutation(n)
    kept = np.zeros(n, dtype=bool)
    kept[order[np.unique(codes[order], return_index=True)[1]]] = True
    return ~kept


def _sharing(theta: Array) -> tuple[NDArray[np.bool_], int]:
    """(N,): rows whose theta another row has, not by right; and how many such theta there are."""
    codes = row_codes(theta)
    several = np.bincount(codes)[codes] > 1
    if not several.any():
        return several, 0
    fine = continuous_parameters(theta)
    within = ((theta > theta.min(axis=0)) & (theta < theta.max(axis=0)))[:, fine].any(axis=1)
    shared = several & within
    count = len(np.unique(row_codes(theta[shared][:, fine]))) if shared.any() else 0
    return (shared, count) if count >= _FEW else (np.zeros(len(theta), dtype=bool), 0)


def dropped_copy_warnings(copies: NDArray[np.bool_]) -> tuple[str, ...]:
    """The sentence on rows (N,) that were left out since another has their theta."""
    kept = int((~copies).sum())
    return (
        f"{kept:,} distinct true values with {len(copies) / max(kept, 1):.3g} simulations each "
        f"on average: one row of each is used, picked at random, since rows that share theta are "
        f"not independent. Draw theta anew from the prior for each x, and all rows count.",
    ) * bool(copies.any())


def repeated_row_warnings(data: PosteriorTable, fine: NDArray[np.intp]) -> Iterator[str]:
    """The same simulation twice; what is on a grid repeats by right."""
    n, columns = len(data), data.x.shape[1]
    known = row_codes(data.theta)
    twice = np.flatnonzero(np.bincount(known)[known] > 1)
    pairs = {(known[i], data.x[i].tobytes()) for i in twice}
    lost = len(twice) - len(pairs)
    if lost == n - 1 and columns:
        raise ValueError(
            f"Rows must be different simulations; got the same theta and x in all {n} rows. Save "
            f"one row for each simulation, its theta drawn anew from the prior."
        )
    shared, count = _sharing(data.theta)
    if shared.sum() - count > _SHARE * n and len(fine):
        yield (
            f"{int(shared.sum()):,} of {n:,} rows hold only {count:,} different theta: rows that "
            f"share theta are not independent, so the tests are surer than they should be. Draw "
            f"theta anew from the prior for each x."
        )


class _DrawOrder(NamedTuple):
    """What draws within rows are like, at the worst parameter."""

    lag: float
    """Correlation of consecutive draws."""
    sorted_: bool
    distinct: float
    """Share of draws."""
    correlated: bool
    repeated: bool


def _order(data: PosteriorTable, fine: NDArray[np.intp]) -> _DrawOrder | None:
    """How draws at one x follow each other, from some rows; None where they are too few."""
    n, k = data.q.shape[:2]
    rows = np.unique(np.linspace(0, n - 1, min(n, _ROWS)).astype(np.intp))
    if k < _FEW or not len(fine):
        return None
    columns = (data.q[rows, : min(k, _DRAWS), j].astype(np.float64) for j in fine[:_COLUMNS])
    orders = [_order_within(column[np.ptp(column, axis=1) > 0]) for column in columns]
    lag, rising, distinct = (list(each) for each in zip(*orders, strict=True))
    least = max(_CORRELATED, _SURE / np.sqrt(len(rows) * min(k, _DRAWS)))
    few = min(distinct) < _DISTINCT
    at = fine[int(np.argmin(distinct))]
    return _DrawOrder(
        max(lag),
        max(rising) > _MOST,
        min(distinct),
        max(lag) > least,
        few and not is_on_grid(data.q[rows, 0, at]),
    )


def dependent_draw_warnings(data: PosteriorTable, fine: NDArray[np.intp]) -> Iterator[str]:
    """Draws that are sorted, a chain, or repeated: ranks take them for independent."""
    pattern = _order(data, fine)
    if pattern is None:
        return
    if pattern.correlated:
        yield f"Consecutive draws of q at one x are correlated ({pattern.lag:.2f}): " + (
            "they are sorted. Shuffle them within each row, each draw as a whole."
            if pattern.sorted_
            else (
                "a chain that was not thinned? Ranks take them for independent draws, and may "
                "reject a correct q; thin them until the correlation is gone."
            )
        )
    if pattern.repeated:
        yield (
            f"Draws of q repeat within rows (about {pattern.distinct:.0%} are distinct), as after "
            f"resampling or in a chain that stays: there are fewer independent draws than "
            f"K = {data.q.shape[1]}, and ranks are coarser than they look."
        )


def continuous_parameters(theta: Array) -> NDArray[np.intp]:
    """Parameters that vary and do not lie on a grid, of the first hundred that vary."""
    moving = np.flatnonzero(theta.max(axis=0) > theta.min(axis=0))[:_PARAMETERS]
    return np.array([j for j in moving if not is_on_grid(theta[:, j])], np.intp)


def faults(data: PosteriorTable) -> tuple[Fault, ...]:
    """What a user is warned of that can look like a defect of q: the warnings, typed.

    Sorted draws are none: their ranks are those of the same draws in any order.
    """
    fine = continuous_parameters(data.theta)
    if len(data) < 2 or not len(fine):
        return ()
    pattern, (n, k) = _order(data, fine), data.q.shape[:2]
    shared, count = _sharing(data.theta)
    there = (data.q[..., fine[0]] == data.theta[:, None, fine[0]]).any(axis=1).sum()
    checks: dict[Fault, bool] = {
        "chain": pattern is not None and pattern.correlated and not pattern.sorted_,
        "repeated draws": pattern is not None and pattern.repeated,
        "repeated simulations": shared.sum() - count > _SHARE * n,
        "truth among draws": k > 1 and there > max(1, _SHARE * n),
        "other scale": any(True for _ in other_scales(data)),
    }
    return tuple(fault for fault, yes in checks.items() if yes)


def _order_within(column: Array) -> tuple[float, float, float]:
    """Of draws (rows, K) that vary: their lag-1 correlation, and the share of rows that are
    sorted and of draws that are distinct."""
    if not len(column):
        return 0.0, 0.0, 1.0
    off = column - column.mean(axis=1, keepdims=True)
    lag = (off[:, 1:] * off[:, :-1]).sum(axis=1) / (off**2).sum(axis=1)
    rising = (np.diff(column, axis=1).min(axis=1) >= 0).mean()
    tied = (np.diff(np.sort(column, axis=1), axis=1) == 0).mean()
    return float(lag.mean()), float(rising), 1 - float(tied)


# ---- Rows that were given one set of draws: q sampled once, and pasted at several rows ----


Words = NDArray[np.uint64]

_FEWEST = 3  # draws: of one or two an equal set tells nothing
_CHANCE = 1e-6  # that a table of independent rows is said to share any
_NUMBERS = 1 << 16  # of theta_q looked at together, so that they stay in the cache
_GOLDEN, _MIXER = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)
_SALT = np.array([0xD1CE], np.uint64)


def shared_draw_groups(data: PosteriorTable) -> NDArray[np.int64] | None:
    """The group (N,) of each row, numbered from 0; None where every row has draws of its own.

    Rows of one group hold the same K draws, in any order. Discrete parameters repeat sets by
    chance: a row whose K draws fall on values c_1, c_2, ... times has such a set with probability
    at most K! / prod c_i! prod (c_i / K)^c_i, whatever its posterior is. Rows are said to share
    a set where more hold it than N rows of that chance explain (binomial, 1e-6 for the table).
    So a point mass, or a single binary parameter at any K, is never said to be shared; K distinct
    draws have K! / K^K, and 10 of them are in two rows at once only if they were pasted. With
    K < 3 nothing can be told, and None is given; from 3 to 9 draws many rows must hold one set.
    """
    n, k, _ = data.q.shape
    if k < _FEWEST or n < 2:
        return None
    suspects = _repeating(_sums(data.q))
    if not len(suspects):
        return None
    words = _sets(data.q, suspects)
    _, first, inverse, count = np.unique(
        words, return_index=True, return_inverse=True, return_counts=True
    )
    several = np.flatnonzero(count > 1)
    if not len(several):
        return None
    chance = _chances(data.q[suspects[first[several]]])
    pasted = several[scipy.special.bdtrc(count[several] - 1, n, chance) * n < _CHANCE]
    if not len(pasted):
        return None
    of_set = np.full(len(count), -1)
    of_set[pasted] = suspects[first[pasted]]
    label = np.arange(n)
    inverse = inverse.reshape(-1)
    label[suspects] = np.where(of_set[inverse] >= 0, of_set[inverse], suspects)
    return np.unique(label, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _sums(q: Array) -> Words:
    """(N,): the bits of each row's draws, added up: equal sets, equal sums."""
    n = len(q)
    out = np.empty(n, np.uint64)
    for part in _parts(q):
        block = np.ascontiguousarray(q[part])
        bits = block.reshape(len(block), -1).view(f"u{block.dtype.itemsize}")
        out[part] = bits.sum(axis=1, dtype=np.uint64)
    return out


def _repeating(words: Words) -> NDArray[np.int64]:
    """Places of the words (N,) that another one equals."""
    _, inverse, count = np.unique(words, return_inverse=True, return_counts=True)
    return np.flatnonzero(count[inverse.reshape(-1)] > 1)


def _sets(q: Array, rows: NDArray[np.int64]) -> Words:
    """One word for the set of draws of each of these rows: the same in any order."""
    k, d = q.shape[1:]
    odd = (_GOLDEN * np.arange(1, d + 1, dtype=np.uint64)) | np.uint64(1)
    out = np.empty(len(rows), np.uint64)
    for part in _parts(q, len(rows)):
        block = np.ascontiguousarray(q[rows[part]])
        bits = block.view(f"u{block.dtype.itemsize}").reshape(-1, d).astype(np.uint64, copy=False)
        # Of simple numbers only the highest bits are set, which a product would lose.
        totals = (bits ^ (bits >> np.uint64(32))) @ odd
        totals ^= totals >> np.uint64(29)
        totals *= _MIXER
        totals ^= totals >> np.uint64(32)
        out[part] = totals.reshape(-1, k).sum(axis=1, dtype=np.uint64)
    return out


def _parts(q: Array, rows: int | None = None) -> Iterator[slice]:
    """Pieces of the rows of q (N, K, D), or of so many rows of its size."""
    count = len(q) if rows is None else rows
    step = max(1, _NUMBERS // (q.shape[1] * q.shape[2]))
    for first in range(0, count, step):
        yield slice(first, min(first + step, count))


def _chances(q: Array) -> NDArray[np.float64]:
    """(G,): the largest probability that any law gives to the set of each row (G, K, D)."""
    g, k, d = q.shape
    words = np.sort(hashed(q.reshape(-1, d), _SALT).reshape(g, k), axis=1)
    new = np.ones((g, k), dtype=bool)
    new[:, 1:] = words[:, 1:] != words[:, :-1]
    starts = np.flatnonzero(new)
    counts = np.diff(np.append(starts, g * k)).astype(np.float64)
    each = counts * np.log(counts / k) - scipy.special.gammaln(counts + 1)
    log = scipy.special.gammaln(k + 1.0) + np.bincount(starts // k, weights=each, minlength=g)
    return np.minimum(np.exp(log), 1.0)


# ---- One float type for truths and draws: 0.1 in float64 is not 0.1 in float32 ----
#
# Numbers that lie on a grid, or at a bound, tie between a truth and the draws of a right q. Saved
# in two float types they no longer do, and a right q is rejected. What is rounded alike on both
# sides stays exchangeable, so that all are rounded to the narrowest type present.


_BLOCK = 2**20  # numbers looked at together
_EXACT = 2.0**24  # whole numbers up to here are float32's, whoever saved them
_NAMES = {2: "float16", 4: "float32", 8: "float64"}
_TYPES: dict[int, np.dtype[np.floating]] = {size: np.dtype(name) for size, name in _NAMES.items()}

Sizes = NDArray[np.int64]


class _MatchedArrays(NamedTuple):
    """Arrays brought to one type, and what a user is told of it."""

    arrays: dict[str, Array]
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def match_precisions(
    sides: Mapping[str, Array], declared: Mapping[str, np.dtype[np.generic]]
) -> _MatchedArrays:
    """The sides (..., D) of one quantity, column by column in the narrowest type of any of them.

    A type is what a file declares. float64 that holds nothing but float32's numbers, as after a
    conversion, counts as float32; whole numbers are of no type and stay as they are, unless
    another side is in a type too narrow for them: q's draws were then rounded, and the truths
    are rounded as they were. Where rounding would make a finite number infinite nothing is
    rounded, and a warning says so.

    Args:
        sides: arrays by name, with equally many columns; float32 or float64.
        declared: the type each had in its file; without one, the array's own.
    """
    arrays = dict(sides)
    kinds = {name: declared.get(name, array.dtype) for name, array in arrays.items()}
    if len(set(kinds.values())) == 1 and next(iter(kinds.values())) in (_TYPES[2], _TYPES[4]):
        return _MatchedArrays(arrays)
    sizes = {name: _sizes(array, kinds[name]) for name, array in arrays.items()}
    target: Sizes = np.min(list(sizes.values()), axis=0)  # (D,)
    coarse = {
        name: np.flatnonzero((size > target) & (arrays[name].itemsize > target))
        for name, size in sizes.items()
    }
    if beyond := [name for name, js in coarse.items() if _overflow(arrays[name], js, target)]:
        wide: dict[str, Array] = {
            name: array.astype(np.float64, copy=False) for name, array in arrays.items()
        }
        return _MatchedArrays(wide, warnings=(_unrounded_sentence(beyond, kinds, target),))
    container = _container(arrays, target)
    rounded = {
        name: _rounded(array, coarse[name], target, container) for name, array in arrays.items()
    }
    changed = [name for name, js in coarse.items() if len(js)]
    return _MatchedArrays(
        rounded, notes=(_rounded_sentence(changed, kinds, target),) * bool(changed)
    )


def _sizes(array: Array, kind: np.dtype[np.generic]) -> Sizes:
    """(D,): bytes of the narrowest float that each column can be said to be in."""
    d = array.shape[-1]
    if kind.kind == "f" and kind.itemsize < 8:
        return np.full(d, kind.itemsize)
    fits, fraction = np.full(d, kind.kind == "f"), np.zeros(d, dtype=bool)
    for block in _blocks(array):
        if not fits.any():
            break
        with np.errstate(all="ignore"):  # log densities may be infinite or NaN
            fits &= ((block.astype(np.float32) == block) | ~np.isfinite(block)).all(axis=0)
            if not fraction.all():
                fraction |= ((np.abs(block) > _EXACT) | (block % 1 != 0)).any(axis=0)
    return np.where(fits & fraction, 4, 8)


def _blocks(array: Array) -> Sequence[Array]:
    """The rows (..., D) of an array, a bounded number at a time."""
    step = max(1, _BLOCK // max(1, array[:1].size))
    d = array.shape[-1]
    return [array[i : i + step].reshape(-1, d) for i in range(0, len(array), step)]


def _overflow(array: Array, columns: NDArray[np.intp], target: Sizes) -> bool:
    """Whether one of these columns would become infinite in its target type."""
    for j in columns:
        size = np.abs(array[..., j])
        if ((size > np.finfo(_TYPES[int(target[j])]).max) & np.isfinite(size)).any():
            return True
    return False


def _container(arrays: Mapping[str, Array], target: Sizes) -> np.dtype[np.floating]:
    """The type of the arrays themselves: float32 where one has it and it holds all of them."""
    has = {array.itemsize for array in arrays.values()}
    return _TYPES[4 if has == {4} or (4 in has and target.max() <= 4) else 8]


def _rounded(
    array: Array, columns: NDArray[np.intp], target: Sizes, container: np.dtype[np.floating]
) -> Array:
    if container.itemsize == 4 and (target == 4).all():
        with np.errstate(under="ignore"):
            return array.astype(container, copy=False)
    whole = array.astype(container, copy=len(columns) > 0)
    for j in columns:
        with np.errstate(under="ignore"):
            whole[..., j] = array[..., j].astype(_TYPES[int(target[j])])
    return whole


def _types(kinds: Mapping[str, np.dtype[np.generic]]) -> str:
    return ", ".join(f"{name} in {kind}" for name, kind in kinds.items())


def _rounded_sentence(
    changed: Sequence[str], kinds: Mapping[str, np.dtype[np.generic]], target: Sizes
) -> str:
    return (
        f"True values and draws were saved in more than one float type ({_types(kinds)}): "
        f"{' and '.join(changed)} rounded to {_NAMES[int(target.min())]}, so that equal "
        "numbers are equal."
    )


def _unrounded_sentence(
    beyond: Sequence[str], kinds: Mapping[str, np.dtype[np.generic]], target: Sizes
) -> str:
    return (
        f"True values and draws must be saved in one float type; got {_types(kinds)}, with "
        f"numbers in {' and '.join(beyond)} too large for {_NAMES[int(target.min())]}. Nothing "
        "was rounded: numbers on a grid or at a bound may differ by their type alone, and a "
        "correct q be rejected. Save all of them as float64 from the start."
    )


# ---- How far numbers reach: columns that floats hold but cannot square, or have lost ----


_LARGEST, _SMALLEST = 1e150, 1e-150  # whose squares a double holds
_WIDEST = 1e307  # of which a sum of a few is finite
_STEPS = 100  # that a column's float type has within its range: fewer have lost it
_FAR = 2.0**20  # a level at which a constant may be a number that lost its digits


class Range(NamedTuple):
    """A column that cannot be squared: its name, largest size and width."""

    name: str
    largest: float
    width: float

    @property
    def infinite(self) -> bool:
        """Whether not even its width is a number to work with."""
        return not self.width < _WIDEST or self.largest > _WIDEST

    def __str__(self) -> str:
        return f"{self.name} of size {self.largest:.3g} and range {self.width:.3g}"


def overflowing_columns(
    data: PosteriorTable, names: Sequence[str], x_names: Sequence[str]
) -> tuple[tuple[Range, ...], tuple[Range, ...]]:
    """Columns of theta (with q's draws) and of x whose squares a double cannot hold."""
    theta = [_ends(data.theta), _ends(data.q.reshape(-1, data.q.shape[-1]))]
    low = np.minimum(theta[0][0], theta[1][0])
    high = np.maximum(theta[0][1], theta[1][1])
    return tuple(_beyond(low, high, names)), tuple(_beyond(*_ends(data.x), x_names))


def _beyond(low: Array, high: Array, names: Sequence[str]) -> Iterator[Range]:
    with np.errstate(over="ignore"):
        width = high - low
    size = np.maximum(np.abs(low), np.abs(high))
    for j in map(int, np.flatnonzero((size > _LARGEST) | ((width > 0) & (width < _SMALLEST)))):
        name = names[j] if j < len(names) else f"column {j + 1}"
        yield Range(name, float(size[j]), float(width[j]))


def _ends(rows: Array) -> tuple[Array, Array]:
    """The smallest and the largest number of each column of rows (n, C), in float64."""
    c = rows.shape[1]
    low, high = np.full(c, np.inf), np.full(c, -np.inf)
    step = max(1, _BLOCK // max(1, c))
    for first in range(0, len(rows), step):
        block = rows[first : first + step]
        low, high = np.minimum(low, block.min(axis=0)), np.maximum(high, block.max(axis=0))
    return low, high


def coarse_column_warnings(rows: Array, name: str, columns: Sequence[str]) -> Iterator[str]:
    """Columns whose float type has few numbers within their range: their digits are lost."""
    if len(rows) < 2:
        return
    low, high = _ends(rows)
    level = np.maximum(np.abs(low), np.abs(high))
    for j in range(rows.shape[1]):
        kind = _kind(rows[:, j], float(level[j]), float(high[j] / 2 - low[j] / 2))
        with np.errstate(over="ignore", under="ignore"):
            step = float(np.spacing(level[j].astype(kind)))
        flat = high[j] == low[j]
        if level[j] < _FAR if flat else not step * _STEPS > high[j] - low[j]:
            continue
        count = len(np.unique(rows[:, j]))
        yield (
            f"{name} holds only {count:,} different value{'s' * (count > 1)} in {columns[j]}: it "
            f"lies near {level[j]:.10g}, where {kind} has steps of {step:.2g}, so that digits may "
            f"be lost. Subtract the offset (or change the unit) before saving, or save it as "
            f"float64."
        )


def _kind(column: Array, level: float, half: float) -> np.dtype[np.floating]:
    """float32 for a column that holds nothing but its numbers, where these are few."""
    with np.errstate(over="ignore", under="ignore"):
        near = np.float32(level)
        few = bool(np.isfinite(near)) and float(np.spacing(near)) * _STEPS > 2 * half
        narrow = few and bool((column.astype(np.float32) == column).all())
    return np.dtype(np.float32) if narrow else column.dtype
