"""Checks of a table's numbers: rows that are not finite, constant columns, few rows or draws,
truths among the draws, rows in another order, repeated draws. Rows that are not finite are dropped
and counted; all else is a warning, unless nothing could be tested.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from validation_core.tables import ranges, repeats
from validation_core.tables.corrections import BEFORE_ALL, Correction
from validation_core.tables.row_order import mixed_order_warning
from validation_core.tables.shapes import not_finite
from validation_core.text import begun_text
from validation_core.types import Array, PosteriorTable, TruthRanks, TwoSamples

FEW_ROWS = 50
"""Rows below which no classifier is trained."""
FEW_DRAWS = 10
"""Draws at each x below which rank tests are weak."""
_BLOCK = 2**20  # numbers looked at together
_SHARE = 0.01  # of rows or draws: fewer are left for the tests to find
_PILE = 10  # rows, and true values missed, at the ends of the draws
_ROWS = 200  # looked at for numbers that are not whole
_SURE = 6.0  # standard errors of a correlation that is there
_MANY = 1000  # parameters, or columns of x
_CHECKED = 100  # parameters looked at for ties
_SHOWN = 5
_MISSING = (
    " Where NaN in x is a missing value: --missing mask on the command line, missing='mask' in "
    "Python."
)


def find_finite_rows(arrays: Mapping[str, Array]) -> tuple[NDArray[np.bool_], dict[str, int]]:
    """Find the rows that are finite in every array.

    Args:
        arrays: (n, ...) by name.

    Returns:
        keep: which rows (n,) are finite.
        dropped: number of the others, by the array in which they are not.

    Raises:
        ValueError: when more than half of the rows would go, and fewer than 50 are left.
    """
    keep = np.ones(len(next(iter(arrays.values()))), dtype=bool)
    dropped: dict[str, int] = {}
    lacking: list[str] = []
    for name, array in arrays.items():
        good = _finite_rows(array)
        lost = int((keep & ~good).sum())
        if lost:
            dropped[not_finite(name)] = lost
            lacking += [name] * bool(np.isnan(array).any())
        keep &= good
    left = int(keep.sum())
    if 2 * left < len(keep) and left < FEW_ROWS:
        raise ValueError(
            f"At least half of the rows must be finite, or {FEW_ROWS}; got {len(keep) - left} of "
            f"{len(keep)} rows with NaN or infinite values ({', '.join(dropped)}). Find out why "
            f"the simulator or q returns them before testing q.{_MISSING * ('x' in lacking)}"
        )
    return keep, dropped


def many_dropped_warnings(keep: NDArray[np.bool_]) -> tuple[str, ...]:
    """A warning where more rows (N,) were left out than kept, since they were not finite."""
    left = int(keep.sum())
    if 2 * left >= len(keep):
        return ()
    return (
        f"Only {left:,} of {len(keep):,} rows are finite: the diagnosis is of q at those alone, "
        "and says nothing of it where the simulator or q fails.",
    )


def _finite_rows(array: Array) -> NDArray[np.bool_]:
    """(N,): rows without NaN or infinity, looked at in blocks."""
    step = max(1, _BLOCK // max(1, array[:1].size))
    inner = tuple(range(1, array.ndim))
    blocks = (array[i : i + step] for i in range(0, len(array), step))
    return np.concatenate([np.isfinite(block).all(axis=inner) for block in blocks])


def data_warnings(
    data: PosteriorTable | TwoSamples | TruthRanks,
    names: Sequence[str],
    mistakes: Sequence[Correction] = (),
) -> tuple[str, ...]:
    """Warnings of what makes the tests weak or misleading on these draws.

    Args:
        data: the draws, whose rows are finite.
        names: labels of theta's columns.
        mistakes: of the file, found before.

    Raises:
        ValueError: when every row is the same simulation, or q's draws are the truth itself.
    """
    if isinstance(data, TruthRanks):
        few = (
            f"N = {len(data)} ranks is few: they show only gross errors. A few hundred are better."
        )
        return (few,) * (len(data) < FEW_ROWS)
    with np.errstate(all="ignore"):  # numbers near the largest there are overflow when squared
        return tuple(
            _table(data, names, mistakes)
            if isinstance(data, PosteriorTable)
            else _samples(data, names)
        )


def _table(
    data: PosteriorTable, names: Sequence[str], mistakes: Sequence[Correction]
) -> Iterator[str]:
    told = [one.finding for one in mistakes if one.name in BEFORE_ALL]
    yield from told
    n, k = data.q.shape[:2]
    if n < FEW_ROWS:
        yield (
            f"N = {n} row{'s' * (n != 1)} is few: below {FEW_ROWS} no classifier is trained, and "
            f"the tests that do run see only gross errors. A few hundred rows are better."
        )
    if k == 1:
        yield (
            "K = 1 draw at each x: the rank of the true value among q's draws can be only 0 "
            "or 1. The rank tests are valid, but nearly blind to a q that is too wide or too "
            "narrow."
        )
    elif k < FEW_DRAWS:
        yield (
            f"K = {k} draws at each x is few: ranks take {k + 1} values, so the rank tests are "
            f"valid but weak. 50 to 200 draws are better."
        )
    yield from _constant(data.theta, "theta", names)
    numbered = [f"column {i + 1}" for i in range(data.x.shape[1])]
    yield from _constant(data.x, "x", numbered)
    yield from ranges.coarse_column_warnings(data.theta, "theta", names)
    yield from ranges.coarse_column_warnings(
        data.q.reshape(-1, data.q.shape[-1]), "theta_q", names
    )
    yield from ranges.coarse_column_warnings(data.x, "x", numbered)
    yield from _content_warnings(data, names, comparable=not told)


def _samples(data: TwoSamples, names: Sequence[str]) -> Iterator[str]:
    sizes = (len(data.p), len(data.q))
    if min(sizes) < FEW_ROWS:
        yield (
            f"{sizes[0]} points of p and {sizes[1]} of q are few: below {FEW_ROWS} of each no "
            f"classifier is trained."
        )
    yield from _constant(data.p.theta, "p", names)
    yield from _constant(data.q.theta, "q", names)
    yield from ranges.coarse_column_warnings(data.p.theta, "p", names)
    yield from ranges.coarse_column_warnings(data.q.theta, "q", names)


def _constant(array: Array, name: str, columns: Sequence[str]) -> Iterator[str]:
    if len(array) > 1:
        yield from _still(array.min(axis=0), array.max(axis=0), name, columns)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Summary:
    """A summary of the draws at each x, made in one pass."""

    low: Array
    """(N, D): the smallest draw at each x."""
    high: Array
    """(N, D): the largest."""
    halves: tuple[Array, Array]
    """(N, D) twice: means of the first and of the second half of the draws."""
    leaks: NDArray[np.bool_]
    """(N, K): whether the draw is the truth, in every column."""
    alike: bool
    """Whether every row holds the same draws."""


def _content_warnings(
    data: PosteriorTable, names: Sequence[str], *, comparable: bool
) -> Iterator[str]:
    """Warnings of what the draws of a table hold; where they are on another scale or in another
    order than the true values, of nothing that compares the two.

    Raises:
        ValueError: when every row is the same simulation, or q's draws are the truth itself.
    """
    yield from _wide(data)
    if len(data) < 2:
        return
    moving = np.flatnonzero(data.theta.max(axis=0) > data.theta.min(axis=0))
    fine = repeats.continuous_parameters(data.theta)
    every = 1 / np.finfo(data.theta.dtype).eps  # from here on all floats are whole numbers
    low = [j for j in moving if np.abs(data.theta[:, j]).max() < every]
    whole = np.array([j for j in low if not np.any(data.theta[:, j] % 1)], np.intp)
    summary = _summarise(data, fine)
    yield from _still(summary.low.min(axis=0), summary.high.max(axis=0), "theta_q", names)
    yield from repeats.repeated_row_warnings(data, fine)
    yield from _leaks(summary)
    yield from _ignores(data, summary, fine)
    yield from _another_x(data, summary)
    yield from _collapsed(data, summary, names)
    yield from _whole(data, summary, whole, names)
    if comparable:
        yield from _beyond(data, summary, names)
    piled = _piled_at_ends(data, summary, whole)
    if comparable:
        yield from _clipped(summary, piled, names)
    mixed = list(_order_of_rows(data, summary, moving)) if comparable else []
    yield from mixed
    if data.q.shape[1] > 1 and not summary.alike and comparable and not mixed:
        yield from mixed_order_warning(data.x, summary.halves, moving)
    yield from repeats.dependent_draw_warnings(data, np.setdiff1d(fine, list(piled)))


def _still(low: Array, high: Array, name: str, columns: Sequence[str]) -> Iterator[str]:
    """A warning of columns that never change, from the least and the largest number of each."""
    constant = np.flatnonzero(low == high)
    if len(constant):
        why = "" if name == "x" else ", since ranks with ties are randomised"  # x is not ranked
        yield (
            f"{name} is constant in {_shown(constant, columns)}: kept{why}, but a value that "
            f"never changes tells nothing."
        )


def _summarise(data: PosteriorTable, fine: NDArray[np.intp]) -> _Summary:
    """Summarise the draws of a table.

    Args:
        data: the table.
        fine: continuous parameters: only where there are some can a draw be told to be the truth.
    """
    theta, q = data.theta, data.q
    n, k, d = q.shape
    if k == 1:
        only = q[:, 0]
        matches = (only == theta).all(axis=1, keepdims=True) & (len(fine) > 0)
        alike = bool((only == only[0]).all())
        return _Summary(low=only, high=only, halves=(only, only), leaks=matches, alike=alike)
    low, high, first, second = (np.empty((n, d), q.dtype) for _ in range(4))
    leaks, alike = np.zeros((n, k), dtype=bool), n > 1
    step, middle = max(1, _BLOCK // (k * d)), k // 2
    for start in range(0, n, step):
        rows = slice(start, start + step)
        block = q[rows]
        low[rows], high[rows] = block.min(axis=1), block.max(axis=1)
        first[rows], second[rows] = block[:, :middle].mean(axis=1), block[:, -middle:].mean(axis=1)
        alike = alike and bool((block == q[0]).all())
        if len(fine):
            i, j = np.nonzero(block[:, :, fine[0]] == theta[rows, fine[0], None])
            leaks[start + i, j] = (block[i, j] == theta[start + i]).all(axis=1)
    return _Summary(low=low, high=high, halves=(first, second), leaks=leaks, alike=alike)


def _wide(data: PosteriorTable) -> Iterator[str]:
    """A warning of many parameters, and one of many columns of x."""
    d, m = data.theta.shape[1], data.x.shape[1]
    if d >= _MANY:
        yield (
            f"{d:,} parameters are many: each is ranked and the correction charges for each, the "
            f"tables list all, the figures draw the worst. The networks read all of them at once "
            f"and see little: test the few that matter in a file of their own."
        )
    if m >= _MANY:
        yield (
            f"x has {m:,} columns: rank tests never look at it, but the networks read every "
            f"column, which is slow and blurs what they see. Summaries of x (a trained embedding, "
            f"a few statistics) tell more."
        )


def _leaks(seen: _Summary) -> Iterator[str]:
    """A warning of truths among their own draws.

    Raises:
        ValueError: when all draws are.
    """
    n, k = seen.leaks.shape
    if seen.leaks.all(axis=1).mean() > 1 - _SHARE:
        raise ValueError(
            "theta_q must hold draws from q; got the true value itself as every draw in "
            f"{int(seen.leaks.all(axis=1).sum())} of {n} rows, which no test can tell from a "
            "perfect q. Save the draws that q gives at each x."
        )
    rows = seen.leaks.any(axis=1)
    if k > 1 and rows.sum() > max(1, _SHARE * n):
        places = seen.leaks.sum(axis=0)
        same = places.max() > (1 - _SHARE) * rows.sum()
        where = f" (draw {int(places.argmax()) + 1})" if same else ""
        yield (
            f"The draws contain the true value: at {int(rows.sum()):,} of {n:,} rows theta is "
            f"found exactly among its own draws of q{where}. That makes q look better than it "
            "is: leave it out of theta_q."
        )


def _ignores(data: PosteriorTable, seen: _Summary, fine: NDArray[np.intp]) -> Iterator[str]:
    """A warning of the same draws at every x, or at many."""
    n, k = data.q.shape[:2]
    if seen.alike:
        yield (
            "theta_q holds the same draws at every x: q ignores x by construction, as when it was "
            "sampled once and copied. Sample q at each x, unless it is the prior you test."
        )
        return
    sets = len(np.unique(repeats.row_codes(data.q[:, 0]))) if k > 1 and len(fine) else n
    if sets <= n / 2 and not repeats.is_on_grid(data.q[:, 0, fine[0]]):
        yield (
            f"{n:,} rows of theta_q begin with only {sets:,} different draws: some x seem to have "
            f"been given the draws of another. Sample q anew at each x."
        )


def _another_x(data: PosteriorTable, seen: _Summary) -> Iterator[str]:
    """A warning of draws that differ between rows of one x: by the correlation, over rows, of the
    means of their halves, which is 0 where the draws of all rows are of one distribution.
    """
    n, k = data.q.shape[:2]
    if k < 2 or not data.x.shape[1] or (data.x != data.x[0]).any():
        return
    means = [half - half.mean(axis=0) for half in seen.halves]
    squares = [(each**2).sum(axis=0) for each in means]
    alike = (means[0] * means[1]).sum(axis=0) > _SURE / np.sqrt(n) * np.sqrt(np.prod(squares, 0))
    if alike.any():
        yield (
            f"All {n:,} rows share one x, but q's draws differ from row to row: is x the right "
            "array? Save the x at which each row was drawn."
        )


def _collapsed(data: PosteriorTable, seen: _Summary, names: Sequence[str]) -> Iterator[str]:
    """A warning of a q without spread at some x, in columns that do vary over x."""
    k = data.q.shape[1]
    varies = seen.high.max(axis=0) > seen.low.min(axis=0)
    still = (seen.high == seen.low) & varies & (k > 1)
    share = still.mean(axis=0)
    suspects = np.flatnonzero(share > _SHARE)
    collapsed = [
        int(j)
        for j in suspects
        if not _certain(data.theta[still[:, j], j], seen.low[still[:, j], j], k)
    ]
    if collapsed:
        yield (
            f"All {k} draws are the same number at {share[collapsed].max():.0%} of the x in "
            f"{_shown(collapsed, names)}: q has no spread there, as when a network or a chain "
            "is stuck. A true value beside it is outside every interval."
        )


def _certain(theta: Array, draws: Array, k: int) -> bool:
    """Whether a q whose K draws agree at some x is right to be sure there: theta is the same.

    Of K + 1 exchangeable numbers the true one alone differs in about 1 of K such rows at most.

    Args:
        theta: true values (n,) of those rows.
        draws: the number (n,) that all draws of each row are.
        k: draws at each x.
    """
    wrong, rows = int((theta != draws).sum()), len(theta)
    return wrong <= 2 * rows / (k + 1) + 3 * np.sqrt(2 * rows / (k + 1)) and wrong < rows / 2


def _whole(
    data: PosteriorTable, seen: _Summary, whole: NDArray[np.intp], names: Sequence[str]
) -> Iterator[str]:
    """A warning of parameters whose truths are whole numbers, with draws that are or are not."""
    both: list[int] = []
    broken: list[int] = []
    for j in whole[:_CHECKED]:
        ends = (seen.low[:, j] % 1).any() or (seen.high[:, j] % 1).any()
        smooth = ends or any((row[:, j] % 1).any() for row in data.q[:_ROWS])
        (broken if smooth else both).append(int(j))
    if both:
        yield (
            f"{_shown(both, names)}: whole numbers in theta and in q's draws. Ties between a "
            "true value and draws are broken at random, so that p-values stay exact."
        )
    if broken:
        yield (
            f"{_shown(broken, names)}: whole numbers in theta but not in q's draws. A test that "
            f"looks closely sees that alone; round the draws if it is not what you ask about."
        )


def _beyond(data: PosteriorTable, seen: _Summary, names: Sequence[str]) -> Iterator[str]:
    """A warning of draws that lie farther from the truths than these from each other."""
    low, high = data.theta.min(axis=0), data.theta.max(axis=0)
    span = high - low
    apart = (seen.high.max(axis=0) < low) | (seen.low.min(axis=0) > high)
    suspects = np.flatnonzero(
        (seen.low.min(axis=0) < low - span) | (seen.high.max(axis=0) > high + span)
    )
    shares = [_outside(data.q[..., j], low[j] - span[j], high[j] + span[j]) for j in suspects]
    far = [int(j) for j, share in zip(suspects, shares, strict=True) if share > _SHARE]
    units = "Are both in the same units and on the same scale (log, logit, standardised)?"
    if apart.any():
        yield (
            f"Not one draw of q lies within the range of the true values in "
            f"{_shown(np.flatnonzero(apart), names)}. {units}"
        )
    elif far:
        yield (
            f"{max(shares):.0%} of q's draws lie far outside of the true values' range (more "
            "than its "
            f"width beyond) in {_shown(far, names)}. {units} Or q puts mass outside the prior."
        )


def _outside(draws: Array, low: float, high: float) -> float:
    """The share of draws (N, K) outside of an interval, from a thousand rows at most."""
    some = _some(draws)
    return float(((some < low) | (some > high)).mean())


def _some(draws: Array) -> Array:
    """The draws (n, K) of a thousand rows at most."""
    return draws[:: max(1, len(draws) // 1000)]


def _piled_at_ends(
    data: PosteriorTable, seen: _Summary, whole: NDArray[np.intp]
) -> dict[int, float]:
    """The share of draws at the ends of all draws, by parameter, where true values lie there more
    rarely.

    Args:
        data: the table.
        seen: of its draws.
        whole: parameters whose true values are whole numbers: many of these are equal.
    """
    low, high = seen.low.min(axis=0), seen.high.max(axis=0)
    rows = ((seen.low == low) | (seen.high == high)).sum(axis=0)
    piled = (rows > max(_SHARE * len(data), _PILE)) & (low < high)
    piled[whole] = False
    shares = {}
    for j in np.flatnonzero(piled)[:_CHECKED]:
        share = _share_at_ends(_some(data.q[..., j]))
        ends = ((data.theta[:, j] == low[j]) | (data.theta[:, j] == high[j])).sum()
        if share > _SHARE and share * len(data) >= max(_PILE, 5 * ends):
            shares[int(j)] = share
    return shares


def _clipped(seen: _Summary, shares: Mapping[int, float], names: Sequence[str]) -> Iterator[str]:
    """A warning of parameters with shares of draws at the ends of all draws."""
    if shares:
        low, high = seen.low.min(axis=0), seen.high.max(axis=0)
        worst = max(shares, key=shares.__getitem__)
        more = f", likewise in {_shown([j for j in shares if j != worst], names)}"
        yield (
            f"{shares[worst]:.1%} of q's draws of {names[worst]} are exactly {low[worst]:.4g} or "
            f"{high[worst]:.4g}, the ends of all draws, where hardly any true value lies"
            f"{more * (len(shares) > 1)}: draws beyond a range seem to have been moved to its "
            f"ends. Leave these out and draw others, or test q without the range."
        )


def _share_at_ends(draws: Array) -> float:
    """The share of draws (n, K) that are the least or the greatest of them; 0 where as many
    others repeat, as in rounded ones."""
    counts = np.unique(draws, return_counts=True)[1]
    ends = counts[[0, -1]].sum()
    return float(ends / draws.size) if 2 * ends > counts[counts > 1].sum() else 0.0


def _order_of_rows(
    data: PosteriorTable, seen: _Summary, moving: NDArray[np.intp]
) -> Iterator[str]:
    """A warning of draws that change over rows, with truths that have nothing to do with them."""
    n, k = data.q.shape[:2]
    if k < 2 or seen.alike:
        return  # a single draw cannot tell what is x from what is chance
    related = []
    for j in moving[:_CHECKED]:
        first, second = (half[:, j] for half in seen.halves)
        ranks = [_ranks(column) for column in (first, second, data.theta[:, j])]
        if np.ptp(ranks[0]) == 0 or np.ptp(ranks[1]) == 0:
            continue
        between = np.corrcoef(ranks[0], ranks[1])[0, 1]
        moves = np.subtract(*np.percentile(first + second, [84, 16])) / 2
        spread = np.subtract(*np.percentile(data.theta[:, j], [84, 16]))
        # If q were correct, its mean and the truth would be correlated by about moves / spread.
        if min(between, moves / spread if spread else 0) > _SURE / np.sqrt(n):
            related.append(abs(np.corrcoef(ranks[0] + ranks[1], ranks[2])[0, 1]))
    chance = min(5.0, 2 + np.sqrt(2 * np.log(2 * max(1, len(related)))))  # the largest of many
    if related and max(related) < chance / np.sqrt(n):
        yield (
            f"q's draws change from row to row, but not with theta (the largest rank correlation "
            f"is {max(related):.2f}): are the rows of theta and theta_q in the same order? If so, "
            f"q has learnt nothing of theta from x."
        )


def _ranks(column: Array) -> Array:
    """Ranks (n,) in which ties share one."""
    # SciPy's take a second to import, in every process that reads a file.
    ranks: NDArray[np.intp] = np.unique(column, return_inverse=True)[1]
    return ranks.astype(np.float64)


def _shown(columns: Sequence[int] | NDArray[np.intp], names: Sequence[str]) -> str:
    """The first names of some columns."""
    return begun_text([names[j] for j in columns], _SHOWN)
