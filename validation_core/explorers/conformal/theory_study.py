"""Theory of Conformal C2ST, measured at every gamma and beta of its page.

Bansal, Chen, Scott: the oracle score is the best one (Lemma 3.2); its mean rank falls with the
total variation (Lemma 3.3) and with the spread of the density ratio (Lemma A.4); a wrong ratio
costs at most O(eps^(2/3)) of it (Theorem 3.5); Multiple grows as sqrt(n) (Theorem 4.2); ties break
its assumption (4.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from validation_core import methods, statistics
from validation_core.benchmarks.gaussian import Gaussian
from validation_core.benchmarks.perturbations import Perturbation
from validation_core.explorers.conformal.power_study import conformal_pvalues
from validation_core.explorers.conformal.study import (
    BETAS,
    POWER_BETAS,
    Learned,
    M,
    ScoreOfRows,
    draw_p,
    draw_q,
    p_ignores_gamma,
)
from validation_core.methods.base import Method
from validation_core.rng import stream
from validation_core.scores.trained_scores import Training
from validation_core.statistics import areas
from validation_core.study import Report, Study
from validation_core.types import Array, BlockScores, Joint

if TYPE_CHECKING:
    from validation_core.store import Store

SIZES = (100, 200, 500, 1000, 2000)
"""Draws from each side, at which Multiple's statistic is measured."""
LEVELS = (101, 11, 5, 3, 2)
"""Values to which a predicted probability is rounded: two digits, one digit, ..., a label."""
CLIPS = (0.1, 0.3, 0.4, 0.45)
"""Clipped at c, predicted probabilities stay between c and 1 - c."""
TRIALS, N_TRIAL = 50, 200
"""Trials behind the power of a rounded or clipped score, and draws from each side in one."""
ROWS = TRIALS * N_TRIAL
"""Rows of p, and of q, that are scored."""
LEVEL = 0.05
"""Level of the tests in those trials."""
_REPEATS = 20  # samples of one size, at most
_NEAR = 0.02  # ratios that differ by less are near one another
_FEW = 0.01  # of the draws of q, those with the largest errors
_LARGEST = 50.0  # log ratio in an exponential


class ConformalTheory(NamedTuple):
    """Result at G gammas and B betas. Last axes of length 2: an estimate, its standard error."""

    gammas: Array
    """(G,)."""
    betas: Array
    """(B,)."""
    total_variation: Array
    """(G, 2) of p and q."""
    spread: Array
    """(G, 2) the oracle's mean rank by Lemma A.4, from the sizes of ratios."""
    near: Array
    """(G,) density of r(X) - r(X') near 0, X and X' of q: bounded under Assumption 3.4."""
    oracle_auc: Array
    """(G, 2)."""
    auc: Array
    """(G, B, 2) of the learned score."""
    loss: Array
    """(G, B, 2) of the oracle's AUC less the learned one, on the same draws."""
    error: Array
    """(G, B) eps, the root mean square of exp(score) - p / q over draws of q."""
    tail: Array
    """(G, B) share of eps^2 that the largest 1% of the errors make."""
    slope: Array
    """(G, B) (AUC - 1/2) / sigma: Multiple's statistic is about sqrt(n) times this."""
    multiple: Array
    """(G, B, SIZES, 2) Multiple's statistic: its mean over samples, and its sd among them."""
    power_betas: Array
    """(P,) betas of the rounded and clipped scores."""
    coarse_auc: Array
    """(G, P, C) of the score itself, then rounded to LEVELS, then clipped at CLIPS."""
    rejections: Array
    """(G, P, C, 2) trials of TRIALS in which Multiple and Uniform reject q."""


@dataclass(frozen=True, kw_only=True)
class ConformalTheoryStudy(Study[ConformalTheory], spec="conformal_theory"):
    """What the paper's lemmas and theorems say, measured on fresh draws."""

    learned: Learned
    betas: tuple[float, ...] = BETAS
    power_betas: tuple[float, ...] = POWER_BETAS

    @property
    def label(self) -> str:
        return f"Conformal theory, {self.learned.benchmark.label}"

    @property
    def trainings(self) -> tuple[Training, ...]:
        """Trainings of the networks that score."""
        return self.learned.trainings

    def compute(self, store: Store, report: Report) -> ConformalTheory:
        """Measure both sides of every inequality at each gamma and beta."""
        score, learned = self.learned.score(store), self.learned
        gammas = learned.gammas
        still = p_ignores_gamma(learned.benchmark, gammas)
        p = draw_p(learned, gammas[0], ROWS)
        measured: list[dict[str, NDArray[np.generic]]] = []
        for index, gamma in enumerate(gammas):
            p = p if still else draw_p(learned, gamma, ROWS)
            measured.append(self._at(score, index, p, draw_q(learned, gamma, ROWS)))
            report((index + 1) / len(gammas), {})
        stacked = {name: np.stack([each[name] for each in measured]) for name in measured[0]}
        places = map(np.array, (gammas, self.betas, self.power_betas))
        return ConformalTheory(
            **dict(zip(("gammas", "betas", "power_betas"), places, strict=True)), **stacked
        )

    def _at(
        self, score: ScoreOfRows, index: int, p: Joint, q: Joint
    ) -> dict[str, NDArray[np.generic]]:
        """Arrays of the result at one gamma, by field name."""
        benchmark, gamma = self.learned.benchmark, self.learned.gammas[index]
        ratios = [benchmark.log_ratio(rows.theta, rows.x, gamma) for rows in (p, q)]
        of_p, of_q = (np.asarray(ratio, np.float64) for ratio in ratios if ratio is not None)
        scored = BlockScores(score(self.betas, p, index), score(self.betas, q, index))
        few = BlockScores(score(self.power_betas, p, index), score(self.power_betas, q, index))
        oracle = areas.placements(of_p, of_q)
        learned = [areas.placements(*sides) for sides in zip(scored.p, scored.q, strict=True)]
        ratio = ratio_of(of_q)
        errors = [ratio_error(ratio_of(row), ratio) for row in scored.q]
        return {
            "total_variation": _single(areas.total_variation(ratio)),
            "spread": _single(areas.oracle_mean_rank(of_p, of_q)),
            "near": _single(density_near_zero(ratio)),
            "oracle_auc": _single(oracle.auc),
            "auc": _single([each.auc for each in learned]),
            "loss": _single([oracle.above(each) for each in learned]),
            "error": _single([error for error, _ in errors]),
            "tail": _half([tail for _, tail in errors]),
            "slope": _single([multiple_slope(each) for each in learned]),
            "multiple": _half(multiple_over_n(scored, self.learned.seed)),
            **self._coarse(few),
        }

    def _coarse(self, scored: BlockScores) -> dict[str, NDArray[np.generic]]:
        """AUC and rejections of the score as it is, rounded and clipped."""
        seed = self.learned.seed
        tests: tuple[Method, ...] = (methods.Multiple(), methods.Uniform(m=M))
        auc, rejections = [], []
        for p, q in zip(scored.p, scored.q, strict=True):
            pairs = list(zip(coarser(p), coarser(q), strict=True))
            auc.append([statistics.auc(*pair) for pair in pairs])
            found = [_trials(tests, *pair, seed) for pair in pairs]
            rejections.append([(pvalues <= LEVEL).sum(-1) for pvalues in found])
        return {"coarse_auc": _half(auc), "rejections": np.array(rejections, np.uint8)}


def _trials(tests: Sequence[Method], p: Array, q: Array, seed: int) -> Array:
    """p-values (tests, TRIALS) of disjoint samples; Uniform is calibrated by the law of p's."""
    samples = BlockScores(p.reshape(TRIALS, N_TRIAL), q.reshape(TRIALS, N_TRIAL))
    return conformal_pvalues(tests, samples, statistics.PooledLaw(p), seed, range(TRIALS))


def coarser(score: Array) -> list[Array]:
    """A score (n,), a logit, as it is, rounded to LEVELS and clipped at CLIPS as a probability."""
    probability = expit(np.asarray(score, np.float64))
    return [
        probability,
        *(np.round(probability * (levels - 1)) / (levels - 1) for levels in LEVELS),
        *(np.clip(probability, clip, 1 - clip) for clip in CLIPS),
    ]


def ratio_of(log_ratio: Array) -> Array:
    """Density ratio of its logarithm, finite."""
    return np.exp(np.clip(np.asarray(log_ratio, np.float64), -_LARGEST, _LARGEST))


def ratio_error(estimate: Array, ratio: Array) -> tuple[float, float]:
    """Root mean square error of a density ratio at draws of q, and how much of it few draws make.

    Args:
        estimate: estimated ratios (n,).
        ratio: true ratios (n,).

    Returns:
        eps of Theorem 3.5, and the share of eps^2 that the largest 1% of the errors make.
    """
    square = np.sort((estimate - ratio) ** 2)
    total = float(square.sum())
    largest = float(square[-max(1, round(_FEW * len(square))) :].sum())
    return float(np.sqrt(square.mean())), largest / total if total > 0 else 0.0


def density_near_zero(ratio: Array) -> float:
    """Density of r(X) - r(X') near 0, from ratios (n,) at draws of q; infinite where r is one."""
    ordered = np.sort(ratio)
    n = len(ordered)
    if ordered[0] == ordered[-1]:
        return float("inf")
    near = np.searchsorted(ordered, ordered + _NEAR, side="right") - np.arange(1, n + 1)
    return float(near.sum() / (n * (n - 1) / 2) / (2 * _NEAR))


def multiple_slope(placed: areas.Placements) -> float:
    """(AUC - 1/2) / sigma of Multiple with equally many draws from p and from q.

    sigma^2 is the variance of q's distribution function at scores of p, and 1/12 (equation 3).
    """
    sigma = np.sqrt(placed.p.var(ddof=1) + 1 / 12)
    return float((placed.auc.value - 0.5) / sigma)


def oracle_slopes(learned: Learned) -> Array:
    """`multiple_slope` of the density ratio itself, on the study's draws, at each gamma (G,).

    NaN where q ignores x: that ratio is an integral, which takes seconds.
    """
    if learned.benchmark.perturbation == "blind_prior":
        return np.full(len(learned.gammas), np.nan)
    slopes = []
    for gamma in learned.gammas:
        p, q = (draw(learned, gamma, ROWS) for draw in (draw_p, draw_q))
        ratios = [learned.benchmark.log_ratio(rows.theta, rows.x, gamma) for rows in (p, q)]
        of_p, of_q = (np.asarray(ratio, np.float64) for ratio in ratios if ratio is not None)
        slopes.append(multiple_slope(areas.placements(of_p, of_q)))
    return np.array(slopes)


def multiple_over_n(scored: BlockScores, seed: int) -> Array:
    """Mean and sd of Multiple's statistic at each of SIZES: (B, SIZES, 2)."""
    out = np.empty((len(scored.p), len(SIZES), 2))
    for place, n in enumerate(SIZES):
        repeats = min(_REPEATS, scored.p.shape[1] // n)
        p, q = (
            side[:, : repeats * n].reshape(len(side), repeats, n) for side in (scored.p, scored.q)
        )
        t = statistics.multiple(p, q, stream(seed, "theory", n)).statistic
        out[:, place] = np.stack([t.mean(-1), t.std(-1, ddof=1)], axis=-1)
    return out


def _single(values: object) -> NDArray[np.float32]:
    return np.asarray(values, dtype=np.float32)


def _half(values: object) -> NDArray[np.float16]:
    return np.asarray(values, dtype=np.float16)


def shipped() -> tuple[ConformalTheoryStudy, ...]:
    """Studies that ship with NPT Lab: every perturbation at the size that the page opens with."""
    return tuple(
        ConformalTheoryStudy(learned=Learned(benchmark=Gaussian(perturbation=name)))
        for name in get_args(Perturbation)
    )
