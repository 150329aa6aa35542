"""Results on a table, computed or read from the store once for all sessions.

They are cached by the keys of all that they depend on; the table itself is never cached.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from pages.ui.once import once
from pages.ui.services import services
from validation_core import keys
from validation_core.diagnosis import Diagnosis, questions, tasks, verdict
from validation_core.diagnosis.questions import QUESTIONS, Answers, AnyAnswer, AnyQuestion
from validation_core.diagnosis.verdict import NoClaims
from validation_core.methods.base import Method
from validation_core.tables import Upload

_T = TypeVar("_T")
_Key = tuple[Hashable, ...]


@dataclass(frozen=True, eq=False)
class Known:
    """The diagnosis of one table with the results so far, for one run of the page."""

    diagnosis: Diagnosis
    methods: tuple[Method, ...]
    key: _Key
    """Key of the diagnosis; equal keys have equal results."""
    _done: dict[str, _Key] = field(default_factory=dict)
    """Keys of the stored stages of each question when its answer was last made."""

    @property
    def pending(self) -> int:
        """Number of tests that have not run yet."""
        return self.diagnosis.pending

    def answers(self, among: Sequence[AnyQuestion] = QUESTIONS) -> Answers:
        """The answers so far, by the question's name: none before what they may claim is known."""
        answers: dict[str, AnyAnswer] = {}
        for question in among:
            done = self._done[question.name] = self._now(question)
            unchanged = partial(self._unchanged, [question])
            key = ("answer", question.name, *done)
            allowed = done and not isinstance(self.diagnosis.claims, NoClaims)
            if allowed and (answer := once(key, partial(self._read, question), unchanged)):
                answers[question.name] = answer
        return answers

    def once(self, name: str, make: Callable[[], _T], among: Sequence[AnyQuestion]) -> _T:
        """A value made from the diagnosis and some answers, cached for all sessions."""
        key = (name, self.key, *(self._done[question.name] for question in among))
        return once(key, make, partial(self._unchanged, among))

    def _read(self, question: AnyQuestion) -> AnyAnswer | None:
        upload, seed = self.diagnosis.upload, self.diagnosis.seed
        store = services().store
        return questions.answered_questions(store, upload, self.methods, seed, [question]).get(
            question.name
        )

    def _now(self, question: AnyQuestion) -> _Key:
        upload, seed = self.diagnosis.upload, self.diagnosis.seed
        return _done(questions.question_studies([question], upload, self.methods, seed))

    def _unchanged(self, among: Sequence[AnyQuestion]) -> bool:
        return all(self._now(question) == self._done[question.name] for question in among)


def diagnose(upload: Upload, methods: Sequence[Method], alpha: float, seed: int) -> Known:
    """The verdict from the tests that have run so far."""
    store, methods = services().store, tuple(methods)
    wanted = tasks.tasks(upload, methods, seed)
    done = _done(wanted)
    made = tuple(one.done for one in upload.corrected)
    key = (upload.digest, *made, *upload.names, *upload.x_names, keys.key(methods), seed, *done)
    records, pending = once(
        ("records", *key),
        lambda: tasks.records(store, upload, methods, seed),
        lambda: _done(wanted) == done,
    )
    diagnosis = verdict(records, upload, alpha=alpha, seed=seed, pending=pending)
    return Known(diagnosis, methods, (alpha, *key))


def unasked(upload: Upload, alpha: float, seed: int) -> Known:
    """What is known of a table of which nothing is asked."""
    found = verdict([], upload, alpha=alpha, seed=seed)
    key = (alpha, upload.digest, *upload.names, seed, "unasked")
    return Known(found, (), key, {question.name: () for question in QUESTIONS})


def _done(wanted: Sequence[questions.AnyStudy | tasks.TableWork]) -> _Key:
    store = services().store
    return tuple(task.key for task in wanted if task.done(store))
