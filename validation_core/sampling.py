"""Draws for tests, from a benchmark's three samplers or from the rows of a table.

Only this module decides which draws are independent: blocks never share an x.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from validation_core.types import (
    Array,
    Benchmark,
    Integers,
    Joint,
    Pairs,
    PosteriorTable,
    TwoSamples,
)

_WATCHED = 10  # draws of q per held-out x: enough to monitor a training, cheap to score
_HELD = 0.2  # of a table's rows, on which a training is monitored


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """Training rows (p, q) of a classifier and its validation rows (held_p, held_q).

    Where q has more rows than p, each epoch draws as many of them anew as p has.
    """

    p: Joint
    q: Joint
    held_p: Joint
    held_q: Joint


def pairs(benchmark: Benchmark, gamma: float, n: int, rng: np.random.Generator) -> Joint:
    """n independent rows (theta, x) from p, each with an x of its own."""
    if isinstance(benchmark, Pairs):
        return benchmark.pairs(n, gamma, rng)
    x = benchmark.x(n, rng)
    return Joint(benchmark.theta(x, gamma, rng), x)


def blocks(
    benchmark: Benchmark, gamma: float, n_p: int, n_q: int, rng: np.random.Generator
) -> TwoSamples:
    """n_p independent rows from p and n_q from q_gamma, each with an x of its own."""
    p, x = _sides(benchmark, gamma, n_p, n_q, rng)
    return TwoSamples(p=p, q=Joint(benchmark.q(x, gamma, rng), x))


def truths(
    benchmark: Benchmark, gamma: float, n_p: int, n_q: int, rng: np.random.Generator
) -> Joint:
    """The rows from p of `blocks`, to the bit, without those from q."""
    return _sides(benchmark, gamma, n_p, n_q, rng)[0]


def _sides(
    benchmark: Benchmark, gamma: float, n_p: int, n_q: int, rng: np.random.Generator
) -> tuple[Joint, Array]:
    """Rows from p, and the x for the draws of q."""
    if isinstance(benchmark, Pairs):
        return benchmark.pairs(n_p, gamma, rng), benchmark.x(n_q, rng)
    x_p, x_q = benchmark.x(n_p, rng), benchmark.x(n_q, rng)
    return Joint(benchmark.theta(x_p, gamma, rng), x_p), x_q


def table(
    benchmark: Benchmark, gamma: float, n: int, k: int, rng: np.random.Generator
) -> PosteriorTable:
    """n simulations with the truth and k draws of q_gamma at each x, as in a user's table."""
    p = pairs(benchmark, gamma, n, rng)
    if isinstance(benchmark, Pairs):
        return PosteriorTable(p.theta, p.x, benchmark.draws(p.x, k, gamma, rng))
    q = benchmark.q(np.repeat(p.x, k, axis=0), gamma, rng)  # (n k, D)
    return PosteriorTable(p.theta, p.x, q.reshape(n, k, -1))


def training_set(
    benchmark: Benchmark, gamma: float, n: int, held: int, rng: np.random.Generator
) -> TrainingSet:
    """n + n training rows and held + held validation rows of p and q, all independent."""
    sample = blocks(benchmark, gamma, n + held, n + held, rng)
    return TrainingSet(
        p=joint_rows(sample.p, slice(n)),
        q=joint_rows(sample.q, slice(n)),
        held_p=joint_rows(sample.p, slice(n, None)),
        held_q=joint_rows(sample.q, slice(n, None)),
    )


def joint_rows(joint: Joint, which: slice | np.ndarray) -> Joint:
    """Some rows of a joint sample."""
    return Joint(joint.theta[which], joint.x[which])


def split_rows(
    draws: PosteriorTable, rng: np.random.Generator, train: float = 0.5
) -> tuple[PosteriorTable, PosteriorTable]:
    """Split a table by simulation into a training part and a test part.

    Args:
        draws: the table of N simulations.
        rng: draws the split.
        train: fraction of the rows in the training part.

    Raises:
        ValueError: when either part would have fewer than two rows.
    """
    learn, test = split(len(draws), rng, train)
    return take(draws, learn), take(draws, test)


def split(rows: int, rng: np.random.Generator, train: float = 0.5) -> tuple[Integers, Integers]:
    """Row numbers of the two parts of `split_rows`.

    Raises:
        ValueError: when either part would have fewer than two rows.
    """
    n = round(rows * train)
    if min(n, rows - n) < 2:
        raise ValueError(
            f"A table needs at least two rows on each side of a split; got {rows} rows "
            f"split {n} to {rows - n}. Bring more simulations."
        )
    order = rng.permutation(rows)
    return order[:n], order[n:]


def take(draws: PosteriorTable, which: np.ndarray, most: int | None = None) -> PosteriorTable:
    """A copy of some rows of a table, with at most `most` of q's draws at each."""
    return PosteriorTable(draws.theta[which], draws.x[which], draws.q[which, :most])


def rows_view(draws: PosteriorTable, which: np.ndarray, most: int | None = None) -> PosteriorTable:
    """The rows of `take` as a view of q's draws, for scores, which read them in pieces.

    Copying half of a large table's draws for each method would dominate the memory.
    """
    k = draws.q.shape[1] if most is None else min(most, draws.q.shape[1])
    return PosteriorTable(
        draws.theta[which], draws.x[which], cast("Array", _RowView(draws.q, which, k))
    )


class _RowView:
    """A view of rows (n,) of draws of q, the first k at each, copied when read.

    Slices of rows and draws copy that piece (m, k', D) alone; any other index, and numpy's
    functions, copy everything.
    """

    def __init__(self, q: Array, which: np.ndarray, k: int) -> None:
        self._q, self._which = q, which
        self.shape = (len(which), k, q.shape[2])
        self.ndim, self.dtype = len(self.shape), q.dtype

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> Array:
        rows, *rest = key if isinstance(key, tuple) else (key,)
        columns = rest[0] if rest else slice(None)
        piece: Array
        if len(rest) < 2 and isinstance(rows, slice) and isinstance(columns, slice):
            low, high, step = columns.indices(self.shape[1])
            if step > 0:
                piece = self._q[self._which[rows], low:high:step]
                return piece
        piece = np.asarray(self)[key]
        return piece

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if copy is False:
            raise ValueError(
                "Rows that are lent are copied to be read as one array; got copy=False. Read "
                "slices of them."
            )
        whole = self[:]
        return whole if dtype is None else whole.astype(dtype, copy=False)


def blocks_of_rows(
    draws: PosteriorTable, rng: np.random.Generator, among: np.ndarray | None = None
) -> TwoSamples:
    """Independent blocks from a table: half of its x give the truth, the other half one draw of q.

    Half of the rows is the price of independence: with a shared x the tests lose most of their
    power.

    Args:
        draws: the table.
        rng: assigns each x to p or q, and picks the draw of q.
        among: numbers of the rows to use; by default all.

    Returns:
        Samples p and q of N / 2 rows each.
    """
    rows = np.arange(len(draws)) if among is None else among
    order = rows[rng.permutation(len(rows))]
    half = len(rows) // 2
    for_p, for_q = order[:half], order[half : 2 * half]
    draw = rng.integers(draws.q.shape[1], size=half)
    return TwoSamples(
        p=Joint(draws.theta[for_p], draws.x[for_p]), q=Joint(draws.q[for_q, draw], draws.x[for_q])
    )


def training_rows(train: PosteriorTable, rng: np.random.Generator) -> TrainingSet:
    """Training and validation rows of a classifier from a table; the two share no x.

    All K draws of q are used: in training p and q may share x, in a test they may not.
    """
    learn, watch = split_rows(train, rng, train=1 - _HELD)
    return TrainingSet(
        p=Joint(learn.theta, learn.x),
        q=_draws_of(learn, learn.q.shape[1]),
        held_p=Joint(watch.theta, watch.x),
        held_q=_draws_of(watch, _WATCHED),
    )


def _draws_of(draws: PosteriorTable, most: int) -> Joint:
    q = draws.q[:, :most]  # (n, k, D)
    return Joint(q.reshape(-1, q.shape[2]), np.repeat(draws.x, q.shape[1], axis=0))
