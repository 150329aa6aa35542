"""An opened question about a posterior: text, figures, a table, and how to read them."""

from collections.abc import Callable, Mapping, Sequence

import pandas as pd
import streamlit as st

from pages.ui import charts, figure_files
from pages.ui.jobs import plain, undisturbed
from validation_core import Drawn, row_files
from validation_core.glossary import in_markdown
from validation_core.report.sections import cell, slug
from validation_core.text import said_pvalue

FEW = 10
"""Rows of a table shown at first."""

WIDE = 8
"""Columns that fit side by side; more are scrolled."""

PanelRow = Mapping[str, str | float | int]


def panel(
    title: str,
    sentences: Sequence[str],
    *,
    notes: Sequence[str],
    how: str,
    table: Sequence[PanelRow],
    drawn: Sequence[Drawn],
    code: str,
    key: str,
    shown: bool = True,
) -> None:
    """Draw an answer beyond its first sentence: text, figures, and a row of further parts.

    Args:
        title: the question, for the names of files.
        sentences: in order; they may have names chosen by a user.
        notes: on the computation.
        how: how to read the panel.
        table: rows, the worst first.
        drawn: figures with their captions.
        code: the Python that reproduces the answer.
        key: of the panel, one for each on a page.
        shown: whether the figures show a finding; others are drawn on request.
    """
    if sentences:
        st.markdown(in_markdown(plain(" ".join(sentences))))
    if drawn and (shown or st.toggle("Show the figures anyway", key=f"figures-{key}")):
        _figures(drawn, key)
    if table:
        rows = f"{len(table):,} rows, the worst first" if len(table) > 1 else "1 row"
        with st.expander(f"Numbers, {rows}", type="compact"):
            _table(table, key)
    with st.container(horizontal=True):
        with st.popover("How to read", type="tertiary", icon=":material/help:"):
            st.markdown(in_markdown(plain(how)))
        if notes:
            with st.popover("Method", type="tertiary", icon=":material/science:"):
                st.markdown(in_markdown(plain(" ".join(notes))))
        if table:
            st.download_button(
                "Data (CSV)",
                undisturbed(lambda: row_files.csv_table(table)),
                f"{slug(title)}.csv",
                "text/csv",
                key=f"csv-{key}",
                on_click="ignore",
                type="tertiary",
                icon=":material/download:",
            )
        if drawn:
            figure_files.offer(drawn, key)
        with st.popover("Code", type="tertiary", icon=":material/code:"):
            st.code(code, language="python")


def _figures(drawn: Sequence[Drawn], key: str) -> None:
    """Two by two; one of several panels has a row to itself, and so has the last of an odd
    number."""
    row: list[tuple[int, Drawn]] = []
    for i, drawing in enumerate(drawn):
        if drawing.wide and row:
            _row(row, key)
            row = []
        row.append((i, drawing))
        if drawing.wide or len(row) == 2:
            _row(row, key)
            row = []
    if row:
        _row(row, key)


def _row(row: Sequence[tuple[int, Drawn]], key: str) -> None:
    for column, (i, drawing) in zip(st.columns(len(row), gap="large"), row, strict=True):
        title, words = plain(drawing.title), plain(drawing.caption)
        charts.captioned(column, title, drawing.picture, f"{key}-{i}", words)


def _table(rows: Sequence[PanelRow], key: str) -> None:
    """The worst rows; of a long table, all or those that match a search."""
    chosen, show_all = list(rows), True
    if len(rows) > FEW:
        chosen, show_all = _asked(rows, key)
    if (len(chosen) > FEW and show_all) or len(rows[0]) > WIDE:
        # Drawn on a canvas, where no name is Markdown, and only the rows that are in sight.
        height = min(420, 40 + 36 * max(1, len(chosen)))
        st.dataframe(_frame(chosen, str), hide_index=True, height=height, key=f"rows-{key}")
    elif chosen:
        frame = _frame(chosen[:FEW], plain)
        st.table(frame.set_index(frame.columns[0]))
    else:
        st.caption("No row has these words.")


def _asked(rows: Sequence[PanelRow], key: str) -> tuple[list[PanelRow], bool]:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        words = st.text_input(
            "Find in the table", key=f"find-{key}", placeholder="a parameter's name", width=260
        )
        show_all = st.toggle(f"All {len(rows):,} rows", key=f"all-{key}")
    sought = words.strip().casefold()
    chosen = [row for row in rows if not sought or sought in _words(row)]
    if sought or not show_all:
        count = len(chosen) if show_all else min(FEW, len(chosen))
        st.caption(f"{count:,} of {len(rows):,} rows, the worst first.")
    return chosen, show_all


def _words(row: PanelRow) -> str:
    return " ".join(str(value) for value in row.values() if isinstance(value, str)).casefold()


def _frame(rows: Sequence[PanelRow], safe: Callable[[str], str]) -> pd.DataFrame:
    """Rows as a data frame of text; `safe` escapes text for its output."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    cells = [[safe(_cell(name, row.get(name))) for name in columns] for row in rows]
    return pd.DataFrame(cells, columns=[safe(name) for name in columns])


def _cell(name: str, value: object) -> str:
    """A value as text; p-values, of `p` or `p, …`, as sentences have them."""
    if isinstance(value, float) and name.partition(",")[0] == "p":
        return said_pvalue(value)
    return cell(value)
