"""A melted table: a row for each draw of each parameter, whose name stands in a column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core.tables import roles, source
from validation_core.tables.axis_names import (
    CHAIN_COLUMNS,
    DRAW_COLUMNS,
    SIMULATION_COLUMNS,
    plain_name,
)
from validation_core.tables.checked_columns import CheckedColumns
from validation_core.tables.long_table import fill_first
from validation_core.tables.memory_columns import MemoryColumns

_VARIABLE = ("variable", "parameter", "param", "var", "name", "quantity", "key", "term")
_VALUE = ("value", "draw_value", "val")
_TRUE = ("true_value", "truth", "true", "simulated_value", "theta_true", "true_theta")


class MeltedLayout(NamedTuple):
    """The columns of a melted table."""

    row_columns: tuple[str, ...]
    """Columns that number simulations and draws."""
    variable: str
    """The column of the parameters' names."""
    value: str
    """The column of their values."""
    true: str | None
    """A column of the true values; None where rows of their own hold them."""


def find_melted(columns: CheckedColumns) -> MeltedLayout | None:
    """Find the columns of a melted table; None where there are not all of them."""
    texts = [name for name, dtype in columns.types.items() if dtype is None]
    numbers = [name for name, dtype in columns.types.items() if dtype is not None]
    variable, value = _first(texts, _VARIABLE), _first(numbers, _VALUE)
    index = [n for n in columns.types if plain_name(n) in SIMULATION_COLUMNS]
    index += [n for n in numbers if plain_name(n) in DRAW_COLUMNS | CHAIN_COLUMNS]
    if variable is None or value is None or len(index) < 2:
        return None
    return MeltedLayout(tuple(dict.fromkeys(index)), variable, value, _first(numbers, _TRUE))


def _first(names: Sequence[str], wanted: Sequence[str]) -> str | None:
    by_name = {plain_name(name): name for name in reversed(names)}
    return next((by_name[plain] for plain in wanted if plain in by_name), None)


def unmelted(columns: CheckedColumns, layout: MeltedLayout, limit: int) -> MemoryColumns:
    """Return a melted table with a column for each parameter, NaN where it has no row.

    Args:
        columns: the columns.
        layout: which of them holds what.
        limit: bytes that its arrays may take in memory.

    Raises:
        ValueError: for too many parameters or rows, or a value that is there twice.
    """
    codes, words = columns.words(layout.variable)
    if (codes < 0).any():
        raise ValueError(
            f"Every row of a melted table must name its parameter; got rows without one in "
            f"{roles.label(layout.variable)!r}. Fill it in, or remove the rows."
        )
    keys = np.column_stack([_numbers(columns, name) for name in layout.row_columns])
    distinct, rows = np.unique(keys, axis=0, return_inverse=True)
    rows = rows.reshape(-1)
    both = 2 if layout.true else 1
    if len(distinct) * len(words) * both * 8 > limit:
        raise ValueError(
            f"A melted table must take at most {source.size_text(limit)} with a column for each "
            f"parameter; got {len(distinct):,} draws of {len(words):,}. {source.SMALLER}"
        )
    if len(np.unique(rows * len(words) + codes)) < len(codes):
        raise ValueError(
            f"Each draw of a parameter must have one row; got some twice under the same "
            f"{roles.names_text(layout.row_columns)}. Number simulations and draws anew."
        )
    arrays: dict[str, NDArray[np.generic]] = {
        name: distinct[:, i] for i, name in enumerate(layout.row_columns)
    }
    for ending, name in (("", layout.value), ("_true", layout.true)):
        if name is not None:
            wide = np.full((len(distinct), len(words)), np.nan)
            wide[rows, codes] = _numbers(columns, name)
            bare = layout.true is not None or _any_named(words)
            labels = [w if bare or w.split("_")[0] == "x" else f"theta_{w}" for w in words]
            arrays |= {f"{label}{ending}": wide[:, j] for j, label in enumerate(labels)}
    for name in _beside(columns, layout, words):
        same = np.full(len(distinct), np.nan)
        if fill_first(same, rows, _numbers(columns, name)):
            arrays[name] = same
    used = (*arrays, layout.variable, layout.value, *([layout.true] if layout.true else []))
    notes = columns.notes(used, "no test knows these")
    about = f"Read as a melted table: {roles.label(layout.variable)} names the parameter."
    return MemoryColumns(arrays, (about, *notes))


def _beside(columns: CheckedColumns, layout: MeltedLayout, words: Sequence[str]) -> Sequence[str]:
    """Columns of numbers beside the parameters: data, where they are the same in each draw."""
    taken = {*layout.row_columns, layout.value, layout.true, *words, ""}
    return [n for n, dtype in columns.types.items() if dtype is not None and n not in taken]


def _any_named(words: Sequence[str]) -> bool:
    """Whether parameters bear the names of our own columns: `theta_1`, `x_1`."""
    return any(word == "theta" or word.startswith("theta_") for word in words)


def _numbers(columns: CheckedColumns, name: str) -> NDArray[np.float64]:
    """A column (rows,) as numbers; words by the order in which they come."""
    if columns.types[name] is None:
        codes, _ = columns.words(name)
        return codes.astype(np.float64)
    array = np.empty((columns.rows, 1), np.float64)
    columns.fill(array, [name])
    return array[:, 0]
