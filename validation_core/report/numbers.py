"""Every number of a diagnosis as JSON: what scripts read, and what an HTML report carries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import orjson

from validation_core.diagnosis import Diagnosis
from validation_core.diagnosis.questions import QUESTIONS, Answers
from validation_core.report import versions

_OPTIONS = orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS


def as_json(found: Diagnosis, answers: Answers) -> str:
    """One JSON object; NaN and infinities, which JSON has no word for, are null.

    `where`, `cause` and `sensitivity` begin with what the verdict's own tests say and go on with
    the answers; everything that was worked out stands under `answers` by the name of its
    question, and why a question has none, where nothing could be worked out, under `left_out`.

    Args:
        found: the verdict with what it rests on.
        answers: by the name of their questions. They speak of parameters by index: `names` and
            `x_names` beside them say which is which.
    """
    document = found.to_json()
    for answer in answers.values():
        answer.complete(document, found)
    return dumps(
        {
            **document,
            "names": list(found.upload.names),
            "x_names": list(found.upload.x_names),
            "answers": {
                name: {"sentences": list(answer.describe(found)), **answer.to_json()}
                for name, answer in answers.items()
            },
            "left_out": {
                question.name: reason
                for question in QUESTIONS
                if question.name not in answers
                and (reason := question.obstacle(found.upload)) is not None
            },
            "versions": versions.versions(),
        }
    )


def dumps(value: Any) -> str:
    """JSON of plain values and of numpy's; a broken letter in a name becomes a question mark."""
    try:
        return orjson.dumps(value, default=_plain, option=_OPTIONS).decode()
    except TypeError:  # half a surrogate pair in some string
        return orjson.dumps(_whole(value), default=_plain, option=_OPTIONS).decode()


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"JSON holds plain values; got {type(value).__name__}. Convert it.")


def _whole(value: Any) -> Any:
    """The same with text that UTF-8 can write."""
    if isinstance(value, str):
        return text(value)
    if isinstance(value, Mapping):
        return {_whole(name): _whole(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_whole(item) for item in value]
    return value


def text(value: str) -> str:
    """Text that UTF-8 can write: halves of surrogate pairs become question marks."""
    return value.encode("utf-8", "replace").decode("utf-8")
