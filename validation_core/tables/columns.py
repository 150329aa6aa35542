"""What a file of columns (.csv, .parquet) offers."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

COLUMNS = 200_000
"""Columns that one file may have."""


class Column(NamedTuple):
    """A column as the file declares it; `dtype` is None where it holds no plain numbers."""

    name: str
    dtype: np.dtype[Any] | None


class Columns(Protocol):
    """A file of columns, its rows counted but not yet read."""

    @property
    def columns(self) -> Sequence[Column]:
        """Its columns, in turn."""
        ...

    @property
    def rows(self) -> int:
        """How many rows it has, or declares to have."""
        ...

    def batches(self, wanted: Sequence[str]) -> Iterator[Sequence[NDArray[Any]]]:
        """Some columns in pieces, from the first row to the last: numbers (n,), or text.

        Raises:
            ValueError: for text in a column of numbers, or damaged bytes.
        """
        ...


class Held(io.RawIOBase):
    """A stream that stays open when its reader is closed."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        return self._stream.read(size)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return self._stream.seek(offset, whence)

    def tell(self) -> int:
        return self._stream.tell()
