"""What the Conformal C2ST workbench shows, computed from cached scores: no network is run here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from validation_core import methods, statistics
from validation_core.rng import stream
from validation_core.statistics import Uniformity
from validation_core.tasks import ScoreGrid
from validation_core.types import Array, BlockScores, Outcome

PAPER_M = (1, 2, 5, 10, 20, 50, 200)
"""Calibration draws per test point in paper C, Section 5."""


@dataclass(frozen=True, eq=False)
class Ranks:
    """Conformal ranks at every beta of a grid, and what uniformity tests say of them."""

    betas: Array  # (B,)
    m: int
    n: int
    u: Array  # (B, n)
    ks: Uniformity  # statistics and p-values (B,)
    anderson_darling: Uniformity
    cramer_von_mises: Uniformity
    auc: Array  # (B,), from all scores of the grid
    disjoint: bool
    """Whether every test point had calibration draws of its own (else read off the pooled law)."""

    @property
    def mean(self) -> Array:
        """Mean rank (B,): tends to 1 - AUC (Lemma 3.3)."""
        return self.u.mean(-1)

    @property
    def total_variation(self) -> Array:
        """A lower bound (B,) on the total variation between p and q, from the AUC."""
        return np.asarray(statistics.total_variation_bounds(self.auc)[0])


def ranks(grid: ScoreGrid, m: int, n: int, seed: int = 0) -> Ranks:
    """Test n draws of q at every beta, on the same draws, calibration sets and tie-breakers.

    Calibration sets are disjoint, as the exact test asks, where the grid holds n m scores of p;
    beyond that counts are drawn from the pooled law (power.py says how far off that is).
    """
    n = min(n, grid.q.shape[1])
    disjoint = n * m <= grid.p.shape[1]
    test = grid.q[:, :n]
    u = np.stack([_ranks(grid.p[i], test[i], m, disjoint, seed) for i in range(len(test))])
    return Ranks(
        grid.betas, m, n, u, statistics.ks(u), statistics.anderson_darling(u),
        statistics.cramer_von_mises(u), grid.auc, disjoint,
    )  # fmt: skip


def _ranks(p: Array, test: Array, m: int, disjoint: bool, seed: int) -> Array:
    rng = stream(seed, "workbench", m)  # the same for every beta: curves move, noise does not
    if disjoint:
        return statistics.conformal_ranks(test, p[: m * len(test)].reshape(-1, m), rng)
    below, equal = statistics.Pool(p).counts(test, m, rng)
    return statistics.randomised_ranks(below, equal, m, rng)


class Others(NamedTuple):
    """The other tests on the same scores, at one beta."""

    multiple: Outcome
    c2st: Outcome
    variance: Array  # (len(PAPER_M),) of U given its test point


def others(grid: ScoreGrid, index: int, n: int, seed: int = 0) -> Others:
    """Multiple and C2ST on n draws from each side, and how noisy U is at the paper's m."""
    n = min(n, grid.q.shape[1])
    one = BlockScores(grid.p[index, :n], grid.q[index, :n])
    return Others(
        methods.Multiple().test(one, stream(seed, "workbench", "multiple")),
        methods.C2ST().test(one, stream(seed, "workbench", "c2st")),
        rank_variance(grid.p[index], one.q, stream(seed, "workbench", "variance")),
    )


def rank_variance(p: Array, test: Array, rng: np.random.Generator, repeats: int = 50) -> Array:
    """Var(U | test point), averaged over test points, at each m of the paper, by simulation.

    The part of a rank's variance that more calibration draws remove; it falls as 1/m.
    """
    pool, some = statistics.Pool(p), test[:200]
    again = np.broadcast_to(some, (repeats, len(some)))
    variances = []
    for m in PAPER_M:
        below, equal = pool.counts(again, m, rng)
        u = statistics.randomised_ranks(below, equal, m, rng)
        variances.append(u.var(axis=0, ddof=1).mean())
    return np.array(variances)
