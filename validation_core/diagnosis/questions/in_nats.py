"""In nats: the defects of exactly known divergence that the verdict would have caught."""

from __future__ import annotations

from collections.abc import Sequence

from validation_core.diagnosis.injections import DEFECTS
from validation_core.diagnosis.injections.draw_pool import DrawPool
from validation_core.diagnosis.injections.tilts import MODE_TILT
from validation_core.diagnosis.null_tables.trials import injection_obstacle, thin_draws
from validation_core.diagnosis.questions.base import Names
from validation_core.diagnosis.questions.sensitivity import SensitivityQuestion
from validation_core.diagnosis.questions.sensitivity.result import Sensitivity
from validation_core.diagnosis.questions.sensitivity.study import SensitivityStudy
from validation_core.diagnosis.questions.sensitivity.words import missed_text, smallest_size_text
from validation_core.methods import Omnibus
from validation_core.methods.base import Method
from validation_core.relabelling.claims import Claims
from validation_core.tables import TableUpload, Upload

DIRECTIONS = ("tilt_bias", "tilt_narrow", "tilt_wide", "tilt_correlation", "tilt_mode")
"""Place, width inwards and outwards, the product of two parameters, and one of the modes."""
_SOME_MODES = 1e-4  # nats of the strongest tilt between modes, below which q has none


class InNatsQuestion(SensitivityQuestion):
    """The divergence, in nats, that a defect must have for the verdict to find it.

    Which draw of q plays the true value is chosen with unequal chances, so that its divergence
    from q's other draws is known exactly, whatever shape q has and however many modes. The
    verdict is relabelling without learned scores, which can only add.
    """

    name = "in_nats"
    title = "In nats: what could have been missed?"
    asked_for = True
    reading_guide = (
        "Each curve is the share of simulated tables in which a defect of that many nats is found "
        "by the verdict's first look, which learns nothing: with learned scores it can only be "
        "more. In these tables the draw of q that plays the true value is chosen with unequal "
        "chances along one direction, so that KL(p‖q), mean over x, is known exactly whatever "
        "shape q has. Nats are of KL(p‖q) on every page of Diagnose: a bias of b posterior sd of "
        "a normal q is b²/2 of them."
    )

    def obstacle(self, upload: Upload) -> str | None:
        return injection_obstacle(upload)  # no draw is moved: weighted ones will do

    def studies(
        self,
        upload: TableUpload,
        methods: Sequence[Method],
        seed: int,
        injections: Sequence[str] = DIRECTIONS,
    ) -> tuple[SensitivityStudy, ...]:
        """One for each direction that q has, by relabelling alone."""
        del methods
        if self.obstacle(upload) is not None:
            return ()
        data = thin_draws(upload).data
        nats = MODE_TILT.nats
        assert nats is not None, "a tilt's nats are known"
        size = nats(DrawPool(data.q, data.x, direction_seed=seed), MODE_TILT.strengths[-1])
        modes = size is not None and size > _SOME_MODES
        wanted = [name for name in injections if modes or DEFECTS[name] is not MODE_TILT]
        studies = super().studies(upload, (Omnibus(),), seed, wanted)
        return tuple(study for study in studies if study.stage == 0)

    def describe(self, result: Sensitivity, names: Names, claims: Claims) -> tuple[str, ...]:
        """All sizes in one sentence, then each with its interval."""
        each = [
            smallest_size_text(one, result, names.theta, claims.alpha) for one in result.injections
        ]
        return (*missed_text(result, claims.alpha), *each)
