"""Trained networks as named arrays: from typed fields and back."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from types import NoneType
from typing import ClassVar, Self, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from validation_core.keys import Arrays, part

GIVEN = {"stored": ""}
"""Metadata of a field that the recipe knows: it is not stored, `read` is handed it."""
_BESIDE = ("seconds", "device")  # kept in the entry's own description


class StoredNetwork:
    """A trained network: a frozen dataclass of arrays, numbers, records, and mappings of these.

    A stored name is the path of its field, as "trained.weight0"; a number is an array of one.
    Metadata `stored` gives a field another name there.
    """

    hoisted: ClassVar[str] = ""
    """A mapping whose names are stored without the field's own before them."""

    def arrays(self) -> Arrays:
        """Everything to store, by flat names, but seconds and device."""
        fields = _stored(type(self)).items()
        flat = _flat({stored: getattr(self, name) for name, stored in fields}, "")
        return {name.removeprefix(f"{self.hoisted}."): array for name, array in flat}

    @classmethod
    def read(cls, arrays: Arrays, **given: object) -> Self:
        """Network from the output of `arrays`, with the fields that are not stored.

        Raises:
            KeyError: when an array is missing.
        """
        fields, hints = _stored(cls), get_type_hints(cls)
        own = {
            name if name.partition(".")[0] in fields.values() else f"{cls.hoisted}.{name}": array
            for name, array in arrays.items()
        }
        values = {name: _read(hints[name], own, stored) for name, stored in fields.items()}
        return cls(**values, **given)


def _stored(kind: type) -> dict[str, str]:
    """Stored names by field."""
    names = {f.name: f.metadata.get("stored", f.name) for f in dataclasses.fields(kind)}
    return {field: name for field, name in names.items() if name and field not in _BESIDE}


def _flat(value: object, path: str) -> Iterator[tuple[str, NDArray[np.generic]]]:
    if value is None:
        return
    if isinstance(value, np.ndarray):
        yield path, value
    elif isinstance(value, bool | int | float):
        yield path, np.array([value])
    else:
        for name, inner in (value if isinstance(value, Mapping) else vars(value)).items():
            yield from _flat(inner, f"{path}.{name}" if path else name)


def _read(hint: object, arrays: Arrays, name: str) -> object:
    if name in arrays:
        return _number(hint, arrays[name])
    own, args = part(arrays, name), get_args(hint)
    if NoneType in args:
        return _read(args[0], arrays, name) if own else None
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        hints, fields = get_type_hints(hint), [field.name for field in dataclasses.fields(hint)]
        return hint(**{field: _read(hints[field], own, field) for field in fields})
    if get_origin(hint) is None or len(args) < 2:
        raise KeyError(name)
    if get_origin(args[1]) is Mapping:
        return {key: _read(args[1], own, key) for key in {n.partition(".")[0]: 0 for n in own}}
    return {key: _number(args[1], array) for key, array in own.items()}


def _number(hint: object, array: NDArray[np.generic]) -> object:
    return hint(array.reshape(-1)[0]) if hint in (bool, int, float) else array
