"""The only training: networks, standardisation, Adam and the loop, and how networks are kept."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from types import NoneType
from typing import ClassVar, NamedTuple, Self, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from validation_core.keys import Arrays, part
from validation_core.types import Array, Float

# ---- Scales of columns: robust or by moments, and what a network sees of numbers in them ----


_F = TypeVar("_F", bound=np.floating)

_QUARTILES = 1.349  # interquartile range of a standard normal


class Standardizer(NamedTuple):
    """z = (values - shift) / scale of columns (..., C), clipped at `clip` scales.

    In double precision, before anything narrows: a level may dwarf the spread, and heavy tails,
    which overflow float32, reach a network as "far out" rather than as 1e6.
    """

    shift: Array  # (C,)
    scale: Array  # (C,)
    clip: float = np.inf

    def __call__(self, values: Array) -> Float:
        """Values (..., C) in these scales."""
        z = (np.asarray(values, np.float64) - self.shift) / self.scale
        return np.clip(z, -self.clip, self.clip)


def robust(rows: Array, *, by_sd: bool = True) -> tuple[Float, Float]:
    """Medians (C,) and robust sds (C,) of columns: t with nu <= 2 ruins mean and sd.

    Args:
        rows: (n, C).
        by_sd: take the sd of a column whose quartiles are equal, which is mostly one value; else,
            or where that is 0 too, its scale is 1.
    """
    low, middle, high = np.quantile(rows, [0.25, 0.5, 0.75], axis=0)
    spread = (high - low) / _QUARTILES
    if by_sd:
        # Squares of float32 overflow where those of float64 do not.
        sd = rows.std(axis=0, dtype=np.float64).astype(rows.dtype)
        spread = np.where(spread > 0, spread, sd)
    return middle, nonzero_scales(spread)


def moments(rows: NDArray[_F]) -> tuple[NDArray[_F], NDArray[_F]]:
    """Means (C,) and sds (C,) of columns (..., C)."""
    others = tuple(range(rows.ndim - 1))
    return rows.mean(axis=others), nonzero_scales(rows.std(axis=others))


def nonzero_scales(scale: NDArray[_F]) -> NDArray[_F]:
    """Scales with 1 for a column that does not vary: it has no unit of its own."""
    return np.where(scale > 0, scale, 1.0)


def whitener(off: Array, *, tail: float, ridge: float, unit: bool) -> Float:
    """C^(-1/2) (d, d) of the covariance C of rows (n, d) about 0, their tails clipped.

    Args:
        off: what is left of each row.
        tail: robust sds beyond which a number no longer sways C.
        ridge: share of the identity in C, whatever the dimension.
        unit: divide by the overall size as well; else that stays as it is.
    """
    _, scale = robust(off)
    off = np.clip(off, -tail * scale, tail * scale)
    covariance = off.T @ off / len(off)
    d = len(covariance)
    mean = np.trace(covariance) / d
    if not mean > 0:
        return np.eye(d)
    covariance = (1 - ridge) * covariance + ridge * mean * np.eye(d)
    values, vectors = np.linalg.eigh(covariance)
    return (vectors / np.sqrt(values if unit else values / mean)) @ vectors.T


# ---- How trained networks are kept: one codec from typed fields to named arrays and back ----


GIVEN = {"stored": ""}
"""Metadata of a field that the recipe knows: it is not stored, `read` is handed it."""

_BESIDE = ("seconds", "device")  # kept in the entry's own description


class StoredNetwork:
    """A trained network: a frozen dataclass of arrays, numbers, records, and mappings of these.

    A stored name is the path of its field, as `trained.weight0`; a number is an array of one.
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
        """What `arrays` gave, with the fields that are not stored.

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
