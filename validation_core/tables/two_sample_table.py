"""A table of two samples: one row per point, the column `sample` saying p or q."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from validation_core.tables.checked_columns import CheckedColumns, labels_of
from validation_core.tables.row_numbers import row_numbers, unread_row_numbers
from validation_core.tables.source import ArrayHeader, Order, as_working_dtype, label_header

SIDE = "sample"
"""The column by which two samples are known."""


class TwoSampleTable:
    """p (n, d) and q (n', d) from the rows of one table.

    Args:
        columns: the columns, with `sample` among them.

    Raises:
        ValueError: for numbers in the column `sample`, or no columns of numbers beside it.
    """

    order: Order | None = None

    def __init__(self, columns: CheckedColumns) -> None:
        if columns.types[SIDE] is not None:
            raise ValueError(
                "The column sample must hold p or q; got numbers. Name the samples p and q."
            )
        self._columns = columns
        numbers = row_numbers(columns)
        self._chosen = columns.numeric(without=(SIDE, *numbers))
        self.notes = columns.notes((SIDE, *self._chosen, *numbers), "no numbers")
        self.notes += unread_row_numbers(numbers)

    @cached_property
    def _is_p(self) -> NDArray[np.bool_]:
        return self._columns.rows_of_p(SIDE)

    def headers(self) -> Mapping[str, ArrayHeader]:
        dtype, d = self._columns.common_dtype(self._chosen), len(self._chosen)
        n = int(self._is_p.sum())
        return {
            "p": ArrayHeader((n, d), dtype),
            "q": ArrayHeader((len(self._is_p) - n, d), dtype),
            "theta_names": label_header(d),
        }

    def load(self, name: str) -> NDArray[np.generic]:
        if name == "theta_names":
            return labels_of(self._chosen)
        header = self.headers()[name]
        wanted = self._is_p == (name == "p")
        array = np.empty(header.shape, header.dtype)
        filled = 0
        for rows, batch in self._columns.pieces(self._chosen):
            here = wanted[rows]
            count = int(here.sum())
            for j, column in enumerate(batch):
                array[filled : filled + count, j] = column[here]
            filled += count
        return as_working_dtype(array)

    def close(self) -> None:
        self._columns.close()
