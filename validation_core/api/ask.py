"""`ask`: one question of a diagnosis by itself, and the answer to a question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from inspect import signature

from numpy.typing import ArrayLike

from validation_core.api.helpers import helper_processes
from validation_core.api.keywords import check_keywords, checked_keywords
from validation_core.api.names import resolve_methods, resolve_question
from validation_core.api.result import Result, Rows
from validation_core.api.table import Table, as_table
from validation_core.api.work import Watch, progress_watch, run_in_turn
from validation_core.diagnosis import Diagnosis, tasks
from validation_core.diagnosis.questions import Answer, AnyAnswer, Question
from validation_core.diagnosis.verdict import verdict
from validation_core.drawing.drawn import Drawn
from validation_core.engine import Task
from validation_core.methods.base import Method
from validation_core.scores.trained_scores import TrainTask
from validation_core.store import Store
from validation_core.tables import TableUpload, Upload
from validation_core.tables.reading import File
from validation_core.text import list_text


@dataclass(frozen=True, eq=False, repr=False)
class QuestionResult(Result):
    """The answer to one question of a diagnosis: how wrong, where over x, why, ...

    Examples:
        >>> answer = npt.ask("size", table, methods="sbc")
        >>> answer.sentences[0]
        'b is the worst: 80% intervals hold 43% [31, 57] of true values; ...'
        >>> len(answer.rows())
        2
    """

    answer: AnyAnswer
    diagnosis: Diagnosis
    """Whose claims it may make; of a question that was asked alone, relabelling's verdict."""

    @property
    def name(self) -> str:
        """Name of the question, as in JSON."""
        return self.answer.question.name

    @property
    def title(self) -> str:
        return self.answer.question.title

    @property
    def sentences(self) -> tuple[str, ...]:
        """What it says: it claims no more than relabelling within x does."""
        return self.answer.describe(self.diagnosis)

    @property
    def notes(self) -> tuple[str, ...]:
        """How it was got: rows, networks, corrections."""
        return self.answer.notes(self.diagnosis)

    @property
    def numbers(self) -> object:
        """The typed record of the results: arrays and plain values by field."""
        return self.answer.result

    def figures(self) -> tuple[Drawn, ...]:
        return self.answer.figures(self.diagnosis)

    def rows(self) -> Rows:
        """The worst first."""
        return self.answer.rows(self.diagnosis)

    def to_json(self) -> str:
        from validation_core.report.numbers import dumps

        return dumps({"sentences": list(self.sentences), **self.answer.to_json()})


@checked_keywords()
def ask(
    question: str,
    table: Table | Upload | File | Mapping[str, ArrayLike],
    *,
    methods: str | Sequence[str | Method] | None = None,
    alpha: float = 0.05,
    seed: int = 0,
    store: Store | None = None,
    progress: bool | Watch = True,
    **options: object,
) -> QuestionResult:
    """Answer one question alone; all that it claims of q is under one error rate, `alpha`.

    `ask("where_x", table)`; `ask("observation", table, where=12)` looks at another row. The rate
    is that of a relabelling within x which learns nothing but what the question learns itself, so
    that it is each question's own: of several that are asked one by one, some claim is wrong more
    often. Where a diagnosis of the same table and seed is in the store, its relabelling serves,
    and the rate is the one of its verdict and of all its questions together.

    Args:
        question: size (calibration), over_x (where_x), in_theta (where_theta), observation,
            cause, sensitivity, checker (type1_error), in_nats or mend.
        table: theta (N, D), x (N, ...), theta_q (N, K, D); or a file that holds them.
        methods: whose networks it may read; those that a diagnosis runs unasked.
        alpha: level of everything that it may claim.
        seed: of the split into training and test rows, of networks and of tie-breakers.
        store: of networks and results; by default the user's cache folder, with the shipped
            gallery behind it.
        progress: True for a bar on terminals and in notebooks, False for silence, or a `Watch`.
        options: of the question: `where` for observation.

    Raises:
        TypeError: for an option that the question has not.
        ValueError: for a question that there is not, or that this table cannot answer, with why;
            for draws that look mistaken, with what corrects them.

    Examples:
        >>> npt.ask("size", table, methods="sbc").title
        'How wrong'
    """
    wanted, upload, store = (
        resolve_question(question),
        as_table(table).upload,
        store or Store.usual(),
    )
    reason = wanted.obstacle(upload)
    if reason is not None or not isinstance(upload, TableUpload):
        why = reason or f"It needs theta, x and theta_q; got {upload.held}."
        raise ValueError(f"The question {wanted.name} has no answer from this table. {why}")
    upload.require_usable()
    tasks.register_upload(upload)
    own = signature(wanted.studies).parameters.keys() - signature(Question.studies).parameters
    check_keywords("ask", options, own | signature(ask).parameters.keys() - {"options"})
    chosen = resolve_methods(methods)
    studies = wanted.studies(upload, chosen, seed, **options)
    if not studies:
        raise ValueError(
            f"The question {wanted.name} has no answer by {list_text([m.label for m in chosen])} "
            "alone. Name other methods, or none for the usual ones."
        )
    networks = list(dict.fromkeys(one for study in studies for one in study.trainings))
    relabelling = tasks.relabelling_for(upload, studies, seed, store)
    # The longest training first: a helper takes the others meanwhile.
    trainings = [
        TrainTask(trainings=(training,))
        for training in sorted(networks, key=lambda training: -training.recipe.cost())
    ]
    queue: list[Task] = [*trainings, relabelling, *studies]
    with progress_watch(progress) as watch, helper_processes(queue, store, [upload]) as helpers:
        ordered = tasks.work_beside_helpers(queue) if helpers else queue
        run_in_turn(ordered, store, watch, helpers=helpers)
    record = relabelling.load(store)
    assert record is not None, "it has run"
    results = [result for study in studies if (result := study.load(store)) is not None]
    return QuestionResult(
        Answer.of(wanted, results, upload), verdict([record], upload, alpha=alpha, seed=seed)
    )
