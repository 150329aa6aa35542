"""The divergence estimated by a classifier, for a q that gives draws but no density.

A classifier learns to separate the truth from q's draws on simulated tables; on held-out rows its
logit estimates log p - log q, as far as it has learnt it. The divergence from the densities
themselves is computed on the same rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from validation_core import sampling, scores
from validation_core.benchmarks.bayes_model import BayesModel
from validation_core.keys import Specification
from validation_core.rng import stream
from validation_core.scores import trained_scores
from validation_core.scores.classifier import TableClassifier
from validation_core.scores.log_ratio import Ratio
from validation_core.scores.trained_scores import Simulated, Training, trace
from validation_core.scores.upload_training import upload_training
from validation_core.statistics import classifier_divergence, divergence_mean, divergence_rows
from validation_core.study import Report, Study
from validation_core.symmetric_divergence.runs import InferenceRun
from validation_core.types import Array

if TYPE_CHECKING:
    from validation_core.store import Store

DRAWS = 20
"""Draws of q at each simulation, for training and for testing."""
TESTED = 1000
"""Fresh simulations on which both divergences are measured."""


@dataclass(frozen=True, eq=False)
class DivergenceComparison:
    """Both estimates of the divergence from the same n simulations, in nats."""

    estimate: divergence_mean.Divergence
    """Estimate by the classifier: below the divergence by what it misses, or above it where its
    logits are badly calibrated."""
    exact: divergence_mean.Divergence
    """Estimate by the log densities."""
    d_estimate: Array
    """Term of each simulation in the classifier's estimate (n,)."""
    d_exact: Array
    """Term of each simulation in the estimate by log densities (n,)."""
    auc: divergence_mean.MeanInterval
    """Chance that the classifier ranks the truth above a draw of q at its x."""
    auc_exact: divergence_mean.MeanInterval
    """The same for the log ratio itself, the optimal score."""
    slope: float
    """Factor that recalibrates the logits: below 1, the classifier was overconfident."""


@dataclass(frozen=True, kw_only=True)
class ClassifierDivergence(Study[DivergenceComparison], spec="learned"):
    """A run's divergence, estimated as if its q had no density."""

    of: InferenceRun
    """The run, whose model, inference, iterations and seed are used; its data sets are not."""
    rows: int = 1000
    """Simulations that the classifier learns from."""

    @property
    def label(self) -> str:
        return f"Divergence by a classifier, {self.of.label}"

    @property
    def obstacle(self) -> str | None:
        """Why no benchmark draws q of this run, or None."""
        try:
            BayesModel.about(self.of.model, self.of.inference)
        except ValueError as error:
            return str(error)
        return None

    @cached_property
    def source(self) -> Simulated:
        """The benchmark of the run's model and inference, at its iterations.

        Raises:
            ValueError: for an inference with options that no benchmark has.
        """
        benchmark = BayesModel.about(self.of.model, self.of.inference)
        gamma = 0.0 if benchmark.inference == "exact" else float(self.of.iterations)
        return Simulated(benchmark=benchmark, gamma=gamma)

    @cached_property
    def training(self) -> Training:
        """Training of the classifier."""
        recipe = TableClassifier(n=self.rows, k=DRAWS, recipe=upload_training().classifier)
        return Training(source=self.source, recipe=recipe, seed=self.of.seed)

    @property
    def trainings(self) -> tuple[Specification, ...]:
        return (self.training,)

    def compute(self, store: Store, report: Report) -> DivergenceComparison:
        """Train the classifier if needed, and compare both estimates on fresh simulations.

        Raises:
            ValueError: where inference fails on some data sets, or has no benchmark.
        """
        network = trained_scores.trained(store, self.training, trace(report))
        trained_scores.ready(store, self.source.benchmark)
        seed, (benchmark, gamma) = self.of.seed, (self.source.benchmark, self.source.gamma)
        table = sampling.table(benchmark, gamma, TESTED, DRAWS, stream(seed, "learned", "table"))
        logits, ratios = (
            scores.apply(score, table) for score in (network.at(), Ratio(benchmark, gamma))
        )
        sides = [
            (side.truth[0].astype(float), side.draws[0].astype(float)) for side in (logits, ratios)
        ]
        calibrated = classifier_divergence.from_logits(
            *sides[0], stream(seed, "learned", "halves")
        )
        d_exact = sides[1][0] - sides[1][1].mean(1)
        estimate, exact = (
            divergence_mean.divergence(d, stream(seed, "learned", name))
            for name, d in (("estimate", calibrated.d), ("exact", d_exact))
        )
        auc, auc_exact = (divergence_mean.means(divergence_rows.paired(*side)) for side in sides)
        return DivergenceComparison(
            estimate, exact, calibrated.d, d_exact, auc, auc_exact, calibrated.slope
        )
