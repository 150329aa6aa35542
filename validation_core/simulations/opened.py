"""One data set of a run opened up: draws of its posterior, and the arithmetic of its d.

The true z of simulated data is an exact draw of their posterior. A Markov chain that starts there
and leaves the posterior alone is therefore in its law from the first state on: no warm-up, no
doubt about convergence. Who picks a data set by its d has looked at z, though, and the first
states remember z: they are left out of what is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core import keys
from validation_core.bayes import Model
from validation_core.bayes.posterior import Posterior
from validation_core.keys import Specification
from validation_core.models import covariates
from validation_core.rng import stream
from validation_core.simulations.runs import RunResult, InferenceRun, simulated
from validation_core.statistics import divergence
from validation_core.study import Report
from validation_core.types import Array

if TYPE_CHECKING:
    from validation_core.store import Store

DRAWS = 240
CHAINS = 4
"""From each truth, whose first states are left out."""
BLOCK = 25
"""Data sets that one task draws for, all at once: each block is shown as soon as it is there."""
MOST = 101
"""Data sets that one figure holds."""


class DatasetTerms(NamedTuple):
    """Algorithm 1 of every data set: logarithms at the true z, and at q's draw z~."""

    log_p: Array
    """log p(z, y) (K, 2)."""
    log_q: Array
    """log q(z | y) (K, 2), NaN where there is no q or none whose density is kept."""
    weights: Array
    """log p - log q (K, 2)."""
    d: Array
    """Their difference (K,), in nats."""
    places: NDArray[np.int64]
    """Data sets with a finite d, in order of d, at most MOST of them: the smallest, the largest
    and the median (the middle one of these) are always there."""


def numbers(run: InferenceRun, found: RunResult) -> DatasetTerms:
    """Of a run. Where the exact posterior is q, its covariates must have been lent."""
    z = np.stack([found.theta, found.weights.drawn], 1)  # (K, 2, D)
    weights = np.stack([found.weights.truth[:, 0], found.weights.draws[:, 0]], 1)
    d = divergence.importance_weighted(found.weights.truth, found.weights.draws, (1,))[0]
    q = density(run, found)
    log_q = np.full_like(weights, np.nan) if q is None else q.log_density(z)
    ranked = np.argsort(d, kind="stable")
    ranked = ranked[np.isfinite(d[ranked])]
    few = np.linspace(0, len(ranked) - 1, min(MOST, len(ranked)))
    return DatasetTerms(weights + log_q, log_q, weights, d, ranked[np.round(few).astype(int)])


def density(run: InferenceRun, found: RunResult) -> Posterior | None:
    """q, where its density is known after the run: a normal, or the exact posterior."""
    if found.q is not None:
        return found.q
    return run.model.exact(found.x) if run.inference.name == "exact" else None


@dataclass(frozen=True, kw_only=True)
class PosteriorDraws(Specification, spec="opened"):
    """Posterior draws of some data sets of a model and seed, whatever is inferred from them."""

    gpu: ClassVar[bool] = False

    model: Model
    seed: int
    which: tuple[int, ...]
    """Data sets, by number."""
    draws: int = DRAWS

    @property
    def label(self) -> str:
        n = len(self.which)
        return f"Posterior of {self.model.label}, {n} data set{'s' * (n != 1)}"

    def done(self, store: Store) -> bool:
        return store.has("results", self.key)

    def run(self, store: Store, report: Report) -> None:
        """Draw, and keep it."""
        from validation_core.bayes import hmc

        covariates(store, self.model)
        pairs = simulated(self.model, self.seed, self.which)
        streams = _streams(self)
        chains = hmc.draws(self.model, pairs.x, pairs.theta, self.draws, streams, chains=CHAINS)
        arrays = {"z": chains.z, "acceptance": chains.acceptance}
        store.save("results", self.key, arrays, spec=keys.text(self), meta={"label": self.label})
        report(1.0, {})

    def load(self, store: Store) -> Array | None:
        """The stored draws (len(which), draws, D), or None."""
        stored = store.load("results", self.key)
        return None if stored is None else stored.arrays["z"]


def tasks(run: InferenceRun, places: NDArray[np.int64]) -> tuple[PosteriorDraws, ...]:
    """Blocks that hold these data sets, in the order in which the figure's middle needs them.

    Where all data sets of a run fit into a figure, runs of the same model and seed share them.
    """
    chosen = np.arange(run.datasets) if run.datasets <= MOST else np.sort(places)
    blocks = [chosen[i : i + BLOCK] for i in range(0, len(chosen), BLOCK)]
    middle = places[len(places) // 2] if len(places) else -1
    blocks.sort(key=lambda block: middle not in block)
    return tuple(
        PosteriorDraws(model=run.model, seed=run.seed, which=tuple(map(int, block))) for block in blocks
    )


def exact(task: PosteriorDraws) -> Array | None:
    """Draws (len(which), draws, D) where the posterior has a closed form; covariates are lent."""
    posterior = task.model.exact(simulated(task.model, task.seed, task.which).x)
    return None if posterior is None else posterior.sample(task.draws, _streams(task))


def _streams(task: PosteriorDraws) -> list[np.random.Generator]:
    return [stream(task.seed, "posterior", k) for k in task.which]


def ellipses(mean: Array, scale: Array, share: float, points: int = 61) -> Array:
    """Where the density of a normal's two coordinates falls off to leave this share inside.

    Args:
        mean: (V, 2).
        scale: rows of the scale of both coordinates (V, 2, D): their covariance is rows rows^T.
        share: of the mass inside.
        points: along each outline.

    Returns:
        Closed outlines (V, points, 2), NaN where the normal is.
    """
    turn = np.linspace(0, 2 * np.pi, points)
    covariance = scale @ np.swapaxes(scale, 1, 2)
    ok = np.asarray(np.isfinite(mean).all(1) & np.isfinite(covariance).all((1, 2)))
    values, vectors = np.linalg.eigh(np.where(ok[:, None, None], covariance, np.eye(2)))
    root = vectors * np.sqrt(np.maximum(values, 0))[:, None]
    reach = np.sqrt(-2 * np.log1p(-share))  # the squared radius is exponential, of mean 2
    outlines = mean[:, None] + reach * np.stack([np.cos(turn), np.sin(turn)], 1) @ np.swapaxes(
        root, 1, 2
    )
    return np.where(ok[:, None, None], outlines, np.nan)


def frame(parts: Sequence[Array]) -> tuple[Array, Array]:
    """Centres and half widths (V, 2) of boxes that hold all points (V, L, 2) of all parts."""
    points = np.concatenate(parts, axis=1)
    with np.errstate(invalid="ignore"):
        low, high = np.nanmin(points, axis=1), np.nanmax(points, axis=1)
    half = (high - low) / 2
    least = 1e-9 * np.maximum(np.abs(low) + np.abs(high), 1.0)
    return (low + high) / 2, 1.05 * np.maximum(half, least)


def ticks(low: float, high: float, most: int = 4) -> Array:
    """Round numbers within [low, high], at most `most` and at least two."""
    raw = (high - low) / most
    power = 10.0 ** np.floor(np.log10(raw))
    for step in (power * k for k in (1, 2, 2.5, 5, 10)):
        first, last = np.ceil(low / step), np.floor(high / step)
        if last - first < most:
            return np.asarray(step * np.arange(first, last + 1))
    raise AssertionError("ten times the power of ten below a fourth has at most four")
