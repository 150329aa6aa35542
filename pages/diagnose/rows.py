"""A row for each question: its answer in a sentence, a small picture, all of it on demand."""

import base64
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import streamlit as st
from streamlit.elements.lib.mutable_expander_container import ExpanderContainer

from pages.diagnose import ball, mend, observation
from pages.diagnose.known import Known
from pages.ui import jobs, panel
from pages.ui.jobs import plain
from pages.ui.services import services
from validation_core import Drawn, Record
from validation_core.diagnosis import Diagnosis
from validation_core.diagnosis.questions import (
    QUESTIONS,
    Answers,
    AnyAnswer,
    AnyQuestion,
    AnyStudy,
    Asked,
    question_studies,
)
from validation_core.diagnosis.questions.base import NONE_ABLE, Rows
from validation_core.drawing import style, svg
from validation_core.drawing.marks import Grid
from validation_core.engine import JobState
from validation_core.localization import MapTask
from validation_core.mending import Mended
from validation_core.methods.base import Method
from validation_core.report import question_code
from validation_core.tables import TableUpload, Upload
from validation_core.text import without_pvalues

_ICONS = {True: ":material/error:", False: ":material/check:", None: ":material/info:"}
_WAITING = ":material/hourglass_empty:"
_SPARK = (108, 38)  # pixels
_BLANK = '<svg xmlns="http://www.w3.org/2000/svg" width="108" height="38"/>'


def wanted(upload: Upload, methods: Sequence[Method], seed: int) -> list[AnyStudy]:
    """Studies of the short questions, those of the card first."""
    quick = [question for question in QUESTIONS if not question.long]
    order = sorted(quick, key=lambda question: question.picks_x)
    return question_studies(order, upload, methods, seed)


def asked(state: JobState | None) -> Asked:
    """Everything is asked; what does not take long runs while this job does."""
    active = state is not None and state.active
    quick = frozenset(question.name for question in QUESTIONS if not question.long)
    return Asked(running=quick if active else frozenset())


def is_open(name: str) -> bool:
    """Whether a reader has opened this row."""
    return bool(st.session_state.get(f"row-{name}"))


def _long(
    question: AnyQuestion, diagnosis: Diagnosis, methods: Sequence[Method]
) -> list[AnyStudy]:
    """Of a long question the first stage, of one that is asked for none; all of them once its row
    has been opened."""
    stages = question_studies([question], diagnosis.upload, methods, diagnosis.seed)
    opened = is_open(question.name)
    if question.asked_for:  # a row whose text changes closes: what was asked goes on
        asked_of = st.session_state.setdefault(f"asked-{question.name}", set())
        if opened:
            asked_of.add(diagnosis.upload.digest)
        return stages if diagnosis.upload.digest in asked_of else []
    return [study for study in stages if opened or not study.needs]


@contextmanager
def row(
    name: str, title: str, answer: str, *, icon: str = ":material/info:", spark: str = ""
) -> Iterator[ExpanderContainer]:
    """An expander with a line; draw its content inside the `with` block.

    Args:
        name: of the row, its key.
        title: the question.
        answer: in a sentence; it may have names chosen by a user.
        icon: its state.
        spark: a small picture as markup.
    """
    with st.container(key=f"line-{name}", horizontal=True, wrap=False, vertical_alignment="top"):
        image = base64.b64encode((spark or _BLANK).encode()).decode()
        picture = f'<img class="npt-spark" alt="" src="data:image/svg+xml;base64,{image}">'
        st.html(picture, width=_SPARK[0])
        label = f"**{plain(title)}** · {plain(answer)}"
        with st.expander(label, icon=icon, key=f"row-{name}", on_change="rerun") as opened:
            yield opened


def show(
    known: Known,
    answers: Answers,
    maps: Sequence[MapTask],
    waiting: JobState | None,
    files: Sequence[str],
) -> list[JobState]:
    """Every question in its order: its answer, or that it is to come, or why there is none.

    Returns the jobs of long questions, whose progress is drawn below all rows.

    Args:
        known: the diagnosis.
        answers: so far.
        maps: of CoLT's ball.
        waiting: the job that works out all but the long ones; these begin when it has ended.
        files: names of the table's files, for the code.
    """
    diagnosis, methods = known.diagnosis, known.methods
    upload = diagnosis.upload
    if not isinstance(upload, TableUpload):
        st.caption(
            "How wrong, where and why are answered from q's draws at each x; got "
            f"{upload.held}. Upload theta, x and theta_q."
        )
        return []
    begun: list[JobState] = []
    for question in QUESTIONS:
        state = waiting
        if question.long and (waiting is None or waiting.state == "done"):
            long = _long(question, diagnosis, methods)
            state = jobs.only(f"row-{question.name}", long, question.title)
            begun += [] if state is None else [state]
        own = answers
        if question.long:  # its result may have arrived meanwhile
            own = known.answers([question])
        answer = own.get(question.name)
        summary = None if answer is None else _summarise(question, answer, known)
        later = question.long and state is waiting
        sentence, icon = _answer(question, diagnosis, summary, state, later=later)
        spark = "" if summary is None else summary.spark
        with row(question.name, question.title, sentence, icon=icon, spark=spark) as line:
            if not line.open:
                continue
            if question.picks_x and question.obstacle(upload) is None:
                usual = None if answer is None else answer.result
                observation.show(question.name, upload, diagnosis, methods, usual, files, sentence)
            elif answer is not None and summary is not None:
                _opened(question, answer, known, summary, files)
                if isinstance(answer.result, Mended):
                    mend.downloads(answer.result, upload)
            else:
                st.caption(plain(sentence))
            if question.mapped_by_localizers:
                _ball(diagnosis, maps)
    return begun


class _AnswerSummary(NamedTuple):
    """The parts of an answer shown on the page."""

    sentences: Sequence[str]
    finds: bool | None
    drawn: Sequence[Drawn]
    spark: str


def _summarise(question: AnyQuestion, answer: AnyAnswer, known: Known) -> _AnswerSummary:
    def make() -> _AnswerSummary:
        diagnosis = known.diagnosis
        plots = answer.figures(diagnosis)
        return _AnswerSummary(
            answer.describe(diagnosis), answer.finds(diagnosis), plots, _spark(plots)
        )

    return known.once(f"row-{question.name}", make, [question])


def _answer(
    question: AnyQuestion,
    diagnosis: Diagnosis,
    seen: _AnswerSummary | None,
    state: JobState | None,
    *,
    later: bool,
) -> tuple[str, str]:
    """The text of a row, and the icon of its state; `later` where its work comes after others."""
    reason = question.obstacle(diagnosis.upload)
    if reason is not None:
        return f"Not worked out. {reason}", _ICONS[None]
    if seen is not None:
        # No tick under a card that says that q is wrong.
        quiet = seen.finds is False and diagnosis.verdict == "problem found"
        icon = _ICONS[None if quiet else seen.finds]
        if not diagnosis.pending:
            return seen.sentences[0], icon
        said = without_pvalues(seen.sentences[0])
        return (said, icon) if said else ("Being worked out.", _WAITING)
    if state is None and question.asked_for:
        return "Open this row to work it out.", _ICONS[None]
    if state is None:
        return NONE_ABLE, _ICONS[None]
    if state.state == "queued":
        return "Follows when its turn comes.", _WAITING
    if state.active:
        return "Follows when the others are done." if later else "Being worked out.", _WAITING
    return "Not worked out: its job did not end.", _ICONS[None]


def _spark(drawn: Sequence[Drawn]) -> str:
    """The question's first figure, as small as a word; room for it before it is there."""
    width, height = _SPARK
    for drawing in drawn[:1]:
        picture = drawing.picture
        first = picture.panels[0] if isinstance(picture, Grid) else picture
        try:
            return svg.svg(first, width, height=height, bare=True, alone=True, ink=style.NULL)
        except TypeError:  # coloured by numbers: too much for so small a picture
            break
    return ""


def _opened(
    question: AnyQuestion,
    answer: AnyAnswer,
    known: Known,
    seen: _AnswerSummary,
    files: Sequence[str],
) -> None:
    diagnosis = known.diagnosis
    table: Rows = known.once(f"table-{question.name}", lambda: answer.rows(diagnosis), [question])
    sentences = list(seen.sentences[1:])
    if diagnosis.pending:  # p-values are shown once they are what they will be
        sentences, table = [said for each in sentences if (said := without_pvalues(each))], []
    panel.panel(
        question.title,
        sentences,
        notes=answer.notes(diagnosis),
        how=question.reading_guide,
        table=table,
        drawn=seen.drawn,
        shown=seen.finds is not False,
        code=question_code(question, diagnosis, files),
        key=question.name,
    )


def _ball(diagnosis: Diagnosis, maps: Sequence[MapTask]) -> None:
    """CoLT's own answer to where: its ball, at an observation that a user picks."""
    for record in _localized(diagnosis.records):
        st.subheader("The region that CoLT found", anchor=False)
        ready = next((task for task in maps if task.done(services().store)), None)
        ball.where(record, diagnosis, ready)


def _localized(records: Sequence[Record]) -> list[Record]:
    return [record for record in records if record.kind.localizes and record.status == "ran"]
