"""How wrong is q: each parameter's sizes of error and those of the whole, with intervals.

Everything but the classifier's divergence reads all rows and learns nothing. CoLT's distance d~
is in its own record.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from validation_core.diagnosis import tasks
from validation_core.diagnosis.plan import method_obstacle, upload_obstacle
from validation_core.diagnosis.questions.base import Names, Question, Rows, TableStudy, short_name
from validation_core.diagnosis.questions.calibration.claimed import claimed_errors
from validation_core.diagnosis.questions.calibration.pictures import (
    NAME_LETTERS,
    SHOWN,
    contraction_pictures,
    coverage_picture,
    divergence_pictures,
    misfit_picture,
    regions_picture,
)
from validation_core.diagnosis.questions.calibration.result import (
    CalibrationErrors,
    LearnedDivergence,
)
from validation_core.diagnosis.questions.calibration.rows import parameter_row
from validation_core.diagnosis.questions.calibration.studies import (
    LearnedDivergenceStudy,
    RowErrorStudy,
)
from validation_core.diagnosis.questions.calibration.table_pictures import (
    ranks_of_all_picture,
    recovery_picture,
)
from validation_core.diagnosis.questions.calibration.words import (
    clearest_error,
    divergence_sentences,
    errors_left_open,
    like_the_prior,
    others_off,
    regions_text,
    wider_than_prior,
    worst_parameter,
)
from validation_core.drawing.drawn import Drawn
from validation_core.methods.base import Method
from validation_core.methods.record import distance_sentences
from validation_core.relabelling.claims import Claims, parameter_name
from validation_core.tables import TableUpload, Upload

if TYPE_CHECKING:
    from validation_core.diagnosis.verdict import Diagnosis


LEAST_ROWS = 5


class CalibrationQuestion(Question[CalibrationErrors]):
    """Which parameters are off and by how much, and q as a whole."""

    name = "size"
    title = "How wrong"
    reading_guide = (
        "Each number has a 95% interval. Coverage is how often a nominal interval of q really "
        "holds the true value. Bias is how far q sits too high, in q's own posterior sd. The "
        "ratio of widths is q's width divided by the width it should have: below 1 "
        "over-confident, above 1 under-confident. Both are read from ranks, as of a normal "
        "posterior; where q's mean and sd tell another size, as of a skewed or a bounded one, it "
        "stands beside them. Contraction is 1 - posterior variance / prior "
        "variance. If q were correct, coverage would be nominal, bias 0 and the ratio 1, up to "
        "these intervals; p is corrected over parameters, and the worst parameter stands first."
    )

    def obstacle(self, upload: Upload) -> str | None:
        if not isinstance(upload, TableUpload):
            return (
                "Sizes of errors compare true values with q's draws at the same x; got "
                f"{upload.held}. Upload theta, x and theta_q."
            )
        if upload.n < LEAST_ROWS:
            return (
                f"Sizes of errors need at least {LEAST_ROWS} simulations; got {upload.n}. Bring "
                "more."
            )
        return upload_obstacle(upload)

    def studies(
        self, upload: TableUpload, methods: Sequence[Method], seed: int
    ) -> tuple[TableStudy[CalibrationErrors], ...]:
        """One study of ranks and densities; then one of a classifier's divergence.

        The classifier is the one that the first of these methods reads which has one; without
        such a method there is no estimate.
        """
        if self.obstacle(upload) is not None:
            return ()
        first = RowErrorStudy(digest=upload.digest, seed=seed)
        for method in methods:
            if method.reads_classifier and not method_obstacle(method, upload):
                network = tasks.method_training(upload, method, seed)
                assert network is not None
                second = LearnedDivergenceStudy(
                    digest=upload.digest, seed=seed, trainings=(network,)
                )
                return first, second
        return (first,)

    def gather(self, results: Sequence[CalibrationErrors]) -> CalibrationErrors:
        """Join the results so far; a classifier's divergence stands beside that of densities."""
        first, *others = results
        for other in others:
            assert isinstance(other.divergence, LearnedDivergence)
            if first.divergence is None:
                first = replace(first, divergence=other.divergence)
            else:
                first = replace(first, estimate=other.divergence)
        return first

    def describe(self, result: CalibrationErrors, names: Names, claims: Claims) -> tuple[str, ...]:
        """Say which parameter is worst and by how much, which others are off, and q as a whole."""
        parameters = result.parameters
        off = claimed_errors(parameters, claims)
        sentences = []
        if off:
            sentences.append(worst_parameter(off[0], names.theta, result.k))
            sentences += others_off(off, parameters, names.theta, claims)
        elif parameters:
            sentences += clearest_error(parameters, claims, names) + errors_left_open(parameters)
        sentences += (
            wider_than_prior(parameters, names.theta, claims.alpha) if claims.found else []
        ) or like_the_prior(parameters, names.theta)
        if result.regions is not None:
            sentences.append(regions_text(result.regions, claims))
        if result.divergence is not None:
            sentences += divergence_sentences(result.divergence)
        if result.estimate is not None:
            sentences += [
                f"For comparison, an estimate without densities. {sentence}"
                for sentence in divergence_sentences(result.estimate)
            ]
        return tuple(sentences)

    def rows(self, result: CalibrationErrors, names: Names, claims: Claims) -> Rows:
        """A row for each parameter, the worst first: every number and its interval."""
        return [
            parameter_row(errors, parameter_name(names.theta, errors.index), claims)
            for errors in result.parameters
        ]

    def figures(
        self, result: CalibrationErrors, names: Names, claims: Claims
    ) -> tuple[Drawn, ...]:
        """At most the six worst parameters, then the whole."""
        del claims
        worst = result.parameters[:SHOWN]
        pictures: list[Drawn] = []
        if worst:
            labels = [
                short_name(parameter_name(names.theta, errors.index), NAME_LETTERS, ends=True)
                for errors in worst
            ]
            hidden = len(result.parameters) - len(worst)
            pictures = [coverage_picture(worst, labels, hidden), misfit_picture(worst, labels)]
            pictures += contraction_pictures(worst, labels)
        if result.regions is not None:
            pictures.append(regions_picture(result.regions.curve))
        if result.divergence is not None:
            pictures += divergence_pictures(result.divergence, result.estimate)
        return tuple(pictures)

    def figures_of_table(
        self, result: CalibrationErrors, diagnosis: Diagnosis
    ) -> tuple[Drawn, ...]:
        """The ranks of all parameters, and recovery of the true values in the worst ones."""
        upload, worst = diagnosis.upload, [errors.index for errors in result.parameters]
        if not worst or not isinstance(upload, TableUpload) or upload.k < 2:
            return ()
        return (
            ranks_of_all_picture(upload.data, worst, upload.names, diagnosis.seed),
            recovery_picture(upload.data, worst, upload.names),
        )

    def finds(self, result: CalibrationErrors, claims: Claims) -> bool:
        return any(claims.parameter(errors.index) <= claims.alpha for errors in result.parameters)

    def beside(self, diagnosis: Diagnosis) -> tuple[str, ...]:
        return tuple(distance_sentences(diagnosis.records))
