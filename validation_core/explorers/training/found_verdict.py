"""The verdict on a trained estimator as it is shown: its card, and its true nats beside it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from validation_core import diagnosis
from validation_core.diagnosis import tasks
from validation_core.diagnosis.card import Card, diagnosis_card
from validation_core.diagnosis.card.content import CardState, Fact
from validation_core.diagnosis.questions import (
    QUESTIONS,
    Asked,
    answered_questions,
    question_studies,
)
from validation_core.drawing.drawn import Drawn
from validation_core.explorers.training.film import examples
from validation_core.explorers.training.fresh_table import FreshTable, FreshTableStudy
from validation_core.explorers.training.nats import Nats, simulator_of
from validation_core.scores.trained_scores import Training
from validation_core.simulators import Simulator
from validation_core.study import Report, Study
from validation_core.tables import Upload

if TYPE_CHECKING:
    from validation_core.store import Store

LEVEL, SEED = 0.05, 0
"""Of the diagnosis."""


class FoundVerdict(NamedTuple):
    """A finished diagnosis without its table: what its card shows, and the truth beside it."""

    nats: Nats
    state: CardState
    title: str
    sentence: str
    facts: tuple[Fact, ...]
    next_steps: tuple[str, ...]
    picture: Drawn | None
    loaded: str
    warning: str | None

    @property
    def card(self) -> Card:
        """The card that it was."""
        return Card(
            self.state,
            self.title,
            self.sentence,
            self.facts,
            self.next_steps,
            lambda: self.picture,
            self.loaded,
            self.warning,
        )


@dataclass(frozen=True, kw_only=True)
class FoundVerdictStudy(Study[FoundVerdict], spec="found_verdict"):
    """The whole diagnosis of a trained estimator on fresh simulations, kept as its card."""

    training: Training
    seed: int = 0

    @property
    def label(self) -> str:
        return f"Verdict on {self.training.label}"

    @property
    def trainings(self) -> tuple[Training, ...]:
        return (self.training,)

    @property
    def table(self) -> FreshTableStudy:
        """The table that is diagnosed."""
        return FreshTableStudy(training=self.training, seed=self.seed)

    def compute(self, store: Store, report: Report) -> FoundVerdict:
        """Draw the table, and run on it what My posterior runs unasked."""
        if not self.table.done(store):
            self.table.run(store, lambda fraction, live: None)
        drawn = self.table.load(store)
        assert drawn is not None, "it is done"
        upload = as_upload(drawn, simulator_of(self.training))
        tasks.register_upload(upload)
        methods = diagnosis.default_methods()
        quick = [question for question in QUESTIONS if not question.long]
        work = [
            *tasks.tasks(upload, methods, SEED),
            *question_studies(quick, upload, methods, SEED),
        ]
        for done, piece in enumerate(work):
            report(done / len(work), {})
            if not piece.done(store):
                piece.run(store, lambda fraction, live: None)
        records, pending = tasks.records(store, upload, methods, SEED)
        found = diagnosis.verdict(records, upload, alpha=LEVEL, seed=SEED, pending=pending)
        answers = answered_questions(store, upload, methods, SEED)
        card = diagnosis_card(found, answers, Asked(running=frozenset()))
        return FoundVerdict(
            drawn.nats,
            card.state,
            card.title,
            card.sentence,
            card.facts,
            card.next_steps,
            card.picture,
            card.loaded,
            card.warning,
        )


def as_upload(drawn: FreshTable, simulator: Simulator) -> Upload:
    """The table as My posterior would read its file, with the names of the task's parameters."""
    arrays = {"theta": drawn.theta, "x": drawn.x, "theta_q": drawn.q}
    return replace(Upload.of(arrays, order="NKD"), names=simulator.names)


def shipped() -> tuple[FoundVerdictStudy, ...]:
    """Verdicts that ship: of the estimators whose films have a button."""
    return tuple(
        FoundVerdictStudy(training=film.training, seed=film.seed) for film in examples().values()
    )
