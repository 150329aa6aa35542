"""Power on the sphere flow: measured and expected."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from validation_core import sampling, statistics
from validation_core.benchmarks import boundary
from validation_core.benchmarks.sphere_flow import SphereFlow
from validation_core.explorers.conformal_power import conformal_pvalues
from validation_core.explorers.highdim import LEVEL
from validation_core.explorers.highdim.sphere_flow import (
    BETAS,
    LAW_TRIALS,
    METHODS,
    ROWS_AT_ONCE,
    SphereStudy,
    grid_along_direction,
    noisy_scores,
    standardised_distance,
)
from validation_core.rng import common, stream
from validation_core.study import Report
from validation_core.sweep.trials import POOL
from validation_core.types import Array, BlockScores


def measured_rejections(study: SphereStudy, report: Report) -> NDArray[np.int16]:
    """Of each method at each beta and gamma: (methods, B, G)."""
    benchmark, n = study.benchmark, study.n
    gammas = np.array(benchmark.gammas)
    rng = stream(study.seed, "sphere", "pool")
    pool = sampling.pairs(benchmark, 0.0, POOL * n, rng)
    calibration = grid_along_direction(benchmark, pool.theta, pool.x)[None]
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
    """Rejections in some trials: (methods, B, G)."""
    benchmark, n = study.benchmark, study.n
    rng = stream(study.seed, "sphere", "trials", chunk.start)
    p = sampling.pairs(benchmark, 0.0, n * len(chunk), rng)
    of_p = noisy_scores(
        study, gammas, grid_along_direction(benchmark, p.theta, p.x)[None], "p", chunk.start
    )
    x = benchmark.x(n * len(chunk), rng)
    draws = [
        benchmark.q(x, gamma, common(study.seed, "sphere", "trial q", chunk.start))
        for gamma in gammas
    ]
    along = np.stack([grid_along_direction(benchmark, theta, x) for theta in draws])
    of_q = noisy_scores(study, gammas, along, "q", chunk.start)
    out = np.zeros((len(METHODS), len(BETAS), len(gammas)), np.int16)
    for g in range(len(gammas)):
        for b in range(len(BETAS)):
            rows = (side[g, b].reshape(len(chunk), n) for side in (of_p, of_q))
            tested = conformal_pvalues(METHODS, BlockScores(*rows), laws[g][b], study.seed, chunk)
            out[:, b, g] = (tested <= LEVEL).sum(-1)
    return out


def expected_rejections(study: SphereStudy) -> Array:
    """Power by the law of the scores: (methods, B, G).

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
    """Uniform's, by trials whose scores are normal: counts of calibration scores are binomial."""
    rng = stream(study.seed, "sphere", "law", f"{d:.6g}")
    scores = rng.standard_normal((LAW_TRIALS, study.n)) - d / 2
    blocks = BlockScores(np.empty(0), scores, statistics.NormalLaw(d / 2))
    pvalue = METHODS[2].test(blocks, rng).pvalue
    return float((pvalue <= LEVEL).mean())


def shipped() -> tuple[SphereStudy, ...]:
    """What the page opens with: both definitions of the angle, both flows."""
    return tuple(
        SphereStudy(benchmark=SphereFlow(points=points, flow=flow))
        for flow in ("trained", "closed form")
        for points in ("even", "paper")
    )
