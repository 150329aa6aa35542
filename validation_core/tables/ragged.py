"""Masked values and rows of different lengths, in memory, as NaN in plain arrays.

Lists of lists, object arrays and awkward arrays of different lengths, and `numpy.ma`, hold what a
plain array of numbers cannot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core.tables import roles
from validation_core.tables.package_arrays import array_of, is_tensor
from validation_core.tables.x_columns import Missing
from validation_core.text import count_text


def may_differ_in_length(role: str) -> bool:
    """Whether rows of a role may be of different lengths: trials in x, draws, what is at them."""
    return role in ("x", "theta_q") or role.endswith("_draws")


class PlainValues(NamedTuple):
    """Values by name without masks and ragged rows, and how they were made."""

    values: dict[str, Any]
    notes: tuple[str, ...] = ()
    missing: Missing | None = None
    """"mask" where x came with a mask or with rows of different lengths; else None."""


def plain_values(given: Mapping[str, Any]) -> PlainValues:
    """Convert masked and ragged arrays by name to plain ones; all others stay as they are.

    Raises:
        ValueError: for an array whose rows fit no rectangle.
    """
    values = {str(name): value for name, value in given.items() if value is not None}
    notes: list[str] = []
    missing: Missing | None = None
    for name, value in values.items():
        role = next(iter(roles.find_roles([name]).found), "")
        if isinstance(value, np.ma.MaskedArray):
            gaps = int(np.ma.getmaskarray(value).sum())
            values[name] = np.asarray(_unmasked(value) if gaps else value.data)
            if not gaps:
                continue
            are = "is" if gaps == 1 else "are"
            notes.append(f"{name}: {count_text(gaps, 'masked value')} {are} read as NaN.")
        elif not _may_be_ragged(value):
            continue
        elif isinstance(value, list | tuple) and value and is_tensor(value[0]):
            rows = [array_of(row) for row in value]
            equal = len({row.shape for row in rows}) == 1
            values[name], note = (np.stack(rows), "") if equal else padded(name, role, rows)
            if equal:
                continue
            notes.append(note)
        elif (rectangle := _rectangular(value)) is not None:
            values[name] = rectangle
            continue
        else:
            values[name], note = padded(name, role, value)
            notes.append(note)
        missing = "mask" if role == "x" else missing
    return PlainValues(values, tuple(notes), missing)


def _unmasked(value: np.ma.MaskedArray[Any, Any]) -> NDArray[np.generic]:
    kind = value.dtype if value.dtype.kind in "fc" else np.dtype(np.float64)
    return np.where(np.ma.getmaskarray(value), np.nan, value.data).astype(kind)


def _may_be_ragged(value: Any) -> bool:
    """Whether a value is a list, an object array, or writes itself as lists, as awkward arrays
    do."""
    if isinstance(value, np.ndarray) or is_series_of_objects(value):
        return bool(value.dtype == object)
    listed = isinstance(value, list | tuple)
    return listed or (hasattr(value, "to_list") and not hasattr(value, "index"))


def is_series_of_objects(value: Any) -> bool:
    """Whether an object is a column of a frame that holds other things than numbers."""
    return hasattr(value, "to_list") and str(getattr(value, "dtype", "")) == "object"


def _rectangular(value: Any) -> NDArray[np.generic] | None:
    """The value as an array; None where its rows have different lengths.

    Python's own numbers are numbers, and None is NaN.
    """
    try:
        array = np.asarray(value)
    except ValueError:
        return None
    if array.dtype != object:
        return array
    plain = all(number is None or isinstance(number, Real | Decimal) for number in array.flat)
    if plain and array.ndim:
        return array.astype(np.float64)
    try:
        nested = np.asarray(array.tolist())  # arrays of arrays
    except ValueError:
        return None
    return nested if nested.dtype != object else None


def padded(name: str, role: str, value: Any) -> tuple[NDArray[np.generic], str]:
    """Pad rows of different lengths with NaN to the longest; returns them with a note.

    Args:
        name: of the array, for messages.
        role: its role; empty for none.
        value: the rows.

    Raises:
        ValueError: for a role whose rows are equally long, or rows that differ in more.
    """
    listed = value.to_list() if hasattr(value, "to_list") else list(value)
    rows = [_rectangular(row) for row in listed]
    shapes = sorted({row.shape for row in rows if row is not None})
    inner = {shape[1:] for shape in shapes}
    numbers = all(row is not None and row.ndim and row.dtype.kind in "fiubc" for row in rows)
    if not may_differ_in_length(role) or not numbers or len(inner) != 1:
        shown = ", ".join(map(str, shapes[:3])) or "objects"
        raise ValueError(
            f"{name} must be an array of numbers; got rows of {shown}. Bring rows of one shape; "
            f"only x, theta_q and values at its draws may have rows of different lengths."
        )
    arrays = [row for row in rows if row is not None]
    return _stacked(arrays), _note(name, role, [len(row) for row in arrays])


def _stacked(rows: Sequence[NDArray[np.generic]]) -> NDArray[np.generic]:
    longest = max(map(len, rows))
    dtype = np.result_type(np.float32, *{row.dtype for row in rows})
    stacked = np.full((len(rows), longest, *rows[0].shape[1:]), np.nan, dtype)
    for place, row in zip(stacked, rows, strict=True):
        place[: len(row)] = row
    return stacked


def _note(name: str, role: str, lengths: Sequence[int]) -> str:
    what = "values" if role == "x" else "draws"
    return f"{name} has {min(lengths):,} to {max(lengths):,} {what} in a row: padded with NaN."
