"""Rejection rates of the Conformal C2ST page, measured over gamma, beta and m."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

import numpy as np

from validation_core import methods, sampling, statistics
from validation_core.explorers.conformal.study import (
    FEW,
    PAPER_M,
    POWER_BETAS,
    TRIALS,
    TRIALS_AT_ONCE,
    Learned,
    M,
    N,
    ScoreOfRows,
    draw_p,
    p_ignores_gamma,
    shipped_networks,
)
from validation_core.methods.base import Method
from validation_core.pieces import slices
from validation_core.rng import Streams, stream
from validation_core.scores.trained_scores import Training
from validation_core.study import Report, Study
from validation_core.sweep.presets import NETWORKS
from validation_core.sweep.trials import POOL
from validation_core.text import LEVELS
from validation_core.types import Array, BlockScores, Integers, Joint, Reference

if TYPE_CHECKING:
    from validation_core.store import Store

_M_BETAS = (0.0, 0.4, 0.7, 0.9)  # of power over m


class ConformalTrials(NamedTuple):
    """Rejections in the trials of one network, at some gammas and betas."""

    gammas: Array
    """(G,)."""
    betas: Array
    """(B,)."""
    rejections: Integers
    """(levels, methods, B, G) at the usual levels: of C2ST, Multiple, then Uniform at each m."""

    def at(self, level: float) -> Integers:
        """Rejections (methods, B, G) at one of the usual levels."""
        return self.rejections[LEVELS.index(level)]


@dataclass(frozen=True, kw_only=True)
class ConformalPower(Study[ConformalTrials], spec="conformal_power"):
    """Power of each test with one network; trials share their draws over beta and methods.

    The random streams and the pooled protocol are those of `trials.py`: trial t draws from its
    own streams, independent of all other settings.
    """

    version: ClassVar[int] = 2

    learned: Learned
    n: int = N
    ms: tuple[int, ...] = (M,)
    betas: tuple[float, ...] = POWER_BETAS
    trials: int = TRIALS

    @property
    def label(self) -> str:
        along = " over m" if len(self.ms) > 1 else ""
        return f"Power{along}, {self.learned.benchmark.label}, {self.trials} trials"

    @property
    def trainings(self) -> tuple[Training, ...]:
        """Trainings of the networks that score."""
        return self.learned.trainings

    @property
    def methods(self) -> tuple[Method, ...]:
        """The tests, in the order of their p-values."""
        return (methods.C2ST(), methods.Multiple(), *(methods.Uniform(m=m) for m in self.ms))

    def few(self) -> ConformalPower:
        """The same study with a few trials."""
        return replace(self, trials=min(FEW, self.trials))

    def by_network(self, count: int) -> tuple[ConformalPower, ...]:
        """This study, and those of networks from the next seeds, with draws of their own."""
        seeds = range(self.learned.seed, self.learned.seed + count)
        return tuple(replace(self, learned=replace(self.learned, seed=seed)) for seed in seeds)

    def compute(self, store: Store, report: Report) -> ConformalTrials:
        """Run the trials, gamma by gamma."""
        score, gammas = self.learned.score(store), self.learned.power_gammas
        rejections = []
        for gamma, laws in zip(gammas, self.laws(score), strict=True):
            rejections.append(self.rejected(score, gamma, laws))
            report(len(rejections) / len(gammas), {})
        return ConformalTrials(
            np.array(gammas, float), np.array(self.betas), np.stack(rejections, axis=-1)
        )

    def laws(self, score: ScoreOfRows) -> list[list[statistics.PooledLaw]]:
        """Calibration laws at each gamma and beta, from rows that are never tested."""
        learned, n_p = self.learned, POOL * self.n
        still = p_ignores_gamma(learned.benchmark, learned.gammas)
        rows, laws = draw_p(learned, learned.gammas[0], n_p), []
        for gamma in learned.power_gammas:
            rows = rows if still else draw_p(learned, gamma, n_p)
            laws.append(self.laws_at(score, gamma, rows))
        return laws

    def laws_at(self, score: ScoreOfRows, gamma: float, rows: Joint) -> list[statistics.PooledLaw]:
        """Calibration laws at one gamma, from rows of p there."""
        scored = score(self.betas, rows, self.learned.gammas.index(gamma))
        return [statistics.PooledLaw(row) for row in scored]

    def rejected(
        self, score: ScoreOfRows, gamma: float, laws: Sequence[statistics.PooledLaw]
    ) -> Integers:
        """Rejections (levels, methods, B) in all trials at one gamma, ten at once."""
        levels = np.array(LEVELS)[:, None, None, None]
        parts = slices(self.trials, TRIALS_AT_ONCE)
        pvalues = (
            self.trial_pvalues(score, gamma, laws, range(part.start, part.stop)) for part in parts
        )
        return np.sum([(part <= levels).sum(-1) for part in pvalues], axis=0)

    def trial_pvalues(
        self, score: ScoreOfRows, gamma: float, laws: Sequence[statistics.PooledLaw], trials: range
    ) -> Array:
        """p-values (methods, B, trials) at one gamma."""
        learned, index = self.learned, self.learned.gammas.index(gamma)
        drawn = [
            sampling.blocks(
                learned.benchmark, gamma, self.n, self.n, stream(learned.seed, "trial", trial)
            )
            for trial in trials
        ]
        p, q = (
            score(self.betas, Joint.joined(side), index).reshape(len(self.betas), len(trials), -1)
            for side in ([each.p for each in drawn], [each.q for each in drawn])
        )
        at_beta = [
            conformal_pvalues(self.methods, BlockScores(p[j], q[j]), law, learned.seed, trials)
            for j, law in enumerate(laws)
        ]
        return np.stack(at_beta, axis=1)


def conformal_pvalues(
    of: Sequence[Method], scored: BlockScores, law: Reference, seed: int, trials: range
) -> Array:
    """P-values (methods, trials) of the scores (trials, n) of some trials.

    Uniform reads its calibration counts off a law of p's scores, independent of every draw of q.
    Each trial breaks ties from a stream of its own.
    """
    out = np.empty((len(of), len(trials)))
    for i, method in enumerate(of):
        rngs = Streams([stream(seed, method.seed_name, trial) for trial in trials])
        calibrated = isinstance(method, methods.Uniform)
        blocks = BlockScores(np.empty(0), scored.q, law) if calibrated else scored
        out[i] = method.test(blocks, cast("Any", rngs)).pvalue
    return out


def over_m(learned: Learned, n: int = N) -> ConformalPower:
    """Power at every m of the paper, its Figures 6 to 11 (b), at a few betas.

    Args:
        learned: the networks.
        n: test points of a trial.
    """
    return ConformalPower(learned=learned, n=n, ms=PAPER_M, betas=_M_BETAS)


def shipped() -> tuple[ConformalPower, ...]:
    """Power that ships with NPT Lab, with each of several networks.

    The page's opening view of every perturbation and size, and power over m at the first size.
    """
    every = shipped_networks()
    first = [one for one in every if one.benchmark.dims == every[0].benchmark.dims]
    powers = [*(ConformalPower(learned=one) for one in every), *map(over_m, first)]
    return tuple(one for power in powers for one in power.by_network(NETWORKS))
