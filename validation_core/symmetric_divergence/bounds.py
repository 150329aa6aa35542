"""Two bounds on log p(y) of a run, the ELBO and its mirror: their gap is the divergence.

At a draw of q the log weight log p(z, y) - log q(z | y) is the ELBO on average, below log p(y);
at the true z, a draw of the posterior, it lies above on average. Weighing M draws, or annealing a
chain of T states, brings both towards log p(y).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
from scipy.special import logsumexp

from validation_core.bayes.annealing import AnnealedWeights, annealed_weights
from validation_core.statistics import divergence_mean
from validation_core.statistics.divergence_mean import MeanInterval
from validation_core.study import Report, Study
from validation_core.symmetric_divergence.runs import MS, InferenceRun, RunResult
from validation_core.types import Array

if TYPE_CHECKING:
    from validation_core.store import Store

STATES = (1, 2, 4, 8, 16, 32, 64)
"""States of a chain between q and the posterior."""


@dataclass(frozen=True, kw_only=True)
class BoundsStudy(Study[AnnealedWeights], spec="annealed"):
    """Annealed log weights of a run's truths and draws, for each of STATES: (len(STATES), K)."""

    gpu: ClassVar[bool] = False

    of: InferenceRun

    @property
    def label(self) -> str:
        return f"Annealing from {self.of.label}"

    @property
    def needs(self) -> frozenset[str]:
        """It waits while the run is made."""
        return self.of.makes

    def compute(self, store: Store, report: Report) -> AnnealedWeights:
        """Anneal chains from the run's own truths and draws, with every number of states.

        Raises:
            ValueError: where q is no normal.
        """
        self.of.run(store, lambda fraction, live: None)
        result = self.of.load(store)
        assert result is not None, "it has just run"
        if result.q is None:
            raise ValueError(
                f"Chains are annealed from a normal q; got {self.of.inference.label}. Take "
                f"another inference."
            )
        starts = result.theta, result.weights.drawn
        found = []
        for place, states in enumerate(STATES):
            rngs = (self._streams("truth", states), self._streams("draw", states))
            found.append(annealed_weights(self.of.model, result.q, result.x, starts, states, rngs))
            report((place + 1) / len(STATES), {})
        return AnnealedWeights(*(np.stack(side) for side in zip(*found, strict=True)))

    def _streams(self, side: str, states: int) -> list[np.random.Generator]:
        return self.of.streams(f"annealing, {side}, {states}")


class Bounds(NamedTuple):
    """Bounds on log p(y) over X numbers of draws or states, for K' data sets with a q."""

    upper: Array
    """From the truth (X, K'), in nats; above log p(y) on average."""
    lower: Array
    """From q's draw (X, K'); its mean over data sets is the ELBO at the first X."""

    @property
    def gap(self) -> MeanInterval:
        """The divergence (X,): the mean of upper - lower over data sets, with its interval."""
        return divergence_mean.means(self.upper - self.lower)


def bounds(result: RunResult, annealed: AnnealedWeights) -> tuple[Bounds, Bounds]:
    """Bounds by weighing MS draws, and by annealing over STATES, where inference gave a q."""
    ok = result.ok
    weighed = [
        np.stack([logsumexp(side[ok, :m], axis=1) - np.log(m) for m in MS])
        for side in (result.weights.truth, result.weights.draws)
    ]
    return Bounds(*weighed), Bounds(annealed.truth[:, ok], annealed.draws[:, ok])
