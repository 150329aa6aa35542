"""The likely cause: which injected defect a table looks like.

Defects are injected into the table's own draws; no cause is named unless the table stands out
among those in which a draw of q plays the truth, and lies near one cause's injected tables alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from validation_core import codec
from validation_core.diagnosis.plan import upload_obstacle
from validation_core.diagnosis.questions.base import Json, Names, Question, Row, Rows
from validation_core.diagnosis.questions.cause.advice import NEXT_STEPS, TITLES, steps_for
from validation_core.diagnosis.questions.cause.finding_words import KINDS, finding_text
from validation_core.diagnosis.questions.cause.findings import Finding
from validation_core.diagnosis.questions.cause.pictures import plane_picture, weights_picture
from validation_core.diagnosis.questions.cause.result import APART, Candidate, LikelyCause
from validation_core.diagnosis.questions.cause.similarity import COUNTED
from validation_core.diagnosis.questions.cause.study import CauseStudy
from validation_core.diagnosis.questions.cause.words import (
    candidate_title,
    headline,
    logs_note,
    seen_text,
    stands_out_text,
    strength_text,
    subsample_note,
    told_by_itself,
    weights_text,
    why_unclear,
)
from validation_core.drawing.drawn import Drawn
from validation_core.methods.base import Method
from validation_core.relabelling.claims import Claims, parameter_name
from validation_core.tables import TableUpload, Upload
from validation_core.text import capitalise, equals

if TYPE_CHECKING:
    from validation_core.diagnosis.verdict import Diagnosis


_LEAST_ROWS = 100
LEAST_DRAWS = 20
"""Draws of q at each x that a cause needs."""
_MEASURED = ("bias", "too_wide", "too_narrow", "wrong_skew")  # causes whose size How wrong tells
_GAP = (
    "The gap names the mode (Silverman's test of one mode, level 1% over all parameters), not "
    "similarity: simulated defects are made of q's own draws and cannot show a mode that it lacks."
)


class CauseQuestion(Question[LikelyCause]):
    """Which injected defect a table looks like."""

    name = "cause"
    title = "Likely cause"
    reading_guide = (
        "Known defects of growing size were simulated with this table's own draws. A weight "
        "says how similar your table is to those with one defect; all weights sum to 1. If q "
        "were correct, your table would lie among the simulated tables with a correct q, and "
        "no cause would be named in 99 of 100 such tables. Causes resemble one another where "
        "they are weak; where several act at once none is named, and what was seen is listed."
    )

    def obstacle(self, upload: Upload) -> str | None:
        if not isinstance(upload, TableUpload):
            return (
                "A cause is inferred from the true values' places among q's draws at the same "
                f"x; got {upload.held}. Upload theta, x and theta_q."
            )
        if upload.n < _LEAST_ROWS or upload.k < LEAST_DRAWS:
            return (
                f"A cause needs at least {_LEAST_ROWS} simulations with {LEAST_DRAWS} draws of q "
                f"at each; got {upload.n} with {upload.k}. Bring more"
                f"{'' if upload.k >= LEAST_DRAWS else ' draws at each x'}."
            )
        return upload_obstacle(upload)

    def studies(
        self, upload: TableUpload, methods: Sequence[Method], seed: int
    ) -> tuple[CauseStudy, ...]:
        del methods
        return () if self.obstacle(upload) else (CauseStudy(digest=upload.digest, seed=seed),)

    def gather(self, results: Sequence[LikelyCause]) -> LikelyCause:
        """The only one."""
        return results[0]

    def describe(self, result: LikelyCause, names: Names, claims: Claims) -> tuple[str, ...]:
        """The cause with its size, what it was told apart from, what speaks for it, what to do.

        Where none is named the first sentence says so; why, and what was seen, come after it.
        """
        if not claims.found:
            return (
                f"No cause is named: nothing speaks against q (p {equals(claims.pvalue)} over "
                "everything that was looked at).",
            )
        if result.faults:
            mend = "That can look like a defect of q: mend the draws and ask again."
            return headline(result, names, claims), mend, seen_text(result, names.theta, claims)
        first_said = headline(result, names, claims)
        if result.cause == "none":
            return first_said, seen_text(result, names.theta, claims)
        if result.cause == "unclear":
            return (
                first_said,
                f"{why_unclear(result)}{capitalise(stands_out_text(result))}.",
                seen_text(result, names.theta, claims),
                *NEXT_STEPS["unclear"],
            )
        first = result.causes[0]
        if told_by_itself(result):
            return (
                first_said,
                f"{capitalise(stands_out_text(result))}.",
                *(finding_text(finding, names.theta) for finding in first.evidence[1:]),
                f"Next: {result.next_steps[0]}",
            )
        # What ranks measure stands under How wrong: a second number would be of another shape.
        size = "" if first.cause in _MEASURED else f": {strength_text(first)}"
        sentences = [f"Most likely, {candidate_title(first)}{size}; {stands_out_text(result)}."]
        if first.strength.shape != APART:
            sentences.append(
                f"Similarity to simulated defects: {weights_text(result.causes[:3])}. Of the "
                f"{COUNTED} simulated tables most like it, {first.share:.0%} have this defect."
            )
        sentences += [finding_text(finding, names.theta) for finding in first.evidence]
        return (*sentences, f"Next: {result.next_steps[0]}")

    def rows(self, result: LikelyCause, names: Names, claims: Claims) -> Rows:
        """Causes, the likeliest first, each with its evidence: one row for each piece."""
        del claims
        return [
            {
                **candidate_cells(candidate),
                **finding_cells(finding, names.theta),
                "next": steps_for(candidate.cause, candidate.strength.shape)[0],
            }
            for candidate in result.causes
            for finding in candidate.evidence or (None,)
        ]

    def figures(self, result: LikelyCause, names: Names, claims: Claims) -> tuple[Drawn, ...]:
        """Weights as bars, then the plane in which the likeliest causes lie apart.

        A mode that q has no draws in is told by its gap: no bar speaks of it.
        """
        del names, claims
        if result.causes[0].strength.shape == APART:
            return (plane_picture(result),)
        return weights_picture(result), plane_picture(result)

    def notes(self, result: LikelyCause, names: Names) -> tuple[str, ...]:
        gap = result.cause == "missing_mode" and result.causes[0].strength.shape == APART
        return (*((_GAP,) if gap else ()), *logs_note(result, names), *subsample_note(result))

    def finds(self, result: LikelyCause, claims: Claims) -> bool:
        return result.cause != "none" and claims.found

    def complete(self, document: Json, result: LikelyCause, diagnosis: Diagnosis) -> None:
        """The cause that is named, or that it is unclear, then the likeliest ones; none of
        nothing."""
        if result.cause == "none" or not diagnosis.require_claims().found:
            document["cause"] = []
            return
        worst = diagnosis.flagged[0].name if diagnosis.flagged else None
        first = {
            "cause": result.cause,
            "reading": TITLES.get(result.cause, result.cause),
            "parameter": worst,
            "pvalue": result.pvalue,
            "why": result.why,
            "next": list(result.next_steps),
        }
        ranked = [
            {
                **codec.to_json(candidate),
                "reading": TITLES.get(candidate.cause, candidate.cause),
                "parameter": worst,
            }
            for candidate in result.causes
        ]
        if ranked[0]["cause"] == result.cause:
            document["cause"] = [{**ranked[0], **first}, *ranked[1:]]
        else:
            document["cause"] = [first, *ranked]


def candidate_cells(candidate: Candidate) -> Row:
    """Return a cause's cells of a row: name, shape, weight, likeness, size."""
    return {
        "cause": TITLES[candidate.cause],
        "shape": candidate_title(candidate),
        "weight": round(candidate.weight, 3),
        "share of nearest injected tables": round(candidate.share, 3),
        "distance, in typical ones": round(candidate.apart, 2),
        "size, if so": strength_text(candidate),
    }


def finding_cells(finding: Finding | None, names: Sequence[str]) -> Row:
    """Return a finding's cells of a row; none where the cause has no finding."""
    if finding is None:
        return {}
    return {
        "evidence": KINDS[finding.what],
        "of": ", ".join(parameter_name(names, i) for i in finding.at),
        "value": round(finding.value, 4),
        "95% interval": f"{finding.low:.4g} to {finding.high:.4g}",
        "if q were correct": "" if finding.right is None else round(finding.right, 4),
    }
