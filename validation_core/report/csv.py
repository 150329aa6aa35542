"""A panel's table as a CSV file that is safe to open in a spreadsheet.

Text is quoted, so that no separator of another country splits it, and text that a spreadsheet
would calculate begins with an apostrophe. Numbers stay numbers.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from validation_core.report.numbers import text

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def table(rows: Sequence[Mapping[str, Any]]) -> bytes:
    """The rows under the names of all their columns, in UTF-8 with a byte order mark.

    Without the mark Excel takes the file for the letters of one country; pandas, polars and
    LibreOffice pass over it. Not-a-number and what a row lacks are left empty.
    """
    columns = list(dict.fromkeys(name for row in rows for name in row))
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\r\n")
    writer.writerows(_lines(columns, rows))
    return b"\xef\xbb\xbf" + buffer.getvalue().encode()


def _lines(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> Iterable[list[Any]]:
    yield [_safe(name) for name in columns]
    for row in rows:
        yield [_cell(row.get(name)) for name in columns]


def _cell(value: Any) -> str | int | float:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return ""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return _safe(str(value))
    return value


def _safe(value: str) -> str:
    """Text that no spreadsheet calculates."""
    cleaned = text(value).replace("\0", "\N{REPLACEMENT CHARACTER}")
    begins = (cleaned, cleaned.lstrip())
    risky = any(begin.startswith(_FORMULA) for begin in begins) and not _NUMBER.fullmatch(cleaned)
    return f"'{cleaned}" if risky else cleaned
