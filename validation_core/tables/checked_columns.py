"""Columns of a file whose names and declared sizes were accepted, read in pieces."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from validation_core.tables import roles
from validation_core.tables.axis_names import starting
from validation_core.tables.columns import FileColumns, check_column_names
from validation_core.tables.source import size_text

_WORDS = 100_000  # different ones in a column
_WORD = 200  # characters of each that are kept


class CheckedColumns:
    """The columns of a file, none of them parsed before their declared size was accepted.

    Args:
        file: the file, its rows counted.
        limit: bytes that its arrays may take in memory; columns may declare four times as many,
            since not all of them become arrays.

    Raises:
        ValueError: for columns that are too many, repeated, or too large.
    """

    def __init__(self, file: FileColumns, limit: int) -> None:
        self._file = file
        check_column_names([column.name for column in file.columns])
        self.types = {column.name: column.dtype for column in file.columns}
        """Type of each column by its name, in the file's order; None without plain numbers."""
        self.rows = file.rows
        """Number of rows that the file has, or declares to have."""
        declared = file.rows * sum(c.dtype.itemsize for c in file.columns if c.dtype)
        if declared > 4 * limit:
            raise ValueError(
                f"The columns of a table must take at most {size_text(4 * limit)}; got "
                f"{size_text(declared)} declared by {file.rows:,} rows of {len(self.types):,} "
                f"columns. Keep fewer draws at each x (50 to 200 are plenty), or save arrays with "
                f"numpy.savez."
            )

    def starting(self, stem: str) -> list[str]:
        """Return the names of the columns `stem` and of its parts, as `stem_1`."""
        return list(starting(self.types, stem))

    def numeric(self, without: Collection[str] = ()) -> list[str]:
        """Return the names of the columns of numbers, but for those in `without`.

        Raises:
            ValueError: when there is none.
        """
        chosen = [n for n, dtype in self.types.items() if dtype is not None and n not in without]
        if not chosen:
            raise ValueError(
                f"A table must have columns of real numbers; got {roles.names_text(self.types)}. "
                f"Save numbers."
            )
        return chosen

    def common_dtype(self, chosen: Sequence[str]) -> np.dtype[np.generic]:
        """Return the type that holds the numbers of all these columns."""
        types = {self.types[name] for name in chosen}
        return np.result_type(*(dtype for dtype in types if dtype is not None))

    def notes(self, used: Collection[str], reason: str) -> tuple[str, ...]:
        """Return notes on how the file was read, and on its columns that are not in `used`.

        Args:
            used: names of the columns that are read.
            reason: why the others are not.
        """
        unread = [name for name in self.types if name not in used]
        return (*self._file.notes, *roles.unread_notes(unread, reason))

    def pieces(
        self, chosen: Sequence[str]
    ) -> Iterator[tuple[slice, Sequence[NDArray[np.generic]]]]:
        """Iterate over columns of numbers in pieces (n,), each with the rows that it holds.

        Raises:
            ValueError: for text among the numbers, or more or fewer rows than declared.
        """
        done = 0
        for batch in self._file.batches(chosen):
            rows = slice(done, done + len(batch[0]))
            if rows.stop <= self.rows:
                yield rows, batch
            done = rows.stop
        self._check_rows(done)

    def fill(self, array: NDArray[np.generic], chosen: Sequence[str]) -> None:
        """Write columns of numbers into an array (rows, len(chosen))."""
        for rows, batch in self.pieces(chosen):
            for j, column in enumerate(batch):
                array[rows, j] = column

    def rows_of_p(self, name: str) -> NDArray[np.bool_]:
        """Return which rows (rows,) a column of the words p and q gives to p.

        Raises:
            ValueError: for other words, or more or fewer rows than declared.
        """
        pieces = list(self._file.sides(name))
        self._check_rows(sum(len(piece.p) for piece in pieces))
        is_p = np.concatenate([piece.p for piece in pieces] or [np.empty(0, bool)])
        if others := {word for piece in pieces for word in piece.others}:
            others |= {"p"} if is_p.any() else set()
            others |= {"q"} if any(piece.q.any() for piece in pieces) else set()
            raise ValueError(
                f"The column {name} must hold p or q; got {roles.names_text(sorted(others))}. "
                f"Name the samples p and q."
            )
        return is_p

    def words(self, name: str) -> tuple[NDArray[np.intp], list[str]]:
        """Return the words of a column of text: the place (rows,) of each row's word among the
        distinct ones in the order in which they come, -1 for none, and these words.

        Raises:
            ValueError: for too many words, or more or fewer rows than declared.
        """
        places: dict[str, int] = {}
        pieces: list[NDArray[np.intp]] = []
        for codes, distinct in self._file.words(name):
            here = [places.setdefault(word[:_WORD], len(places)) for word in distinct]
            if len(places) > _WORDS:
                raise ValueError(
                    f"A column of names must hold at most {_WORDS:,} different ones; got more in "
                    f"{roles.label(name)!r}. Number the simulations instead."
                )
            pieces.append(np.array([*here, -1], np.intp)[codes])
        self._check_rows(sum(map(len, pieces)))
        return np.concatenate(pieces or [np.empty(0, np.intp)]), list(places)

    def _check_rows(self, count: int) -> None:
        if count != self.rows:
            raise ValueError(
                f"A table must hold as many rows as it declares; got {count:,} of "
                f"{self.rows:,}. The file is truncated or damaged: save it again."
            )

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def labels_of(columns: Sequence[str]) -> NDArray[np.generic]:
    """Return the labels (len(columns),) of columns, fit to be shown."""
    return np.array([roles.label(column) or "?" for column in columns])
