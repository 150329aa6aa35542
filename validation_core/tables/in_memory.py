"""Arrays in memory as plain ones: masked values become NaN, rows of different lengths are padded.

Lists of lists, object arrays and awkward arrays of different lengths, and `numpy.ma`, hold what a
plain array of numbers cannot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from validation_core.tables.x_columns import Missing

_PADDED = ("x", "theta_q")
"""Arrays whose second axis may differ in length from row to row: trials, and draws."""


class PlainArrays(NamedTuple):
    """Plain arrays by name, and how they were made."""

    arrays: dict[str, NDArray[np.generic]]
    notes: tuple[str, ...] = ()
    missing: Missing | None = None
    """"mask" where x came with a mask or with rows of different lengths; else None."""


def plain_arrays(given: Mapping[str, ArrayLike | None]) -> PlainArrays:
    """Convert arrays by name to plain ones; None is left out.

    Raises:
        ValueError: for an array whose rows fit no rectangle.
    """
    arrays: dict[str, NDArray[np.generic]] = {}
    notes: list[str] = []
    missing: Missing | None = None
    for name, value in given.items():
        if value is None:
            continue
        if isinstance(value, np.ma.MaskedArray):
            gaps = int(np.ma.getmaskarray(value).sum())
            arrays[name] = np.asarray(_unmasked(value) if gaps else value.data)
            if gaps:
                notes.append(f"{name}: {gaps:,} masked values are read as NaN.")
                missing = "mask" if name == "x" else missing
            continue
        array = _rectangular(value)
        if array is None:
            array, note = _padded(name, value)
            notes.append(note)
            missing = "mask" if name == "x" else missing
        arrays[name] = array
    return PlainArrays(arrays, tuple(notes), missing)


def _unmasked(value: np.ma.MaskedArray[Any, Any]) -> NDArray[np.generic]:
    kind = value.dtype if value.dtype.kind in "fc" else np.dtype(np.float64)
    return np.where(np.ma.getmaskarray(value), np.nan, value.data).astype(kind)


def _rectangular(value: ArrayLike) -> NDArray[np.generic] | None:
    """The value as an array; None where its rows have different lengths."""
    try:
        array = np.asarray(value)
    except ValueError:
        return None
    return None if array.dtype == object else array


def _padded(name: str, value: Any) -> tuple[NDArray[np.generic], str]:
    """Rows of different lengths, padded with NaN to the longest, and a note.

    Raises:
        ValueError: for another array than x or theta_q, or rows that differ in more than length.
    """
    listed = value.to_list() if hasattr(value, "to_list") else list(value)
    rows = [_rectangular(row) for row in listed]
    shapes = sorted({row.shape for row in rows if row is not None})
    inner = {shape[1:] for shape in shapes}
    numbers = all(row is not None and row.ndim and row.dtype.kind in "fiubc" for row in rows)
    if name not in _PADDED or not numbers or len(inner) != 1:
        shown = ", ".join(map(str, shapes[:3])) or "objects"
        raise ValueError(
            f"{name} must be an array of numbers; got rows of {shown}. Bring rows of one shape; "
            f"only x and theta_q may have rows of different lengths."
        )
    arrays = [row for row in rows if row is not None]
    return _stacked(arrays), _note(name, [len(row) for row in arrays])


def _stacked(rows: Sequence[NDArray[np.generic]]) -> NDArray[np.generic]:
    longest = max(map(len, rows))
    dtype = np.result_type(np.float32, *{row.dtype for row in rows})
    stacked = np.full((len(rows), longest, *rows[0].shape[1:]), np.nan, dtype)
    for place, row in zip(stacked, rows, strict=True):
        place[: len(row)] = row
    return stacked


def _note(name: str, lengths: Sequence[int]) -> str:
    what = "draws" if name == "theta_q" else "values"
    return f"{name} has {min(lengths):,} to {max(lengths):,} {what} in a row: padded with NaN."
