"""What do local tests say there? L-C2ST and CoLT at an observation, as a diagnosis asks them."""

from __future__ import annotations

from validation_core.diagnosis.my_observation.answer import ObservationAnswer
from validation_core.diagnosis.questions.base import Answer
from validation_core.diagnosis.questions.observation.study import AtObservation
from validation_core.diagnosis.verdict import Diagnosis

_TITLE = "What do local tests say there?"
_CANNOT = (
    "A test learnt from other simulations borrows from an observation's neighbours, and sees only "
    "what its classifier learns."
)


def local(answer: Answer[AtObservation], diagnosis: Diagnosis) -> ObservationAnswer:
    """The diagnosis's answer at an observation beside the others."""
    result = answer.result
    return ObservationAnswer(
        name="local",
        title=_TITLE,
        sentences=answer.describe(diagnosis),
        cannot=_CANNOT,
        wrong=answer.finds(diagnosis),
        pvalue=result.local.test.pvalue if result.local else None,
        drawn=answer.figures(diagnosis),
        rows=answer.rows(diagnosis),
        numbers=answer.to_json(),
        notes=answer.notes(diagnosis),
    )
