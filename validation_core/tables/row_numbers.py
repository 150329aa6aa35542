"""Columns that number or label rows, saved beside the quantities: they are none themselves."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from validation_core.tables import roles
from validation_core.tables.axis_names import (
    CHAIN_COLUMNS,
    DRAW_COLUMNS,
    NUMBERS,
    SIMULATION_COLUMNS,
    is_row_label,
    plain_name,
)
from validation_core.tables.checked_columns import CheckedColumns

_LEAST = 0.5  # of rows have a number of their own: those of two samples may begin anew


def unread_row_numbers(names: Collection[str]) -> tuple[str, ...]:
    """A note on columns that number rows; none for none."""
    return roles.unread_notes(names, "numbers of rows")


def row_numbers(columns: CheckedColumns, *, in_order: bool = False) -> tuple[str, ...]:
    """Return the columns that number or label rows: by their names and what they hold.

    Args:
        columns: the columns.
        in_order: whether rows belong to those of other files, so that numbers must be in order.

    Raises:
        ValueError: for rows that are numbered in another order, where it matters.
    """
    found: list[str] = []
    for name, dtype in columns.types.items():
        if dtype is None:
            continue
        plain = plain_name(name)
        single = plain in NUMBERS | SIMULATION_COLUMNS | DRAW_COLUMNS
        if is_row_label(name):
            found.append(name)
        elif single or plain in CHAIN_COLUMNS:
            numbers = _numbers(columns, name)
            if len(numbers) < 2 or not (numbers == np.floor(numbers)).all():
                continue
            if single and len(np.unique(numbers)) < (1 if in_order else _LEAST) * len(numbers):
                continue
            if single and in_order:
                _check_order(name, numbers)
            found.append(name)
    return tuple(found)


def _numbers(columns: CheckedColumns, name: str) -> NDArray[np.float64]:
    numbers = np.empty((columns.rows, 1), np.float64)
    columns.fill(numbers, [name])
    return numbers[:, 0]


def _check_order(name: str, numbers: NDArray[np.float64]) -> None:
    if (np.diff(numbers) != 1).any():
        shown = ", ".join(f"{number:.0f}" for number in numbers[:5])
        raise ValueError(
            f"Rows of theta, x and theta_q in several files belong together by their places; got "
            f"the column {roles.label(name)!r} that numbers them {shown}, … . Sort the rows of "
            f"each file by it, see that all hold the same, and save them without it."
        )
