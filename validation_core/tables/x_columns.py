"""The data x of each simulation as columns of real numbers.

x may be absent, complex, of any shape, replaced by a summary, or lack values. Relabelling within x
and every test of the table take x as given, so that any function of x alone may stand in for it:
none of the changes made here touches the level of a test.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from validation_core.tables import roles
from validation_core.tables.shapes import data_rows, holds_rows, not_finite, real_numbers
from validation_core.text import count_text
from validation_core.types import Array, Integers

Missing = Literal["mask", "drop"]
"""What NaN in x means: a missing value, which is masked, or a failed simulation, which is left
out."""
GAPS = not_finite("x")
"""Reason for which rows of x that are not finite are left out."""
_LENGTHS = 3  # numbers of values that padded rows have, at least
_SHOWN = 3


class XColumns(NamedTuple):
    """x as columns, with the observation beside it and how both were made."""

    x: Array
    """(N, M); M is 0 where a table holds no x."""
    observed: NDArray[np.generic] | None
    """x_o with the same columns; as saved where it does not fit x."""
    names: NDArray[np.generic] | None
    """Labels of the M columns; as saved, None where there are none."""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Data:
    """x while it is made into columns: rows (N, ...), perhaps x_o, and labels of the columns."""

    rows: NDArray[np.generic]
    observed: NDArray[np.generic] | None
    names: tuple[str, ...] | None
    notes: tuple[str, ...] = ()

    def with_columns(
        self, stack: Sequence[NDArray[np.generic]], at: Sequence[NDArray[np.generic]], note: str
    ) -> _Data:
        observed = None if self.observed is None else np.concatenate(at, axis=1)
        return replace(
            self, rows=np.concatenate(stack, axis=1), observed=observed, notes=(*self.notes, note)
        )


def read_x(
    arrays: Mapping[str, NDArray[np.generic]], n: int, missing: Missing | None = None
) -> XColumns:
    """Read x (N, ...) as columns (N, M).

    A summary (N, S) is read in its place. Complex columns become two real ones. Rows whose values
    end early, as trials do that were padded with NaN, get a column with the number of values;
    where `missing` is "mask", any gaps get columns that mark them. Gaps are filled with the mean
    of the values there are.

    Args:
        arrays: the file's arrays by role.
        n: rows of theta.
        missing: what NaN in x means; None to recognise padding, and to leave out other rows.

    Raises:
        ValueError: for x of another length, of text, or a shape that does not fit.
    """
    name = "x_summary" if "x_summary" in arrays else "x"
    if name not in arrays:
        return XColumns(np.empty((n, 0), np.float32), None, None)
    notes: tuple[str, ...] = ()
    if name == "x_summary" and "x" in arrays:
        notes = (
            f"x_summary {roles.shape_text(arrays[name].shape)} is read in place of x "
            f"{roles.shape_text(arrays['x'].shape)}: what looks over x sees the summary alone.",
        )
    raw = arrays[name]
    saved = None if raw.dtype.kind == "c" else real_numbers(name, raw)
    padded = None if saved is None or missing == "drop" else _padding(saved, n)
    shapes = {role: arrays[role].shape for role in ("theta", "theta_q") if role in arrays}
    rows = data_rows(name, cast("Array", raw), n, shapes)
    names, told = _names(arrays, rows.shape[1], raw.shape)
    data = _Data(rows, _row(arrays.get("x_o"), rows.shape[1]), names, (*notes, *told))
    if raw.dtype.kind == "c":
        data = _split_complex(data)
    if padded is not None:
        data = _with_counts(data, padded, raw.shape[1])
    elif missing == "mask":
        data = _with_masks(data)
    observed = arrays.get("x_o") if data.observed is None else data.observed
    given = arrays.get("x_names") if data.names is None else np.array(data.names)
    x = real_numbers(name, data.rows)
    return XColumns(x, observed, given, data.notes)


def _row(observed: NDArray[np.generic] | None, m: int) -> NDArray[np.generic] | None:
    """x_o as rows (J, M) where it has as many numbers as one row of x, or as several."""
    if observed is None or not m or not observed.size or not holds_rows(observed.shape, m):
        return None
    return observed.reshape(-1, m) if observed.dtype.kind in "fiubc" else None


def _names(
    arrays: Mapping[str, NDArray[np.generic]], m: int, shape: tuple[int, ...]
) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
    """Labels of the M columns: the file's own, or places in the shape that it names; and a note
    where the file's are not all of them different.

    Raises:
        ValueError: for an x_shape of another size than x.
    """
    given = arrays.get("x_names")
    if given is not None and given.dtype.kind in "US" and given.size == m:
        labels, repeated = roles.column_labels(given, "x", m)
        return labels, () if repeated is None else (repeated,)
    if given is not None or "x_shape" not in arrays:
        return None, ()
    sides = tuple(int(side) for side in np.asarray(arrays["x_shape"]).reshape(-1))
    if not sides or min(sides) < 1 or int(np.prod(sides)) != m:
        raise ValueError(
            f"x_shape must multiply to the {m:,} numbers of a row of x {roles.shape_text(shape)}; "
            f"got {roles.shape_text(sides)}. Correct it or leave it out."
        )
    return tuple(f"x[{','.join(map(str, place))}]" for place in np.ndindex(*sides)), ()


def _numbered(data: _Data) -> tuple[str, ...]:
    """The labels of the columns, numbered where there are none."""
    return data.names or tuple(f"x_{i + 1}" for i in range(data.rows.shape[1]))


def _split_complex(data: _Data) -> _Data:
    """Each complex column as its real and its imaginary part."""
    names = _numbered(data)
    parts = [_parts(part) for part in (data.rows, data.observed) if part is not None]
    each = count_text(len(names), "complex column")
    verb = "is" if len(names) == 1 else "are"
    return _Data(
        parts[0],
        parts[1] if len(parts) > 1 else None,
        tuple(f"{name} ({part})" for name in names for part in ("real", "imag")),
        (*data.notes, f"x: {each} {verb} read as two each, the real and the imaginary part."),
    )


def _parts(values: NDArray[np.generic]) -> NDArray[np.generic]:
    both = np.stack([values.real, values.imag], axis=-1)
    return both.reshape(len(values), -1)


def _padding(x: Array, n: int) -> Integers | None:
    """The number of values (N,) that each row has before NaN fills it up; None for no padding.

    Padding is what its name says where values end along the second axis of x (N, T, ...), in all
    other axes at once, and rows have three different numbers of values at least.
    """
    if len(x) != n or x.ndim < 2 or x.dtype.kind != "f":
        return None
    gaps = np.isnan(x.reshape(n, x.shape[1], -1))
    if not gaps.any():
        return None
    gap = np.asarray(gaps.all(axis=2))
    if (gap != gaps.any(axis=2)).any() or (gap[:, :-1] & ~gap[:, 1:]).any():
        return None
    counts = (~gap).sum(axis=1)
    lengths = len(np.unique(counts[counts > 0]))
    least = _LENGTHS if x.ndim == 2 else 2
    return counts if lengths >= least else None


def _with_counts(data: _Data, counts: Integers, most: int) -> _Data:
    """x with its padding filled, and a column with the number of values that a row has."""
    numbers = np.asarray(data.rows)
    fill = _means(numbers)
    filled = _filled(numbers, fill)
    filled[counts == 0] = np.nan  # nothing was simulated there
    row = data.observed
    at = [] if row is None else [_filled(row, fill), _count(row, most)]
    low, high = int(counts[counts > 0].min()), int(counts.max())
    note = (
        f"x has {low} to {high} values in a row, NaN after them: read as padding, filled with the "
        "mean of its column, and their number is a further column of x."
    )
    column = counts[:, None].astype(filled.dtype)
    named = None if data.names is None else (*data.names, "number of values")
    named = named or (*_numbered(data), "number of values")
    return replace(data.with_columns([filled, column], at, note), names=named)


def _count(row: NDArray[np.generic], most: int) -> NDArray[np.generic]:
    """The number (J, 1) of values of observations that are padded as x is."""
    gaps = np.isnan(row.reshape(len(row), most, -1).astype(np.float64)).all(axis=2)
    return (~gaps).sum(axis=1, keepdims=True).astype(np.float64)


def _with_masks(data: _Data) -> _Data:
    """x with its gaps filled, and a column for each pattern of gaps that marks them with 1."""
    numbers, row = np.asarray(data.rows), data.observed
    gaps = np.isnan(numbers)
    columns = np.flatnonzero(gaps.any(axis=0) & ~gaps.all(axis=0))
    if not gaps.any():
        return data
    fill = _means(numbers)
    filled = _filled(numbers, fill)
    filled[gaps.all(axis=1)] = np.nan  # nothing was simulated there
    # Columns that lack values in the same rows share one mark.
    _, first = np.unique(gaps[:, columns], axis=1, return_index=True)
    marked = columns[np.sort(first)]
    masks = gaps[:, marked].astype(filled.dtype)
    own = [] if row is None else [_filled(row, fill), np.isnan(row)[:, marked].astype(row.dtype)]
    names = _numbered(data)
    listed = roles.names_text(names[i] for i in columns[:_SHOWN])
    more = f" and {len(columns) - _SHOWN:,} more" * (len(columns) > _SHOWN)
    note = (
        f"x lacks values in {int(gaps.any(axis=1).sum()):,} of {len(numbers):,} rows ({listed}"
        f"{more}): NaN is read as missing, filled with the mean of its column, and "
        f"{count_text(len(marked), 'further column')} of x "
        f"{'marks' if len(marked) == 1 else 'mark'} the gaps with 1."
    )
    named = (*names, *(f"{names[i]} missing" for i in marked))
    return replace(data.with_columns([filled, masks], own, note), names=named)


def _means(x: NDArray[np.generic]) -> NDArray[np.float64]:
    """The mean (M,) of the finite values of each column; 0 where there are none."""
    finite = np.isfinite(x)
    count = finite.sum(axis=0)
    # Halves of huge numbers do not overflow in their sum.
    total = np.where(finite, x, 0.0).astype(np.float64) / np.maximum(count, 1)
    return np.asarray(total.sum(axis=0))


def _filled(x: NDArray[np.generic], fill: NDArray[np.float64]) -> NDArray[np.generic]:
    return np.where(np.isnan(x), fill.astype(x.dtype), x)
