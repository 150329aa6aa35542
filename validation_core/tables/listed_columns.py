"""Columns of which a user must say what they are: each is an array, beside all of them as one."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from validation_core.tables.checked_columns import CheckedColumns
from validation_core.tables.long_layout import columns_fitting
from validation_core.tables.source import ARRAYS, ArrayHeader, Order, as_working_dtype
from validation_core.tables.wide_table import WideTable

_NUMBERED = re.compile(r"(.*?[^0-9])([0-9]+)")
_FAMILY = 3  # numbered columns from which on they are listed together


class ListedColumns:
    """The columns of a file, those that are numbered `y1`, `y2`, ... together as `y*`.

    Args:
        columns: the columns.
        stem: name of all of them as one array: that of the file, without its ending.
        named: names that the user gives, of a column or, with `*`, of several: these are listed,
            of too many columns alone.

    Raises:
        ValueError: for a file without columns of numbers.
    """

    order: Order | None = None

    def __init__(self, columns: CheckedColumns, stem: str, named: Collection[str] = ()) -> None:
        self._columns = columns
        self._whole = WideTable(columns, stem)
        self.notes = self._whole.notes
        numbers = [name for name in columns.numeric() if name]
        numbered = _families(numbers)
        alone = [name for name in numbers if name not in named]  # what a star may stand for

        def meant(name: str) -> list[str]:
            if name in numbers:
                return [name]
            return numbered.get(name) or columns_fitting(name, alone)

        own = {name: of for name in named if (of := meant(name))}
        spent = {name for of in own.values() for name in of}
        rest = _families([name for name in numbers if name not in spent])
        self._families = own if len(own) + len(rest) >= ARRAYS - 1 else {**rest, **own}

    def headers(self) -> Mapping[str, ArrayHeader]:
        single = {
            name: ArrayHeader(
                (self._columns.rows, *([len(of)] if len(of) > 1 else [])),
                self._columns.common_dtype(of),
            )
            for name, of in self._families.items()
        }
        return {**self._whole.headers(), **single}

    def load(self, name: str) -> NDArray[np.generic]:
        of = self._families.get(name)
        if of is None:
            return self._whole.load(name)
        array = np.empty((self._columns.rows, len(of)), self._columns.common_dtype(of))
        self._columns.fill(array, of)
        return as_working_dtype(array[:, 0] if len(of) == 1 else array)

    def close(self) -> None:
        self._columns.close()


def _families(names: Sequence[str]) -> dict[str, list[str]]:
    """Columns by the name under which they are listed."""
    numbered: dict[str, list[str]] = {}
    for name in names:
        if match := _NUMBERED.fullmatch(name):
            numbered.setdefault(match[1], []).append(name)
    families: dict[str, list[str]] = {}
    for name in names:
        match = _NUMBERED.fullmatch(name)
        together = numbered[match[1]] if match else [name]
        shown = f"{match[1]}*" if match and len(together) >= _FAMILY else name
        families.setdefault(shown, []).append(name)
    return families
