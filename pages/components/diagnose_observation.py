"""At my observation: which one, picked among the rows or typed, and what is found there."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from pages.components import jobs, panel
from pages.components.jobs import plain
from pages.components.services import services
from validation_core.answers import Found, observation
from validation_core.diagnosis import Diagnosis
from validation_core.figures.observation import drawn
from validation_core.report.reproduce import code
from validation_core.types import Draws, Method
from validation_core.uploads import Upload

_TYPED = 20  # numbers that somebody types
_KINDS = {"row": "A row", "typed": "An x of my own"}


def show(title: str, name: str, found: Diagnosis, methods: Sequence[Method],
         usual: Found | None, label: str) -> None:  # fmt: skip
    """The panel at the usual place, or at one that the user asks for.

    Args:
        title: the panel's heading.
        name: the panel's name, its anchor.
        found: the verdict, of the table.
        methods: that run: CoLT's ball is shown where it is one of them.
        usual: the answer at the upload's own observation, or at the middle of x, once it is there.
        label: what the table is called.
    """
    st.header(title, anchor=name)
    try:
        where = _asked(found.upload)
    except _NotYet:  # what is known of another place would look like the answer
        return
    told = usual if where is None else _elsewhere(found, methods, where)
    if told is None:
        if where is None:
            st.caption("Being worked out.")
        return
    names = found.upload.names
    panel.panel(
        title, said=observation.say(told, names, found.upload.x_names), how=observation.HOW,
        table=observation.table(told, names), drawn=drawn(told, names),
        code=code(_Coded(where), path=label, seed=found.seed), key=name, heading=False,
    )  # fmt: skip


class _NotYet(Exception):
    """An x is to be typed, and is none yet."""


class _Coded:
    """The panel's code for one place: what `report.reproduce.code` fills in."""

    def __init__(self, where: observation.Where) -> None:
        self.module = self
        self.CODE = observation.CODE.replace("where=None", f"where={where!r}")


def _asked(upload: Upload) -> observation.Where:
    """Where to look: a row, M numbers, or None for the usual place.

    Raises:
        _NotYet: until the numbers are those of an x.
    """
    assert isinstance(upload.data, Draws)
    m = upload.dims[1]
    usual = "My x_o" if upload.observed is not None else "The middle of x"
    kinds = {"usual": usual, **_KINDS}
    if m > _TYPED:
        del kinds["typed"]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        kind = st.segmented_control("Look at", list(kinds), format_func=kinds.get,
                                    default="usual", required=True, key="look-at")  # fmt: skip
        if kind == "row":
            return int(st.number_input(f"Row, 0 to {upload.n - 1}", 0, upload.n - 1, 0,
                                       key="look-row", width=180))  # fmt: skip
        if kind == "typed":
            return _typed(upload)
    return None


def _typed(upload: Upload) -> observation.Where:
    assert isinstance(upload.data, Draws)
    x = np.asarray(upload.data.x, dtype=np.float64)
    middle = ", ".join(f"{value:.3g}" for value in np.median(x, axis=0))
    text = st.text_input(
        f"x, {x.shape[1]} numbers: {', '.join(upload.x_names)}"[:90], key="look-x",
        placeholder=middle, width=420,
    )  # fmt: skip
    if not text.strip():
        st.caption("An x of this table's scale stands in the box; yours may be any.")
        raise _NotYet
    try:
        numbers = tuple(map(_number, text.replace(";", " ").replace(",", " ").split()))
        observation.tasks(upload, (), 0, where=numbers)
    except ValueError as refusal:
        st.error(plain(str(refusal)), icon=":material/error:")
        raise _NotYet from None
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
    found: Diagnosis, methods: Sequence[Method], where: observation.Where
) -> Found | None:
    """The answer at a place that was asked for; shows its progress meanwhile."""
    wanted = observation.tasks(found.upload, methods, found.seed, where=where)
    state = jobs.ensure(wanted, "At one observation", start=True)
    jobs.panel(state, follow=True)
    done = [one for task in wanted if (one := task.load(services().store)) is not None]
    return observation.gather(done) if done else None
