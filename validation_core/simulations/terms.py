"""The terms d_k of one run, for every M: their spread, and the null that signs give their mean."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core.rng import stream
from validation_core.simulations.plan import tested
from validation_core.simulations.runs import MS, RunResult, InferenceRun
from validation_core.statistics import divergence
from validation_core.types import Array

FLIPS = 1999
BINS = 48
_CLOSEST = 1e-3  # nats: below that two posteriors are the same to any reader
_ROUNDING = 1e-9  # nats: below that terms are what rounding leaves of 0


class TermSpread(NamedTuple):
    """Terms of the data sets that have a finite one, over MS; the rest are only counted."""

    places: NDArray[np.int64]
    """Which data sets (n,)."""
    d: Array
    """(len(MS), n), in nats."""
    mean: Array
    """(len(MS),), with its normal 95% interval."""
    low: Array
    high: Array
    tail: Array
    """Shape of the tail of |d| (len(MS),), NaN where they are too few to say."""
    signs: Array
    """Sum of d over the root of the sum of squares (len(MS),): signs alone change it."""
    null: Array
    """The same with signs flipped at random (len(MS), FLIPS)."""
    pvalue: Array
    auc: Array
    """How often the truth's log weight is above that of q's draw (len(MS),), ties half."""
    without: int
    """Data sets without q."""
    infinite: int
    """Data sets with a q of which some log density is not finite."""

    @property
    def none(self) -> NDArray[np.bool_]:
        """Where all d are 0 but for rounding: q is p."""
        return np.asarray(np.abs(self.d).max(-1) <= _ROUNDING)

    @property
    def heavy(self) -> NDArray[np.bool_]:
        """Where the variance of d may be infinite, so that intervals say too little."""
        return np.asarray(self.tail > divergence.HEAVY)


def spread(found: RunResult, seed: int = 0) -> TermSpread | None:
    """Of a run; None where fewer than two data sets have a finite d for every M.

    What is left out depends on the data alone where it has no q, so that the test keeps its level
    for the rest; the mean is then that of the data sets on which inference did not fail.
    """
    truth, draws = found.weights.truth, found.weights.draws
    d = divergence.importance_weighted(truth, draws, MS)
    finite = np.flatnonzero(np.isfinite(d).all(0))
    without = int((~found.ok).sum())
    if len(finite) < 2:
        return None
    d = d[:, finite]
    means = divergence.means(d)
    # One draw of q beside each truth: relabelling the two flips the sign of d.
    nothing = np.zeros((*d.shape, 1))
    test = divergence.relabelled(d, nothing, stream(seed, "signs"), relabelings=FLIPS)
    root = np.sqrt(np.square(d).mean(-1) / d.shape[1])  # the same whatever the signs
    scale = np.where(root > 0, root, 1.0)
    return TermSpread(
        finite,
        d,
        means.estimate,
        means.low,
        means.high,
        np.array([_tail(np.abs(row)) for row in d]),
        np.asarray(test.statistic) / scale,
        test.null / scale[:, None],
        np.asarray(test.pvalue),
        np.asarray(divergence.paired_auc(d, nothing)),
        without,
        len(found.ok) - without - len(finite),
    )


def _tail(sizes: Array) -> float:
    return divergence.tail_shape(sizes) if sizes.max() > _ROUNDING else float("nan")


class SymlogScale(NamedTuple):
    """A symmetric-log axis: linear between -unit and unit, logarithmic beyond, in one formula."""

    unit: float
    """A power of ten, in nats."""

    def at(self, nats: Array) -> Array:
        """Where values lie: about their number of powers of ten above the unit, signed."""
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


def scale(d: Array) -> SymlogScale:
    """An axis for terms (..., n), on which the row with the least spread is still seen."""
    typical = float(np.median(np.abs(d), axis=-1).min())
    return SymlogScale(10.0 ** int(np.floor(np.log10(max(typical, _CLOSEST)))))


def counts(d: Array, axis: SymlogScale) -> tuple[Array, NDArray[np.intp]]:
    """Bins as wide as one another on the axis, 0 among their edges: edges (B + 1,), (..., B)."""
    places = axis.at(d)
    low, high = min(float(places.min()), -0.5), max(float(places.max()), 0.5)
    width = (high - low) / BINS
    first, last = int(np.floor(low / width)), int(np.ceil(high / width))
    edges = width * np.arange(first, last + 1)
    at = np.clip(np.floor(places / width).astype(int) - first, 0, last - first - 1)
    rows = at.reshape(-1, at.shape[-1])
    histograms = np.stack([np.bincount(row, minlength=last - first) for row in rows])
    return edges, histograms.reshape(*d.shape[:-1], last - first)


def mean(run: InferenceRun, found: RunResult) -> float:
    """A run's divergence in nats over the data sets with a q, at the M it was made for."""
    d = divergence.importance_weighted(
        found.weights.truth, found.weights.draws, (tested(run.inference),)
    )
    return float(np.mean(d[0, found.ok])) if found.ok.any() else float("nan")
