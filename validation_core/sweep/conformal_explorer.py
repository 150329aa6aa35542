"""What the Conformal C2ST page shows: scores of fixed draws at every beta, and what they say.

A network runs once, in `GridTask`; everything that follows a slider is computed from its scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from validation_core import methods, models, sampling, scores, statistics
from validation_core.models import Simulated, Training, TrainTask
from validation_core.rng import stream
from validation_core.statistics import Uniformity
from validation_core.study import Report, Study
from validation_core.types import Array, BlockScores, Outcome, TwoSamples

if TYPE_CHECKING:
    from validation_core.store import Store

PAPER_M = (1, 2, 5, 10, 20, 50, 200)
"""Calibration draws per test point in Bansal, Chen, Scott, Section 5."""
BETAS = tuple(round(0.05 * i, 2) for i in range(21))
"""The workbench's grid of degradations; it holds the paper's values."""
COARSE_BETAS = BETAS[::4]
"""What is scored first, so that there is something to look at."""
_ORACLE = 4096  # rows of each side whose log ratio is computed: the blind prior's is dear


class ScoreGrid(NamedTuple):
    """Scores of fixed draws at every beta, and what the oracle says of the same draws."""

    betas: Array  # (B,)
    p: Array  # (B, n_p)
    q: Array  # (B, n_q)
    auc: Array  # (B,), of all p against all q
    oracle_auc: Array  # (1,), of the log ratio; empty where nobody knows it
    oracle_p: Array  # of the first rows of p, empty where nobody knows the ratio
    oracle_q: Array  # of the first rows of q


@dataclass(frozen=True, kw_only=True)
class GridTask(Study[ScoreGrid], spec="grid"):
    """Score one set of draws at every beta: what the page's sliders act on."""

    training: Training
    betas: tuple[float, ...] = BETAS
    n_p: int = 51_200  # 1000 test points get 50 calibration draws of their own, and some to spare
    n_q: int = 10_240
    seed: int = 0

    @property
    def label(self) -> str:
        count = len(self.betas)
        at = f"{count} betas" if count > 1 else f"beta {self.betas[0]:g}"
        return f"Score {self.training.source.label} at {at}"

    @property
    def trainings(self) -> tuple[Training, ...]:
        """The network that scores."""
        return (self.training,)

    def compute(self, store: Store, report: Report) -> ScoreGrid:
        """Score the draws at every beta, training the network where the store lacks it."""
        source = self.training.source
        assert isinstance(source, Simulated)
        network = models.trained(store, self.training)
        models.ready(store, source.benchmark)
        rng = stream(self.seed, "score grid")
        blocks = sampling.blocks(source.benchmark, source.gamma, self.n_p, self.n_q, rng)
        p, q = [], []
        for i, beta in enumerate(self.betas):
            scored = scores.apply(network.at(beta), blocks)
            p.append(scored.p)
            q.append(scored.q)
            report((i + 1) / len(self.betas), {"beta": beta})
        grid = np.array(self.betas), np.stack(p), np.stack(q)
        arrays = *grid, statistics.auc(*grid[1:]), *_oracle(source, blocks)
        return ScoreGrid(*(np.asarray(array, np.float32) for array in arrays))


def with_training(grids: Sequence[GridTask], device: str) -> tuple[TrainTask | GridTask, ...]:
    """Grids, each behind the training of its network.

    Where a GPU computes, one batch trains all networks first. On a CPU a batch takes as long as
    its networks one by one (measured on two cores): there each is a task of its own, and workers
    train side by side.
    """
    trainings = tuple(dict.fromkeys(grid.training for grid in grids))
    if device == "cuda":
        return (TrainTask(trainings=trainings), *grids)
    tasks: dict[TrainTask | GridTask, None] = {}
    for grid in grids:
        tasks |= {TrainTask(trainings=(grid.training,)): None, grid: None}
    return tuple(tasks)


def _oracle(source: Simulated, drawn: TwoSamples) -> tuple[Array, Array, Array]:
    """AUC (1,) of the log ratio, and the ratio of the first rows of p and of q; else empty."""
    ratios = [
        source.benchmark.log_ratio(rows.theta[:_ORACLE], rows.x[:_ORACLE], source.gamma)
        for rows in (drawn.p, drawn.q)
    ]
    p, q = (np.zeros(0) if ratio is None else ratio for ratio in ratios)
    return np.atleast_1d(statistics.auc(p, q)) if p.size else np.zeros(0), p, q


@dataclass(frozen=True, eq=False)
class RankGrid:
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


def ranks(grid: ScoreGrid, m: int, n: int, seed: int = 0) -> RankGrid:
    """Test n draws of q at every beta, on the same draws, calibration sets and tie-breakers.

    Calibration sets are disjoint, as the exact test asks, where the grid holds n m scores of p;
    beyond that counts are drawn from the pooled law (trials.py says how far off that is).
    """
    n = min(n, grid.q.shape[1])
    disjoint = n * m <= grid.p.shape[1]
    test = grid.q[:, :n]
    method = methods.Uniform(m=m)
    outcomes = []
    for p, q in zip(grid.p, test, strict=True):
        scores = BlockScores(p, q, None if disjoint else statistics.PooledLaw(p))
        # One stream for every beta: curves move, noise does not.
        outcomes.append(method.test(scores, stream(seed, "workbench", m)))
    u = np.stack([outcome.arrays["u"] for outcome in outcomes])
    statistic, pvalue = (
        np.stack(each) for each in zip(*((o.statistic, o.pvalue) for o in outcomes), strict=True)
    )
    return RankGrid(
        grid.betas,
        m,
        n,
        u,
        Uniformity(statistic, pvalue),
        statistics.anderson_darling(u),
        statistics.cramer_von_mises(u),
        grid.auc,
        disjoint,
    )


class _ScoreSpread(NamedTuple):
    """How the score lies under p and q at every beta, in sds from their common median."""

    edges: Array  # (bins + 1,)
    p: Array  # (B, bins), densities
    q: Array  # (B, bins)
    threshold: Array  # (B,), where C2ST cuts


def spread(grid: ScoreGrid, bins: int = 48, reach: float = 4.0) -> _ScoreSpread:
    """Histograms of the standardised score: a network's scale means nothing to any test."""
    middle, sd = _scale(grid)
    edges = np.linspace(-reach, reach, bins + 1)
    n = min(grid.p.shape[1], grid.q.shape[1])  # ten thousand of each draw the same picture
    p, q = (_densities((side[:, :n] - middle) / sd, edges) for side in (grid.p, grid.q))
    return _ScoreSpread(edges, p, q, (-middle / sd)[:, 0])


def _scale(grid: ScoreGrid) -> tuple[Array, Array]:
    """Median and robust sd (B, 1) of equally many scores of p and of q."""
    n = min(grid.p.shape[1], grid.q.shape[1])
    both = np.concatenate([grid.p[:, :n], grid.q[:, :n]], axis=1)
    low, middle, high = np.quantile(both, [0.25, 0.5, 0.75], axis=1, keepdims=True)
    return middle, np.maximum((high - low) / 1.349, 1e-12)


def _densities(standard: Array, edges: Array) -> Array:
    counts = np.stack([np.histogram(row, edges)[0] for row in standard])
    return counts / (standard.shape[1] * np.diff(edges))


class _Against(NamedTuple):
    """The standardised score at each level of the oracle, at every beta."""

    oracle: Array  # (bins,), median log ratio of each bin
    low: Array  # (B, bins), 10% quantile of the score
    middle: Array  # (B, bins), median
    high: Array  # (B, bins), 90% quantile


def against_oracle(grid: ScoreGrid, bins: int = 20) -> _Against | None:
    """Quantiles of the score in equally filled bins of log p - log q; None if that is unknown."""
    if not grid.oracle_p.size:
        return None
    n_p, n_q = len(grid.oracle_p), len(grid.oracle_q)
    middle, sd = _scale(grid)
    score = (np.concatenate([grid.p[:, :n_p], grid.q[:, :n_q]], axis=1) - middle) / sd
    oracle = np.concatenate([grid.oracle_p, grid.oracle_q])
    parts = np.array_split(np.argsort(oracle, kind="stable"), bins)
    centres = np.array([np.median(oracle[part]) for part in parts])
    cuts = np.stack([np.quantile(score[:, part], [0.1, 0.5, 0.9], axis=1) for part in parts], -1)
    return _Against(centres, *cuts)  # cuts (3, B, bins)


class _Others(NamedTuple):
    """The other tests on the same scores, at every beta."""

    multiple: Outcome
    c2st: Outcome


def others(grid: ScoreGrid, n: int, seed: int = 0) -> _Others:
    """Multiple and C2ST on n draws from each side."""
    n = min(n, grid.q.shape[1])
    scores = BlockScores(grid.p[:, :n], grid.q[:, :n])
    return _Others(
        methods.Multiple().test(scores, stream(seed, "workbench", "multiple")),
        methods.C2ST().test(scores, stream(seed, "workbench", "c2st")),
    )


def rank_variance(p: Array, test: Array, rng: np.random.Generator, repeats: int = 50) -> Array:
    """Var(U | test point), averaged over test points, at each m of the paper, by simulation.

    The part of a rank's variance that more calibration draws remove; it falls as 1/m.
    """
    pool, some = statistics.PooledLaw(p), test[:200]
    again = np.broadcast_to(some, (repeats, len(some)))
    variances = []
    for m in PAPER_M:
        below, equal = pool.counts(again, m, rng)
        u = statistics.randomised_ranks(below, equal, m, rng)
        variances.append(u.var(axis=0, ddof=1).mean())
    return np.array(variances)
