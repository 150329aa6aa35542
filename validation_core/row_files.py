"""Rows of numbers and words as files: CSV for spreadsheets, tables for LaTeX.

A CSV file is safe to open in a spreadsheet: text is quoted, so that no locale's separator splits
it, and text that a spreadsheet would evaluate begins with an apostrophe.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from validation_core.text import utf8_text

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def csv_table(rows: Sequence[Mapping[str, object]]) -> bytes:
    """Rows as CSV with a header, in UTF-8 with a byte order mark.

    Without the mark Excel assumes a legacy encoding; pandas, polars and LibreOffice skip it. NaN
    and missing values are empty cells.
    """
    columns = list(dict.fromkeys(name for row in rows for name in row))
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\r\n")
    writer.writerows(_lines(columns, rows))
    return b"\xef\xbb\xbf" + buffer.getvalue().encode()


def latex_table(rows: Sequence[Mapping[str, object]], digits: int = 3) -> str:
    """Rows as a LaTeX table, with the rules of the package booktabs; dashes where nothing is.

    Args:
        rows: plain values by column name.
        digits: significant digits of a number.
    """
    import pandas as pd

    def cell(value: object) -> str:
        if not isinstance(value, float):
            return utf8_text(str(value))
        number, _, power = f"{value:.{digits}g}".partition("e")
        return f"${number} \\times 10^{{{int(power)}}}$" if power else f"${number}$"

    style = pd.DataFrame(list(rows)).style.hide(axis="index")
    style = style.format(cell, na_rep="--", escape="latex").format_index(escape="latex", axis=1)
    return str(style.to_latex(hrules=True))


def _lines(
    columns: Sequence[str], rows: Iterable[Mapping[str, object]]
) -> Iterable[list[str | int | float]]:
    yield [_safe(name) for name in columns]
    for row in rows:
        yield [_csv_cell(row.get(name)) for name in columns]


def _csv_cell(value: object) -> str | int | float:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return ""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return _safe(str(value))
    return value


def _safe(value: str) -> str:
    """Text that no spreadsheet evaluates as a formula."""
    cleaned = utf8_text(value).replace("\0", "\N{REPLACEMENT CHARACTER}")
    begins = (cleaned, cleaned.lstrip())
    risky = any(begin.startswith(_FORMULA) for begin in begins) and not _NUMBER.fullmatch(cleaned)
    return f"'{cleaned}" if risky else cleaned
