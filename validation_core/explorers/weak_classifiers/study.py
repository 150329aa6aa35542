"""Study of the Weak classifiers page: one sample and the power of every test, over the grid of
boundary shifts and turns.

Lines are closed forms (`benchmarks.boundary`); points are trials that run the very tests of the
registry on drawn samples. The calibration scores of Uniform(m) follow a normal law here, so that
their counts below a test score are drawn as binomials from it, which is exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from validation_core import sampling
from validation_core.benchmarks import boundary
from validation_core.methods.c2st import C2ST
from validation_core.methods.multiple import Multiple
from validation_core.methods.uniform import Uniform
from validation_core.rng import stream
from validation_core.scores import LinearBoundary, apply
from validation_core.statistics import NormalLaw
from validation_core.study import Report, Study
from validation_core.types import Array, BlockScores, TwoSamples

if TYPE_CHECKING:
    from validation_core.store import Store

SIZES = (50, 100, 200, 500, 1000)
"""Draws of each class, n."""
DRAWS = (1, 2, 5, 10, 20, 50, 200)
"""Calibration draws of Uniform for each test point, m."""
OFFSETS: Array = np.linspace(0, 2, 41).round(2)
"""Shifts c of the boundary along theta, in posterior standard deviations."""
DEGREES: Array = np.arange(0, 91, 5).astype(float)
"""Turns of the boundary."""
ANGLES: Array = np.deg2rad(DEGREES)
LEVEL = 0.05


class RejectionRates(NamedTuple):
    """Values of each test over the grid: power, or the p-values of one sample.

    c2st and per_class (offsets, angles); multiple and uniform (angles,): no shift moves them.
    """

    c2st: Array
    per_class: Array
    multiple: Array
    uniform: Array


class BoundaryPower(NamedTuple):
    """Power of every test at one sample size, over the whole grid."""

    exact: RejectionRates
    """Closed forms; NaN for Uniform, which has none."""
    c2st: Array
    """(offsets, angles) rejections among the trials."""
    per_class: Array
    """(offsets, angles)."""
    multiple: Array
    """(angles,)."""
    uniform: Array
    """(draws, angles) for each m."""
    trials: int

    def rejections(self, m: int) -> RejectionRates:
        """Rejections of every test among the trials, with Uniform(m)."""
        return RejectionRates(
            self.c2st, self.per_class, self.multiple, self.uniform[DRAWS.index(m)]
        )


@dataclass(frozen=True, kw_only=True)
class BoundaryPowerStudy(Study[BoundaryPower], spec="boundary_power"):
    """Power at one sample size, by closed forms and trials; it takes seconds, so it ships."""

    gpu: ClassVar[bool] = False
    n: int
    seed: int = 0

    @property
    def label(self) -> str:
        return f"Weak classifiers, n = {self.n}"

    def compute(self, store: Store, report: Report) -> BoundaryPower:
        del store
        trials, uniform = _trials_for(self.n), []
        nominal, per_class = count_accuracy_rejections(self.n, trials, self.seed)
        for i, m in enumerate(DRAWS):
            report((i + 1) / (len(DRAWS) + 1), {})
            multiple, of_m = count_rank_rejections(self.n, m, trials, self.seed)
            uniform.append(of_m)
        exact = closed_form_power(self.n)
        return BoundaryPower(exact, nominal, per_class, multiple, np.stack(uniform), trials)


def shipped() -> tuple[BoundaryPowerStudy, ...]:
    """Studies that ship: every sample size of the page."""
    return tuple(BoundaryPowerStudy(n=n) for n in SIZES)


def draw(n: int, seed: int) -> TwoSamples:
    """Draw one sample: n draws of p and n of q."""
    rng = stream(seed, "toy", "sample", n)
    return sampling.blocks(boundary.Boundary(), boundary.GAMMA, n, n, rng)


def boundary_scores(
    blocks: TwoSamples, angle: float, offset: float = 0.0, trials: int = 1
) -> BlockScores:
    """Scores of both sides, (trials, n) each, with the exact law of p's scores."""
    flat = apply(LinearBoundary(offset=offset, angle=angle), blocks)
    law = NormalLaw(float(boundary.score_means(offset, angle).p))
    return BlockScores(flat.p.reshape(trials, -1), flat.q.reshape(trials, -1), law)


def false_alarms(n: int) -> RejectionRates:
    """Rejections of a correct q: Uniform's are its level, since it is exact."""
    return closed_form_power(n, 0.0)._replace(uniform=np.full(len(ANGLES), LEVEL))


def closed_form_power(n: int, gamma: float = boundary.GAMMA) -> RejectionRates:
    """Power where it has a closed form; Uniform(m) has none (NaN).

    Args:
        n: draws of each class.
        gamma: bias of q; at 0 q is correct, and these are each test's false alarms.
    """
    offset, angle = OFFSETS[:, None], ANGLES
    return RejectionRates(
        boundary.c2st_power(offset, angle, n, gamma=gamma, alpha=LEVEL),
        boundary.c2st_power(offset, angle, n, gamma=gamma, alpha=LEVEL, per_class=True),
        boundary.multiple_power(ANGLES, n, gamma=gamma, alpha=LEVEL),
        np.full(len(ANGLES), np.nan),
    )


def sample_pvalues(blocks: TwoSamples, m: int, seed: int) -> RejectionRates:
    """p-values of every test on one sample, at every shift and turn."""
    c2st, per_class = _accuracy_pvalues(blocks, 1)
    multiple, uniform = _rank_pvalues(blocks, m, 1, seed)
    return RejectionRates(c2st[..., 0], per_class[..., 0], multiple[..., 0], uniform[..., 0])


def count_accuracy_rejections(n: int, trials: int, seed: int) -> tuple[Array, Array]:
    """Rejections of C2ST among the trials (offsets, angles), nominal and per class."""
    nominal, per_class = _accuracy_pvalues(_drawn(n, trials, seed), trials)
    return (nominal <= LEVEL).sum(-1), (per_class <= LEVEL).sum(-1)


def count_rank_rejections(n: int, m: int, trials: int, seed: int) -> tuple[Array, Array]:
    """Rejections of Multiple and of Uniform(m) among the trials (angles,)."""
    multiple, uniform = _rank_pvalues(_drawn(n, trials, seed), m, trials, seed)
    return (multiple <= LEVEL).sum(-1), (uniform <= LEVEL).sum(-1)


def _trials_for(n: int) -> int:
    """Number of trials within a page's patience: 400, half as many for large samples."""
    return int(np.clip(80_000 // n, 200, 400))


def _drawn(n: int, trials: int, seed: int) -> TwoSamples:
    rng = stream(seed, "toy", "trials", n)
    return sampling.blocks(boundary.Boundary(), boundary.GAMMA, n * trials, n * trials, rng)


def _accuracy_pvalues(blocks: TwoSamples, trials: int) -> tuple[Array, Array]:
    """P-values of C2ST, nominal and per class: (offsets, angles, trials) each."""
    shape = (len(OFFSETS), len(ANGLES), trials)
    nominal, per_class = np.empty(shape), np.empty(shape)
    test, unused = C2ST(), stream(0, "unused")
    for column, angle in enumerate(ANGLES):
        shifted = [boundary_scores(blocks, angle, offset, trials) for offset in OFFSETS]
        scored = BlockScores(
            np.concatenate([scores.p for scores in shifted]),
            np.concatenate([scores.q for scores in shifted]),
        )
        outcome = test.test(scored, unused)
        nominal[:, column] = outcome.pvalue.reshape(-1, trials)
        per_class[:, column] = outcome.arrays["pvalue_per_class"].reshape(-1, trials)
    return nominal, per_class


def _rank_pvalues(blocks: TwoSamples, m: int, trials: int, seed: int) -> tuple[Array, Array]:
    multiple, uniform = (np.empty((len(ANGLES), trials)) for _ in range(2))
    for row, angle in enumerate(ANGLES):
        scored = boundary_scores(blocks, angle, trials=trials)
        multiple[row] = Multiple().test(scored, stream(seed, "toy", "multiple", row)).pvalue
        uniform[row] = Uniform(m=m).test(scored, stream(seed, "toy", "uniform", m, row)).pvalue
    return multiple, uniform


def at(rates: RejectionRates, offset: float, degrees: float) -> list[float]:
    """Value of each test at the nearest grid point."""
    row, column = np.abs(OFFSETS - offset).argmin(), np.abs(DEGREES - degrees).argmin()
    return [float(of[(row, column) if of.ndim == 2 else (column,)]) for of in rates]
