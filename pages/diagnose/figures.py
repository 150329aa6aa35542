"""Details of each test on the diagnosis page: findings and figures."""

from collections.abc import Sequence

import streamlit as st

from pages.ui import charts
from pages.ui.jobs import plain
from validation_core import Drawn, Record
from validation_core.diagnosis import Diagnosis, findings
from validation_core.panels.record import pictures
from validation_core.text import said_equals

_WIDE = 3  # panels of a figure that do not stand beside another


def one_by_one(found: Diagnosis) -> None:
    """One test opened: the one that rejects most, or one that the user chooses."""
    ran = [record for record in found.records if record.status == "ran"]
    if not ran:
        return
    # The test of the verdict comes first.
    order = sorted(ran, key=lambda one: (not found.counts(one), found.adjusted[one.label]))
    _opened(found, order)


@st.fragment
def _opened(found: Diagnosis, order: Sequence[Record]) -> None:
    chosen = st.selectbox(
        "Test, the verdict's own first",
        range(len(order)),
        key="test",
        width=420,
        format_func=lambda i: _titled(order[i], found),
    )
    record = order[chosen]
    _section(record, pictures(record, alpha=found.alpha, names=found.upload.names), found)


def _titled(record: Record, found: Diagnosis) -> str:
    """A test with its adjusted p, once that is what it will be."""
    if found.pending:
        return record.title
    return f"{record.title}: p {said_equals(found.adjusted[record.label])}"


def _section(record: Record, drawings: Sequence[Drawn], found: Diagnosis) -> None:
    """The findings of a method, and its figures in two columns."""
    sentences = findings(record, found.upload.x_names) if not record.kind.repeats_findings else ()
    if sentences:
        st.caption(plain(" ".join(sentences)))
    if record.kind.ranks_parameters:
        chosen = _quantity(found)
        drawings = pictures(record, alpha=found.alpha, names=found.upload.names, only=chosen)
        if chosen is None and len(found.parameters) >= _WIDE:
            for i, drawing in enumerate(drawings):
                charts.captioned(
                    st.container(), drawing.title, drawing.picture, f"sbc-{i}", drawing.caption
                )
            return
    charts.side_by_side(record.label, drawings)


def _quantity(found: Diagnosis) -> int | None:
    """The parameters whose ranks are drawn: the worst ones, or the user's choice."""
    order = sorted(range(len(found.parameters)), key=lambda i: found.parameters[i].pvalue)
    if len(order) < _WIDE:
        return None
    chosen: int | None = st.selectbox(
        "Parameter, the worst first",
        order,
        index=None,
        placeholder="The worst ones",
        format_func=lambda i: _named(found, i),
        key="parameter",
        width=420,
    )
    return chosen


def _named(found: Diagnosis, index: int) -> str:
    parameter = found.parameters[index]
    return f"{parameter.name}: adjusted p {said_equals(parameter.pvalue_adjusted)}"
