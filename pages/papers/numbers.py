"""Printed numbers of the papers beside ours."""

from collections.abc import Sequence

import streamlit as st

from pages.papers import markup
from pages.ui.services import services
from pages.ui.trials import trials_read
from validation_core.explorers.papers import beside
from validation_core.explorers.papers.beside import Beside, Sheet
from validation_core.published import PAPERS
from validation_core.text import list_text, value_text


def sheets() -> list[Sheet]:
    """Every printed table beside what the store has."""
    return beside.sheets(services().store, trials_read())


def counts(sheets: Sequence[Sheet]) -> str:
    """How many of the printed numbers have ours beside them: the end of a sentence."""
    printed = sum(len(sheet.cells) for sheet in sheets)
    beside_ours = sum(sheet.counted for sheet in sheets)
    return f"{beside_ours} of the {printed} numbers that they print have ours beside them"


KEY = (
    "In each cell the printed number stands above ours. What ours rests on stands below the table."
)
"""How the tables are read."""


def show(sheets: Sequence[Sheet]) -> None:
    """A table for each of the papers' tables."""
    st.caption(KEY)
    for sheet in sheets:
        show_sheet(sheet)


def show_sheet(sheet: Sheet) -> None:
    """A printed table with ours in each cell, and what ours rests on."""
    table = sheet.table
    name = f"{PAPERS[table.paper]}, {table.where}"
    st.subheader(name, anchor=False)
    st.markdown(f"{table.title}.")
    rows = {
        row: [(table.text(cell.number), cell.ours) for cell in cells]
        for row, cells in sheet.rows.items()
    }
    places = map(value_text, table.places)
    st.html(markup.render("numbers", label=name, axis=table.axis, places=[*places], rows=rows))
    st.caption(sheet.note)
    for why, cells in sheet.reasons.items():
        st.caption(f"No number of ours for {_named(cells)}. {why}")


def _named(cells: Sequence[Beside]) -> str:
    """Cells by row: `AutoML at 0.6 and 0.7`."""
    rows: dict[str, list[str]] = {}
    for cell in cells:
        rows.setdefault(cell.number.row, []).append(value_text(cell.number.place))
    return "; ".join(f"{row} at {list_text(places)}" for row, places in rows.items())
