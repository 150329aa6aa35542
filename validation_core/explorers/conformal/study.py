"""Study of the Conformal C2ST page: every view of one benchmark, at every gamma and beta.

One classifier learns from draws at every gamma (`OverGamma`) and is held at each; the paper's own
preset learns one for each. Draws at neighbouring gammas share their random numbers. The result
holds only drawn quantities: counts, curves and p-values, no scores.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from validation_core import methods, sampling, statistics
from validation_core.benchmarks.gaussian import DIMENSIONS, Gaussian
from validation_core.benchmarks.over_gamma import OverGamma, refine_grid
from validation_core.benchmarks.perturbations import Perturbation
from validation_core.keys import Specification
from validation_core.pieces import stack_by_name
from validation_core.rng import common, stream
from validation_core.scores import trained_scores
from validation_core.scores.classifier import PRESETS, Classifier, TrainedClassifier
from validation_core.scores.trained_scores import Simulated, Training
from validation_core.study import Report, Study
from validation_core.types import Array, BlockScores, Joint

if TYPE_CHECKING:
    from validation_core.store import Store

PAPER_M = (1, 2, 5, 10, 20, 50, 200)
"""Calibration draws per test point in Bansal, Chen, Scott, Section 5."""
BETAS = tuple(round(0.05 * i, 2) for i in range(21))
"""Degradations that the slider goes through; they hold the paper's values."""
COARSE_BETAS = BETAS[::5]
"""Degradations computed first, so that a trained picture appears soon."""
POWER_BETAS = (0.0, 0.4, 0.7, 0.9, 1.0)
"""Degradations at which power is counted."""
GAMMAS, POWER_GAMMAS = 17, 11
"""Strengths, at least: the papers' own and some between them; and those with power among them."""
_BENT = {"anisotropic": 0.3}
"""The grid is even in the root of gamma, where curves climb; in this power for others."""
RECIPE = PRESETS["many"]
"""A network for all gammas: a second's training, and ten times as much of it as the paper's."""
M, N = 50, 1000
"""Calibration draws and test points that the page opens with, the paper's."""
TRIALS, FEW = 200, 20
"""Trials behind a point of a power curve, the papers' number; and behind the first picture."""
BINS = 20
POINTS: Array = np.linspace(0, 1, 51)
"""Points at which the ranks' distribution function is drawn."""
REACH = 4.0
"""Standard deviations of the score that a histogram shows."""
P_ROWS, _P_WIDE = 51_200, 20_480  # rows of p that are scored; of 200 numbers and more
_WIDE = 200
Q_ROWS = 4096  # rows of q
_AUC = 10_240  # rows of p behind an AUC: 50,000 say the same to three digits
_SCORE_BINS = 40
_LEVELS = 20  # of the oracle
_FAR = 100.0  # standard deviations of a score that anyone looks at
_FEW_ROWS = 2048  # of p that the oracle scores, while a network learns
TRIALS_AT_ONCE = 10  # trials tested at once
ScoreOfRows = Callable[[Sequence[float], Joint, int], Array]
"""Scores (B, n) of rows at some betas and the gamma of an index."""


@dataclass(frozen=True, kw_only=True)
class Learned(Specification, spec="conformal_network"):
    """Networks behind the page: one for all gammas, or one for each."""

    benchmark: Gaussian
    recipe: Classifier = RECIPE
    each: bool = False
    seed: int = 0

    @property
    def gammas(self) -> tuple[float, ...]:
        """Every gamma on the page; the papers' alone where each has its own network."""
        return self._finer(GAMMAS)

    @property
    def power_gammas(self) -> tuple[float, ...]:
        """The gammas at which power is measured."""
        return self._finer(POWER_GAMMAS)

    def _finer(self, count: int) -> tuple[float, ...]:
        power = _BENT.get(self.benchmark.perturbation, 0.5)
        grid = refine_grid(self.benchmark.gammas, 1 if self.each else count, power)
        return tuple(map(float, grid))

    @property
    def over(self) -> OverGamma:
        """The benchmark from which a network for all gammas learns."""
        return OverGamma(of=self.benchmark, grid=self.gammas)

    @property
    def trainings(self) -> tuple[Training, ...]:
        """All trainings: one for all gammas, or one for each."""
        sources = [Simulated(benchmark=self.over, gamma=0.0)]
        if self.each:
            sources = [Simulated(benchmark=self.benchmark, gamma=gamma) for gamma in self.gammas]
        return tuple(
            Training(source=source, recipe=self.recipe, seed=self.seed) for source in sources
        )

    def training(self, gamma: float) -> Training:
        """Training of the network that scores at this gamma, the nearest on the grid."""
        nearest = min(self.gammas, key=lambda each: abs(each - gamma))
        return self.trainings[self.gammas.index(nearest) if self.each else 0]

    def score(self, store: Store) -> ScoreOfRows:
        """Score of rows at any beta and gamma; trains the network unless the store has it."""
        networks: list[TrainedClassifier] = trained_scores.trained_together(store, self.trainings)
        if self.each:
            return lambda betas, rows, index: networks[index].grid(betas, rows)
        over = self.over
        return lambda betas, rows, index: networks[0].grid(
            betas, Joint(rows.theta, over.at(rows.x, index))
        )


class Conformal(NamedTuple):
    """Result at G gammas and B betas: scores of fixed draws, n of q ranked among m of p each."""

    gammas: Array
    """(G,)."""
    betas: Array
    """(B,); a single 0 for the oracle, which is not degraded."""
    pool: int
    """Scores of p; where they are fewer than n m, counts are drawn from their law."""
    auc: Array
    """(G, B) of p against q."""
    mean: Array
    """(G, B) mean rank: tends to 1 - AUC (Lemma 3.3)."""
    counts: Array
    """(G, B, BINS) of the ranks."""
    difference: Array
    """(G, B, POINTS) share of ranks up to u, less u."""
    ks: Array
    """(G, B) p-value of the exact test, beside those of two others."""
    anderson_darling: Array
    cramer_von_mises: Array
    unsettled: Array
    """(G, B) mean of F(1 - F), F the share of p below a draw of q: the noise of few draws."""
    density_p: Array
    """(G, B, score bins) of the standardised score; a network's scale means nothing."""
    density_q: Array
    threshold: Array
    """(G, B) C2ST's threshold on it."""
    multiple: Array
    """(G, B) statistic, p-value below."""
    multiple_p: Array
    accuracy: Array
    """(G, B) of C2ST, its p-value, and that with each class's own variance."""
    accuracy_p: Array
    accuracy_own_p: Array
    oracle_auc: Array
    """(G,) of the log ratio; empty where nobody knows it."""
    oracle: Array
    """(G, levels) median log ratio of equally filled bins, or empty."""
    against: Array
    """(G, B, 3, levels) the 10, 50 and 90% quantiles of the score there, or empty."""


@dataclass(frozen=True, kw_only=True)
class ConformalStudy(Study[Conformal], spec="conformal"):
    """Every view of the page but power, at each gamma and beta."""

    learned: Learned
    n: int = N
    m: int = M
    betas: tuple[float, ...] = BETAS

    @property
    def label(self) -> str:
        count = f", {len(self.betas)} betas first" * (self.betas != BETAS)
        return f"Conformal ranks, {self.learned.benchmark.label}{count}"

    @property
    def trainings(self) -> tuple[Training, ...]:
        """Trainings of the networks that score."""
        return self.learned.trainings

    def compute(self, store: Store, report: Report) -> Conformal:
        """Score draws at every gamma and beta; train the networks that the store lacks."""
        score = self.learned.score(store)
        wide = sum(self.learned.benchmark.dims) >= _WIDE
        return _evaluate(self, score, (_P_WIDE if wide else P_ROWS, Q_ROWS), report)

    def first(self) -> ConformalStudy:
        """The same study at a few betas."""
        return replace(self, betas=COARSE_BETAS)


def shipped_networks() -> tuple[Learned, ...]:
    """Networks of the page's opening view, of every perturbation and size."""
    every = (
        Gaussian(perturbation=name, dim_x=dim_x, dim_theta=dim_theta)
        for dim_x, dim_theta in DIMENSIONS
        for name in get_args(Perturbation)
    )
    return tuple(Learned(benchmark=one) for one in every)


def shipped() -> tuple[ConformalStudy, ...]:
    """Studies that ship with NPT Lab."""
    return tuple(ConformalStudy(learned=one) for one in shipped_networks())


def by_oracle(study: ConformalStudy) -> Conformal | None:
    """The same views of the optimal score log p - log q, from fewer draws.

    It takes a fraction of a second and no network. None where the benchmark has no log ratio.
    """
    benchmark, gammas = study.learned.benchmark, study.learned.gammas
    if benchmark.curved:
        return None

    def score(betas: Sequence[float], rows: Joint, index: int) -> Array:
        del betas
        ratio = benchmark.log_ratio(rows.theta, rows.x, gammas[index])
        assert ratio is not None
        return ratio[None]

    quiet = replace(study, betas=(0.0,))
    return _evaluate(quiet, score, oracle_rows(study), lambda fraction, live: None)


def oracle_rows(study: ConformalStudy) -> tuple[int, int]:
    """Draws of p and of q that the oracle scores, while a network learns."""
    return _FEW_ROWS, max(study.n, _FEW_ROWS)


def _evaluate(
    study: ConformalStudy, score: ScoreOfRows, rows: tuple[int, int], report: Report
) -> Conformal:
    """Result of a score at every gamma; `rows` are numbers of rows of p and of q."""
    n_p, n_q = rows
    learned = study.learned
    still = p_ignores_gamma(learned.benchmark, learned.gammas)
    looked: list[dict[str, Array]] = []
    p = draw_p(learned, learned.gammas[0], n_p)
    for index, gamma in enumerate(learned.gammas):
        p = p if still else draw_p(learned, gamma, n_p)
        looked.append(evaluate_score(study, score, index, p, draw_q(learned, gamma, n_q)))
        report((index + 1) / len(learned.gammas), {"gamma": gamma})
    return Conformal(np.array(learned.gammas), np.array(study.betas), n_p, **stack_by_name(looked))


def evaluate_score(
    study: ConformalStudy, score: ScoreOfRows, index: int, p: Joint, q: Joint
) -> dict[str, Array]:
    """Evaluate a score on draws of p and q, at the gamma of an index.

    Args:
        study: the study.
        score: the score function.
        index: index of gamma.
        p: rows of p.
        q: rows of q.

    Returns:
        Arrays of `Conformal` at this gamma, by field name.
    """
    benchmark, gamma = study.learned.benchmark, study.learned.gammas[index]
    scored = BlockScores(score(study.betas, p, index), score(study.betas, q, index))
    log_ratios = _log_ratios(benchmark, gamma, p, q) if len(study.betas) > 1 else None
    return {
        **_ranked(study, scored),
        **summarise_scores(study, scored),
        **score_quantiles(log_ratios, scored),
    }


def p_ignores_gamma(benchmark: Gaussian, gammas: Sequence[float]) -> bool:
    """Whether p does not depend on gamma."""
    first, last = (
        sampling.pairs(benchmark, gamma, 32, common(0, "still")).theta
        for gamma in (gammas[0], gammas[-1])
    )
    return bool(np.array_equal(first, last))


def draw_p(learned: Learned, gamma: float, n_p: int) -> Joint:
    """Draw rows of p."""
    return sampling.pairs(learned.benchmark, gamma, n_p, common(learned.seed, "conformal", "p"))


def draw_q(learned: Learned, gamma: float, n_q: int) -> Joint:
    """Draw rows of q."""
    rng = common(learned.seed, "conformal", "q")
    x = learned.benchmark.x(n_q, rng)
    return Joint(learned.benchmark.q(x, gamma, rng), x)


def _ranked(study: ConformalStudy, scored: BlockScores) -> dict[str, Array]:
    """Ranks of n draws of q at every beta, with the same draws, calibration sets and tie-breakers.

    Calibration sets are disjoint, as the exact test needs, where there are n m scores of p; beyond
    that counts are drawn from the pooled law (trials.py bounds its error).
    """
    n, m, seed = study.n, study.m, study.learned.seed
    disjoint = n * m <= scored.p.shape[1]
    method = methods.Uniform(m=m)
    u, ks, unsettled = [], [], []
    for p, q in zip(scored.p, scored.q[:, :n], strict=True):
        law = statistics.PooledLaw(p[:_AUC])
        pool = None if disjoint else statistics.PooledLaw(p)
        # One stream for every gamma and beta: curves move, noise does not.
        outcome = method.test(BlockScores(p, q, pool), stream(seed, "workbench", m))
        u.append(outcome.arrays["u"])
        ks.append(outcome.pvalue)
        below = law.cdf(q)[0]
        unsettled.append((below * (1 - below)).mean())
    ranks = np.stack(u)
    edges = np.linspace(0, 1, BINS + 1)
    return {
        "mean": _single(ranks.mean(-1)),
        "counts": np.stack([np.histogram(row, edges)[0] for row in ranks]).astype(np.int16),
        "difference": statistics.ecdf_difference(ranks, POINTS).astype(np.float16),
        "ks": np.array(ks, float),
        "anderson_darling": statistics.anderson_darling(ranks).pvalue,
        "cramer_von_mises": statistics.cramer_von_mises(ranks).pvalue,
        "unsettled": _single(unsettled),
    }


def _single(values: object) -> NDArray[np.float32]:
    return np.asarray(values, dtype=np.float32)


def summarise_scores(study: ConformalStudy, scored: BlockScores) -> dict[str, Array]:
    """Histograms of the score, and outcomes of the other tests on n draws from each side."""
    n, seed = study.n, study.learned.seed
    middle, sd = _scale(scored)
    edges = np.linspace(-REACH, REACH, _SCORE_BINS + 1)
    p, q = (
        _densities((side[:, :Q_ROWS] - middle) / sd, edges).astype(np.float16)
        for side in (scored.p, scored.q)
    )
    few = BlockScores(scored.p[:, :n], scored.q[:, :n])
    multiple = methods.Multiple().test(few, stream(seed, "workbench", "multiple"))
    c2st = methods.C2ST().test(few, stream(seed, "workbench", "c2st"))
    return {
        "auc": _single(statistics.auc(scored.p[:, :_AUC], scored.q)),
        "density_p": p,
        "density_q": q,
        "threshold": _single((-middle / sd)[:, 0]),
        "multiple": _single(multiple.statistic),
        "multiple_p": multiple.pvalue,
        "accuracy": _single(c2st.statistic),
        "accuracy_p": c2st.pvalue,
        "accuracy_own_p": c2st.arrays["pvalue_per_class"],
    }


def _scale(scored: BlockScores) -> tuple[Array, Array]:
    """Median and robust sd (B, 1) of the scores of p and q, equally many of each."""
    both = np.concatenate([scored.p[:, :Q_ROWS], scored.q[:, :Q_ROWS]], axis=1)
    low, middle, high = np.quantile(both, [0.25, 0.5, 0.75], axis=1, keepdims=True)
    return middle, np.maximum((high - low) / 1.349, 1e-12)


def _densities(standard: Array, edges: Array) -> Array:
    counts = np.stack([np.histogram(row, edges)[0] for row in standard])
    return counts / (standard.shape[1] * np.diff(edges))


def _log_ratios(
    benchmark: Gaussian, gamma: float, p: Joint, q: Joint
) -> tuple[Array, Array] | None:
    """log p - log q of the first rows of both; None where it is unknown."""
    ratios = [benchmark.log_ratio(side.theta[:Q_ROWS], side.x[:Q_ROWS], gamma) for side in (p, q)]
    return None if ratios[0] is None or ratios[1] is None else (ratios[0], ratios[1])


def score_quantiles(ratios: tuple[Array, Array] | None, scored: BlockScores) -> dict[str, Array]:
    """Quantiles of the standardised score in equally filled bins of log p - log q."""
    if ratios is None:
        nothing = np.zeros(0, np.float32)
        return {"oracle_auc": nothing, "oracle": nothing, "against": nothing}
    middle, sd = _scale(scored)
    score = (np.concatenate([scored.p[:, :Q_ROWS], scored.q[:, :Q_ROWS]], axis=1) - middle) / sd
    oracle = np.concatenate(ratios)
    parts = np.array_split(np.argsort(oracle, kind="stable"), _LEVELS)
    levels = np.array([np.median(oracle[part]) for part in parts])
    cuts = np.stack([np.quantile(score[:, part], [0.1, 0.5, 0.9], axis=1) for part in parts], -1)
    return {
        "oracle_auc": _single(statistics.auc(*ratios)),
        "oracle": _single(levels),
        # (B, 3, levels); a threshold far out may push a score beyond half precision
        "against": np.moveaxis(np.clip(cuts, -_FAR, _FAR), 0, 1).astype(np.float16),
    }


def rank_variance(unsettled: Array) -> Array:
    """Var(U | test point), averaged over test points, at each m of the paper: (..., len(PAPER_M)).

    Binomial counts of m and a uniform tie-breaker, over m + 1. The part of a rank's variance that
    more calibration draws remove; it falls as 1/m.
    """
    m = np.array(PAPER_M)
    return np.asarray((m * unsettled[..., None] + 1 / 12) / (m + 1) ** 2)
