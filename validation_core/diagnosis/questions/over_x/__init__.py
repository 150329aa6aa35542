"""Where over x: which observations q fails for, and whether that can be told from chance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from validation_core.diagnosis import choice
from validation_core.diagnosis.claims import Claims
from validation_core.diagnosis.questions.base import Names, Question, Rows
from validation_core.diagnosis.questions.over_x import text
from validation_core.diagnosis.questions.over_x.study import ErrorsOverX, OverXStudy, over_x
from validation_core.diagnosis.tasks import training
from validation_core.methods import WithinX
from validation_core.methods.base import Method
from validation_core.tables import Upload
from validation_core.types import TwoSamples

if TYPE_CHECKING:
    from validation_core.diagnosis.verdict import Diagnosis
    from validation_core.figures.outcome import Drawn

__all__ = ["FEWEST", "ErrorsOverX", "OverX", "OverXStudy", "over_x"]

FEWEST = 40
"""Rows below which no stretch of x has enough of them."""


class OverX(Question[ErrorsOverX]):
    """Which observations q fails for."""

    name = "over_x"
    title = "Where over x"
    reading_guide = (
        "Each line is the local size of one error of q, smoothed over its nearest neighbours in "
        "x: how far q sits from the truth, how much too narrow it is, or how well a classifier "
        "tells them apart. If q were right, it would stay near the grey line, inside the grey "
        "room at 95 of 100 places, and both p-values would be anything from 0 to 1. Only the "
        "p-values tell a bump from chance: they count every place and every error that was "
        "looked at."
    )

    def obstacle(self, upload: Upload) -> str | None:
        if isinstance(upload.data, TwoSamples):
            return (
                "A map over x needs x: two samples p and q have none. Upload theta, x and theta_q "
                "to see where q fails."
            )
        if upload.n < FEWEST:
            return (
                f"A map over x compares stretches of at least 10 rows each and needs {FEWEST} "
                f"rows; got {upload.n}. Upload more rows."
            )
        return choice.unusable(upload)

    def studies(
        self, upload: Upload, methods: Sequence[Method], seed: int
    ) -> tuple[OverXStudy, ...]:
        """Every parameter's ranks at once; a classifier's where one of the methods trains it."""
        if self.obstacle(upload) is not None:
            return ()
        network = None
        for method in methods:
            if method.reads_classifier and choice.obstacle(WithinX(), upload) is None:
                network = training(upload, method, seed)
                break
        if network is None:
            return (OverXStudy(digest=upload.digest, seed=seed),)
        return (
            OverXStudy(digest=upload.digest, seed=seed, families=2),
            OverXStudy(
                digest=upload.digest, seed=seed, learned=True, families=2, trainings=(network,)
            ),
        )

    def gather(self, results: Sequence[ErrorsOverX]) -> ErrorsOverX:
        """The parts that are done as one; each one's p is already adjusted for all."""
        return ErrorsOverX(tuple(part for result in results for part in result.parts))

    def describe(
        self, result: ErrorsOverX, names: Names, claims: Claims | None = None
    ) -> tuple[str, ...]:
        return text.describe(result, *names, claims)

    def rows(self, result: ErrorsOverX, names: Names, claims: Claims | None = None) -> Rows:
        """A row for each place, the smallest p first."""
        return [
            {
                "what": text.feature(place, names.theta),
                "along": text.coordinate(place, *names),
                "p, changes over x": place.p_varies,
                "p, right q": place.p_right,
                "worst where": text.region(place, *names),
                "share of rows": place.share,
                "size there": text.size(place.kind, place.inside),
                "size elsewhere": text.size(place.kind, place.outside),
            }
            for place in result.judged(claims).worst
        ]

    def figures(
        self, result: ErrorsOverX, names: Names, claims: Claims | None = None
    ) -> tuple[Drawn, ...]:
        from validation_core.diagnosis.questions.over_x.figures import figures

        return figures(result, *names, claims)

    def finds(self, result: ErrorsOverX) -> bool:
        return result.finds

    def to_json(self, result: ErrorsOverX) -> dict[str, Any]:
        return result.to_json()

    def complete(
        self, document: dict[str, Any], result: ErrorsOverX, diagnosis: Diagnosis
    ) -> None:
        self.tell_where(document, result, diagnosis)
