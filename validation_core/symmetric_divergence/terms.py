"""The terms d_k of one run, for every M: their spread, and the null of their mean by
random signs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri

from validation_core.bayes import Model
from validation_core.bayes.posterior import Posterior
from validation_core.rng import stream
from validation_core.statistics import (
    divergence_mean,
    divergence_rows,
    divergence_test,
    pareto_tail,
)
from validation_core.study import Report, Study
from validation_core.symmetric_divergence.nats_text import ROUNDING
from validation_core.symmetric_divergence.runs import (
    MS,
    InferenceRun,
    RunResult,
    importance_sample_size,
    simulate_datasets,
    summarise_terms,
)
from validation_core.text import count_text
from validation_core.types import Array, Float, Integers

if TYPE_CHECKING:
    from validation_core.store import Store


FLIPS = 1999
BINS = 48
_CLOSEST = 1e-3  # nats: below that two posteriors are the same to any reader
_OUTLINE = 61  # points of an outline


class TermSpread(NamedTuple):
    """Terms over MS of the data sets where all are finite; the others are only counted."""

    places: Integers
    """Which data sets (n,)."""
    d: Array
    """(len(MS), n), in nats."""
    mean: Array
    """(len(MS),), with its normal 95% interval."""
    low: Array
    high: Array
    tail: Array
    """Tail index of |d| (len(MS),), NaN where there are too few terms."""
    signs: Array
    """Statistic: sum of d over the root of the sum of squares (len(MS),)."""
    null: Array
    """The same statistic with signs flipped at random (len(MS), FLIPS)."""
    pvalue: Array
    auc: Array
    """Chance that the truth's log weight exceeds that of q's draw (len(MS),), ties half."""
    without: int
    """Data sets without q."""
    infinite: int
    """Data sets with a q of which some log density is not finite."""

    @property
    def none(self) -> NDArray[np.bool_]:
        """Whether all d are 0 but for rounding, as for q = p."""
        return np.asarray(np.abs(self.d).max(-1) <= ROUNDING)

    @property
    def heavy(self) -> NDArray[np.bool_]:
        """Whether d may have infinite variance, which makes the intervals too short."""
        return np.asarray(self.tail > pareto_tail.HEAVY)


def spread(found: RunResult, seed: int = 0) -> TermSpread | None:
    """Spread of a run's terms, and their null by sign flips.

    Data sets without q are left out, which depends on the data alone: the test keeps its level for
    the rest, and the mean is over data sets on which inference did not fail.

    Args:
        found: the run's result.
        seed: of the sign flips.

    Returns:
        The spread; None with fewer than two data sets of finite d for every M.
    """
    truth, draws = found.weights.truth, found.weights.draws
    d = divergence_rows.importance_weighted(truth, draws, MS)
    finite = np.flatnonzero(np.isfinite(d).all(0))
    without = int((~found.ok).sum())
    if len(finite) < 2:
        return None
    d = d[:, finite]
    means = divergence_mean.means(d)
    # One draw of q beside each truth: relabelling the two flips the sign of d.
    nothing = np.zeros((*d.shape, 1))
    test = divergence_test.relabelled(d, nothing, stream(seed, "signs"), relabelings=FLIPS)
    root = np.sqrt(np.square(d).mean(-1) / d.shape[1])  # the same whatever the signs
    scale = np.where(root > 0, root, 1.0)
    return TermSpread(
        places=finite,
        d=d,
        mean=means.estimate,
        low=means.low,
        high=means.high,
        tail=np.array([_tail(np.abs(row)) for row in d]),
        signs=np.asarray(test.statistic) / scale,
        null=test.null / scale[:, None],
        pvalue=np.asarray(test.pvalue),
        auc=np.asarray(divergence_rows.paired_auc(d, nothing)),
        without=without,
        infinite=len(found.ok) - without - len(finite),
    )


def _tail(sizes: Array) -> float:
    return pareto_tail.tail_shape(sizes) if sizes.max() > ROUNDING else float("nan")


class SymlogScale(NamedTuple):
    """A symmetric-log axis: linear between -unit and unit, logarithmic beyond, in one formula."""

    unit: float
    """A power of ten, in nats."""

    def at(self, nats: Array) -> Array:
        """Axis positions of values: signed, about the number of powers of ten above the unit."""
        return np.asarray(np.arcsinh(np.asarray(nats, dtype=np.float64) / self.unit) / np.log(10))

    def ticks(self, low: float, high: float, most: int = 9) -> Array:
        """Powers of ten and 0 within [low, high], in nats: at most about `most` of them."""
        apart = (self.at(np.array([high]))[0] - self.at(np.array([low]))[0]) / (1.5 * most)
        first = round(np.log10(self.unit))
        first += int(max(0.0, np.ceil(apart - 0.38)))  # else its name would run into that of 0
        up, down = (self._powers(first, reach) for reach in (high, -low))
        step = int(np.ceil((len(up) + len(down)) / (most - 1))) or 1
        return np.concatenate([-down[::step][::-1], [0.0], up[::step]])

    @staticmethod
    def _powers(first: int, reach: float) -> Array:
        last = int(np.floor(np.log10(reach))) if reach > 0 else first - 1
        return np.power(10.0, np.arange(first, last + 1))


def term_scale(d: Array) -> SymlogScale:
    """An axis for terms (..., n) on which even the row of least spread is visible."""
    typical = float(np.median(np.abs(d), axis=-1).min())
    return SymlogScale(10.0 ** int(np.floor(np.log10(max(typical, _CLOSEST)))))


def histogram_on_scale(d: Array, axis: SymlogScale) -> tuple[Array, NDArray[np.intp]]:
    """Histogram with bins of equal width on the axis, 0 an edge: (B + 1,) and (..., B)."""
    places = axis.at(d)
    low, high = min(float(places.min()), -0.5), max(float(places.max()), 0.5)
    width = (high - low) / BINS
    first, last = int(np.floor(low / width)), int(np.ceil(high / width))
    edges = width * np.arange(first, last + 1)
    at = np.clip(np.floor(places / width).astype(int) - first, 0, last - first - 1)
    rows = at.reshape(-1, at.shape[-1])
    histograms = np.stack([np.bincount(row, minlength=last - first) for row in rows])
    return edges, histograms.reshape(*d.shape[:-1], last - first)


class RunNats(NamedTuple):
    """Divergence of a run in nats, at the inference's own M, over the data sets with a q."""

    mean: float
    median: float
    few: bool
    """Whether a few data sets carry the mean: most of it is one's, or the tail of |d| is heavy."""
    auc: float
    """Chance that the truth's log weight exceeds that of q's draw, ties half."""

    @property
    def typical(self) -> float:
        """The mean; the median where a few data sets carry the mean."""
        return self.median if self.few else self.mean


def run_nats(run: InferenceRun, found: RunResult) -> RunNats | None:
    """Nats of a run; None where fewer than two data sets have a q, or a term is not finite."""
    d = divergence_rows.importance_weighted(
        found.weights.truth, found.weights.draws, (importance_sample_size(run.inference),)
    )[:, found.ok]
    if d.shape[1] < 2 or not np.isfinite(d).all():
        return None
    summary = summarise_terms(d)
    heavy = _tail(np.abs(d[0])) > pareto_tail.HEAVY
    auc = divergence_rows.paired_auc(d, np.zeros((*d.shape, 1)))
    return RunNats(
        float(summary.mean[0]),
        float(summary.median[0]),
        heavy or bool(summary.dominated[0]),
        float(auc[0]),
    )


DRAWS = 240
CHAINS = 4
"""Chains that start at each truth; their first states are left out."""
BLOCK = 25
"""Data sets that one task draws for, all at once: each block is shown as soon as it is there."""
MOST = 101
"""Data sets that one figure holds."""


class DatasetTerms(NamedTuple):
    """Algorithm 1 for every data set: log densities at the true z and at q's draw z~."""

    log_p: Array
    """log p(z, y) (K, 2)."""
    log_q: Array
    """log q(z | y) (K, 2), NaN where there is no q or none whose density is kept."""
    weights: Array
    """log p - log q (K, 2)."""
    d: Array
    """Difference of both log weights (K,), in nats."""
    places: Integers
    """Data sets with a finite d, in order of d, at most MOST of them: the smallest, the largest
    and the median (the middle one of these) are always there."""


def numbers(run: InferenceRun, found: RunResult) -> DatasetTerms:
    """Quantities of Algorithm 1 for a run."""
    z = np.stack([found.theta, found.weights.drawn], 1)  # (K, 2, D)
    weights = np.stack([found.weights.truth[:, 0], found.weights.draws[:, 0]], 1)
    d = divergence_rows.importance_weighted(found.weights.truth, found.weights.draws, (1,))[0]
    q = closed_form_q(run, found)
    log_q = np.full_like(weights, np.nan) if q is None else q.log_density(z)
    ranked = np.argsort(d, kind="stable")
    ranked = ranked[np.isfinite(d[ranked])]
    few = np.linspace(0, len(ranked) - 1, min(MOST, len(ranked)))
    return DatasetTerms(weights + log_q, log_q, weights, d, ranked[np.round(few).astype(int)])


def closed_form_q(run: InferenceRun, found: RunResult) -> Posterior | None:
    """The posterior q if its density is known after the run: a normal, or the exact one."""
    if found.q is not None:
        return found.q
    return run.model.exact(found.x) if run.inference.is_exact else None


class _PosteriorSample(NamedTuple):
    """Draws z (V, S, D) of V posteriors, with the acceptance rate of each (V,)."""

    z: Array
    acceptance: Array


@dataclass(frozen=True, kw_only=True)
class PosteriorDraws(Study[_PosteriorSample], spec="opened"):
    """Exact posterior draws for some data sets of a model and seed, shared by all inferences."""

    gpu: ClassVar[bool] = False

    model: Model
    seed: int
    which: tuple[int, ...]
    """Data sets, by number."""
    draws: int = DRAWS

    @property
    def label(self) -> str:
        return f"Posterior of {self.model.label}, {count_text(len(self.which), 'data set')}"

    def compute(self, store: Store, report: Report) -> _PosteriorSample:
        """Run chains from the truths, and keep the last `draws` states of each data set."""
        from validation_core.bayes import hmc

        pairs = simulate_datasets(self.model, self.seed, self.which)
        streams = _streams(self)
        chains = hmc.draws(self.model, pairs.x, pairs.theta, self.draws, streams, chains=CHAINS)
        return _PosteriorSample(chains.z, chains.acceptance)


def tasks(run: InferenceRun, places: Integers) -> tuple[PosteriorDraws, ...]:
    """Blocks of draws for these data sets, in the order in which the figure needs them.

    Where all data sets of a run fit into a figure, runs of the same model and seed share their
    blocks.
    """
    chosen = np.arange(run.datasets) if run.datasets <= MOST else np.sort(places)
    blocks = [chosen[i : i + BLOCK] for i in range(0, len(chosen), BLOCK)]
    middle = places[len(places) // 2] if len(places) else -1
    blocks.sort(key=lambda block: middle not in block)
    return tuple(
        PosteriorDraws(model=run.model, seed=run.seed, which=tuple(map(int, block)))
        for block in blocks
    )


def exact(task: PosteriorDraws) -> Array | None:
    """Draws (len(which), draws, D) from the closed-form posterior, if there is one."""
    posterior = task.model.exact(simulate_datasets(task.model, task.seed, task.which).x)
    return None if posterior is None else posterior.sample(task.draws, _streams(task))


def _streams(task: PosteriorDraws) -> list[np.random.Generator]:
    return [stream(task.seed, "posterior", k) for k in task.which]


def normal_ellipses(mean: Array, scale: Array, share: float) -> Array:
    """Ellipses that hold this share of a normal's mass, in two of its coordinates.

    Args:
        mean: (V, 2).
        scale: rows of the scale of both coordinates (V, 2, D): their covariance is rows rows^T.
        share: of the mass inside.

    Returns:
        Closed outlines (V, points, 2), NaN where the normal is.
    """
    turn = np.linspace(0, 2 * np.pi, _OUTLINE)
    covariance = scale @ np.swapaxes(scale, 1, 2)
    ok = np.asarray(np.isfinite(mean).all(1) & np.isfinite(covariance).all((1, 2)))
    values, vectors = np.linalg.eigh(np.where(ok[:, None, None], covariance, np.eye(2)))
    root = vectors * np.sqrt(np.maximum(values, 0))[:, None]
    reach = np.sqrt(-2 * np.log1p(-share))  # the squared radius is exponential, of mean 2
    outlines = mean[:, None] + reach * np.stack([np.cos(turn), np.sin(turn)], 1) @ np.swapaxes(
        root, 1, 2
    )
    return np.where(ok[:, None, None], outlines, np.nan)


Width = Literal["narrow", "wide"]

NATS = np.logspace(-3, 1, 81)
"""Nats, twenty to each power of ten."""
INTERVAL_LEVEL = 0.9
"""Level of the intervals whose misses are counted: a tenth of them misses where q = p."""


class NormalPair(NamedTuple):
    """Differences between N(0, 1) and a normal q, for each divergence (...)."""

    mean: Float
    """Mean of q."""
    sd: Float
    """Standard deviation of q."""
    auc: Float
    """AUC of the optimal classifier: chance that it scores a draw of p above one of q."""
    accuracy: Float
    """Accuracy of the optimal classifier, on as many draws of p as of q."""
    distance: Float
    """Total variation distance."""
    misses: Float
    """Share of draws of p outside q's central 90% interval."""


def shifted_normal_pair(nats: ArrayLike) -> NormalPair:
    """The pair N(0, 1) and q = N(delta, 1), whose divergence is delta^2 nats.

    Raises:
        ValueError: for a divergence below 0.
    """
    delta = np.sqrt(_checked(nats))
    reach = ndtri((1 + INTERVAL_LEVEL) / 2)
    accuracy = ndtr(delta / 2)
    misses = ndtr(-reach - delta) + ndtr(-reach + delta)
    return NormalPair(
        delta, np.ones_like(delta), ndtr(delta / np.sqrt(2)), accuracy, 2 * accuracy - 1, misses
    )


def scaled_normal_pair(nats: ArrayLike, width: Width = "narrow") -> NormalPair:
    """N(0, 1) and q = N(0, r^2) or N(0, 1 / r^2), (r^2 + 1 / r^2 - 2) / 2 nats apart.

    Raises:
        ValueError: for a divergence below 0.
    """
    ratio = np.exp(np.arcsinh(np.sqrt(_checked(nats) / 2)))
    sd = 1 / ratio if width == "narrow" else ratio
    inner = 2 * ndtr(_crossing(ratio)) - 1  # of the wider one, where the narrower is denser
    distance = 2 * ndtr(_crossing(ratio) * ratio) - 1 - inner
    misses = 2 * ndtr(-ndtri((1 + INTERVAL_LEVEL) / 2) * sd)
    # The ratio of two such draws is Cauchy: the best score is a draw's size, or its opposite.
    auc = 2 / np.pi * np.arctan(ratio)
    return NormalPair(np.zeros_like(sd), sd, auc, (1 + distance) / 2, distance, misses)


def nearest(nats: float) -> int:
    """Index of the grid value nearest to a divergence, by its logarithm; 0 if not above 0."""
    if not nats > 0:
        return 0
    return int(np.abs(np.log(NATS) - np.log(min(nats, 1e300))).argmin())


def _crossing(ratio: Float) -> Float:
    """Where the densities of N(0, 1) and of the narrower N(0, 1 / r^2) cross."""
    size = np.log(ratio)
    with np.errstate(invalid="ignore"):
        crossing = np.sqrt(2 * size / np.expm1(2 * size))
    return np.where(size > 0, crossing, 1.0)


def _checked(nats: ArrayLike) -> Float:
    values = np.asarray(nats, dtype=np.float64)
    if not (values >= 0).all():
        raise ValueError(
            f"A divergence is 0 or more nats; got {float(values.min())}. Clip an estimate's "
            f"noise at 0 first"
        )
    return values
