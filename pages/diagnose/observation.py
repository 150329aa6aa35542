"""The question at one observation, picked among the rows or typed."""

from collections.abc import Sequence

import streamlit as st

from pages.ui import forms, jobs, panel
from pages.ui.jobs import plain
from pages.ui.services import services
from validation_core.diagnosis import Diagnosis
from validation_core.diagnosis.questions import Answer
from validation_core.diagnosis.questions.observation import ObservationQuestion, middle_in_words
from validation_core.diagnosis.questions.observation.place import Where
from validation_core.diagnosis.questions.observation.study import AtObservation
from validation_core.diagnosis.verdict import NoClaims
from validation_core.methods.base import Method
from validation_core.report.sections import code
from validation_core.tables import TableUpload

_QUESTION = ObservationQuestion()
_TYPED = 20  # numbers that somebody types
_KINDS = {"row": "A row", "typed": "An x of my own"}


def show(
    name: str,
    upload: TableUpload,
    diagnosis: Diagnosis,
    methods: Sequence[Method],
    usual: AtObservation | None,
    label: str,
    waiting: str,
) -> None:
    """The panel at the usual place, or at one that the user asks for.

    Args:
        name: the panel's name, its anchor.
        upload: the table.
        diagnosis: of it.
        methods: that run: CoLT's ball is shown where it is one of them.
        usual: the answer at the upload's own observation, or at the middle of x, once it is there.
        label: name of the table.
        waiting: why there is no answer at the usual place, where there is none.
    """
    try:
        where = _asked(upload)
    except _NothingTyped:  # what is known of another place would look like the answer
        return
    result = usual if where is None else _elsewhere(upload, diagnosis.seed, methods, where)
    if result is None or isinstance(diagnosis.claims, NoClaims):
        if where is None:
            st.caption(plain(waiting))
        return
    answer = Answer(_QUESTION, result)
    python = _QUESTION.code.replace("where=None", f"where={where!r}")
    panel.panel(
        _QUESTION.title,
        answer.describe(diagnosis),
        notes=answer.notes(diagnosis),
        how=_QUESTION.reading_guide,
        table=answer.rows(diagnosis),
        drawn=answer.figures(diagnosis),
        code=code(python, path=label, seed=diagnosis.seed),
        key=name,
    )


class _NothingTyped(Exception):
    """An x is to be typed, and is none yet."""


def _asked(upload: TableUpload) -> Where:
    """Where to look: a row, M numbers, or None for the usual place.

    Raises:
        _NothingTyped: until the numbers are those of an x.
    """
    m = upload.dims[1]
    usual = "My x_o" if upload.observed is not None else "The middle of x"
    kinds = {"usual": usual, **_KINDS}
    if m > _TYPED:
        del kinds["typed"]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        kind = forms.segmented("Look at", kinds, "look-at")
        if kind == "row":
            last = upload.n - 1
            return forms.number(f"Row, 0 to {last}", 0, last, 0, "look-row", width=180)
        if kind == "typed":
            return _typed(upload)
    return None


def _typed(upload: TableUpload) -> Where:
    text = forms.text_field(
        f"x, {upload.dims[1]} numbers: {', '.join(upload.x_names)}"[:90],
        "look-x",
        placeholder=middle_in_words(upload.data.x),
        width=420,
    )
    if not text.strip():
        st.caption("The box shows an x on this table's scale; enter any x of your own.")
        raise _NothingTyped
    try:
        numbers = tuple(map(_number, text.replace(";", " ").replace(",", " ").split()))
        _QUESTION.studies(upload, (), 0, where=numbers)
    except ValueError as refusal:
        st.error(plain(str(refusal)), icon=":material/error:")
        raise _NothingTyped from None
    return numbers


def _number(word: str) -> float:
    try:
        return float(word)
    except ValueError:
        raise ValueError(
            f"An x is numbers with commas or spaces between them; got {word[:20]!r}. Write it as "
            "0.5, -1, 2e3."
        ) from None


def _elsewhere(
    upload: TableUpload, seed: int, methods: Sequence[Method], where: Where
) -> AtObservation | None:
    """The answer at a place that was asked for; shows its progress meanwhile."""
    wanted = _QUESTION.studies(upload, methods, seed, where=where)
    state = jobs.ensure(wanted, "At one observation", start=True)
    jobs.panel(state, follow=True)
    done = [part for task in wanted if (part := task.load(services().store)) is not None]
    return _QUESTION.gather(done) if done else None
