"""Sensitivity: what would these tests have caught on this table?

A draw of q plays the truth and is then moved, or is chosen with unequal chances, so that q has a
known defect of a known size; the tests of the diagnosis judge many such tables, networks trained
on the same defect included.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from validation_core import codec
from validation_core.diagnosis.injections import DEFECTS
from validation_core.diagnosis.injections.draw_pool import DrawPool
from validation_core.diagnosis.null_tables.trials import injection_obstacle, thin_draws
from validation_core.diagnosis.questions.base import Json, Names, Question, Row, Rows
from validation_core.diagnosis.questions.sensitivity.pictures import power_panel
from validation_core.diagnosis.questions.sensitivity.result import (
    STAGES,
    InjectionPower,
    Power,
    Sensitivity,
)
from validation_core.diagnosis.questions.sensitivity.study import (
    SensitivityStudy,
    evaluated_methods,
)
from validation_core.diagnosis.questions.sensitivity.words import (
    basis_text,
    missed_text,
    smallest_size_text,
)
from validation_core.drawing.drawn import Drawn
from validation_core.methods.base import Method
from validation_core.tables import TableUpload, Upload

if TYPE_CHECKING:
    from validation_core.diagnosis.verdict import Diagnosis
    from validation_core.relabelling.claims import Claims


DEFAULT = ("bias", "bias_all", "too_narrow", "missing_mode")
"""Defects that are injected unasked, those in one parameter first."""


class SensitivityQuestion(Question["Sensitivity"]):
    """The size that a defect must have for these tests to find it on such a table."""

    name = "sensitivity"
    title = "What would these tests have caught?"
    reading_guide = (
        "Each curve is the share of simulated tables in which a defect of that strength is "
        "found. In them a draw of q takes the true value's place and is moved, in one "
        "parameter or direction drawn at random or in all parameters, so that q is wrong by "
        "just that much. Nats are the divergence KL(p‖q), computed as if q were normal where "
        "the sentence says so. Where the verdict's curve passes 80%, a defect of that size "
        "would most likely have been found. The curves begin at the level, about 5%, on the "
        "left, whether q is correct or not. Tests not run at a strength count as silent "
        "there: the verdict's power is then a lower bound."
    )
    long = True

    def obstacle(self, upload: Upload) -> str | None:
        if isinstance(upload, TableUpload) and upload.weighting is not None:
            return (
                "It moves a draw that plays the true value; got weighted draws, which were drawn "
                "anew and repeat, so that a moved one would be known by having no equal. Bring "
                "draws of equal weight."
            )
        if isinstance(upload, TableUpload) and upload.repeats_draws:
            return (
                "It moves a draw that plays the true value; got draws that repeat at their x, as "
                "in a chain that stays, so that a moved one would be known by having no equal. "
                "Bring draws that differ: thin a chain, save all digits."
            )
        return injection_obstacle(upload)

    def studies(
        self,
        upload: TableUpload,
        methods: Sequence[Method],
        seed: int,
        injections: Sequence[str] = DEFAULT,
    ) -> tuple[SensitivityStudy, ...]:
        """All injections by ranks, then all with classifiers, then all with localizers.

        Raises:
            ValueError: for an injection that is not known, and where none that is asked for fits
                into the parameters that vary.
        """
        if unknown := [name for name in injections if name not in DEFECTS]:
            raise ValueError(
                f"What is injected is one of {', '.join(DEFECTS)}; got {unknown[0]!r}. Choose "
                "some of those."
            )
        if self.obstacle(upload):
            return ()
        few = thin_draws(upload)
        eligible = evaluated_methods(few, methods)[0]
        if not eligible:
            return ()
        moving = len(DrawPool(few.data.q, few.data.x).moving)
        wanted = [name for name in injections if DEFECTS[name].least_dims <= moving]
        if not wanted:
            fitting = [name for name, one in DEFECTS.items() if one.least_dims <= moving]
            raise ValueError(
                "What is injected needs no more parameters than vary in this table, "
                f"{moving}; got {', '.join(injections) or 'nothing'}. Choose some of "
                f"{', '.join(fitting)}."
            )
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

    def describe(self, result: Sensitivity, names: Names, claims: Claims) -> tuple[str, ...]:
        """Sizes that would be found, the rows that half of each takes; then what may be missed."""
        sentences = [
            smallest_size_text(injection, result, names.theta, claims.alpha)
            for injection in result.injections
        ]
        return (*sentences, *missed_text(result, claims.alpha))

    def notes(self, result: Sensitivity, names: Names) -> tuple[str, ...]:
        del names
        return (basis_text(result), *map(str, result.left_out))

    def rows(self, result: Sensitivity, names: Names, claims: Claims) -> Rows:
        """One row for each defect, strength and test, the verdict first, the strongest first."""
        del names, claims
        return [
            row
            for injection in result.injections
            for i in reversed(range(len(injection.strengths)))
            for title, powers in (
                ("Verdict", injection.verdict),
                *((test.title, test.power) for test in injection.tests),
            )
            if (power := powers[i]) is not None
            for row in (_row(injection, i, title, power),)
        ]

    def figures(self, result: Sensitivity, names: Names, claims: Claims) -> tuple[Drawn, ...]:
        """One figure for each defect."""
        del names, claims
        return tuple(power_panel(injection, result) for injection in result.injections)

    def complete(self, document: Json, result: Sensitivity, diagnosis: Diagnosis) -> None:
        del diagnosis
        document["sensitivity"] += [
            {"kind": injection.injection, **codec.to_json(injection)}
            for injection in result.injections
        ]


def _row(injection: InjectionPower, i: int, title: str, power: Power) -> Row:
    nats = "" if injection.nats is None else round(injection.nats.strengths[i], 6)
    return {
        "q is": injection.title,
        "strength": nats if injection.unit == "nats" else injection.strengths[i],
        "unit": injection.unit,
        "nats": nats,
        "test": title,
        "found": power.rate,
        "95% low": power.low,
        "95% high": power.high,
        "tables": power.trials,
    }
