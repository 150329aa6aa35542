"""Arrays of records, whose fields are parameters: compound types, dicts of one array for each."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from validation_core.tables import roles
from validation_core.tables.chosen import Chosen, resolve_names
from validation_core.tables.source import (
    ArrayHeader,
    ArraySource,
    Order,
    as_working_dtype,
    label_header,
    working_dtype,
)

FIELD_AXES = {"theta": 1, "x": 1, "theta_q": 2, "theta_o": 1, "x_o": 0}
"""Axes of rows and draws of the roles whose arrays may be given one for each name."""
_SAME_COLUMNS = {"theta_o": "theta", "x_o": "x"}
"""Roles at an observation, whose fields are in the order of another's."""
_LABELS = {"theta": "theta_names", "theta_q": "theta_names", "x": "x_names"}


def numeric_fields(dtype: np.dtype[np.generic]) -> tuple[str, ...]:
    """Return the names of a record's fields that hold real numbers.

    None for other types, and for records with Python objects, which are refused whole.
    """
    if dtype.hasobject:
        return ()
    return tuple(name for name, kind in _types(dtype).items() if kind.base.kind in "fiub")


def _types(dtype: np.dtype[Any]) -> dict[str, np.dtype[Any]]:
    """The types of a record's fields by name."""
    return {name: dtype[name] for name in dtype.names or ()}


def fields_header(header: ArrayHeader, fields: Sequence[str]) -> ArrayHeader:
    """Return the header of an array of records as numbers, its fields on a last axis."""
    every = _types(header.dtype)
    kinds = [every[name] for name in fields]
    dtype = np.result_type(*(working_dtype(kind.base) for kind in kinds))
    width = sum(math.prod(kind.shape) for kind in kinds)
    return ArrayHeader((*header.shape, width), dtype)


def fields_array(array: NDArray[np.generic], fields: Sequence[str]) -> NDArray[np.generic]:
    """Return an array of records (...) as numbers (..., fields)."""
    records: NDArray[Any] = array
    columns = [records[name].reshape(*array.shape, -1) for name in fields]
    return as_working_dtype(np.concatenate(columns, axis=-1))


def field_labels(dtype: np.dtype[np.generic], fields: Sequence[str]) -> list[str]:
    """Return a label for each column: `mass`; `y_1`, `y_2` where a field holds several."""
    every = _types(dtype)
    labels: list[str] = []
    for name in fields:
        width = math.prod(every[name].shape)
        labels += [name] if width == 1 else [f"{name}_{i + 1}" for i in range(width)]
    return labels


def fields_read(types: Mapping[str, np.dtype[np.generic]]) -> dict[str, tuple[str, ...]]:
    """Return the fields that are read of the records of each role.

    Of the true values and the draws, those that both have, in the order of the true values; so
    are draws at an observation, and the observation as x is.

    Args:
        types: type of the array of each role.
    """
    found = {role: numeric_fields(dtype) for role, dtype in types.items() if dtype.names}
    if found.get("theta") and found.get("theta_q"):
        both = tuple(name for name in found["theta"] if name in found["theta_q"])
        found["theta"] = found["theta_q"] = both
    for role, ordered in _SAME_COLUMNS.items():
        names = found.get(ordered)
        if names and set(names) <= set(found.get(role, ())):
            found[role] = names
    return {role: names for role, names in found.items() if names}


def records_of(values: Mapping[str, NDArray[np.generic]], axes: int) -> NDArray[np.generic] | None:
    """Return arrays of one name each as one array of records; None where they do not fit.

    Args:
        values: an array for each field, its first `axes` axes as in the others.
        axes: axes of the rows.
    """
    if not values or any(a.dtype.kind not in "fiub" or a.ndim < axes for a in values.values()):
        return None
    shape = next(iter(values.values())).shape[:axes]
    if any(a.shape[:axes] != shape for a in values.values()):
        return None
    fields = [(name, a.dtype, a.shape[axes:]) for name, a in values.items()]
    records = np.empty(shape, np.dtype(fields))
    for name, array in values.items():
        records[name] = array
    return records


class RecordArrays:
    """The arrays of a source, those of records as numbers with a last axis of their fields.

    Args:
        own: the source.
        chosen: names of arrays by the role that the user gives them.
    """

    def __init__(self, own: ArraySource, chosen: Chosen | None = None) -> None:
        self.own, self._chosen = own, chosen or {}
        """The source."""
        self._fields: dict[str, tuple[str, ...]] = {}
        self._labels: dict[str, list[str]] = {}
        self._told: tuple[str, ...] = ()

    @property
    def order(self) -> Order | None:
        return self.own.order

    @property
    def notes(self) -> tuple[str, ...]:
        return (*self.own.notes, *self._told)

    def headers(self) -> Mapping[str, ArrayHeader]:
        headers = dict(self.own.headers())
        if not any(header.dtype.names for header in headers.values()):
            return headers
        several = resolve_names(self._chosen, headers)
        first = {role: names[0] for role, names in several.items() if names}
        found = roles.find_roles(headers, first).found
        by_role = fields_read({role: headers[name].dtype for role, name in found.items()})
        self._told = ()
        for role, name in found.items():
            if role in by_role:
                self._fields[name] = by_role[role]
        for name, header in list(headers.items()):
            if not header.dtype.names:
                continue
            fields = self._fields.setdefault(name, numeric_fields(header.dtype))
            if not fields:
                continue
            self._told += roles.unread_notes(
                [field for field in header.dtype.names if field not in fields],
                f"fields of {roles.label(name)} without numbers or true values",
            )
            headers[name] = fields_header(header, fields)
            role = next((r for r, n in found.items() if n == name), "")
            labels = _LABELS.get(role, "")
            named = field_labels(header.dtype, fields)
            if labels and labels not in found and not all(map(str.isdecimal, named)):
                self._labels.setdefault(labels, named)
        for labels, names in self._labels.items():
            headers[labels] = label_header(len(names))
        return headers

    def load(self, name: str) -> NDArray[np.generic]:
        if name in self._labels:
            return np.array([roles.label(label) or "?" for label in self._labels[name]])
        array = self.own.load(name)
        fields = self._fields.get(name)
        return fields_array(array, fields) if fields and array.dtype.names else array

    def close(self) -> None:
        self.own.close()
