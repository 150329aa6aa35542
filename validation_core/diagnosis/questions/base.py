"""What a question of the diagnosis is: its studies of a table, their result, and how it reads.

    class OverX(Question[Maps]):          # in a room of its own, diagnosis/questions/over_x
        name, title = "over_x", "Where over x"

A question is a file, or a small folder, and a line in `diagnosis/questions/__init__.py`: the page,
the report and the command line ask it for all they show. Parameter names are not part of a
result: the same draws are the same work whatever they are called. Names come in where a result
is described, listed or drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, NamedTuple, TypeVar

import numpy as np

from validation_core import codec
from validation_core.diagnosis import tasks
from validation_core.diagnosis.questions.surface import PAGE, Surface
from validation_core.drawing import style
from validation_core.drawing.marks import Axis, Heat, Panel, Points, Shades
from validation_core.methods.base import Method
from validation_core.scores import trained_scores
from validation_core.scores.trained_scores import Training
from validation_core.study import Report, Study
from validation_core.tables import TableUpload, Upload
from validation_core.text import equals
from validation_core.types import Array

if TYPE_CHECKING:
    from validation_core.diagnosis.verdict import Diagnosis
    from validation_core.drawing.drawn import Drawn
    from validation_core.relabelling.claims import Claims
    from validation_core.store import Store

__all__ = [
    "ALIASES",
    "Answer",
    "Answers",
    "AnyAnswer",
    "AnyQuestion",
    "AnyStudy",
    "Asked",
    "Json",
    "Names",
    "Question",
    "Row",
    "Rows",
    "TableStudy",
    "heat_map",
    "short_name",
]

R = TypeVar("R")
Row = dict[str, str | float | int]
"""By the titles of the columns."""
Rows = list[Row]
"""A table to read."""
Json = dict[str, Any]
"""An object of JSON while it is put together: what it holds is read on."""


LEVEL = 0.05
"""Up to which a panel's own p-value, before the verdict's correction, is worth words."""

_HINT = (
    "Questions are asked under relabelling within x, which has a level of its own. The verdict, "
    "which corrects for the tests that were asked for, finds no problem. Take this as a hint, "
    "which more simulations would settle."
)
_MISSED = (
    "Questions are asked under relabelling within x, which finds no problem (p {p}): what the "
    "tests that were asked for found is not told apart here."
)

_CODE = """\
import validation_core as npt

table = {table}
# Asked alone: a long question goes through all stages, sentences of other tests are left out, and
# where no diagnosis of the table is kept here, claims rest on a relabelling of their own.
answer = npt.ask("NAME", table, methods={methods}, alpha={alpha}, seed={seed})
print(*answer.sentences, sep="\\n")
for row in answer.rows():
    print(row)
"""


def short_name(name: str, letters: int, *, ends: bool = False) -> str:
    """A user's name as an axis shows it: cut to so many letters, and escaped."""
    return escape(style.short(name, letters, ends=ends), quote=False)


def heat_map(
    z: Array,
    sides: Sequence[Sequence[float] | Array],
    names: Sequence[str],
    rows: Array,
    *,
    reach: float,
    middle: float = 0.0,
    bar: str = "",
    color: str = "",
) -> Panel:
    """Numbers z (U, A) over two columns, blue above the middle and orange below, and rows as dots.

    Args:
        z: rows up; NaN is blank.
        sides: evenly spaced edges across (A + 1) and up (U + 1); their ends are enough.
        names: of the two columns, escaped.
        rows: dots (n, 2).
        reach: where the colours end, from the middle.
        middle: what is pale.
        bar: title of the colours.
        color: of the dots.
    """
    x_edges, y_edges = (
        np.linspace(side[0], side[-1], count + 1)
        for side, count in zip(sides, z.shape[::-1], strict=True)
    )
    shades = Shades(z, limit=reach, middle=middle, label=bar)
    dots = Points(rows[:, 0], rows[:, 1], color=color, size=3, opacity=0.6)
    heat = Heat(x_edges, y_edges, shades, hover="(%{x}, %{y}): %{z:.2f}")
    x, y = (
        Axis((float(side[0]), float(side[-1])), name)
        for name, side in zip(names, sides, strict=True)
    )
    return Panel([heat, dots], x=x, y=y, height=320)


class Names(NamedTuple):
    """A user's names of the parameters and the columns of x: escape them where they are drawn."""

    theta: Sequence[str]
    x: Sequence[str] = ()

    @classmethod
    def of(cls, upload: Upload) -> Names:
        """Those of a table."""
        return cls(upload.names, upload.x_names)


@dataclass(frozen=True, kw_only=True)
class TableStudy(Study[R]):
    """A study of an uploaded table.

    A subclass sets `about`, adds its own fields, and computes in `answer`. Its `version` is one
    more than it was before results were records that the codec keeps.
    """

    version: ClassVar[int] = 2
    about: ClassVar[str]
    """What it works out, for the list of jobs: `Sizes of errors`."""

    digest: str
    seed: int = 0
    trainings: tuple[Training, ...] = ()
    """The networks that it reads; they are trained first, or by itself where they are missing."""

    @property
    def label(self) -> str:
        return f"{self.about}, an uploaded table"

    def compute(self, store: Store, report: Report) -> R:
        return self.answer(tasks.load_table(store, self.digest), store, report)

    def answer(self, upload: TableUpload, store: Store, report: Report) -> R:
        """The result for this table; `report(fraction, {})` may be called on the way."""
        raise NotImplementedError

    def networks(self, store: Store, report: Report) -> tuple[Any, ...]:
        """The trained networks, in the order of `trainings`."""
        return tuple(
            trained_scores.trained(store, training, report) for training in self.trainings
        )


class Question(Generic[R]):
    """One question about q, all of it: what to work out, how its result is told and drawn."""

    name: ClassVar[str]
    """In addresses, in JSON and on the command line."""
    title: ClassVar[str]
    reading_guide: ClassVar[str]
    """How to read its panel, and what it would look like if q were correct."""
    long: ClassVar[bool] = False
    """Whether it takes so long that all others come first."""
    asked_for: ClassVar[bool] = False
    """Whether it is worked out only where it is asked for by name, or its row is opened."""
    picks_x: ClassVar[bool] = False
    """Whether it is about one x, which a reader picks."""
    mapped_by_localizers: ClassVar[bool] = False
    """Whether maps of a localizer's ball answer it as well."""

    @property
    def code(self) -> str:
        """Python that answers it: a template of `report.question_code`."""
        return _CODE.replace("NAME", self.name)

    def obstacle(self, upload: Upload) -> str | None:
        """Why it cannot be answered for this table, or None."""
        raise NotImplementedError

    def studies(
        self, upload: TableUpload, methods: Sequence[Method], seed: int
    ) -> tuple[TableStudy[R], ...]:
        """List its studies of a table, beside these methods; none where there is an obstacle."""
        raise NotImplementedError

    def gather(self, results: Sequence[R]) -> R:
        """The results so far, at least one, in the order of their studies, as one."""
        raise NotImplementedError

    def describe(self, result: R, names: Names, claims: Claims) -> tuple[str, ...]:
        """Sentences, of which the first is the answer.

        Args:
            result: what was worked out.
            names: as the user gave them.
            claims: every claim with its p-value under one error rate, and the level.
        """
        raise NotImplementedError

    def rows(self, result: R, names: Names, claims: Claims) -> Rows:
        """Its table, the worst first."""
        raise NotImplementedError

    def figures(self, result: R, names: Names, claims: Claims) -> tuple[Drawn, ...]:
        """Its figures with their captions."""
        raise NotImplementedError

    def notes(self, result: R, names: Names) -> tuple[str, ...]:
        """Say how it was got: rows, networks, corrections; folded away under the answer."""
        del result, names
        return ()

    def finds(self, result: R, claims: Claims) -> bool | None:
        """Whether it claims that q is wrong; None for a question that asks something else.

        Args:
            result: what was worked out.
            claims: every claim with its p-value under one error rate, and the level.
        """
        del result, claims
        return None

    def warning(self, result: R, diagnosis: Diagnosis) -> str | None:
        """Why nothing can be known where it looks, which is said first; None where it can be."""
        del result, diagnosis
        return None

    def beside(self, diagnosis: Diagnosis) -> tuple[str, ...]:
        """Sentences that the verdict's own tests add to it."""
        del diagnosis
        return ()

    def figures_of_table(self, result: R, diagnosis: Diagnosis) -> tuple[Drawn, ...]:
        """Figures of the table's own rows, which the result does not keep; after the first."""
        del result, diagnosis
        return ()

    def at_saved_rows(self, result: R, upload: Upload) -> R:
        """The result with places of rows among those that were saved, where it names some."""
        del upload
        return result

    def to_json(self, result: R) -> Json:
        """Every number of the result, as JSON holds it; arrays are for figures."""
        return codec.to_json(result)

    def complete(self, document: Json, result: R, diagnosis: Diagnosis) -> None:
        """Append its entries to the lists of the diagnosis's JSON: where, cause, sensitivity."""
        del document, result, diagnosis

    def tell_where(self, document: Json, result: R, diagnosis: Diagnosis) -> None:
        """Append its sentences to the list `where` of the diagnosis's JSON."""
        if sentences := Answer(self, result).describe(diagnosis):
            where = {"method": self.name, "label": self.title, "sentences": list(sentences)}
            document["where"].append(where)


@dataclass(frozen=True, eq=False)
class Answer(Generic[R]):
    """A question with its result: what pages, reports and the command line show."""

    question: Question[R]
    result: R

    @classmethod
    def of(cls, question: Question[R], results: Sequence[R], upload: Upload) -> Answer[R]:
        """The answer that the results of a question's studies of a table make."""
        return cls(question, question.at_saved_rows(question.gather(results), upload))

    def describe(self, diagnosis: Diagnosis) -> tuple[str, ...]:
        """Say the answer in sentences, the first first; they may hold names that a user chose.

        It claims no more than relabelling within x does, with p adjusted in its family. Where
        tests that were asked for by name are the verdict, a sentence says so if they differ.
        """
        names, claims = Names.of(diagnosis.upload), diagnosis.require_claims()
        warning = self.question.warning(self.result, diagnosis)
        sentences = (
            *([warning] if warning else []),
            *self.question.describe(self.result, names, claims),
            *self.question.beside(diagnosis),
        )
        finds = self.finds(diagnosis)
        if diagnosis.relabelled or diagnosis.pending or finds is None:
            return sentences
        if diagnosis.verdict == "problem found":
            missed = _MISSED.format(p=equals(claims.pvalue))
            return sentences if claims.found else (*sentences, missed)
        return (*sentences, _HINT) if finds else sentences

    def notes(self, diagnosis: Diagnosis) -> tuple[str, ...]:
        """How it was got."""
        return self.question.notes(self.result, Names.of(diagnosis.upload))

    def finds(self, diagnosis: Diagnosis) -> bool | None:
        """Whether it claims an error of q; None for a question that asks something else, and where
        nothing can be known."""
        if self.question.warning(self.result, diagnosis) is not None:
            return None
        return self.question.finds(self.result, diagnosis.require_claims())

    def rows(self, diagnosis: Diagnosis) -> Rows:
        """Its table, the worst first."""
        names = Names.of(diagnosis.upload)
        return self.question.rows(self.result, names, diagnosis.require_claims())

    def figures(self, diagnosis: Diagnosis) -> tuple[Drawn, ...]:
        """Its figures."""
        names = Names.of(diagnosis.upload)
        drawn = self.question.figures(self.result, names, diagnosis.require_claims())
        return (*drawn[:1], *self.question.figures_of_table(self.result, diagnosis), *drawn[1:])

    def to_json(self) -> Json:
        """Every number of the result, as JSON holds it."""
        return self.question.to_json(self.result)

    def complete(self, document: Json, diagnosis: Diagnosis) -> None:
        """Append its entries to the lists of the diagnosis's JSON."""
        self.question.complete(document, self.result, diagnosis)


AnyQuestion = Question[Any]
AnyAnswer = Answer[Any]
AnyStudy = TableStudy[Any]
"""Whatever the result: several are asked at once, and each reads its own."""
Answers = Mapping[str, AnyAnswer]
"""Answers by the name of their question."""

ALIASES: Mapping[str, str] = {
    "calibration": "size",
    "where_x": "over_x",
    "where_theta": "in_theta",
    "type1_error": "checker",
}
"""Words of the field for questions that files and addresses call shorter."""

NONE_ABLE = "Not worked out: none of these tests can be run on such tables."
"""Why a question that reads tests has no answer, where it can read none of those that were run."""

UnansweredReason = Literal["impossible", "unable", "running", "not asked", "not ended"]
"""Why a question has no answer."""


@dataclass(frozen=True)
class Asked:
    """The questions asked beyond the verdict, so that one without an answer can say why."""

    names: frozenset[str] | None = None
    """Of the questions that were asked; None for all."""
    running: frozenset[str] = frozenset()
    """Of those that are being worked out at this moment."""
    surface: Surface = PAGE
    """Where it is read: says how to ask what was not asked."""
    unable: frozenset[str] = frozenset()
    """Of those that none of the tests that were run can answer: `without_tests`."""
    late: bool = False
    """Whether the budget of seconds was spent before all tests and questions had ended."""

    @classmethod
    def only(cls, answers: Answers) -> Asked:
        """That nothing else was asked than what these answer."""
        return cls(frozenset(answers))

    def state(self, question: AnyQuestion, upload: Upload) -> UnansweredReason:
        """Why a question has no answer."""
        if question.obstacle(upload) is not None:
            return "impossible"
        if question.name in self.unable:
            return "unable"
        if question.name in self.running:
            return "running"
        asked = self.names is None or question.name in self.names
        return "not ended" if asked else "not asked"

    def why(self, question: AnyQuestion, upload: Upload) -> str:
        """The same in a sentence."""
        ended = "Not worked out: its job did not end."
        if self.late:
            ended = f"Not worked out in time: raise {self.surface.budget}."
        if upload.unusable:
            ended = "Not worked out: the file is to be corrected first."
        words: dict[UnansweredReason, str] = {
            "impossible": question.obstacle(upload) or "",
            "unable": NONE_ABLE,
            "running": "Being worked out.",
            "not asked": f"Not asked ({self.surface.asking(question.name)}).",
            "not ended": ended,
        }
        return words[self.state(question, upload)]
