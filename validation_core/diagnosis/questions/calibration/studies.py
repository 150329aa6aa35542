"""The studies of a table's errors: one that learns nothing, and one that reads a classifier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from validation_core import scores
from validation_core.diagnosis.learning import held_out_table
from validation_core.diagnosis.questions.base import TableStudy
from validation_core.diagnosis.questions.calibration.parameters import marginal_errors
from validation_core.diagnosis.questions.calibration.result import CalibrationErrors
from validation_core.diagnosis.questions.calibration.whole import (
    density_regions,
    divergence_by_classifier,
    divergence_by_densities,
)
from validation_core.rng import stream
from validation_core.statistics import classifier_divergence
from validation_core.study import Report
from validation_core.tables import TableUpload

if TYPE_CHECKING:
    from validation_core.store import Store


SCORED = 100
"""Draws at each x whose logits the classifier's divergence reads: bounds its time."""


@dataclass(frozen=True, kw_only=True)
class RowErrorStudy(TableStudy[CalibrationErrors], spec="size"):
    """Errors by ranks, moments and densities; nothing is learnt."""

    about: ClassVar[str] = "Sizes of errors"
    version: ClassVar[int] = 5

    def answer(self, upload: TableUpload, store: Store, report: Report) -> CalibrationErrors:
        del store
        data = upload.data
        parameters = marginal_errors(data, self.seed)
        report(0.8, {})
        return CalibrationErrors(
            n=upload.n,
            k=upload.k,
            parameters=parameters,
            regions=density_regions(upload.densities, self.seed),
            divergence=divergence_by_densities(upload, self.seed),
        )


@dataclass(frozen=True, kw_only=True)
class LearnedDivergenceStudy(TableStudy[CalibrationErrors], spec="size_learned"):
    """The symmetric divergence as far as a classifier sees it, on rows it did not learn from."""

    about: ClassVar[str] = "Divergence by a classifier"

    def answer(self, upload: TableUpload, store: Store, report: Report) -> CalibrationErrors:
        (network,) = self.networks(store, report)
        few = held_out_table(upload, self.seed, SCORED)
        logits = scores.apply(network.at(), few)
        calibrated = classifier_divergence.from_logits(
            logits.truth[0], logits.draws[0], stream(self.seed, "size", "halves")
        )
        estimate = divergence_by_classifier(
            calibrated.d,
            self.seed,
            slope=calibrated.slope,
            auc=float(network.auc),
            draws=few.q.shape[1],
        )
        return CalibrationErrors(divergence=estimate)
