"""From a benchmark's three samplers, or a table's rows, to the draws a test needs.

Independence is decided here and nowhere else: blocks never share an x.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from validation_core.types import Benchmark, Blocks, Draws, Joint

_WATCHED = 10  # draws of q per held-out x: enough to watch a training by, cheap to score


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """What a classifier learns from (p, q), and what it is watched on (held_p, held_q).

    q may hold more rows than p: every epoch then takes as many of them as p has, drawn anew.
    """

    p: Joint
    q: Joint
    held_p: Joint
    held_q: Joint


def blocks(
    benchmark: Benchmark, gamma: float, n_p: int, n_q: int, rng: np.random.Generator
) -> Blocks:
    """n_p independent rows from p and n_q from q_gamma, each with an x of its own."""
    x_p, x_q = benchmark.x(n_p, rng), benchmark.x(n_q, rng)
    return Blocks(
        p=Joint(benchmark.theta(x_p, gamma, rng), x_p), q=Joint(benchmark.q(x_q, gamma, rng), x_q)
    )


def table(benchmark: Benchmark, gamma: float, n: int, k: int, rng: np.random.Generator) -> Draws:
    """n simulations with the truth and k draws of q_gamma at each x, like a user's table."""
    x = benchmark.x(n, rng)
    theta = benchmark.theta(x, gamma, rng)
    q = benchmark.q(np.repeat(x, k, axis=0), gamma, rng)  # (n k, D)
    return Draws(theta, x, q.reshape(n, k, -1))


def training_set(
    benchmark: Benchmark, gamma: float, n: int, held: int, rng: np.random.Generator
) -> TrainingSet:
    """n + n rows to learn from and held + held to watch, all independent."""
    drawn = blocks(benchmark, gamma, n + held, n + held, rng)
    return TrainingSet(
        p=rows(drawn.p, slice(n)), q=rows(drawn.q, slice(n)),
        held_p=rows(drawn.p, slice(n, None)), held_q=rows(drawn.q, slice(n, None)),
    )  # fmt: skip


def rows(joint: Joint, which: slice | np.ndarray) -> Joint:
    """Some rows of a joint sample."""
    return Joint(joint.theta[which], joint.x[which])


def split_rows(draws: Draws, rng: np.random.Generator, train: float = 0.5) -> tuple[Draws, Draws]:
    """A table cut by simulation into a part to learn from and a part to test on.

    Raises:
        ValueError: when either part would have fewer than two rows.
    """
    n = round(len(draws) * train)
    if min(n, len(draws) - n) < 2:
        raise ValueError(
            f"A table needs at least two rows on each side of a split; got {len(draws)} rows "
            f"split {n} to {len(draws) - n}. Bring more simulations."
        )
    order = rng.permutation(len(draws))
    return _take(draws, order[:n]), _take(draws, order[n:])


def _take(draws: Draws, which: np.ndarray) -> Draws:
    return Draws(draws.theta[which], draws.x[which], draws.q[which])


def blocks_of_rows(draws: Draws, rng: np.random.Generator) -> Blocks:
    """Independent blocks from a table: half of its x give the truth, the other half one draw of q.

    Half of the rows is the price of independence: with a shared x the tests lose most of their
    power.
    """
    order = rng.permutation(len(draws))
    half = len(draws) // 2
    for_p, for_q = order[:half], order[half : 2 * half]
    one = rng.integers(draws.q.shape[1], size=half)
    return Blocks(
        p=Joint(draws.theta[for_p], draws.x[for_p]), q=Joint(draws.q[for_q, one], draws.x[for_q])
    )


def training_rows(train: Draws, rng: np.random.Generator, held: float = 0.2) -> TrainingSet:
    """A table's training part for a classifier: rows watched and rows learnt from share no x.

    All K draws of q are offered; learning may share x between the classes, only tests may not.
    """
    learn, watch = split_rows(train, rng, train=1 - held)
    return TrainingSet(
        p=Joint(learn.theta, learn.x), q=_draws_of(learn, learn.q.shape[1]),
        held_p=Joint(watch.theta, watch.x), held_q=_draws_of(watch, _WATCHED),
    )  # fmt: skip


def _draws_of(draws: Draws, most: int) -> Joint:
    q = draws.q[:, :most]  # (n, k, D)
    return Joint(q.reshape(-1, q.shape[2]), np.repeat(draws.x, q.shape[1], axis=0))
