"""JSON files: arrays by name, parameters by name, records, tables of pandas, results of bilby.

The whole text is parsed at once, in a process of bounded memory and time; no number is longer, no
list nested deeper, than Python's own bounds.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from validation_core.tables import roles
from validation_core.tables.bilby_result import POSTERIOR, SEARCHED, TRUTHS, result_arrays
from validation_core.tables.chosen import Chosen
from validation_core.tables.column_table import column_table
from validation_core.tables.event_rows import EventRows, one_simulation
from validation_core.tables.memory_arrays import MemoryArrays
from validation_core.tables.memory_columns import MemoryColumns
from validation_core.tables.ragged import may_differ_in_length, padded
from validation_core.tables.records import FIELD_AXES, records_of
from validation_core.tables.source import ArrayHeader, ArraySource, as_working_dtype, size_text

Value: TypeAlias = Any  # of JSON
_SAVE = 'Save {"theta": [[...], ...], "x": [[...], ...], "theta_q": [[[...], ...], ...]}.'
_TIMES = 8  # a number takes 2 bytes of text or more, and 8 in memory


def json_arrays(path: Path, stem: str, limit: int, chosen: Chosen | None = None) -> ArraySource:
    """Return the arrays of a JSON file.

    Args:
        path: of the file.
        stem: name of its array where it has none: that of the file, without its ending.
        limit: bytes that its arrays may take in memory.
        chosen: names of arrays or columns by the role that the user gives them.

    Raises:
        ValueError: for text that is no JSON, or holds no arrays.
    """
    size = path.stat().st_size
    if size > _TIMES * limit:
        raise ValueError(
            f"A JSON file must have at most {size_text(_TIMES * limit)}; got {size_text(size)}. "
            f"Save arrays with numpy.savez."
        )
    content = _parsed(path.read_bytes())
    bilby = _bilby(content)
    if bilby is not None:
        return bilby
    if isinstance(content, Mapping) and isinstance(content.get("data"), list):
        if isinstance(content.get("columns"), list):  # pandas, orient="split"
            rows, names = content["data"], [str(name) for name in content["columns"]]
            columns = zip(*rows, strict=True) if rows and _equally_long(rows) else ()
            return _columns(
                dict(zip(names, map(list, columns), strict=False)), stem, limit, chosen
            )
        if "schema" in content:  # pandas, orient="table"
            content = content["data"]
    if isinstance(content, list) and content and all(isinstance(row, Mapping) for row in content):
        return _records(content, stem, limit, chosen)
    if isinstance(content, list):
        content = {stem: content}
    if isinstance(content, Mapping) and len(content) == 1:
        (inside,) = content.values()
        if isinstance(inside, Mapping) and roles.roles_complete(_found(inside)):
            content = inside  # of an object with one name, such as "data"
    if not isinstance(content, Mapping):
        raise ValueError(f"A JSON file must hold arrays; got a single value. {_SAVE}")
    if events := _events(content):
        return events
    if content and all(_is_series(column) for column in content.values()):
        values = {name: list(column.values()) for name, column in content.items()}
        return _columns(values, stem, limit, chosen)
    if content and _are_columns(content) and not roles.roles_complete(_found(content)):
        return _columns(content, stem, limit, chosen)
    notes: list[str] = []
    arrays = _arrays(content, notes)
    return MemoryArrays(arrays, tuple(notes))


def _parsed(text: bytes) -> Value:
    """The content of a JSON text, or of lines of JSON.

    Raises:
        ValueError: for anything else, nested too deeply, or with a key that is there twice.
    """
    try:
        return _loads(text)
    except json.JSONDecodeError as error:
        lines = text.splitlines()
        if error.msg != "Extra data" or len(lines) < 2:
            where = f"line {error.lineno}, column {error.colno}: {error.msg}"
            raise ValueError(
                f"A JSON file must be whole; got text that is not ({where}). Save or copy it "
                f"again."
            ) from None
    try:
        return [_loads(line) for line in lines if line.strip()]
    except json.JSONDecodeError:
        raise ValueError(
            "A JSON file must hold one value, or one on each line; got more. Save it again."
        ) from None


def _loads(text: bytes) -> Value:
    try:
        return json.loads(text, object_pairs_hook=_object, parse_int=float)
    except RecursionError:
        raise ValueError(
            f"The lists of a JSON file must be nested at most a few deep; got far more. {_SAVE}"
        ) from None
    except UnicodeDecodeError:
        raise ValueError(
            "A JSON file must be text in UTF-8; got other bytes. Save it again in UTF-8."
        ) from None


def _object(pairs: Sequence[tuple[str, Value]]) -> dict[str, Value]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = (
            sorted({name for name in names if names.count(name) > 1}) if len(names) < 999 else []
        )
        raise ValueError(
            f"Each name of a JSON object must be there once; got "
            f"{roles.names_text(twice) if twice else 'some'} twice. Rename or remove one."
        )
    return found


def _bilby(content: Value) -> ArraySource | None:
    """The table of a result of bilby; None for other content."""
    if not isinstance(content, Mapping) or not {POSTERIOR, TRUTHS} <= {*content}:
        return None
    frame, truths = content[POSTERIOR], content[TRUTHS]
    frame = frame.get("content", frame) if isinstance(frame, Mapping) else None
    if not isinstance(frame, Mapping):
        return None
    if not isinstance(truths, Mapping):
        raise ValueError(
            "A result of bilby must hold the true values; got no injection_parameters. Run the "
            "sampler with injection_parameters=..., or add them to the file."
        )
    wanted = content.get(SEARCHED) or list(frame)
    names = [str(n) for n in wanted if n in frame and _is_number(truths.get(n))]
    draws = {name: _numbers(frame[name], name) for name in names}
    return result_arrays(draws, truths, [*map(str, frame), *map(str, truths)])


def _is_number(value: Value) -> bool:
    return isinstance(value, int | float)


def _is_series(value: Value) -> bool:
    """Whether a value is a column as pandas writes it: values by the number of the row."""
    return isinstance(value, Mapping) and bool(value) and all(
        str(key).lstrip("-").isdecimal() and not isinstance(v, Mapping | list)
        for key, v in value.items()
    )  # fmt: skip


def _are_columns(content: Mapping[str, Value]) -> bool:
    """Whether all values are equally long lists of plain values."""
    lists = [value for value in content.values() if isinstance(value, list)]
    return (
        len(lists) == len(content) > 1
        and len({len(value) for value in lists}) == 1
        and all(value and not isinstance(value[0], list | Mapping) for value in lists)
    )


def _found(names: Mapping[str, Value]) -> Mapping[str, str]:
    return roles.find_roles(names).found


def _equally_long(rows: Sequence[Value]) -> bool:
    return all(isinstance(row, list) and len(row) == len(rows[0]) for row in rows)


def _records(
    rows: Sequence[Mapping[str, Value]], stem: str, limit: int, chosen: Chosen | None
) -> ArraySource:
    """The table of records: a simulation in each, or a row of a table of columns.

    Raises:
        ValueError: for records with different names.
    """
    if events := _events({str(i): row for i, row in enumerate(rows)}):
        return events
    names = list(dict.fromkeys(name for row in rows for name in row))
    if any(len(row) != len(names) for row in rows):
        raise ValueError(
            f"The records of a JSON file must have the same names; got some without "
            f"{roles.names_text(n for n in names if any(n not in row for row in rows))}. Fill in "
            f"null."
        )
    return _columns({name: [row[name] for row in rows] for name in names}, stem, limit, chosen)


def _columns(
    values: Mapping[str, list[Value]], stem: str, limit: int, chosen: Chosen | None
) -> ArraySource:
    """The table of columns."""
    arrays: dict[str, NDArray[np.generic]] = {}
    for name, column in values.items():
        words = any(isinstance(value, str) for value in column)
        arrays[name] = (
            np.array(["" if value is None else str(value)[:200] for value in column])
            if words
            else _numbers(column, name)
        )
    return column_table(MemoryColumns(arrays), stem, limit, chosen)


def _events(content: Mapping[str, Value]) -> ArraySource | None:
    """The table of objects that hold one simulation each; None for other content."""
    parts = list(content.items())
    if len(parts) < 2 or not all(isinstance(part, Mapping) for _, part in parts):
        return None
    if not {"theta", "theta_q"} <= {*_found(parts[0][1])}:
        return None
    by_role: dict[str, dict[str, NDArray[np.generic]]] = {}
    for name, part in parts:
        arrays = _arrays(part, [], of_one=True)
        by_role[name] = {role: arrays[own] for role, own in _found(arrays).items()}
    headers = {
        name: {role: ArrayHeader(a.shape, a.dtype) for role, a in arrays.items()}
        for name, arrays in by_role.items()
    }
    if not one_simulation(next(iter(headers.values()))):
        return None
    return EventRows(headers, lambda name, role: by_role[name][role], "Records")


def _arrays(
    content: Mapping[str, Value], notes: list[str], prefix: str = "", *, of_one: bool = False
) -> dict[str, NDArray[np.generic]]:
    """The arrays of an object by name; those of an object within it by `name/array`.

    An object of arrays that is theta, x or theta_q is one array of records.

    Args:
        content: the object.
        notes: takes a note on each array whose rows were padded.
        prefix: name of the object within the file, with a slash.
        of_one: whether it holds one simulation, without an axis of simulations.

    Raises:
        ValueError: for arrays whose rows differ in length where their role has equal ones.
    """
    arrays: dict[str, NDArray[np.generic]] = {}
    for name, value in content.items():
        whole = f"{prefix}{name}"
        if isinstance(value, Mapping):
            inside = _arrays(value, notes, f"{whole}/", of_one=of_one)
            role = next(iter(_found({name: value})), "")
            axes = FIELD_AXES.get(role, 0) - of_one
            fields = {key.removeprefix(f"{whole}/"): array for key, array in inside.items()}
            records = records_of(fields, axes) if role in FIELD_AXES and axes >= 0 else None
            arrays |= {whole: records} if records is not None else inside
        elif isinstance(value, list):
            arrays[whole] = _array(value, whole, notes)
        elif _is_number(value):
            arrays[whole] = np.array(float(value))
    return arrays


def _array(value: list[Value], name: str, notes: list[str]) -> NDArray[np.generic]:
    """A list of numbers, or of words, as an array; rows of different lengths padded with NaN."""
    first: Value = value
    while isinstance(first, list) and first:
        first = first[0]
    if isinstance(first, str):
        words = value if all(isinstance(word, str) for word in value) else [""]
        return np.array([word[:200] for word in words])
    role = next(iter(_found({name.rpartition("/")[2]: value})), "")
    lengths = {len(row) for row in value if isinstance(row, list)}
    if len(lengths) < 2 or not may_differ_in_length(role):
        return _numbers(value, name)
    array, note = padded(name, role, [_numbers(row, name) for row in value])
    notes.append(note)
    return array


def _numbers(value: Value, name: str) -> NDArray[np.generic]:
    """Lists of numbers as an array, null as NaN.

    Raises:
        ValueError: for lists of different lengths, or anything but numbers in them.
    """
    try:
        array = np.asarray(value)
        if array.dtype.kind == "O":
            array = np.asarray(value, np.float64)
        if array.dtype.kind in "fiub":
            return as_working_dtype(array)
    except (ValueError, TypeError):
        pass
    raise ValueError(
        f"An array of a JSON file must hold numbers in lists of equal lengths; got "
        f"{roles.label(name)!r}, which does not. {_SAVE}"
    )
