"""Sensitivity: what would these tests have caught on this table?

A draw of q plays the truth and is then moved, or is chosen with unequal chances, so that q has a
known defect of a known size; the tests of the diagnosis judge many such tables, networks trained
on the same defect included.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from validation_core.diagnosis.questions.base import Names, Question, Rows, as_numbers
from validation_core.diagnosis.questions.battery import needs_draws, thinned
from validation_core.diagnosis.questions.sensitivity import text
from validation_core.diagnosis.questions.sensitivity.study import (
    STAGES,
    InjectionPower,
    Sensitivity,
    SensitivityStudy,
    evaluated,
)
from validation_core.diagnosis.questions.tilts import DEFECTS
from validation_core.methods.base import Method
from validation_core.tables import Upload

if TYPE_CHECKING:
    from validation_core.diagnosis.claims import Claims
    from validation_core.diagnosis.verdict import Diagnosis
    from validation_core.figures.outcome import Drawn

__all__ = ["DEFAULT", "Sensitivity", "SensitivityStudy", "WhatWouldBeCaught"]

DEFAULT = ("bias", "bias_all", "too_narrow", "missing_mode")
"""What is injected unasked: what is in one parameter comes first."""


class WhatWouldBeCaught(Question[Sensitivity]):
    """How large a defect would have to be for these tests to find it on such a table."""

    name = "sensitivity"
    title = "What would these tests have caught?"
    reading_guide = text.READING_GUIDE
    long = True

    def obstacle(self, upload: Upload) -> str | None:
        return needs_draws(upload)

    def studies(
        self,
        upload: Upload,
        methods: Sequence[Method],
        seed: int,
        injections: Sequence[str] = DEFAULT,
    ) -> tuple[SensitivityStudy, ...]:
        """All injections by ranks, then all with classifiers, then all with localizers.

        Raises:
            ValueError: for an injection that is not known.
        """
        if unknown := [name for name in injections if name not in DEFECTS]:
            raise ValueError(
                f"What is injected is one of {', '.join(DEFECTS)}; got {unknown[0]!r}. Choose "
                "some of those."
            )
        eligible = [] if self.obstacle(upload) else evaluated(thinned(upload), methods)[0]
        if not eligible:
            return ()
        wanted = [name for name in injections if DEFECTS[name].least_dims <= upload.dims[0]]
        stages = [
            stage
            for stage, name in enumerate(STAGES)
            if stage < 2 or any(method.stage == name for method in eligible)
        ]
        return tuple(
            SensitivityStudy(
                digest=upload.digest,
                seed=seed,
                injection=name,
                methods=tuple(methods),
                stage=stage,
            )
            for stage in stages
            for name in wanted
        )

    def gather(self, results: Sequence[Sensitivity]) -> Sensitivity:
        """Each injection at the latest stage that is done."""
        latest: dict[str, InjectionPower] = {}
        for injection in (injection for result in results for injection in result.injections):
            name = injection.injection
            if name not in latest or latest[name].stage < injection.stage:
                latest[name] = injection
        return replace(results[0], injections=tuple(latest.values()))

    def describe(
        self, result: Sensitivity, names: Names, claims: Claims | None = None
    ) -> tuple[str, ...]:
        del claims
        return text.describe(result, names.theta)

    def rows(self, result: Sensitivity, names: Names, claims: Claims | None = None) -> Rows:
        del names, claims
        return text.rows(result)

    def figures(
        self, result: Sensitivity, names: Names, claims: Claims | None = None
    ) -> tuple[Drawn, ...]:
        from validation_core.diagnosis.questions.sensitivity.figures import figures

        del names, claims
        return figures(result)

    def complete(
        self, document: dict[str, Any], result: Sensitivity, diagnosis: Diagnosis
    ) -> None:
        del diagnosis
        document["sensitivity"] += [
            {"kind": injection.injection, **as_numbers(injection)}
            for injection in result.injections
        ]
