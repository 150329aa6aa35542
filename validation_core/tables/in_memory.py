"""Tables in memory: arrays, tensors, frames of pandas, datasets of xarray and ArviZ.

None of these packages is imported: an object is known by what it can do.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from validation_core.tables import roles
from validation_core.tables.column_table import column_table
from validation_core.tables.listed_columns import ListedColumns
from validation_core.tables.long_table import LongTable
from validation_core.tables.memory_arrays import MemoryArrays
from validation_core.tables.memory_columns import MemoryColumns
from validation_core.tables.named_columns import in_order_of_theta, is_frame, with_labels
from validation_core.tables.options import Reading, ReadingOptions
from validation_core.tables.ragged import plain_values
from validation_core.tables.reading import read, read_source
from validation_core.tables.records import FIELD_AXES, RecordArrays, records_of
from validation_core.tables.source import ArraySource
from validation_core.tables.table import Upload

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
    if is_frame(value):
        reader = column_table(MemoryColumns(_frame_columns(value)), _WHOLE, _ANY, wanted.arrays)
        if isinstance(reader, LongTable) and reader.named:
            wanted = replace(wanted, arrays=None)
        return read_source(reader, math.inf, wanted, columns=isinstance(reader, ListedColumns))
    named = in_order_of_theta(with_labels(value))
    plain = plain_values(named.values)
    wanted = replace(wanted, missing=wanted.missing or plain.missing)
    notes = (*named.notes, *plain.notes)
    reader = RecordArrays(MemoryArrays(arrays_of(plain.values), notes), wanted.arrays)
    return read_source(reader, math.inf, wanted)


_ANY = 2**62


def arrays_of(given: Mapping[str, Any]) -> dict[str, NDArray[np.generic]]:
    """Return arrays by name of numbers of any package; dicts and frames of a role as records.

    Args:
        given: values by name; None for one that is missing.
    """
    arrays: dict[str, NDArray[np.generic]] = {}
    for name, value in given.items():
        if value is None:
            continue
        if not isinstance(value, Mapping) and not is_frame(value):
            arrays[str(name)] = array = array_of(value)
            if array.dtype == object and not array.ndim:
                raise ValueError(
                    f"{name} must be an array of numbers; got {type(value).__name__}. Draw from "
                    f"it and give the draws, or let npt.check(prior, simulate, sample) do it."
                )
            continue
        role = next(iter(roles.find_roles([str(name)]).found), "")
        parts = arrays_of(value) if isinstance(value, Mapping) else _frame_values(value, role)
        axes = FIELD_AXES.get(role)
        records = records_of(parts, axes) if axes is not None else None
        if records is not None:
            arrays[str(name)] = records
        else:
            arrays |= {f"{name}/{part}": array for part, array in parts.items()}
    return arrays


def array_of(value: Any) -> NDArray[np.generic]:
    """Return numbers of NumPy, torch (on any device), JAX, CuPy, or lists of these as an array."""
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        for way in ("resolve_conj", "resolve_neg"):
            value = getattr(value, way, lambda plain=value: plain)()
        try:
            return np.asarray(value.numpy())
        except TypeError:  # NumPy has no bfloat16
            return np.asarray(value.float().numpy())
    if hasattr(value, "__cuda_array_interface__") and hasattr(value, "get"):
        return np.asarray(value.get())
    if isinstance(value, list | tuple) and value and hasattr(value[0], "detach"):
        return np.stack([array_of(one) for one in value])
    return np.asarray(value)


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
    """A column as numbers, missing ones NaN, or as words."""
    array = np.asarray(series)
    if array.dtype.kind in "fiubU":
        return array
    try:
        return np.asarray(series, np.float64)
    except (TypeError, ValueError):
        return np.array([str(word)[:200] for word in array])


def _frame_values(frame: Any, role: str) -> dict[str, NDArray[np.generic]]:
    """The columns of a frame that is theta, x or theta_q; its index is no column.

    Draws whose index numbers simulations and draws are arrays (N, K).
    """
    index = getattr(frame, "index", None)
    columns = {_column_name(name): _column(frame[name]) for name in frame.columns}
    if role == "theta_q" and index is not None and len(getattr(index, "names", ())) == 2:
        n = len(np.unique(np.asarray(index.get_level_values(0))))
        if len(frame) % n == 0:
            return {name: column.reshape(n, -1) for name, column in columns.items()}
    return columns


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
