"""What the diagnosis page shows of each test: what it found, in words and in figures."""

from collections.abc import Sequence

import streamlit as st

from pages.components import charts, diagnose_ball
from pages.components.jobs import plain
from validation_core.diagnosis import Diagnosis, Record, equals, findings, further_methods
from validation_core.figures.diagnosis import pictures
from validation_core.figures.outcome import Drawn
from validation_core.maps import MapTask

_WIDE = 3  # panels of a figure that do not stand beside another
_SAY_IT = ("colt", "tarp")  # their figures' captions do


def drawings(found: Diagnosis, maps: Sequence[MapTask]) -> None:
    """Every method that ran: those with one figure beside one another, CoLT with its map, then
    the further ones."""
    ran = [record for record in found.records if record.status == "ran"]
    further = [record for record in ran if record.name in further_methods()]
    mapped = [record for record in ran if record.name == "colt"]
    alone: list[Drawn] = []
    for record in ran:
        if record in (*further, *mapped):
            continue
        shown = pictures(record, alpha=found.alpha, names=found.upload.names)
        if len(shown) == 1:
            title = f"{record.label}: {shown[0].title.lower()}"
            alone.append(shown[0]._replace(title=title))
        else:
            _section(record, shown, found)
    _side_by_side("alone", alone)
    for record in (*mapped, *further):
        _section(record, pictures(record, alpha=found.alpha, names=found.upload.names), found)
        if record in mapped:
            diagnose_ball.where(record, found, next(iter(maps), None))


def _section(record: Record, shown: Sequence[Drawn], found: Diagnosis) -> None:
    """A method opened: its title, what it found, its figures two by two."""
    st.subheader(record.title, anchor=False)
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
