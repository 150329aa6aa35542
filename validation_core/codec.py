"""One codec for results: a typed record to named arrays with a JSON tree and back, and to JSON.

`dump` and `load` keep a record whole, for the store; `to_json` gives its numbers to a reader.

A record is a frozen dataclass or a NamedTuple; its fields hold arrays, plain values, records,
and tuples, lists or mappings (with text keys) of these. Types come from its annotations: a class
that is read back must import the names in them at run time.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from functools import cache
from types import NoneType, UnionType
from typing import Any, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from validation_core.keys import JSON, Arrays
from validation_core.types import Interval

R = TypeVar("R")
_Array = NDArray[np.generic]
_ARRAY = {"@": "array"}


def dump(record: object) -> tuple[dict[str, _Array], dict[str, JSON]]:
    """Flatten a record into arrays by the path of their field (`parts.0.u`) and a JSON tree.

    Args:
        record: a frozen dataclass or NamedTuple.

    Returns:
        The arrays, with shapes and types as they are, and a JSON tree of all other values.

    Raises:
        TypeError: for a value of a type that no record holds.
    """
    arrays: dict[str, _Array] = {}
    tree = _dump(record, "", arrays)
    if not isinstance(tree, dict):
        raise TypeError(f"A result is a record; got {type(record).__name__}. Make it one.")
    return arrays, tree


def load(kind: type[R], arrays: Arrays, tree: JSON) -> R:
    """Rebuild the record that `dump` flattened; fields added since then get their defaults.

    Args:
        kind: class of the record.
        arrays: by the path of their field, as `dump` returns them.
        tree: all other values.

    Raises:
        TypeError: when the class has an annotation of an unsupported type.
    """
    record = _load(kind, tree, "", arrays)
    assert isinstance(record, kind), "a record's tree is that of its fields"
    return record


class _Shown(NamedTuple):
    name: str = ""
    hidden: bool = False
    flat: bool = False
    optional: bool = False


def shown(
    *, name: str = "", hidden: bool = False, flat: bool = False, optional: bool = False
) -> dict[str, Any]:
    """Metadata of a dataclass field that JSON does not show under its own name and as it is.

    Args:
        name: the name that it has in JSON.
        hidden: leave it out.
        flat: put the fields of its record in its place; nothing where it is None.
        optional: leave it out where it has its default.
    """
    return {"shown": _Shown(name, hidden, flat, optional)}


def to_json(value: object) -> Any:
    """Every number of a value as JSON holds it: None for NaN.

    A record is an object of its fields, as `fields_to_json` has them, unless its class has a
    `to_json` of its own, which works out what no field holds.
    """
    if dataclasses.is_dataclass(value):
        own = getattr(value, "to_json", None)
        return fields_to_json(value) if own is None else own()
    if isinstance(value, Mapping):
        return {name: to_json(part) for name, part in value.items()}
    if isinstance(value, tuple | list):
        return [to_json(part) for part in value]
    return None if isinstance(value, float) and math.isnan(value) else value


def fields_to_json(record: Any) -> dict[str, Any]:
    """The fields of a dataclass as an object of JSON, without arrays, which figures draw.

    An interval becomes three fields, `name`, `name_low` and `name_high`; `shown` names what else
    differs.
    """
    fields: dict[str, Any] = {}
    for field in dataclasses.fields(record):
        value, how = getattr(record, field.name), field.metadata.get("shown", _Shown())
        name = how.name or field.name
        if how.hidden or _has_arrays(value) or (how.optional and value == field.default):
            continue
        if isinstance(value, Interval):
            ends = (name, f"{name}_low", f"{name}_high")
            fields |= zip(ends, map(to_json, value), strict=True)
        elif how.flat:
            fields |= to_json(_as_mapping(value))
        else:
            fields[name] = to_json(value)
    return fields


def _as_mapping(value: object) -> object:
    """A NamedTuple by the names of its fields, None as an empty mapping; all else as it is."""
    if isinstance(value, tuple):
        return dict(zip(_fields(value), value, strict=True))
    return {} if value is None else value


def _has_arrays(value: object) -> bool:
    """Whether it is an array, or a tuple with one."""
    parts = value if isinstance(value, tuple) else (value,)
    return any(isinstance(part, np.ndarray) for part in parts)


def _dump(value: object, path: str, arrays: dict[str, _Array]) -> JSON:
    if isinstance(value, np.ndarray):
        arrays[path] = value
        return _ARRAY
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if fields := _fields(value):
        return {name: _dump(getattr(value, name), _at(path, name), arrays) for name in fields}
    if isinstance(value, Mapping):
        if not all(isinstance(name, str) for name in value):
            raise TypeError(f"Mappings of a record go by text; got {list(value)[:3]} at {path!r}.")
        return {name: _dump(part, _at(path, name), arrays) for name, part in value.items()}
    if isinstance(value, Sequence):
        return [_dump(part, _at(path, i), arrays) for i, part in enumerate(value)]
    raise TypeError(
        f"A record holds arrays, plain values, records, tuples and mappings; got "
        f"{type(value).__name__} at {path!r}. Turn it into one of those."
    )


def _load(hint: object, tree: JSON, path: str, arrays: Arrays) -> object:
    if tree == _ARRAY:
        return _unpacked(hint, arrays[path])
    origin, args = get_origin(hint), get_args(hint)
    if tree is None or hint in (Any, object):
        return tree
    if origin in (Union, UnionType):
        return _load(_arm(args, tree), tree, path, arrays)
    if isinstance(tree, dict):
        if isinstance(hint, type) and _names(hint):
            hints = _hints(hint)
            return hint(
                **{
                    name: _load(hints[name], part, _at(path, name), arrays)
                    for name, part in tree.items()
                    if name in hints
                }
            )
        inner = args[1] if len(args) == 2 else object
        return {name: _load(inner, part, _at(path, name), arrays) for name, part in tree.items()}
    if isinstance(tree, list):
        parts = [_load(_each(args, i), part, _at(path, i), arrays) for i, part in enumerate(tree)]
        if isinstance(hint, type) and _names(hint):  # a NamedTuple that was kept as one
            return hint(*parts)
        return parts if origin is list else tuple(parts)
    return float(tree) if hint is float and isinstance(tree, int) else tree


@cache
def _hints(kind: type[Any]) -> dict[str, Any]:
    """The types of a record's fields; a result holds many records of few classes."""
    return get_type_hints(kind)


def _unpacked(hint: object, array: _Array) -> object:
    """An array, or the number or record of numbers that an older result stored as an array."""
    if hint is float:
        return float(array)
    if not (isinstance(hint, type) and (names := _names(hint))):
        return array
    hints = _hints(hint)
    return hint(*(_number(hints[name], v) for name, v in zip(names, array.tolist(), strict=True)))


def _number(hint: object, value: float) -> float:
    return int(value) if hint is int else value


def _arm(args: tuple[object, ...], tree: JSON) -> object:
    """The member of a union to which this tree belongs: all its fields, and the fewest others."""
    arms = [arm for arm in args if arm is not NoneType]
    records = [arm for arm in arms if isinstance(arm, type) and _names(arm)]
    if isinstance(tree, dict) and records:
        return max(records, key=lambda arm: (len(set(tree) & set(_names(arm))), -len(_names(arm))))
    plain = [arm for arm in arms if isinstance(arm, type) and isinstance(tree, arm)]
    return plain[0] if plain else arms[0]


def _each(args: tuple[object, ...], i: int) -> object:
    """The type of the i-th part of a tuple or list."""
    if not args:
        return object
    return args[0] if len(args) == 1 or args[1] is Ellipsis else args[i]


def _fields(value: object) -> tuple[str, ...]:
    return _names(type(value))


def _names(kind: type) -> tuple[str, ...]:
    """Fields of a record's class; none for anything else."""
    if dataclasses.is_dataclass(kind):
        return tuple(field.name for field in dataclasses.fields(kind))
    names: tuple[str, ...] = getattr(kind, "_fields", ())
    return names


def _at(path: str, name: str | int) -> str:
    return f"{path}.{name}" if path else str(name)
