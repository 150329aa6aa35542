"""A wide table: its columns of numbers are one array, named by its file."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
from numpy.typing import NDArray

from validation_core.tables import roles
from validation_core.tables.checked_columns import CheckedColumns, labels_of
from validation_core.tables.row_numbers import unread_row_numbers
from validation_core.tables.source import ArrayHeader, Order, as_working_dtype, label_header


class WideTable:
    """One array (rows, columns), and the labels of its columns where these are quantities.

    Args:
        columns: the columns.
        stem: name of the array: that of the file, without its ending.
        numbers: columns that number rows, which are no part of it.

    Raises:
        ValueError: for a file without columns of numbers.
    """

    order: Order | None = None

    def __init__(self, columns: CheckedColumns, stem: str, numbers: Collection[str] = ()) -> None:
        self._columns, self._stem = columns, stem
        self._chosen = columns.numeric(numbers)
        self.notes = columns.notes((*self._chosen, *numbers), "no numbers")
        self.notes += unread_row_numbers(numbers)

    def headers(self) -> Mapping[str, ArrayHeader]:
        shape = (self._columns.rows, len(self._chosen))
        headers = {self._stem: ArrayHeader(shape, self._columns.common_dtype(self._chosen))}
        role = next(iter(roles.find_roles([self._stem]).found), "")
        if role in roles.LABELS and not self._chosen[0].startswith("column_"):
            headers[roles.LABELS[role]] = label_header(len(self._chosen))
        return headers

    def load(self, name: str) -> NDArray[np.generic]:
        if name.endswith("_names"):
            return labels_of(self._chosen)
        header = self.headers()[name]
        array = np.empty(header.shape, header.dtype)
        self._columns.fill(array, self._chosen)
        return as_working_dtype(array)

    def close(self) -> None:
        self._columns.close()
