"""Where in theta: which parts of parameter space q gives too much or too little mass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from validation_core.diagnosis import choice
from validation_core.diagnosis.claims import Claims
from validation_core.diagnosis.questions.base import Names, Question, Rows
from validation_core.diagnosis.questions.in_theta import text
from validation_core.diagnosis.questions.in_theta.study import InThetaStudy, MassInTheta, in_theta
from validation_core.diagnosis.tasks import slot_training, training
from validation_core.methods import WithinX
from validation_core.methods.base import Method
from validation_core.tables import Upload
from validation_core.types import TwoSamples

if TYPE_CHECKING:
    from validation_core.diagnosis.verdict import Diagnosis
    from validation_core.figures.outcome import Drawn

__all__ = ["InTheta", "InThetaStudy", "MassInTheta", "in_theta"]


class InTheta(Question[MassInTheta]):
    """Which parts of parameter space q gives too much or too little mass."""

    name = "in_theta"
    title = "Where in theta"
    reading_guide = (
        "A score learnt, on other rows, how much more frequent the truth is than q's draws at "
        "each theta and x: a classifier of theta and x, or trees and a network that see each "
        "draw among the others at its x, whichever told truths better on rows held out of "
        "learning. Maps average that ratio over q's draws in each cell, on a scale of "
        "logarithms: blue where q puts too little mass, orange where too much. The learned ratio "
        "is checked by counting held-out truths. If q were right, every tenth of q's draws would "
        "hold a tenth of the truths within its interval; maps would be grey but for the score's "
        "noise."
    )

    def obstacle(self, upload: Upload) -> str | None:
        if isinstance(upload.data, TwoSamples):
            return (
                "A map over theta compares the truth with q's draws at the same x; two samples p "
                "and q have no x. Upload theta, x and theta_q."
            )
        return choice.obstacle(WithinX(), upload) or choice.unusable(upload)

    def studies(
        self, upload: Upload, methods: Sequence[Method], seed: int
    ) -> tuple[InThetaStudy, ...]:
        """One, reading the classifier that the tests share and, where there is one, the score
        within x: it shows whichever tells truths better on rows that neither learnt from.
        """
        if self.obstacle(upload) is not None:
            return ()
        network = training(upload, WithinX(), seed)
        assert network is not None
        both = [network]
        if choice.within(upload) is None:
            both.append(slot_training(upload, seed))
        return (InThetaStudy(digest=upload.digest, seed=seed, trainings=tuple(both)),)

    def gather(self, results: Sequence[MassInTheta]) -> MassInTheta:
        """The one there is."""
        return results[0]

    def describe(
        self, result: MassInTheta, names: Names, claims: Claims | None = None
    ) -> tuple[str, ...]:
        return text.describe(result, names.theta, claims)

    def rows(self, result: MassInTheta, names: Names, claims: Claims | None = None) -> Rows:
        """A row for each tenth of q's draws and each strip of a parameter, the worst first."""
        shares = [
            (f"tenth {at + 1} of q's draws by learned ratio", tenth.share)
            for at, tenth in enumerate(result.deciles)
        ]
        shares += [(text.strip_text(strip, names.theta), strip.share) for strip in result.strips]
        shares.sort(key=lambda row: -row[1].apart)
        return [
            {
                "where": where,
                "q's share": share.q,
                "truth's share": share.truth,
                "low": share.low,
                "high": share.high,
                "times as frequent": text.ratio_text(share),
            }
            for where, share in shares
        ]

    def figures(
        self, result: MassInTheta, names: Names, claims: Claims | None = None
    ) -> tuple[Drawn, ...]:
        from validation_core.diagnosis.questions.in_theta.figures import figures

        return figures(result, names.theta)

    def finds(self, result: MassInTheta) -> bool:
        return result.finds

    def to_json(self, result: MassInTheta) -> dict[str, Any]:
        return result.to_json()

    def complete(
        self, document: dict[str, Any], result: MassInTheta, diagnosis: Diagnosis
    ) -> None:
        self.tell_where(document, result, diagnosis)
