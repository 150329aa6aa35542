"""Study of the sphere flow: two principal components of 100 dimensions, and power of tests.

Bansal, Chen, Scott, Conformal C2ST, Appendix C, Fig. 4 and 5. The score is the log ratio itself
plus N(0, beta^2), the paper's way to weaken it here. Under p it is N(gamma^2 / 2, gamma^2 +
beta^2), under q its negative: two normals a distance d = gamma^2 / sqrt(gamma^2 + beta^2) apart,
so that every test's power is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from validation_core import sampling, statistics
from validation_core.benchmarks import boundary
from validation_core.benchmarks.sphere_flow import SphereFlow
from validation_core.explorers.highdim.rejections import LEVEL, count_rejections
from validation_core.methods import C2ST, DC, SBC, TARP, AutoML, Multiple, Uniform
from validation_core.methods.base import Method
from validation_core.rng import common, stream
from validation_core.scores import trained_scores
from validation_core.scores.trained_scores import Training
from validation_core.study import Report, Study
from validation_core.sweep.plan import Sweep
from validation_core.sweep.presets import NETWORKS, SMALL_MMD
from validation_core.sweep.trials import POOL, TrialDesign
from validation_core.types import Array, BlockScores

if TYPE_CHECKING:
    from validation_core.store import Store

METHODS: tuple[Method, ...] = (C2ST(), Multiple(), Uniform(m=50))
"""Tests of Fig. 5 that read the noisy score."""
BETAS = (0.0, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5, 2.0)
"""Standard deviations of the score's noise."""
EDGES: Array = np.linspace(-4, 4, 41)
"""Bins along g'z, and of the score in its own standard deviations."""
_SHOWN, HISTOGRAM_DRAWS = 600, 20_000  # draws in the picture; behind a histogram
LAW_TRIALS = 2000  # of Uniform under the exact law of the scores
ROWS_AT_ONCE = 10  # trials tested at once


class SphereView(NamedTuple):
    """Result at G gammas and B betas: S draws shown, T trials of n draws of each side."""

    gammas: Array
    """(G,)."""
    betas: Array
    """(B,)."""
    shares: Array
    """(3,) of the variance of theta on its first principal components."""
    p: Array
    """(S, 2) draws on the first two."""
    q: Array
    """(G, S, 2) of the same base draws, moved."""
    along_p: NDArray[np.int16]
    """(bins,) counts of g'z, the one direction in which p and q differ."""
    along_q: NDArray[np.int16]
    """(G, bins)."""
    score_p: NDArray[np.int16]
    """(G, B, bins) counts of the noisy score, in its standard deviations about 0."""
    score_q: NDArray[np.int16]
    """(G, B, bins)."""
    auc: Array
    """(G, B) of the noisy score, measured; Phi(d / sqrt 2) is exact."""
    rejections: NDArray[np.int16]
    """(methods, B, G) of the trials at level 5%."""
    trials: int
    expected: Array
    """(methods, B, G) power by the law of the scores; see `expected`."""


@dataclass(frozen=True, kw_only=True)
class SphereStudy(Study[SphereView], spec="sphere"):
    """Draws, scores and power of the sphere flow at every gamma and beta."""

    benchmark: SphereFlow
    n: int = 1000
    trials: int = 200
    seed: int = 0

    @property
    def label(self) -> str:
        return f"High dimensions, {self.benchmark.label}"

    @property
    def trainings(self) -> tuple[Training, ...]:
        """Training of the flow, where it is a trained one."""
        behind = trained_scores.network_behind(self.benchmark)
        return () if behind is None else (behind,)

    def compute(self, store: Store, report: Report) -> SphereView:
        """Draw, score and test; train the flow unless the store has it."""
        trained_scores.ready(store, self.benchmark)
        gammas, betas = np.array(self.benchmark.gammas), np.array(BETAS)
        rejections = measured_rejections(self, report)
        base_p, base_q = base_coordinates(self, HISTOGRAM_DRAWS)
        sides = {"p": base_p, "q": base_q}
        scores = [noisy_scores(self, gammas, base, side) for side, base in sides.items()]
        of_p, of_q = (histogram_counts(each / _sd(gammas, betas)[..., None]) for each in scores)
        auc = statistics.auc(*(each.reshape(-1, HISTOGRAM_DRAWS) for each in scores))
        return SphereView(
            gammas,
            betas,
            *project_to_principal_components(self),
            histogram_counts(base_p[0]),
            histogram_counts(base_q),
            of_p,
            of_q,
            np.asarray(auc, np.float32).reshape(len(gammas), len(betas)),
            rejections,
            self.trials,
            expected_rejections(self).astype(np.float32),
        )


def other_tests() -> Sweep:
    """Power of Fig. 5's tests that read no given score: of tables, of samples, or learnt here."""
    benchmark = SphereFlow()
    return Sweep(
        benchmark=benchmark,
        methods=(SBC(), TARP(), DC(net="paper"), DC(), AutoML(), SMALL_MMD),
        gammas=benchmark.gammas,
        design=TrialDesign(trials=100, n=1000, k=100),
        networks=NETWORKS,
    )


def standardised_distance(gammas: Array, betas: Array) -> Array:
    """Distance d = gamma^2 / sqrt(gamma^2 + beta^2) of the score's means, in its sds: (G, B)."""
    return np.asarray(gammas[:, None] ** 2 / _sd(gammas, betas))


def exact_auc(gammas: Array, betas: Array) -> Array:
    """Exact AUC Phi(d / sqrt 2) of the noisy score: (G, B)."""
    return np.asarray(ndtr(standardised_distance(gammas, betas) / np.sqrt(2)))


def _sd(gammas: Array, betas: Array) -> Array:
    """Standard deviation of the score (G, B); 1 where it is constant."""
    sd = np.hypot(gammas[:, None], betas)
    return np.where(sd > 0, sd, 1.0)


def project_to_principal_components(study: SphereStudy) -> tuple[Array, Array, Array]:
    """Shares of variance, and draws of p, and of q at every gamma, on two principal components."""
    benchmark = study.benchmark
    rng = stream(study.seed, "sphere", "components")
    many = sampling.pairs(benchmark, 0.0, 4000, rng).theta
    _, sizes, axes = np.linalg.svd(many - many.mean(0), full_matrices=False)

    def seen(theta: Array) -> Array:
        return ((theta - many.mean(0)) @ axes[:2].T).astype(np.float16)

    p = sampling.pairs(benchmark, 0.0, _SHOWN, common(study.seed, "sphere", "p"))
    x = benchmark.x(_SHOWN, common(study.seed, "sphere", "x"))
    q = [benchmark.q(x, gamma, common(study.seed, "sphere", "q")) for gamma in benchmark.gammas]
    shares = (sizes[:3] ** 2 / (sizes**2).sum()).astype(np.float32)
    return shares, seen(p.theta), np.stack([seen(theta) for theta in q])


def coordinate_along_shift(benchmark: SphereFlow, theta: Array, x: Array) -> Array:
    """Base coordinate g'z of rows: (n,)."""
    return np.asarray(benchmark.base(theta, x) @ benchmark.shift)


def base_coordinates(study: SphereStudy, n: int) -> tuple[Array, Array]:
    """g'z of n draws of p (1, n) and of q at every gamma (G, n), through the flow and back."""
    benchmark = study.benchmark
    p = sampling.pairs(benchmark, 0.0, n, stream(study.seed, "sphere", "scored p"))
    x = benchmark.x(n, stream(study.seed, "sphere", "scored x"))
    q = [
        coordinate_along_shift(
            benchmark, benchmark.q(x, gamma, common(study.seed, "sphere", "scored q")), x
        )
        for gamma in benchmark.gammas
    ]
    return coordinate_along_shift(benchmark, p.theta, p.x)[None], np.stack(q)


def noisy_scores(study: SphereStudy, gammas: Array, along: Array, *names: str | int) -> Array:
    """Scores gamma^2 / 2 - gamma g'z + beta N(0, 1), from g'z (1 or G, n): (G, B, n)."""
    noise = stream(study.seed, "sphere", "noise", *names).standard_normal(along.shape[-1])
    ratio = gammas[:, None] ** 2 / 2 - gammas[:, None] * along
    return np.asarray(ratio[:, None] + np.array(BETAS)[:, None] * noise)


def histogram_counts(values: Array) -> NDArray[np.int16]:
    """Counts of each row (..., n) in the bins; values beyond count in the end bins."""
    inside = np.clip(values, EDGES[0], EDGES[-1]).reshape(-1, values.shape[-1])
    rows = [np.histogram(row, EDGES)[0] for row in inside]
    return np.array(rows, np.int16).reshape(*values.shape[:-1], -1)


def measured_rejections(study: SphereStudy, report: Report) -> NDArray[np.int16]:
    """Measured rejections of each method: (methods, B, G)."""
    benchmark, n = study.benchmark, study.n
    gammas = np.array(benchmark.gammas)
    rng = stream(study.seed, "sphere", "pool")
    pool = sampling.pairs(benchmark, 0.0, POOL * n, rng)
    calibration = coordinate_along_shift(benchmark, pool.theta, pool.x)[None]
    laws = [
        [statistics.PooledLaw(row) for row in at_gamma]
        for at_gamma in noisy_scores(study, gammas, calibration, "pool")
    ]
    out = np.zeros((len(METHODS), len(BETAS), len(gammas)), np.int16)
    for first in range(0, study.trials, ROWS_AT_ONCE):
        chunk = range(first, min(first + ROWS_AT_ONCE, study.trials))
        out += _rejected(study, gammas, laws, chunk)
        report(0.9 * chunk.stop / study.trials, {})
    return out


def _rejected(
    study: SphereStudy, gammas: Array, laws: Sequence[Sequence[statistics.PooledLaw]], chunk: range
) -> NDArray[np.int16]:
    """Rejections in a chunk of trials: (methods, B, G)."""
    benchmark, n = study.benchmark, study.n
    rng = stream(study.seed, "sphere", "trials", chunk.start)
    p = sampling.pairs(benchmark, 0.0, n * len(chunk), rng)
    of_p = noisy_scores(
        study, gammas, coordinate_along_shift(benchmark, p.theta, p.x)[None], "p", chunk.start
    )
    x = benchmark.x(n * len(chunk), rng)
    draws = [
        benchmark.q(x, gamma, common(study.seed, "sphere", "trial q", chunk.start))
        for gamma in gammas
    ]
    along = np.stack([coordinate_along_shift(benchmark, theta, x) for theta in draws])
    of_q = noisy_scores(study, gammas, along, "q", chunk.start)
    out = np.zeros((len(METHODS), len(BETAS), len(gammas)), np.int16)
    for g in range(len(gammas)):
        for b in range(len(BETAS)):
            p_scores, q_scores = of_p[g, b], of_q[g, b]
            out[:, b, g] = count_rejections(
                METHODS, p_scores, q_scores, study.seed, chunk, law=laws[g][b]
            )
    return out


def expected_rejections(study: SphereStudy) -> Array:
    """Power by the exact law of the scores: (methods, B, G).

    C2ST exactly, Multiple by its normal limit (`benchmarks.boundary`: scores of variance 1 whose
    means lie d / 2 on either side of the threshold); Uniform by trials under that law.
    """
    d = standardised_distance(np.array(study.benchmark.gammas), np.array(BETAS)).T
    n, middle = study.n, boundary.MIDPOINT
    powers = [
        (
            boundary.c2st_power(each / 2 - middle, 0.0, n, gamma=each),
            boundary.multiple_power(0.0, n, gamma=each),
            _uniform_power(study, each),
        )
        for each in d.ravel().tolist()
    ]
    expected = np.array(powers, float).T.reshape(len(METHODS), *d.shape)
    expected[0, 0, 0] = 0  # a constant score is on one side of the threshold: never a hit more
    return expected


def _uniform_power(study: SphereStudy, d: float) -> float:
    """Power of Uniform from trials with normal scores: calibration counts are binomial."""
    rng = stream(study.seed, "sphere", "law", f"{d:.6g}")
    scores = rng.standard_normal((LAW_TRIALS, study.n)) - d / 2
    blocks = BlockScores(np.empty(0), scores, statistics.NormalLaw(d / 2))
    pvalue = METHODS[2].test(blocks, rng).pvalue
    return float((pvalue <= LEVEL).mean())


def shipped() -> tuple[SphereStudy, ...]:
    """Studies that ship with NPT Lab: both definitions of the angle, both flows."""
    return tuple(
        SphereStudy(benchmark=SphereFlow(points=points, flow=flow))
        for flow in ("trained", "closed form")
        for points in ("even", "paper")
    )
