"""Downloads of a diagnosis: every number as JSON, and notes.

Notes are kept by the
digest of a table's numbers: they return when it is uploaded again, and are never pruned.
"""

from __future__ import annotations

import platform
import unicodedata
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import orjson

from validation_core import __version__
from validation_core.diagnosis import Diagnosis
from validation_core.diagnosis.card import diagnosis_card
from validation_core.diagnosis.my_observation.look import own_answers
from validation_core.diagnosis.outcome import outcome
from validation_core.diagnosis.questions import Answers, Asked, unanswered
from validation_core.text import utf8_text

if TYPE_CHECKING:
    from validation_core.store import Store

SCHEMA = "nptlab/diagnosis/1"
"""Name and version of the schema of `as_json`: the file `diagnosis.schema.json` beside this one. A
field that is added leaves the version as it is; one that changes or goes raises it."""
_OPTIONS = orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS


def as_json(found: Diagnosis, answers: Answers, asked: Asked | None = None) -> str:
    """A diagnosis as one JSON object; NaN and infinities become null.

    `where`, `cause` and `sensitivity` combine the verdict's own tests with the answers; `answers`
    has every answer by the name of its question, `my_observation` what is said of the table's own
    x_o, the worst first, and `left_out` the reason for each question
    without one.

    Args:
        found: the verdict and the tests behind it.
        answers: by the name of their questions. They number parameters in the order of `names`
            and `x_names`.
        asked: state of each question; by default the answered ones were asked.
    """
    document = found.to_json()
    why = (asked or Asked.only(answers)).why
    for answer in answers.values():
        answer.complete(document, found)
    return dumps(
        {
            "schema": SCHEMA,
            "outcome": outcome(found),
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
            "my_observation": [
                answer.to_json() for answer in own_answers(found.upload, found.alpha, found.seed)
            ],
            "left_out": {
                question.name: why(question, found.upload) for question in unanswered(answers)
            },
            "versions": library_versions(),
        }
    )


def schema() -> str:
    """The JSON Schema (draft 2020-12) that every result of `as_json` satisfies."""
    return (Path(__file__).parent / "diagnosis.schema.json").read_text(encoding="utf-8")


def dumps(value: object) -> str:
    """JSON of plain and numpy values; a lone surrogate in a text becomes a question mark."""
    try:
        return orjson.dumps(value, default=_plain, option=_OPTIONS).decode()
    except TypeError:  # a lone surrogate in some string
        return orjson.dumps(_whole(value), default=_plain, option=_OPTIONS).decode()


def _plain(value: object) -> object:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"JSON holds plain values; got {type(value).__name__}. Convert it.")


def _whole(value: object) -> object:
    """The value with all text encodable in UTF-8."""
    if isinstance(value, str):
        return utf8_text(value)
    if isinstance(value, Mapping):
        return {_whole(name): _whole(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_whole(item) for item in value]
    return value


_PACKAGES = ("numpy", "scipy", "torch", "plotly")


def library_versions() -> dict[str, str]:
    """Versions of NPT Lab, of Python, and of the packages that numbers depend on, by name.

    They are read from package metadata, without an import.
    """
    installed = {"nptlab": __version__, "python": platform.python_version()}
    for name in _PACKAGES:
        try:
            installed[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return installed


LONGEST = 20_000
"""Most characters of notes."""


def load_notes(store: Store, digest: str) -> str:
    """The notes on a table by its digest; empty without any."""
    stored = store.load("notes", digest)
    return str(stored.meta.get("text", "")) if stored else ""


def save_notes(store: Store, digest: str, words: str) -> None:
    """Replace the notes on a table; blank notes delete them.

    Raises:
        ValueError: for more than 20,000 characters.
        OSError: when the disk cannot be written.
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
    """Notes without control characters other than line breaks, and without blank ends."""
    lines = utf8_text(words).replace("\r\n", "\n").replace("\r", "\n").replace("\t", "    ")
    characters = (c for c in lines if c == "\n" or not unicodedata.category(c).startswith("C"))
    return "".join(characters).strip()
