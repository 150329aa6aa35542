"""How wrong is q: each parameter's sizes of error and those of the whole, with intervals.

Everything but the classifier's divergence reads all rows and learns nothing. CoLT's distance d~
is in its own record.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from validation_core import keys, scores
from validation_core.diagnosis import tasks as diagnoses
from validation_core.diagnosis.choice import obstacle as hinders
from validation_core.diagnosis.choice import unusable
from validation_core.diagnosis.learning import held_back
from validation_core.diagnosis.questions.base import Names, Question, Rows, TableStudy, as_numbers
from validation_core.diagnosis.questions.calibration import text
from validation_core.diagnosis.questions.calibration.errors import (
    ALPHA,
    Calibration,
    LearnedDivergence,
    by_classifier,
    by_densities,
    marginals,
    regions,
)
from validation_core.diagnosis.records import distances
from validation_core.methods.base import Method
from validation_core.rng import stream
from validation_core.statistics import divergence
from validation_core.study import Report
from validation_core.tables import Upload
from validation_core.types import PosteriorTable

if TYPE_CHECKING:
    from validation_core.diagnosis.claims import Claims
    from validation_core.diagnosis.verdict import Diagnosis
    from validation_core.figures.outcome import Drawn
    from validation_core.store import Store

__all__ = ["Calibration", "HowWrong", "LearnedDivergenceStudy", "RowErrorStudy"]

LEAST_ROWS = 5
SCORED = 100
"""Draws at each x whose logits the classifier's divergence reads: bounds its time."""


@dataclass(frozen=True, kw_only=True)
class RowErrorStudy(TableStudy[Calibration], spec="size"):
    """What ranks, moments and densities say; nothing is learnt."""

    about: ClassVar[str] = "Sizes of errors"
    version: ClassVar[int] = 3

    densities: str = ""
    """Fingerprint of the log densities, which the table's own does not cover."""

    def answer(self, upload: Upload, store: Store, report: Report) -> Calibration:
        del store
        data = upload.data
        assert isinstance(data, PosteriorTable)
        parameters = marginals(data, self.seed)
        report(0.8, {})
        return Calibration(
            n=upload.n,
            k=upload.k,
            parameters=parameters,
            regions=regions(upload.densities, self.seed),
            divergence=by_densities(upload, self.seed),
        )


@dataclass(frozen=True, kw_only=True)
class LearnedDivergenceStudy(TableStudy[Calibration], spec="size_learned"):
    """The symmetric divergence as far as a classifier sees it, on rows it did not learn from."""

    about: ClassVar[str] = "Divergence by a classifier"

    def answer(self, upload: Upload, store: Store, report: Report) -> Calibration:
        (network,) = self.networks(store, report)
        few = held_back(upload, self.seed, SCORED)
        logits = scores.apply(network.at(), few)
        calibrated = divergence.from_logits(
            logits.truth[0], logits.draws[0], stream(self.seed, "size", "halves")
        )
        estimate = by_classifier(
            calibrated.d,
            self.seed,
            slope=calibrated.slope,
            auc=float(network.auc),
            draws=few.q.shape[1],
        )
        return Calibration(divergence=estimate)


class HowWrong(Question[Calibration]):
    """Which parameters are off and by how much, and q as a whole."""

    name = "size"
    title = "How wrong"
    reading_guide = text.READING_GUIDE

    def obstacle(self, upload: Upload) -> str | None:
        if not isinstance(upload.data, PosteriorTable):
            return (
                "Sizes of errors compare the truth with q's draws at the same x; two samples p "
                "and q have no x. Upload theta, x and theta_q."
            )
        if upload.n < LEAST_ROWS:
            return (
                f"Sizes of errors need at least {LEAST_ROWS} simulations; got {upload.n}. Bring "
                "more."
            )
        return unusable(upload)

    def studies(
        self, upload: Upload, methods: Sequence[Method], seed: int
    ) -> tuple[TableStudy[Calibration], ...]:
        """What ranks and densities say; then a classifier's divergence.

        The classifier is the one that the first of these methods reads which has one; without
        such a method there is no estimate.
        """
        if self.obstacle(upload) is not None:
            return ()
        first = RowErrorStudy(digest=upload.digest, seed=seed, densities=_fingerprint(upload))
        for method in methods:
            if method.reads_classifier and not hinders(method, upload):
                network = diagnoses.training(upload, method, seed)
                assert network is not None
                second = LearnedDivergenceStudy(
                    digest=upload.digest, seed=seed, trainings=(network,)
                )
                return first, second
        return (first,)

    def gather(self, results: Sequence[Calibration]) -> Calibration:
        """What is known so far; a classifier's divergence stands beside that of densities."""
        first, *others = results
        for other in others:
            assert isinstance(other.divergence, LearnedDivergence)
            if first.divergence is None:
                first = replace(first, divergence=other.divergence)
            else:
                first = replace(first, estimate=other.divergence)
        return first

    def describe(
        self, result: Calibration, names: Names, claims: Claims | None = None
    ) -> tuple[str, ...]:
        return text.describe(result, names.theta, claims)

    def rows(self, result: Calibration, names: Names, claims: Claims | None = None) -> Rows:
        return text.rows(result, names.theta, claims)

    def figures(
        self, result: Calibration, names: Names, claims: Claims | None = None
    ) -> tuple[Drawn, ...]:
        from validation_core.diagnosis.questions.calibration.figures import figures

        del claims
        return figures(result, names.theta)

    def finds(self, result: Calibration) -> bool:
        return any(errors.pvalue_adjusted <= ALPHA for errors in result.parameters)

    def beside(self, diagnosis: Diagnosis) -> tuple[str, ...]:
        return tuple(distances(diagnosis.records))

    def to_json(self, result: Calibration) -> dict[str, Any]:
        """Only what has been worked out."""
        numbers = as_numbers(result)
        usual = {field.name: field.default for field in fields(result)}
        return {name: value for name, value in numbers.items() if value not in (usual[name], [])}


def _fingerprint(upload: Upload) -> str:
    densities = {name: np.asarray(log) for name, log in upload.densities.items()}
    return keys.digest(**densities) if densities else ""
