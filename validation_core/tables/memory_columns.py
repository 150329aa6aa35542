"""Columns that are in memory: records of JSON, a frame of pandas, a melted table turned wide."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from validation_core.tables import roles
from validation_core.tables.columns import Column, Sides, Words, check_column_names
from validation_core.tables.source import working_dtype

_SHOWN = 9


class MemoryColumns:
    """Columns (n,) of numbers or of text.

    Args:
        arrays: the columns by name.
        notes: notes on how they were read.

    Raises:
        ValueError: for columns of different lengths, or none.
    """

    def __init__(
        self, arrays: Mapping[str, NDArray[np.generic]], notes: Sequence[str] = ()
    ) -> None:
        check_column_names(list(arrays))
        if len({array.shape for array in arrays.values()}) > 1:
            raise ValueError(
                f"The columns of a table must be equally long; got "
                f"{roles.shapes_text({name: array.shape for name, array in arrays.items()})}. "
                f"Save one value for each row."
            )
        self._arrays = arrays
        self.notes = tuple(notes)
        self.columns = [
            Column(name, working_dtype(array.dtype) if array.dtype.kind in "fiub" else None)
            for name, array in arrays.items()
        ]
        self.rows = len(next(iter(arrays.values())))

    def batches(self, wanted: Sequence[str]) -> Iterator[Sequence[NDArray[np.generic]]]:
        yield [self._arrays[name] for name in wanted]

    def words(self, name: str) -> Iterator[Words]:
        distinct, codes = np.unique(self._arrays[name].astype(str), return_inverse=True)
        yield Words(codes, tuple(map(str, distinct)))

    def sides(self, name: str) -> Iterator[Sides]:
        words = self._arrays[name].astype(str)
        p, q = words == "p", words == "q"
        yield Sides(p, q, tuple(map(roles.label, np.unique(words[~p & ~q])[:_SHOWN])))

    def close(self) -> None:
        """Nothing is open."""
