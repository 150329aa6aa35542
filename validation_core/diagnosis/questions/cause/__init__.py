"""The likely cause: which injected defect a table looks like.

Defects are injected into the table's own draws; no cause is named unless the table stands out
among those in which a draw of q plays the truth, and lies near one cause's injected tables alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from validation_core.diagnosis.choice import unusable
from validation_core.diagnosis.claims import Claims
from validation_core.diagnosis.questions.base import Names, Question, Rows
from validation_core.diagnosis.questions.cause import causes, text
from validation_core.diagnosis.questions.cause.study import CauseStudy, LikelyCause, cause_of
from validation_core.methods.base import Method
from validation_core.tables import Upload
from validation_core.types import PosteriorTable

if TYPE_CHECKING:
    from validation_core.diagnosis.verdict import Diagnosis
    from validation_core.figures.outcome import Drawn

__all__ = ["Cause", "CauseStudy", "LikelyCause", "cause_of"]

_LEAST_ROWS, _LEAST_DRAWS = 100, 20


class Cause(Question[LikelyCause]):
    """Which injected defect a table looks like."""

    name = "cause"
    title = "Likely cause"
    reading_guide = (
        "Known defects of growing size were injected into this table's own draws, and the table "
        "is compared with what came out: a weight is how like it each defect is, and all weights "
        "sum to 1. If q were right, the table would lie among those in which a draw of q plays "
        "the truth, and no cause would be named in 99 of 100 such tables. Causes resemble one "
        "another where they are weak; where several act at once none is named, and what was seen "
        "is listed."
    )

    def obstacle(self, upload: Upload) -> str | None:
        if not isinstance(upload.data, PosteriorTable):
            return (
                "A cause is told from the truth's place among q's draws at the same x; two "
                "samples p and q have no x. Upload theta, x and theta_q."
            )
        if upload.n < _LEAST_ROWS or upload.k < _LEAST_DRAWS:
            return (
                f"A cause needs at least {_LEAST_ROWS} simulations with {_LEAST_DRAWS} draws of q "
                f"at each; got {upload.n} with {upload.k}. Bring more."
            )
        return unusable(upload)

    def studies(
        self, upload: Upload, methods: Sequence[Method], seed: int
    ) -> tuple[CauseStudy, ...]:
        del methods
        return () if self.obstacle(upload) else (CauseStudy(digest=upload.digest, seed=seed),)

    def gather(self, results: Sequence[LikelyCause]) -> LikelyCause:
        """The only one."""
        return results[0]

    def describe(
        self, result: LikelyCause, names: Names, claims: Claims | None = None
    ) -> tuple[str, ...]:
        return text.describe(result, names.theta, claims)

    def rows(self, result: LikelyCause, names: Names, claims: Claims | None = None) -> Rows:
        """Causes, the likeliest first, each with its evidence: one row for each piece."""
        return text.rows(result, names.theta)

    def figures(
        self, result: LikelyCause, names: Names, claims: Claims | None = None
    ) -> tuple[Drawn, ...]:
        from validation_core.diagnosis.questions.cause.figures import figures

        return figures(result)

    def finds(self, result: LikelyCause) -> bool:
        return result.cause != "none"

    def to_json(self, result: LikelyCause) -> dict[str, Any]:
        return result.to_json()

    def complete(
        self, document: dict[str, Any], result: LikelyCause, diagnosis: Diagnosis
    ) -> None:
        """The cause that is named, or that it is unclear, then the likeliest ones; none of
        nothing."""
        silent = diagnosis.claims is not None and not diagnosis.claims.found
        if result.cause == "none" or silent:
            document["cause"] = []
            return
        worst = diagnosis.flagged[0].name if diagnosis.flagged else None
        first = {
            "cause": result.cause,
            "reading": causes.TITLES.get(result.cause, result.cause),
            "parameter": worst,
            "pvalue": result.pvalue,
            "why": result.why,
            "next": list(result.next_steps),
        }
        ranked = [
            {
                **candidate.to_json(),
                "reading": causes.TITLES.get(candidate.cause, candidate.cause),
                "parameter": worst,
            }
            for candidate in result.causes
        ]
        if ranked[0]["cause"] == result.cause:
            document["cause"] = [{**ranked[0], **first}, *ranked[1:]]
        else:
            document["cause"] = [first, *ranked]
