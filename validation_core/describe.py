"""A readable description of a specification, from its canonical text alone."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TypeGuard

from validation_core.keys import JSON
from validation_core.text import more_text, readable_name, value_text

_MANY_VALUES = 6
_FIRST = ("training", "trainings", "source", "benchmark", "method", "gamma", "beta")
_LAST = ("recipe", "seed")


@lru_cache(maxsize=4096)  # the table of the store's files describes each at every run
def describe(spec: str) -> str:
    """One readable line for a specification's canonical text, whatever its types.

    It has type names and field values only, so that it also describes classes that no longer
    exist: `training · simulated gaussian mean_shift (3,3) gamma 0.15 · seed 0`. Any other text is
    returned unchanged.
    """
    try:
        value = json.loads(spec)
    except ValueError:
        return spec
    if isinstance(value, list) and value:
        return describe(json.dumps(value[0])) + more_text(len(value) - 1)
    if not _is_typed(value):
        return spec
    parts = [_name(value), *(_part(name, item) for name, item in _fields(value))]
    return " · ".join(part for part in parts if part)


def _nested(value: dict[str, JSON]) -> str:
    """Name, choices and dimensions before the rest: `gaussian mean_shift (3,3)`."""
    fields = _fields(value)
    choices = [item for _, item in fields if isinstance(item, str)]
    # the papers write (dimension of x, dimension of theta)
    dims = [str(item) for name, item in reversed(fields) if name.startswith("dim_")]
    rest = [
        _part(name, item)
        for name, item in fields
        if not (name.startswith("dim_") or isinstance(item, str))
    ]
    size = f"({','.join(dims)})" if dims else ""
    return " ".join(part for part in (_name(value), *choices, size, *rest) if part)


def _part(name: str, value: JSON) -> str:
    if _is_typed(value):
        return _nested(value)
    if isinstance(value, list):
        return f"{readable_name(name)} {_tuple(value)}"
    if isinstance(value, str):
        return value
    if value is None or value is False:
        return ""
    return readable_name(name) if value is True else f"{readable_name(name)} {value_text(value)}"


def _tuple(values: Sequence[JSON]) -> str:
    items = [_nested(item) if _is_typed(item) else value_text(item) for item in values]
    if len(items) > _MANY_VALUES:
        items = [*items[:2], "…", items[-1]]
    return f"({', '.join(items)})"


def _fields(value: dict[str, JSON]) -> list[tuple[str, JSON]]:
    """Fields in reading order: the subject first, options and the seed last."""
    fields = [(name, item) for name, item in value.items() if name not in ("type", "version")]
    return sorted(fields, key=lambda field: (_place(field[0]), field[0]))


def _place(name: str) -> int:
    if name in _FIRST:
        return _FIRST.index(name)
    return len(_FIRST) + (1 + _LAST.index(name) if name in _LAST else 0)


def _is_typed(value: JSON) -> TypeGuard[dict[str, JSON]]:
    return isinstance(value, dict) and isinstance(value.get("type"), str)


def _name(value: dict[str, JSON]) -> str:
    class_name = re.sub(r"Task$", "", str(value["type"]).rpartition(":")[2].rpartition(".")[2])
    # Two letters before a capital begin a word of their own: "within x", but "colt".
    return readable_name(re.sub(r"(?<=[a-z0-9]{2})(?=[A-Z])", " ", class_name)).lower()
