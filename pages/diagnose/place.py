"""Pick an observation: a table's own, one of its rows, or numbers that somebody types."""

import streamlit as st

from pages.ui import forms
from pages.ui.jobs import plain
from validation_core.diagnosis.questions.observation import middle_in_words
from validation_core.diagnosis.questions.observation.place import Where
from validation_core.diagnosis.questions.observation.study import ObservationPoint
from validation_core.tables import TableUpload
from validation_core.text import first_text

_TYPED, _NAMED = 20, 3  # numbers that somebody types, and names of them that a label has room for
_KINDS = {"row": "A row", "typed": "An x of my own"}


class NothingTyped(Exception):
    """An x is to be typed, and is none yet."""


def asked(upload: TableUpload, usual: str = "") -> Where:
    """Where to look: a row, M numbers, or None for the usual place.

    Args:
        upload: the table.
        usual: name of the usual place, if not the table's own x_o or a row in the middle of x.

    Raises:
        NothingTyped: until the numbers are those of an x.
    """
    m = upload.dims[1]
    kinds = {"usual": usual or _usual(upload), **_KINDS}
    if m > _TYPED:
        del kinds["typed"]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        kind = forms.segmented("Look at", kinds, "look-at")
        if kind == "row":
            last = upload.saved_row(upload.n - 1)
            row = forms.number(f"Row, 0 to {last}", 0, last, 0, "look-row", width=180)
            return _there(upload, row)
        if kind == "typed":
            return _typed(upload)
    return None


def _there(upload: TableUpload, where: Where) -> Where:
    """The place, if the table has it.

    Raises:
        NothingTyped: where it has not, which is said.
    """
    try:
        ObservationPoint.of(upload, where)
    except ValueError as refusal:
        st.error(plain(str(refusal)), icon=":material/error:")
        raise NothingTyped from None
    return where


def _usual(upload: TableUpload) -> str:
    """The name of the usual place: a row is said to be one, its x may look anything but usual."""
    if upload.observed is not None:
        return "My x_o"
    row = upload.saved_row(ObservationPoint.of(upload, None).row)
    return f"Row {row}, nearest the median x"


def _typed(upload: TableUpload) -> Where:
    text = forms.text_field(
        f"x, {upload.dims[1]} numbers: {first_text(upload.x_names, _NAMED)}",
        "look-x",
        placeholder=middle_in_words(upload.data.x),
        width=420,
    )
    if not text.strip():
        st.caption("The box shows an x on this table's scale; enter any x of your own.")
        raise NothingTyped
    try:
        numbers = tuple(map(_number, text.replace(";", " ").replace(",", " ").split()))
    except ValueError as refusal:
        st.error(plain(str(refusal)), icon=":material/error:")
        raise NothingTyped from None
    return _there(upload, numbers)


def _number(word: str) -> float:
    try:
        return float(word)
    except ValueError:
        raise ValueError(
            f"An x is numbers with commas or spaces between them; got {word[:20]!r}. Write it as "
            "0.5, -1, 2e3."
        ) from None
