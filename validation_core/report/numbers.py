"""What is taken away beside the page: every number as JSON, tables as CSV, and notes.

A CSV file is safe to open in a spreadsheet: text is quoted, so that no separator of another
country splits it, and text that a spreadsheet would calculate begins with an apostrophe. Notes
are kept by the digest of a table's numbers: they are there again when it is uploaded again, and
are not deleted to make room for results.
"""

from __future__ import annotations

import csv
import io
import platform
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from importlib import metadata
from typing import TYPE_CHECKING

import numpy as np
import orjson

from validation_core import __version__
from validation_core.diagnosis import Diagnosis
from validation_core.diagnosis.card import diagnosis_card
from validation_core.diagnosis.questions import Answers, Asked, unanswered

if TYPE_CHECKING:
    from validation_core.store import Store

_OPTIONS = orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS


def as_json(found: Diagnosis, answers: Answers, asked: Asked | None = None) -> str:
    """One JSON object; NaN and infinities, which JSON has no word for, are null.

    `where`, `cause` and `sensitivity` begin with what the verdict's own tests say and go on with
    the answers; everything that was worked out stands under `answers` by the name of its
    question, and why a question has none under `left_out`.

    Args:
        found: the verdict with what it rests on.
        answers: by the name of their questions. They speak of parameters by index: `names` and
            `x_names` beside them say which is which.
        asked: which questions were asked; by default those that these answer.
    """
    document = found.to_json()
    why = (asked or Asked.only(answers)).why
    for answer in answers.values():
        answer.complete(document, found)
    return dumps(
        {
            **document,
            "card": diagnosis_card(found, answers, asked).to_json(),
            "names": list(found.upload.names),
            "x_names": list(found.upload.x_names),
            "answers": {
                name: {
                    "sentences": list(answer.describe(found)),
                    "notes": list(answer.notes(found)),
                    **answer.to_json(),
                }
                for name, answer in answers.items()
            },
            "left_out": {
                question.name: why(question, found.upload) for question in unanswered(answers)
            },
            "versions": library_versions(),
        }
    )


def dumps(value: object) -> str:
    """JSON of plain values and of numpy's; a broken letter in a name becomes a question mark."""
    try:
        return orjson.dumps(value, default=_plain, option=_OPTIONS).decode()
    except TypeError:  # half a surrogate pair in some string
        return orjson.dumps(_whole(value), default=_plain, option=_OPTIONS).decode()


def _plain(value: object) -> object:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"JSON holds plain values; got {type(value).__name__}. Convert it.")


def _whole(value: object) -> object:
    """The same with text that UTF-8 can write."""
    if isinstance(value, str):
        return utf8_text(value)
    if isinstance(value, Mapping):
        return {_whole(name): _whole(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_whole(item) for item in value]
    return value


def utf8_text(value: str) -> str:
    """Text that UTF-8 can write: halves of surrogate pairs become question marks."""
    return value.encode("utf-8", "replace").decode("utf-8")


_PACKAGES = ("numpy", "scipy", "torch", "plotly")


def library_versions() -> dict[str, str]:
    """Version by name of the program, of Python, and of the packages that numbers depend on.

    Read from what is installed: nothing is imported for it.
    """
    installed = {"nptlab": __version__, "python": platform.python_version()}
    for name in _PACKAGES:
        try:
            installed[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return installed


_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def csv_table(rows: Sequence[Mapping[str, object]]) -> bytes:
    """The rows under the names of all their columns, in UTF-8 with a byte order mark.

    Without the mark Excel takes the file for the letters of one country; pandas, polars and
    LibreOffice pass over it. Not-a-number and what a row lacks are left empty.
    """
    columns = list(dict.fromkeys(name for row in rows for name in row))
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\r\n")
    writer.writerows(_lines(columns, rows))
    return b"\xef\xbb\xbf" + buffer.getvalue().encode()


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
    """Text that no spreadsheet calculates."""
    cleaned = utf8_text(value).replace("\0", "\N{REPLACEMENT CHARACTER}")
    begins = (cleaned, cleaned.lstrip())
    risky = any(begin.startswith(_FORMULA) for begin in begins) and not _NUMBER.fullmatch(cleaned)
    return f"'{cleaned}" if risky else cleaned


LONGEST = 20_000
"""Characters."""


def load_notes(store: Store, digest: str) -> str:
    """The notes on a table; empty where there are none."""
    stored = store.load("notes", digest)
    return str(stored.meta.get("text", "")) if stored else ""


def save_notes(store: Store, digest: str, words: str) -> None:
    """Keep notes on a table in place of those before; blank ones are forgotten.

    Raises:
        ValueError: for more than 20,000 characters.
        OSError: when the disk does not take them.
    """
    if len(words) > LONGEST:
        raise ValueError(
            f"Notes have at most {LONGEST:,} characters; got {len(words):,}. Shorten them, or "
            f"keep the rest elsewhere."
        )
    cleaned = clean_notes(words)
    if cleaned:
        meta = {"label": "Notes on an uploaded table", "text": cleaned}
        store.save("notes", digest, {}, spec="notes", meta=meta)
    else:
        store.delete("notes", digest)


def clean_notes(words: str) -> str:
    """Printable text with its line breaks, and no blank ends."""
    lines = utf8_text(words).replace("\r\n", "\n").replace("\r", "\n").replace("\t", "    ")
    characters = (c for c in lines if c == "\n" or not unicodedata.category(c).startswith("C"))
    return "".join(characters).strip()
