"""What the diagnosis page shows of each test: what it found, in words and in figures."""

from collections.abc import Sequence

import streamlit as st

from pages.components import charts
from pages.components.jobs import plain
from validation_core.diagnosis import Diagnosis, Record, equals, findings
from validation_core.figures.diagnosis import pictures
from validation_core.figures.outcome import Drawn

_WIDE = 3  # panels of a figure that do not stand beside another
_SAY_IT = ("colt", "tarp")  # panels and captions do


def one_by_one(found: Diagnosis) -> None:
    """One test opened: the one that rejects most, or one that the user chooses."""
    ran = [record for record in found.records if record.status == "ran"]
    if not ran:
        return
    st.header("Each test", anchor="tests")
    # What the verdict rests on comes first.
    order = sorted(ran, key=lambda one: (not found.counts(one), found.adjusted[one.label]))
    _opened(found, order)


@st.fragment
def _opened(found: Diagnosis, order: Sequence[Record]) -> None:
    chosen = st.selectbox(
        "Test, the verdict's own first", range(len(order)), key="test", width=420,
        format_func=lambda i: f"{order[i].title}: p {equals(found.adjusted[order[i].label])}",
    )  # fmt: skip
    record = order[chosen]
    _section(record, pictures(record, alpha=found.alpha, names=found.upload.names), found)


def _section(record: Record, shown: Sequence[Drawn], found: Diagnosis) -> None:
    """A method opened: what it found, and its figures two by two."""
    said = findings(record, found.upload.x_names) if record.name not in _SAY_IT else ()
    if said:
        st.caption(plain(" ".join(said)))
    if record.name == "sbc":
        chosen = _quantity(found)
        shown = pictures(record, alpha=found.alpha, names=found.upload.names, only=chosen)
        if chosen is None and len(found.parameters) >= _WIDE:
            for i, one in enumerate(shown):
                charts.captioned(st.container(), one.title, one.figure, f"sbc-{i}", one.caption)
            return
    _side_by_side(record.label, shown)


def _side_by_side(key: str, shown: Sequence[Drawn]) -> None:
    for row in range(0, len(shown), 2):
        columns = st.columns(2, gap="large")
        for i, (column, one) in enumerate(zip(columns, shown[row : row + 2], strict=False)):
            charts.captioned(column, one.title, one.figure, f"{key}-{row + i}", one.caption)


def _quantity(found: Diagnosis) -> int | None:
    """Which parameter's ranks to draw: the worst ones, or one that the user chooses."""
    order = sorted(range(len(found.parameters)), key=lambda i: found.parameters[i].pvalue)
    if len(order) < _WIDE:
        return None
    chosen: int | None = st.selectbox(
        "Parameter, the worst first", order, index=None, placeholder="The worst ones",
        format_func=lambda i: _named(found, i), key="parameter", width=420,
    )  # fmt: skip
    return chosen


def _named(found: Diagnosis, index: int) -> str:
    one = found.parameters[index]
    return f"{one.name}: adjusted p {equals(one.pvalue_adjusted)}"
