"""What a diagnosis says beyond its verdict: how wrong, where, why, what was missed.

The questions stand in the order in which a reader asks them; a new one is a line in `QUESTIONS`,
and the page, the report and the command line show it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from validation_core import keys
from validation_core.diagnosis.questions.base import (
    ALIASES,
    Answer,
    Answers,
    AnyAnswer,
    AnyQuestion,
    AnyStudy,
    Asked,
    Names,
    Question,
    Rows,
    TableStudy,
)
from validation_core.diagnosis.questions.calibration import CalibrationQuestion
from validation_core.diagnosis.questions.cause import CauseQuestion
from validation_core.diagnosis.questions.in_nats import InNatsQuestion
from validation_core.diagnosis.questions.in_theta import InThetaQuestion
from validation_core.diagnosis.questions.mend import MendQuestion
from validation_core.diagnosis.questions.observation import ObservationQuestion
from validation_core.diagnosis.questions.over_x import OverXQuestion
from validation_core.diagnosis.questions.sensitivity import SensitivityQuestion
from validation_core.diagnosis.questions.type1_error import TypeIErrorQuestion
from validation_core.methods.base import Method
from validation_core.tables import TableUpload, Upload
from validation_core.text import did_you_mean

if TYPE_CHECKING:
    from validation_core.store import Store

__all__ = [
    "ALIASES",
    "QUESTIONS",
    "Answer",
    "Answers",
    "AnyAnswer",
    "AnyQuestion",
    "AnyStudy",
    "Asked",
    "Names",
    "Question",
    "Rows",
    "TableStudy",
    "answered_questions",
    "by_name",
    "question_studies",
    "unanswered",
    "without_tests",
]

QUESTIONS: tuple[AnyQuestion, ...] = (
    CalibrationQuestion(),
    OverXQuestion(),
    InThetaQuestion(),
    ObservationQuestion(),
    CauseQuestion(),
    SensitivityQuestion(),
    TypeIErrorQuestion(),
    InNatsQuestion(),
    MendQuestion(),
)


def by_name(name: str) -> AnyQuestion:
    """The question of a name.

    Raises:
        ValueError: for a name that none has.
    """
    known = keys.by_name(*QUESTIONS)
    if name not in known:
        nearest = did_you_mean(name, list(known))
        raise ValueError(f"A question is one of {', '.join(known)}; got {name!r}. {nearest}")
    return known[name]


def unanswered(answers: Answers) -> tuple[AnyQuestion, ...]:
    """The questions that these answers leave open, in their order."""
    return tuple(question for question in QUESTIONS if answers.get(question.name) is None)


def question_studies(
    questions: Sequence[AnyQuestion], upload: Upload, methods: Sequence[Method], seed: int
) -> list[AnyStudy]:
    """List the studies that these questions need, as far as this upload allows them.

    Args:
        questions: in the order of their studies.
        upload: two samples have none.
        methods: whose networks the questions may read.
        seed: of the studies.
    """
    if not isinstance(upload, TableUpload):
        return []
    return [
        study
        for question in questions
        if question.obstacle(upload) is None
        for study in question.studies(upload, methods, seed)
    ]


def without_tests(upload: Upload, methods: Sequence[Method], seed: int) -> frozenset[str]:
    """Names of the questions that a table could answer, but none of these methods does.

    Args:
        upload: two samples are asked none.
        methods: whose networks the questions may read.
        seed: of the studies.
    """
    if not isinstance(upload, TableUpload):
        return frozenset()
    return frozenset(
        question.name
        for question in QUESTIONS
        if question.obstacle(upload) is None and not question.studies(upload, methods, seed)
    )


def answered_questions(
    store: Store,
    upload: Upload,
    methods: Sequence[Method],
    seed: int,
    questions: Sequence[AnyQuestion] | None = None,
) -> Answers:
    """Load the answers that the store has so far, by the question's name.

    Args:
        store: of the results.
        upload: the table that was asked about.
        methods: whose networks the questions read.
        seed: of the studies.
        questions: those to answer; by default all.
    """
    answers: dict[str, AnyAnswer] = {}
    for question in QUESTIONS if questions is None else questions:
        loaded = [
            study.load(store) for study in question_studies([question], upload, methods, seed)
        ]
        if results := [result for result in loaded if result is not None]:
            answers[question.name] = Answer.of(question, results, upload)
    return answers
