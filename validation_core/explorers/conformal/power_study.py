"""Rejection rates of the Conformal C2ST page, measured over gamma, beta and m."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, cast, get_args

import numpy as np

from validation_core import methods, sampling, statistics
from validation_core.benchmarks.gaussian import DIMENSIONS, Gaussian
from validation_core.benchmarks.perturbations import Perturbation
from validation_core.explorers.conformal.study import (
    FEW,
    PAPER_M,
    POWER_BETAS,
    TRIALS,
    TRIALS_AT_ONCE,
    ConformalStudy,
    Learned,
    M,
    N,
    ScoreOfRows,
    draw_p,
    p_ignores_gamma,
)
from validation_core.methods.base import Method
from validation_core.pieces import slices
from validation_core.precision import SMALLEST_PVALUE
from validation_core.rng import Streams, stream
from validation_core.scores.trained_scores import Training
from validation_core.study import Report, Study
from validation_core.sweep.trials import POOL
from validation_core.types import Array, BlockScores, Joint, Reference

if TYPE_CHECKING:
    from validation_core.store import Store

_M_BETAS = (0.0, 0.4, 0.7, 0.9)  # of power over m


class ConformalTrials(NamedTuple):
    """p-values of trials at some gammas and betas."""

    gammas: Array
    """(G,)."""
    betas: Array
    """(B,)."""
    pvalues: Array
    """(methods, B, G, trials): C2ST, Multiple, then Uniform at each m."""

    def power(self, level: float) -> tuple[Array, int]:
        """Rejections (methods, B, G) at a level, and the number of trials of each."""
        # In double precision: 0.05 in half precision is a little less than 0.05.
        hits = (self.pvalues.astype(np.float64) <= level).sum(-1)
        return np.asarray(hits), self.pvalues.shape[-1]


@dataclass(frozen=True, kw_only=True)
class ConformalPower(Study[ConformalTrials], spec="conformal_power"):
    """Power of each test, from trials that share their draws over beta and methods.

    The random streams and the pooled protocol are those of `trials.py`: trial t draws from its
    own streams, independent of all other settings.
    """

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

    def compute(self, store: Store, report: Report) -> ConformalTrials:
        """Run the trials, ten at once."""
        score, gammas = self.learned.score(store), self.learned.power_gammas
        shape = len(self.methods), len(self.betas), len(gammas), self.trials
        pvalues = np.empty(shape, np.float16)
        laws = self.laws(score)
        for part in slices(self.trials, TRIALS_AT_ONCE):
            for i, gamma in enumerate(gammas):
                chunk = self.trial_pvalues(score, gamma, laws[i], range(part.start, part.stop))
                pvalues[:, :, i, part] = np.maximum(chunk, SMALLEST_PVALUE)
            report(part.stop / self.trials, {})
        return ConformalTrials(np.array(gammas, float), np.array(self.betas), pvalues)

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


def shipped() -> tuple[ConformalStudy | ConformalPower, ...]:
    """Studies that ship with NPT Lab.

    The page's opening view of every perturbation and size, and power over m at the first size.
    """
    every = [
        Learned(benchmark=Gaussian(perturbation=name, dim_x=dim_x, dim_theta=dim_theta))
        for dim_x, dim_theta in DIMENSIONS
        for name in get_args(Perturbation)
    ]
    studies = [(ConformalStudy(learned=one), ConformalPower(learned=one)) for one in every]
    first = [one for one in every if one.benchmark.dims == every[0].benchmark.dims]
    return (*(study for pair in studies for study in pair), *map(over_m, first))
