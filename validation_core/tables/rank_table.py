"""Tables of ranks: a row for each simulation and parameter, as R's SBC has them, or a column each.

The long form has the columns `variable` (or `parameter`), `rank`, `max_rank` and the number of the
simulation; the wide one `rank_...` and `max_rank`, or `pit_...`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core.tables import source
from validation_core.tables.checked_columns import CheckedColumns, labels_of
from validation_core.tables.row_numbers import row_numbers
from validation_core.tables.source import ArrayHeader, Order, as_working_dtype, label_header

RANKED = ("ranks", "pit")
"""Arrays of ranks: those of true values, and PIT values."""
_VARIABLE = ("variable", "parameter")
_SIMULATION = ("sim_id", "sim", "dataset_id", "dataset")
_RANK, _MOST = "rank", "max_rank"
_ROW = 200  # bytes of the limit for each row: words are sorted
_FLOAT = np.dtype(np.float64)


def is_long_rank_table(columns: CheckedColumns) -> bool:
    """Whether columns are those of ranks, a row for each simulation and parameter."""
    return _RANK in columns.types and any(name in columns.types for name in _VARIABLE)


class _RankColumns(NamedTuple):
    """The columns of a wide table of ranks, or of PIT values."""

    role: str
    names: tuple[str, ...]
    parameters: tuple[str, ...]
    """What each is the rank of; empty for a single column."""


def rank_columns(columns: CheckedColumns, role: str = "") -> _RankColumns | None:
    """The columns of ranks, or of PIT values, of a wide table; None where it is another one.

    Args:
        columns: the columns.
        role: of the file by its name; where that is `ranks`, `max_rank` tells as much as prefixes.
    """
    for stem, own in ((_RANK, "ranks"), ("pit", "pit")):
        if found := tuple(columns.starting(stem)):
            parameters = tuple(name.partition("_")[2] for name in found)
            return _RankColumns(own, found, parameters if found[0] != stem else ())
    if role == "ranks" and _MOST in columns.types:
        found = tuple(columns.numeric((_MOST, *row_numbers(columns))))
        return _RankColumns(role, found, found)
    return None


class _Cells(NamedTuple):
    """Where each row's rank stands: simulations (rows,), parameters (rows,), and their labels."""

    sims: NDArray[np.intp]
    parameters: NDArray[np.intp]
    n: int
    names: tuple[str, ...]


class LongRankTable:
    """ranks (N, D) and max_rank (N, D) from a row for each simulation and parameter.

    Args:
        columns: the columns, with ranks and the parameter's name among them.
        limit: bytes that the arrays may take in memory.

    Raises:
        ValueError: for too many rows.
    """

    order: Order | None = None

    def __init__(self, columns: CheckedColumns, limit: int) -> None:
        if columns.rows > limit // _ROW:
            raise ValueError(
                f"A table of ranks must have at most {limit // _ROW:,} rows; got "
                f"{columns.rows:,}. {source.SMALLER}"
            )
        self._columns = columns
        self._variable = next(name for name in _VARIABLE if name in columns.types)
        self._simulation = next((name for name in _SIMULATION if name in columns.types), None)
        self._most = _MOST in columns.types
        used = [self._variable, _RANK, *([_MOST] if self._most else [])]
        used += [self._simulation] if self._simulation else []
        self.notes = columns.notes(used, "since ranks are tested alone")

    @cached_property
    def _cells(self) -> _Cells:
        parameters, names = _codes(self._columns, self._variable)
        if self._simulation is None:
            sims = _numbered(parameters)
        else:
            sims = _codes(self._columns, self._simulation)[0]
        n, d = int(sims.max(initial=-1)) + 1, len(names)
        cells = np.bincount(sims * d + parameters, minlength=n * d)
        if len(sims) != n * d or (cells != 1).any():
            raise ValueError(
                f"A table of ranks must have one row for each simulation and parameter; got "
                f"{len(sims):,} rows for {n:,} simulations and {d} parameters. Remove rows that "
                f"are there twice, and simulations that lack some."
            )
        return _Cells(sims, parameters, n, names)

    def headers(self) -> Mapping[str, ArrayHeader]:
        shape = (self._cells.n, len(self._cells.names))
        names = ("ranks", "max_rank") if self._most else ("ranks",)
        arrays = {name: ArrayHeader(shape, _FLOAT) for name in names}
        return {**arrays, "theta_names": label_header(shape[1])}

    def load(self, name: str) -> NDArray[np.generic]:
        cells = self._cells
        if name == "theta_names":
            return labels_of(cells.names)
        column = np.empty((self._columns.rows, 1), _FLOAT)
        self._columns.fill(column, [_RANK if name == "ranks" else _MOST])
        array = np.empty((cells.n, len(cells.names)), _FLOAT)
        array[cells.sims, cells.parameters] = column[:, 0]
        return array

    def close(self) -> None:
        self._columns.close()


def _codes(columns: CheckedColumns, name: str) -> tuple[NDArray[np.intp], tuple[str, ...]]:
    """The place (rows,) of each row's word or number among the different ones in the order in
    which they come, and these."""
    if columns.types[name] is None:
        codes, words = columns.words(name)
        if (codes < 0).any():  # rows without a word share one
            return np.where(codes < 0, len(words), codes), (*words, "")
        return codes, tuple(words)
    column = np.empty((columns.rows, 1), _FLOAT)
    columns.fill(column, [name])
    values, first, places = np.unique(column[:, 0], return_index=True, return_inverse=True)
    order = np.argsort(first)
    return np.argsort(order)[places], tuple(f"{value:g}" for value in values[order])


def _numbered(parameters: NDArray[np.intp]) -> NDArray[np.intp]:
    """The number (rows,) of each row among those of its parameter."""
    order = np.argsort(parameters, kind="stable")
    starts = np.searchsorted(parameters[order], parameters[order])
    numbers = np.empty(len(parameters), np.intp)
    numbers[order] = np.arange(len(parameters)) - starts
    return numbers


class WideRankTable:
    """ranks (N, D), and max_rank (N, 1) where there is such a column; or pit (N, D).

    Args:
        columns: the columns.
        found: those that hold ranks, or PIT values.
    """

    order: Order | None = None

    def __init__(self, columns: CheckedColumns, found: _RankColumns) -> None:
        self._columns = columns
        self._role, self._chosen, self._parameters = found
        self._most = self._role == "ranks" and _MOST in columns.types
        used = [*self._chosen, *([_MOST] if self._most else [])]
        self.notes = columns.notes(used, "since ranks are tested alone")

    def headers(self) -> Mapping[str, ArrayHeader]:
        shape = (self._columns.rows, len(self._chosen))
        headers = {self._role: ArrayHeader(shape, self._columns.common_dtype(self._chosen))}
        if self._most:
            headers[_MOST] = ArrayHeader((shape[0], 1), self._columns.common_dtype([_MOST]))
        if self._parameters:
            headers["theta_names"] = label_header(shape[1])
        return headers

    def load(self, name: str) -> NDArray[np.generic]:
        if name == "theta_names":
            return labels_of(self._parameters)
        header = self.headers()[name]
        array = np.empty(header.shape, header.dtype)
        self._columns.fill(array, [_MOST] if name == _MOST else self._chosen)
        return as_working_dtype(array)

    def close(self) -> None:
        self._columns.close()
