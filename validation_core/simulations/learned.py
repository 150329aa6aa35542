"""The divergence as a classifier sees it: what is left where q gives draws and no density.

A classifier learns to tell the truth from q's draws on simulated tables; its logit, on rows that
it has not seen, estimates log p - log q up to what it overlooks. Beside it stands the divergence
from the densities themselves, of the same rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from validation_core import keys, models, sampling, scores
from validation_core.benchmarks.bayes_model import BayesModel
from validation_core.diagnosis.learning import RECIPE
from validation_core.keys import Specification
from validation_core.models import Simulated, Training, trace
from validation_core.rng import stream
from validation_core.scores.classifier import TableClassifier
from validation_core.scores.ratio import Ratio
from validation_core.simulations.runs import InferenceRun
from validation_core.statistics import divergence as nats
from validation_core.study import Report
from validation_core.types import Array

if TYPE_CHECKING:
    from validation_core.store import Store

DRAWS = 20
"""Of q at each simulation, to learn from and to test on."""
TESTED = 1000
"""Fresh simulations on which both divergences are measured."""


@dataclass(frozen=True, eq=False)
class DivergenceComparison:
    """Both divergences of the same n simulations, in nats."""

    estimate: nats.Divergence
    """By the classifier: at most the divergence of p and q, but for noise."""
    exact: nats.Divergence
    """By the log densities."""
    d_estimate: Array
    """What each simulation adds to the estimate (n,)."""
    d_exact: Array
    """And to the divergence itself (n,)."""
    auc: nats.MeanInterval
    """Chance that the classifier ranks the truth above a draw of q at its x."""
    auc_exact: nats.MeanInterval
    """The same of the log ratio itself, which nothing learnt surpasses."""
    slope: float
    """What logits were multiplied with: below 1, the classifier was too sure of itself."""


@dataclass(frozen=True, kw_only=True)
class LearnedDivergence(Specification, spec="learned"):
    """A run's divergence, estimated as if its q had no density."""

    of: InferenceRun
    """The run, whose model, inference, iterations and seed these are; its data sets play no part.
    """
    rows: int = 1000
    """Simulations that the classifier learns from."""

    @property
    def label(self) -> str:
        return f"Divergence by a classifier, {self.of.label}"

    @cached_property
    def source(self) -> Simulated:
        """The run's model and inference as a benchmark, at its iterations.

        Raises:
            ValueError: for an inference with options that no benchmark has.
        """
        benchmark = BayesModel.about(self.of.model, self.of.inference)
        gamma = 0.0 if benchmark.inference == "exact" else float(self.of.iterations)
        return Simulated(benchmark=benchmark, gamma=gamma)

    @cached_property
    def training(self) -> Training:
        """The classifier."""
        recipe = TableClassifier(n=self.rows, k=DRAWS, recipe=RECIPE)
        return Training(source=self.source, recipe=recipe, seed=self.of.seed)

    @property
    def needs(self) -> frozenset[str]:
        """The classifier's key: the engine waits for a task that makes it."""
        return frozenset({keys.key(self.training)})

    def done(self, store: Store) -> bool:
        return store.has("results", self.key)

    def run(self, store: Store, report: Report) -> None:
        """Train where the store lacks the classifier, and compare on fresh simulations.

        Raises:
            ValueError: where inference fails on some data sets, or has no benchmark.
        """
        network = models.trained(store, self.training, trace(report))
        models.ready(store, self.source.benchmark)
        seed, (benchmark, gamma) = self.of.seed, (self.source.benchmark, self.source.gamma)
        table = sampling.table(benchmark, gamma, TESTED, DRAWS, stream(seed, "learned", "table"))
        logits, ratios = (
            scores.apply(score, table) for score in (network.at(), Ratio(benchmark, gamma))
        )
        sides = [
            (side.truth[0].astype(float), side.draws[0].astype(float)) for side in (logits, ratios)
        ]
        calibrated = nats.from_logits(*sides[0], stream(seed, "learned", "halves"))
        d_exact = sides[1][0] - sides[1][1].mean(1)
        arrays = {
            "d_estimate": calibrated.d,
            "d_exact": d_exact,
            "slope": np.array(calibrated.slope),
            "auc": np.array(nats.means(nats.paired(*sides[0]))),
            "auc_exact": np.array(nats.means(nats.paired(*sides[1]))),
        }
        for name, d in (("estimate", calibrated.d), ("exact", d_exact)):
            arrays[name] = np.array(nats.divergence(d, stream(seed, "learned", name)), float)
        meta = {"label": self.label}
        store.save("results", self.key, arrays, spec=keys.text(self), meta=meta)
        report(1.0, {})

    def load(self, store: Store) -> DivergenceComparison | None:
        """The stored result, or None."""
        stored = store.load("results", self.key)
        if stored is None:
            return None
        arrays = stored.arrays
        return DivergenceComparison(
            _divergence(arrays["estimate"]),
            _divergence(arrays["exact"]),
            arrays["d_estimate"],
            arrays["d_exact"],
            nats.MeanInterval(*arrays["auc"]),
            nats.MeanInterval(*arrays["auc_exact"]),
            float(arrays["slope"]),
        )


def _divergence(numbers: Array) -> nats.Divergence:
    fields = dict(zip(nats.Divergence._fields, numbers.tolist(), strict=True))
    return nats.Divergence(**fields)._replace(infinite=int(fields["infinite"]))
