"""Tables as HTML: the first rows, numbers to three digits, everything escaped."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

_SHORT = 24  # letters
_NUMBER = re.compile(r"(< )?[+−-]?[\d.,]+(e[+−-]?\d+)?%?", re.ASCII)


def slug(text: str) -> str:
    """Letters, digits and hyphens: an anchor, or the name of a file."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:60] or "figure"


def table(rows: Sequence[Mapping[str, Any]], most: int) -> str:
    """A table of the first rows, and how many there are beside them."""
    if not rows:
        return ""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    numeric = {name for name in columns if all(_numeric(row.get(name)) for row in rows)}
    head = "".join(
        f'<th scope="col"{" class=number" * (name in numeric)}>{escape(str(name))}</th>'
        for name in columns
    )
    lines = "".join(
        f"<tr>{''.join(_cell(row.get(name), name in numeric) for name in columns)}</tr>"
        for row in rows[:most]
    )
    hidden = len(rows) - most
    more = (
        f"The first {most:,} of {len(rows):,} rows; the JSON has them all." if hidden > 0 else ""
    )
    return (
        f'<div class="scroll table" tabindex="0"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{lines}</tbody></table></div>" + (f'<p class="aside">{more}</p>' if more else "")
    )


def cell(value: Any) -> str:
    """A number to three digits, or a word."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None:
        return "–"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    if value != value:
        return "–"
    return f"{value:.3g}".replace("-", "−")


def _numeric(value: Any) -> bool:
    """Whether it reads as a number: `-0.3`, `< 1e-300`, `1,000`, `12%`, or nothing."""
    if isinstance(value, str):
        return value in ("", "–") or _NUMBER.fullmatch(value) is not None
    return not isinstance(value, bool)


def _cell(value: Any, numeric: bool) -> str:
    """A cell; what is short stays on one line."""
    content = cell(value)
    kind = "number" if numeric else "short" if len(content) <= _SHORT else "long"
    return f'<td class="{kind}">{escape(content)}</td>'
