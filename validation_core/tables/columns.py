"""The protocol of a file of columns, .csv or .parquet: rows are counted, then read in pieces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from validation_core.tables import roles

if TYPE_CHECKING:
    import pyarrow as pa

COLUMNS = 20_000
"""Columns that one file may have: their parsers take 10 kB for each."""
_SHOWN = 9


class Column(NamedTuple):
    """A column as the file declares it; `dtype` is None where it holds no plain numbers."""

    name: str
    dtype: np.dtype[np.generic] | None


class Sides(NamedTuple):
    """The sample that each of some rows belongs to."""

    p: NDArray[np.bool_]
    """Whether a row (n,) is a point of p."""
    q: NDArray[np.bool_]
    """Whether it is one of q."""
    others: tuple[str, ...]
    """Some words of the other rows."""


class Words(NamedTuple):
    """The words of some rows of a column of text, each word once."""

    codes: NDArray[np.intp]
    """Place (n,) of a row's word among the distinct ones; -1 where there is none."""
    distinct: tuple[str, ...]


class FileColumns(Protocol):
    """A file of columns, its rows counted but not yet read."""

    @property
    def columns(self) -> Sequence[Column]:
        """Its columns, in turn."""
        ...

    @property
    def rows(self) -> int:
        """Rows that it has, or declares to have."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on how it was read."""
        ...

    def batches(self, wanted: Sequence[str]) -> Iterator[Sequence[NDArray[np.generic]]]:
        """Iterate over some columns of numbers in pieces (n,), from the first row to the last.

        Args:
            wanted: names of the columns.

        Raises:
            ValueError: for text in a column of numbers, or damaged bytes.
        """
        ...

    def sides(self, name: str) -> Iterator[Sides]:
        """Iterate over a column of the words p and q in pieces.

        Raises:
            ValueError: for damaged bytes.
        """
        ...

    def words(self, name: str) -> Iterator[Words]:
        """Iterate over a column of text in pieces.

        Raises:
            ValueError: for damaged bytes.
        """
        ...

    def close(self) -> None:
        """Close the file."""
        ...


def check_column_names(names: Sequence[str]) -> None:
    """Refuse columns that are too many, repeated, or none.

    Raises:
        ValueError: where they are.
    """
    if len(names) > COLUMNS or not names:
        raise ValueError(
            f"A table must have 1 to {COLUMNS:,} columns; got {len(names):,}. Leave out some, or "
            "save arrays with numpy.savez."
        )
    if again := [name for name, times in Counter(names).items() if times > 1]:
        raise ValueError(
            f"A table must have each column under its own name; got {roles.names_text(again)} "
            "more than once. Rename or leave out some."
        )


def sides_of(column: pa.Array) -> Sides:
    """Find the rows of a column of text that say p and q."""
    import pyarrow as pa
    import pyarrow.compute as pc

    # A word that is repeated is compared once, never written out.
    words = column.dictionary if isinstance(column, pa.DictionaryArray) else column
    if pa.types.is_string_view(words.type):
        words = column = words.cast(pa.string())
    kind = words.type
    text = "pq" if pa.types.is_string(kind) or pa.types.is_large_string(kind) else (b"p", b"q")
    p, q = (pc.equal(words, pa.scalar(side, kind)) for side in text)
    if words is not column:
        p, q = (side.take(column.indices) for side in (p, q))
    p, q = (pc.fill_null(side, False).to_numpy(zero_copy_only=False) for side in (p, q))
    rest = words.filter(pc.invert(pc.or_(*(pc.equal(words, pa.scalar(t, kind)) for t in text))))
    shown = [rest[i].as_py() for i in range(min(len(rest), _SHOWN))] if not (p | q).all() else []
    decoded = [w.decode("utf-8", "replace") if isinstance(w, bytes) else str(w) for w in shown]
    return Sides(p, q, tuple(map(roles.label, decoded)))


def words_of(column: pa.Array) -> Words:
    """Find the distinct words of a column of text, and which each row holds."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not isinstance(column, pa.DictionaryArray):
        column = pc.dictionary_encode(column)
    codes = pc.fill_null(column.indices, -1).to_numpy(zero_copy_only=False).astype(np.intp)
    words = (word if word is not None else "" for word in column.dictionary.to_pylist())
    decoded = (w.decode("utf-8", "replace") if isinstance(w, bytes) else str(w) for w in words)
    return Words(codes, tuple(decoded))
