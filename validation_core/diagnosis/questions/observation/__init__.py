"""At my observation: whether q can be trusted at one x, a row's, a typed or the real one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from validation_core.diagnosis import learning, plan
from validation_core.diagnosis.questions.base import Json, Names, Question, Rows
from validation_core.diagnosis.questions.observation.ensemble import LC2STEnsemble, LC2STFold
from validation_core.diagnosis.questions.observation.pictures import ball_drawn, local_figures
from validation_core.diagnosis.questions.observation.place import Where, unlike, unlike_text
from validation_core.diagnosis.questions.observation.study import (
    AtObservation,
    LocalAnswer,
    ObservationPoint,
    ObservationStudy,
)
from validation_core.diagnosis.questions.observation.words import (
    answer_text,
    ball_text,
    basis_text,
    interval_or_blank,
    place_text,
    unclaimed_text,
)
from validation_core.diagnosis.tasks import method_training
from validation_core.drawing.drawn import Drawn
from validation_core.methods.base import Method
from validation_core.relabelling.claims import Claims, parameter_name
from validation_core.scores.trained_scores import Training
from validation_core.tables import TableUpload, Upload
from validation_core.types import Array

if TYPE_CHECKING:
    from validation_core.diagnosis.verdict import Diagnosis


FEWEST = 50
"""Rows below which half of them teach a local classifier nothing."""


class ObservationQuestion(Question["AtObservation"]):
    """Whether q can be trusted at one x."""

    name = "observation"
    title = "At my observation"
    picks_x = True
    reading_guide = (
        "L-C2ST asks a classifier, trained on other rows, which of q's draws at this "
        "observation look like true values. Colours show the learned chance that a draw is "
        "the true value. If q were correct here, all draws would be pale near 1/2 but for "
        "noise, and T would be one of the grey nulls. At the nearest rows q's bias would be 0 "
        "and its width 1 times what it should be, within their intervals. q may be correct on "
        "the whole and wrong here, or the other way round."
    )

    @property
    def code(self) -> str:
        return super().code.replace("{seed})", "{seed}, where={where})")

    def obstacle(self, upload: Upload) -> str | None:
        if not isinstance(upload, TableUpload):
            return (
                f"A local test looks at q's draws at one x; got {upload.held}. Upload theta, x "
                "and theta_q."
            )
        if not upload.dims[1]:
            return (
                "A local test looks at q's draws at one x, and this table holds no x. Save x to "
                "ask whether q is right at your observation."
            )
        if upload.n < FEWEST:
            return (
                f"A local test learns on half of the rows and needs at least {FEWEST} rows; got "
                f"{upload.n}. Upload more rows."
            )
        return plan.upload_obstacle(upload)

    def studies(
        self, upload: TableUpload, methods: Sequence[Method], seed: int, where: Where = None
    ) -> tuple[ObservationStudy, ...]:
        """L-C2ST and the rows nearby; then CoLT's ball there, where one of the methods learns it.

        Raises:
            ValueError: for a row that is not there or an observation that is not M finite numbers.
        """
        if self.obstacle(upload) is not None:
            return ()
        at = ObservationPoint.of(upload, where)
        # A row is looked at by networks that learnt from the other half.
        second = not at.observed and at.row not in learning.held_out_rows(upload, seed)
        source = LC2STFold(digest=upload.digest, second=bool(second))
        network = Training(source=source, recipe=LC2STEnsemble(), seed=seed)
        studies = [at.study(upload, seed, network, "local")]
        for method in methods:
            if method.localizes and plan.method_obstacle(method, upload) is None:
                localizer = method_training(upload, method, seed)
                assert localizer is not None
                studies.append(at.study(upload, seed, localizer, "ball"))
                break
        return tuple(studies)

    def gather(self, results: Sequence[AtObservation]) -> AtObservation:
        """The parts that are done as one."""
        return AtObservation(
            next((result.local for result in results if result.local), None),
            next((result.ball for result in results if result.ball), None),
        )

    def at_saved_rows(self, result: AtObservation, upload: Upload) -> AtObservation:
        local = result.local
        if local is None or local.site.row < 0 or not isinstance(upload, TableUpload):
            return result
        site = replace(local.site, row=upload.saved_row(local.site.row))
        return replace(result, local=replace(local, site=site))

    def describe(self, result: AtObservation, names: Names, claims: Claims) -> tuple[str, ...]:
        """The answer first, then where it was looked, and what the numbers rest on."""
        theta, x_names = names
        sentences: list[str] = []
        if result.local is not None:
            local = result.local
            if _may_claim(local, claims):
                sentences += answer_text(local, theta, claims.alpha)
            else:
                sentences += unclaimed_text(local, claims, own=local.site.kind == "observed")
            sentences += place_text(local.site, x_names)
        if result.ball is not None:
            claimed = self.finds(result, claims) is True
            sentences.append(ball_text(result.ball, claimed=claimed))
        return tuple(sentences)

    def warning(self, result: AtObservation, diagnosis: Diagnosis) -> str | None:
        """That it is unlike the simulations: nothing is known of q there."""
        if result.local is None:
            return None
        site = result.local.site
        return unlike(diagnosis.upload) if site.kind == "observed" else unlike_text(site.standing)

    def notes(self, result: AtObservation, names: Names) -> tuple[str, ...]:
        del names
        local = result.local
        return () if local is None else (basis_text(local.test, local.nearby),)

    def rows(self, result: AtObservation, names: Names, claims: Claims) -> Rows:
        """A row for each parameter at the rows nearby, the worst first."""
        return [
            {
                "parameter": parameter_name(names.theta, ranks.parameter),
                "bias nearby, posterior sd (+ is too high)": interval_or_blank(
                    ranks.shift, "+.2f"
                ),
                "width / needed width": interval_or_blank(ranks.width, ".2f"),
                "p, adjusted": ranks.pvalue,
            }
            for ranks in (result.local.nearby.worst if result.local else ())
        ]

    def figures(self, result: AtObservation, names: Names, claims: Claims) -> tuple[Drawn, ...]:
        """Figures of the parts that are done."""
        del claims
        local = () if result.local is None else local_figures(result.local.test, names.theta)
        return local if result.ball is None else (*local, ball_drawn(result.ball, names.theta))

    def finds(self, result: AtObservation, claims: Claims) -> bool | None:
        local = result.local
        return local is not None and _may_claim(local, claims) and result.finds(claims.alpha)

    def complete(self, document: Json, result: AtObservation, diagnosis: Diagnosis) -> None:
        self.tell_where(document, result, diagnosis)


def _may_claim(local: LocalAnswer, claims: Claims) -> bool:
    """Whether the verdict lets q be called wrong there."""
    own = local.site.kind == "observed"
    return (claims.observation() if own else claims.pvalue) <= claims.alpha


def middle_in_words(x: Array) -> str:
    """The median of observations (n, M), as somebody would type it."""
    middle = np.median(np.asarray(x, dtype=np.float64), axis=0)
    return ", ".join(f"{value:.3g}" for value in middle)
