"""Tables in memory: arrays, tensors, frames of pandas, datasets of xarray and ArviZ.

None of these packages is imported: an object is known by what it can do.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from validation_core.tables import roles
from validation_core.tables.column_table import column_table
from validation_core.tables.indexed_draws import (
    draws_by_simulation,
    in_order_of_simulations,
    is_numbered_series,
    length_of,
    with_draws_in_rows,
)
from validation_core.tables.labelled_arrays import without_labels
from validation_core.tables.listed_columns import ListedColumns
from validation_core.tables.long_table import LongTable
from validation_core.tables.memory_arrays import MemoryArrays
from validation_core.tables.memory_columns import MemoryColumns
from validation_core.tables.named_columns import in_order_of_theta, is_frame, with_labels
from validation_core.tables.options import Reading, ReadingOptions
from validation_core.tables.package_arrays import array_of
from validation_core.tables.ragged import is_series_of_objects, plain_values
from validation_core.tables.reading import read, read_source
from validation_core.tables.records import FIELD_AXES, RecordArrays, records_of
from validation_core.tables.source import ArraySource
from validation_core.tables.uploads import Upload

_WHOLE = "table"  # name of the columns of a frame together


def is_in_memory(value: object) -> bool:
    """Whether an object holds a whole table: a mapping, a frame, a dataset or a tree of these."""
    return isinstance(value, Mapping) or is_frame(value) or hasattr(value, "to_netcdf")


def read_in_memory(value: Any, **options: Unpack[Reading]) -> Upload:
    """Read the table that an object holds.

    Args:
        value: arrays, tensors or frames by name; a frame of pandas whose rows are a long table; a
            Dataset or DataTree of xarray; an InferenceData of ArviZ.
        options: fields of `ReadingOptions`; names of columns, too, by role.

    Raises:
        AmbiguousOrder, UnknownArrays, ValueError: as `read` does.
    """
    if hasattr(value, "to_netcdf"):  # before a mapping: datasets are mappings too
        return _read_dataset(value, **options)
    wanted = ReadingOptions(**options)
    reader: ArraySource
    if is_frame(value) and _has_lists(value):
        value = {str(name): value[name] for name in value.columns}
    if is_frame(value):
        reader = column_table(MemoryColumns(_frame_columns(value)), _WHOLE, _ANY, wanted.arrays)
        if isinstance(reader, LongTable) and reader.named:
            wanted = replace(wanted, arrays=None)
        return read_source(reader, math.inf, wanted, columns=isinstance(reader, ListedColumns))
    alike = without_labels(value)
    labelled = with_labels(with_draws_in_rows(alike.values))
    named = in_order_of_theta(labelled.values)
    plain = plain_values(named.values)
    wanted = replace(wanted, missing=wanted.missing or plain.missing)
    notes = (*alike.notes, *labelled.notes, *named.notes, *plain.notes)
    arrays = MemoryArrays(arrays_of(plain.values), notes, alike.order)
    reader = RecordArrays(arrays, wanted.arrays)
    return read_source(reader, math.inf, wanted)


_ANY = 2**62


def arrays_of(given: Mapping[str, Any]) -> dict[str, NDArray[np.generic]]:
    """Return arrays by name of numbers of any package; dicts and frames of a role as records.

    Args:
        given: values by name; None for one that is missing.

    Raises:
        ValueError: for what is no array of numbers.
    """
    arrays: dict[str, NDArray[np.generic]] = {}
    named = roles.find_roles([str(name) for name in given]).found
    theta = given.get(named.get("theta", ""))
    for name, value in given.items():
        if value is None:
            continue
        role = next((role for role, own in named.items() if own == str(name)), "")
        if role == "theta_q" and is_numbered_series(value):
            value = value.to_frame()
        if not isinstance(value, Mapping) and not is_frame(value):
            arrays[str(name)] = _numbers(str(name), value)
            continue
        parts = (
            arrays_of(value)
            if isinstance(value, Mapping)
            else _frame_values(value, str(name), role, theta)
        )
        if role == "theta_q" and isinstance(value, Mapping):
            draws = draws_by_simulation(parts, theta)
            if draws is not None:
                arrays[str(name)] = draws
                continue
        axes = FIELD_AXES.get(role)
        records = records_of(parts, axes) if axes is not None else None
        if records is not None:
            arrays[str(name)] = records
        else:
            arrays |= {f"{name}/{part}": array for part, array in parts.items()}
    return arrays


def _numbers(name: str, value: Any) -> NDArray[np.generic]:
    """Numbers of any package as an array.

    Raises:
        ValueError: for what cannot be one.
    """
    if isinstance(value, str | Path):
        raise ValueError(
            f"{name} must be an array of numbers; got the text {roles.label(str(value))!r}. Where "
            f"it names a file of one array, load it first: numpy.load({str(value)!r})."
        )
    try:
        array = array_of(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(
            f"{name} must be an array of numbers; got {type(value).__name__}, of which NumPy "
            f"makes none ({roles.label(str(error), 160)}). Convert it to an array first."
        ) from None
    if array.dtype != object:
        return array
    if isinstance(value, Iterator):
        raise ValueError(
            f"{name} must be an array of numbers; got {type(value).__name__}, which is read only "
            f"once. Give list({name})."
        )
    if not array.ndim:
        raise ValueError(
            f"{name} must be an array of numbers; got {type(value).__name__}. Draw from it and "
            f"give the draws, or let npt.check(prior, simulate, sample) do it."
        )
    return array


def _has_lists(frame: Any) -> bool:
    """Whether a frame has a row for each simulation, with lists in its cells."""
    columns = [frame[name] for name in frame.columns]
    return any(
        is_series_of_objects(column) and len(column) and isinstance(column.to_list()[0], _LISTS)
        for column in columns
    )


_LISTS = (list, tuple, np.ndarray)


def _frame_columns(frame: Any) -> dict[str, NDArray[np.generic]]:
    """The columns of a frame, those of its index first where they have names."""
    index = getattr(frame, "index", None)
    names = getattr(index, "names", None) or ()
    if any(name is not None for name in names) or len(names) > 1:
        frame = frame.reset_index()
    return {_column_name(name): _column(frame[name]) for name in frame.columns}


def _column_name(name: object) -> str:
    """The name of a column; of columns in levels, these with an underscore between."""
    return "_".join(map(str, name)) if isinstance(name, tuple) else str(name)


def _column(series: Any) -> NDArray[np.generic]:
    """A column as numbers, missing ones NaN, or as words; dates are words."""
    array = np.asarray(series)
    if array.dtype.kind in "fiubU":
        return array
    if array.dtype.kind not in "mM":
        with suppress(TypeError, ValueError):
            return np.asarray(series, np.float64)
    return np.array([str(word)[:200] for word in array])


def _frame_values(frame: Any, name: str, role: str, theta: Any) -> dict[str, NDArray[np.generic]]:
    """The columns of a frame that is an array of a table; its index is no column.

    Draws, numbered by simulation and draw, are arrays (N, K).

    Raises:
        ValueError: for columns of words, or draws that nothing numbers.
    """
    sizes: tuple[int, ...] = (len(frame),)
    if role == "theta_q" and theta is not None:
        frame, sizes = _numbered(frame, name, theta)
    columns = {_column_name(column): _column(frame[column]) for column in frame.columns}
    words = [column for column, array in columns.items() if array.dtype.kind == "U"]
    if role in FIELD_AXES and words:
        column = roles.label(words[0])
        raise ValueError(
            f"{name} must hold numbers; got words or dates in its column {column!r}. Leave that "
            f"out, or give its classes as numbers: pandas.get_dummies({name}, dtype=float)."
        )
    return {name: array.reshape(*sizes, *array.shape[1:]) for name, array in columns.items()}


def _numbered(frame: Any, name: str, theta: Any) -> tuple[Any, tuple[int, int]]:
    """A frame of draws, those of a simulation one after the other, and N and K.

    Raises:
        ValueError: for a frame without the numbers of simulations and draws.
    """
    ordered = in_order_of_simulations(frame, theta)
    if ordered is not None:
        return ordered
    n = length_of(theta)
    if len(frame) == n:
        return frame, (n, 1)
    raise ValueError(
        f"A frame of draws must have the numbers of simulation and draw in its index, as many "
        f"draws for each of the {n:,} simulations; got {name} with {len(frame):,} rows and no "
        f"such index. {_rows_as_draws(name, frame.shape, n)}"
    )


def _rows_as_draws(name: str, shape: tuple[int, ...], n: int) -> str:
    """The line that gives the rows of a frame of this shape to N simulations, where they fit."""
    if n and not shape[0] % n:
        return (
            f"Where the draws of a simulation follow each other, give "
            f"{name}.to_numpy().reshape({n}, -1, {shape[1]})."
        )
    return "Give an array (N, K, D), draw k at x_i in theta_q[i, k]."


def _read_dataset(value: Any, **options: Unpack[Reading]) -> Upload:
    """Read what writes itself as netCDF."""
    with tempfile.TemporaryDirectory(prefix="nptlab-") as folder:
        path = Path(folder) / "table.nc"
        try:
            value.to_netcdf(path, engine="h5netcdf")
        except Exception as error:
            words = roles.label(str(error), 160)
            raise ValueError(
                f"A dataset is read by way of netCDF; got one that cannot be written so "
                f"({type(error).__name__}: {words}). Give its arrays: "
                f"npt.Table(theta, x, theta_q)."
            ) from None
        return read(path, **options)
