"""Where in theta: which parts of parameter space q gives too much or too little mass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from validation_core.diagnosis import plan
from validation_core.diagnosis.questions.base import Json, Names, Question, Rows
from validation_core.diagnosis.questions.in_theta.pictures import map_picture, tenths_picture
from validation_core.diagnosis.questions.in_theta.result import MassInTheta
from validation_core.diagnosis.questions.in_theta.study import InThetaStudy
from validation_core.diagnosis.questions.in_theta.words import (
    basis_text,
    claimed_sentences,
    ratio_text,
    strip_text,
    tenths_text,
)
from validation_core.diagnosis.tasks import method_training, slot_score_training
from validation_core.drawing.drawn import Drawn
from validation_core.methods import WithinX
from validation_core.methods.base import Method
from validation_core.relabelling.claims import Claims
from validation_core.tables import TableUpload, Upload

if TYPE_CHECKING:
    from validation_core.diagnosis.verdict import Diagnosis


MOST_MAPS = 5  # that are drawn


class InThetaQuestion(Question[MassInTheta]):
    """Which parts of parameter space q gives too much or too little mass."""

    name = "in_theta"
    title = "Where in theta"
    mapped_by_localizers = True
    reading_guide = (
        "A score learns, on other rows, how much more frequent true values are than q's draws "
        "at each theta and x. It is a classifier of theta and x, or trees and a network that "
        "see each draw among the others at its x, whichever is better on held-out rows. Maps "
        "average that ratio over q's draws in each cell, on a log scale: blue where q puts "
        "too little mass, orange where too much. Counts of held-out true values check it. If "
        "q were correct, every tenth of q's draws would hold a tenth of the true values "
        "within its interval, and maps would be pale but for the score's noise."
    )

    def obstacle(self, upload: Upload) -> str | None:
        if not isinstance(upload, TableUpload):
            return (
                "A map over theta compares true values with q's draws at the same x; got "
                f"{upload.held}. Upload theta, x and theta_q."
            )
        return plan.method_obstacle(WithinX(), upload) or plan.upload_obstacle(upload)

    def studies(
        self, upload: TableUpload, methods: Sequence[Method], seed: int
    ) -> tuple[InThetaStudy, ...]:
        """One, reading the classifier that the tests share and, where there is one, the score
        within x: it shows whichever tells truths better on rows that neither learnt from.
        """
        if self.obstacle(upload) is not None:
            return ()
        network = method_training(upload, WithinX(), seed)
        assert network is not None
        both = [network]
        if plan.slots_obstacle(upload) is None:
            both.append(slot_score_training(upload, seed))
        return (InThetaStudy(digest=upload.digest, seed=seed, trainings=tuple(both)),)

    def gather(self, results: Sequence[MassInTheta]) -> MassInTheta:
        """The one there is."""
        return results[0]

    def describe(self, result: MassInTheta, names: Names, claims: Claims) -> tuple[str, ...]:
        """The answer first; then the strip of a parameter that is off most, and what was done."""
        return (*claimed_sentences(result, names.theta, claims), tenths_text(result))

    def notes(self, result: MassInTheta, names: Names) -> tuple[str, ...]:
        del names
        return (basis_text(result),)

    def rows(self, result: MassInTheta, names: Names, claims: Claims) -> Rows:
        """A row for each tenth of q's draws and each strip of a parameter, the worst first."""
        shares = [
            (f"tenth {at + 1} of q's draws by learned ratio", tenth.share)
            for at, tenth in enumerate(result.deciles)
        ]
        shares += [(strip_text(strip, names.theta), strip.share) for strip in result.strips]
        shares.sort(key=lambda row: -row[1].apart)
        return [
            {
                "where": where,
                "q's share": share.q,
                "truth's share": share.truth,
                "low": share.low,
                "high": share.high,
                "times as frequent": ratio_text(share),
            }
            for where, share in shares
        ]

    def figures(self, result: MassInTheta, names: Names, claims: Claims) -> tuple[Drawn, ...]:
        """The tenths, then the maps of the pairs on which the log ratio depends most."""
        del claims
        scored = f"{result.scored:,}"
        return (
            tenths_picture(result),
            *(
                map_picture(ratio_map, scored, names.theta)
                for ratio_map in result.maps[:MOST_MAPS]
            ),
        )

    def finds(self, result: MassInTheta, claims: Claims) -> bool:
        strips = any(claims.parameter(strip.parameter) <= claims.alpha for strip in result.off)
        return claims.score() <= claims.alpha or strips

    def complete(self, document: Json, result: MassInTheta, diagnosis: Diagnosis) -> None:
        self.tell_where(document, result, diagnosis)
