"""What is known of a table, worked out or read from the store once for all sessions.

Kept by the keys of all that it depends on; a table itself is never kept.
"""

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

from pages.ui.once import once
from pages.ui.services import services
from validation_core import keys
from validation_core.diagnosis import Diagnosis, questions, tasks, verdict
from validation_core.diagnosis.questions import QUESTIONS, Answers, AnyAnswer, AnyQuestion
from validation_core.methods.base import Method
from validation_core.tables import Upload

_T = TypeVar("_T")
_Key = tuple[Hashable, ...]


class Known(NamedTuple):
    """What one session asks of one table, and what has answered."""

    diagnosis: Diagnosis
    methods: tuple[Method, ...]
    key: _Key
    """Of the diagnosis: equal ones say the same."""

    @property
    def pending(self) -> int:
        """Tests that are to come."""
        return self.diagnosis.pending

    def answers(self, among: Sequence[AnyQuestion] = QUESTIONS) -> Answers:
        """The answers so far, by the question's name."""
        answers: dict[str, AnyAnswer] = {}
        for question in among:
            done = self._done(question)
            if done:
                answers[question.name] = once(
                    ("answer", question.name, *done), partial(self._answer, question)
                )
        return answers

    def _answer(self, question: AnyQuestion) -> AnyAnswer:
        upload, seed = self.diagnosis.upload, self.diagnosis.seed
        store = services().store
        return questions.answered(store, upload, self.methods, seed, [question])[question.name]

    def once(self, name: str, make: Callable[[], _T], among: Sequence[AnyQuestion]) -> _T:
        """What is made of the diagnosis and of the answers to some questions."""
        return once((name, self.key, *map(self._done, among)), make)

    def _done(self, question: AnyQuestion) -> _Key:
        store, upload = services().store, self.diagnosis.upload
        wanted = questions.studies([question], upload, self.methods, self.diagnosis.seed)
        return tuple(study.key for study in wanted if study.done(store))


def diagnose(upload: Upload, methods: Sequence[Method], alpha: float, seed: int) -> Known:
    """The verdict with what there is of every test."""
    store, methods = services().store, tuple(methods)
    done = tuple(task.key for task in tasks.tasks(upload, methods, seed) if task.done(store))
    key = (upload.digest, *upload.names, *upload.x_names, keys.key(methods), seed, *done)
    records, pending = once(("records", *key), lambda: tasks.records(store, upload, methods, seed))
    diagnosis = verdict(records, upload, alpha=alpha, seed=seed, pending=pending)
    return Known(diagnosis, methods, (alpha, *key))
