"""Where over x: which observations q fails for, and whether that can be told from chance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from validation_core.diagnosis import plan
from validation_core.diagnosis.questions.base import Json, Names, Question, Rows
from validation_core.diagnosis.questions.over_x.pictures import has_size, place_picture
from validation_core.diagnosis.questions.over_x.region_words import coordinate_text, region_text
from validation_core.diagnosis.questions.over_x.result import ErrorsOverX
from validation_core.diagnosis.questions.over_x.study import OverXStudy
from validation_core.diagnosis.questions.over_x.words import (
    basis_text,
    caught_text,
    feature_text,
    next_place,
    place_text,
    scan_notes,
    size_text,
)
from validation_core.diagnosis.tasks import method_training
from validation_core.drawing.drawn import Drawn
from validation_core.methods import WithinX
from validation_core.methods.base import Method
from validation_core.relabelling.claims import Claims
from validation_core.tables import TableUpload, Upload
from validation_core.text import equals

if TYPE_CHECKING:
    from validation_core.diagnosis.verdict import Diagnosis


LEAST_ROWS = 40
"""Rows below which no stretch of x has enough of them."""
MOST_PICTURES = 6


class OverXQuestion(Question[ErrorsOverX]):
    """Which observations q fails for."""

    name = "over_x"
    title = "Where over x"
    reading_guide = (
        "Each line is the size of one error of q near each x, smoothed over neighbours: how far q "
        "sits too high, its width divided by the width it should have, or how well a classifier "
        "tells true values from q's draws. If q were correct, the line would stay inside the grey "
        "band at 95 of 100 places. Only the p-values tell a bump from chance: they count every "
        "place and every error that was looked at."
    )

    def obstacle(self, upload: Upload) -> str | None:
        if not isinstance(upload, TableUpload):
            return (
                f"A map over x needs x; got {upload.held}. Upload theta, x and theta_q to see "
                "where q fails."
            )
        if not upload.dims[1]:
            return "A map over x needs x, and this table holds none. Save x to see where q fails."
        if upload.n < LEAST_ROWS:
            return (
                f"A map over x compares stretches of at least 10 rows each and needs {LEAST_ROWS} "
                f"rows; got {upload.n}. Upload more rows."
            )
        return plan.upload_obstacle(upload)

    def studies(
        self, upload: TableUpload, methods: Sequence[Method], seed: int
    ) -> tuple[OverXStudy, ...]:
        """Every parameter's ranks at once; a classifier's where one of the methods trains it."""
        if self.obstacle(upload) is not None:
            return ()
        network = None
        for method in methods:
            if method.reads_classifier and plan.method_obstacle(WithinX(), upload) is None:
                network = method_training(upload, method, seed)
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

    def describe(self, result: ErrorsOverX, names: Names, claims: Claims) -> tuple[str, ...]:
        """The answer first; then the next worst place, what p is of, and what was done."""
        theta, x_names = names
        places, p = result.changing(claims), result.p_changes(claims)
        if places:
            first = place_text(places[0], theta, x_names)
            return (
                f"q's error changes over x (p {equals(p)}). {first}",
                *next_place(places, theta, x_names),
            )
        if claims.found:
            return (f"No change of the error over x is found (p {equals(p)}).",)
        return (
            f"No sign of an error at any place of x (p {equals(claims.over_x())})."
            f"{caught_text(result, claims)}",
        )

    def notes(self, result: ErrorsOverX, names: Names) -> tuple[str, ...]:
        del names
        return (basis_text(result), *scan_notes(result))

    def rows(self, result: ErrorsOverX, names: Names, claims: Claims) -> Rows:
        """A row for each place, in the order of `ErrorsOverX.worst`."""
        return [
            {
                "what": feature_text(place, names.theta),
                "along": coordinate_text(place, *names),
                "p, changes over x": place.p_varies,
                "p, right q": place.p_right,
                "worst where": region_text(place, *names),
                "share of rows": place.share,
                "size there": size_text(place.kind, place.inside),
                "size elsewhere": size_text(place.kind, place.outside),
            }
            for place in result.judged(claims).worst
        ]

    def figures(self, result: ErrorsOverX, names: Names, claims: Claims) -> tuple[Drawn, ...]:
        """The worst places whose sizes are told, at most six: a curve along a coordinate, a heat
        map over two."""
        theta, x_names = names
        places = [place for place in result.judged(claims).worst if has_size(place)]
        return tuple(place_picture(place, theta, x_names) for place in places[:MOST_PICTURES])

    def finds(self, result: ErrorsOverX, claims: Claims) -> bool:
        return bool(result.changing(claims))

    def complete(self, document: Json, result: ErrorsOverX, diagnosis: Diagnosis) -> None:
        self.tell_where(document, result, diagnosis)
