""".parquet files as columns: their metadata is added up before any column is decoded."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from validation_core.tables import source
from validation_core.tables.columns import COLUMNS, Column, Held

_BATCH = 2**16
_TEXT = 2**26  # bytes that the metadata may take
_INDEX = re.compile(r"__index_level_\d+__")  # pandas keeps its row labels under this name
_WHOLE = (
    "A .parquet file must be whole; got one that is truncated or damaged. Save or copy it again."
)


class Parquet:
    """A .parquet file of flat columns.

    Raises:
        ValueError: for metadata that cannot be read, or that declares more than the limit.
    """

    def __init__(self, stream: BinaryIO, limit: int) -> None:
        import pyarrow as pa
        from pyarrow import parquet

        length = stream.seek(0, io.SEEK_END)
        stream.seek(0)
        try:
            self._file = parquet.ParquetFile(
                pa.PythonFile(Held(stream), mode="r"),
                page_checksum_verification=True,
                thrift_string_size_limit=_TEXT,
                thrift_container_size_limit=4 * COLUMNS,
            )
            self.columns = [_column(field) for field in self._file.schema_arrow]
            self.rows: int = self._file.metadata.num_rows
            chunks = list(_chunks(self._file.metadata))
        except source.BROKEN:
            raise ValueError(_WHOLE) from None
        self.columns = [column for column in self.columns if not _INDEX.fullmatch(column.name)]
        largest = max((chunk.total_uncompressed_size for chunk in chunks), default=0)
        if largest > limit:
            raise ValueError(
                f"A column of a .parquet file must take at most {source.size(limit)}; got "
                f"{source.size(largest)} declared. Keep fewer draws at each x (50 to 200 are "
                f"plenty)."
            )
        sizes = [(c.total_uncompressed_size, c.total_compressed_size) for c in chunks]
        if any(min(pair) < 0 or pair[1] > length for pair in sizes) or self.rows < 0:
            raise ValueError(_WHOLE)

    def batches(self, wanted: Sequence[str]) -> Iterator[Sequence[NDArray[Any]]]:
        try:
            pieces = self._file.iter_batches(_BATCH, columns=list(wanted), use_threads=False)
            for batch in pieces:
                yield [_numbers(batch.column(name)) for name in wanted]
        except source.BROKEN:
            raise ValueError(_WHOLE) from None


def _chunks(metadata: Any) -> Iterator[Any]:
    for group in range(metadata.num_row_groups):
        described = metadata.row_group(group)
        for column in range(described.num_columns):
            yield described.column(column)


def _column(field: Any) -> Column:
    from pyarrow import types

    kind = field.type
    numeric = types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)
    if not numeric:
        return Column(field.name, None)
    dtype = np.dtype(kind.to_pandas_dtype())
    # Missing values become NaN: whole numbers and truth values are held as floats from the start.
    return Column(field.name, dtype if dtype.kind == "f" else source.working(dtype))


def _numbers(column: Any) -> NDArray[Any]:
    import pyarrow as pa

    if pa.types.is_boolean(column.type):
        column = column.cast(pa.uint8())
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        numbers: NDArray[Any] = column.to_numpy(zero_copy_only=False)
        return numbers
    return np.asarray(column.cast(pa.string()).to_numpy(zero_copy_only=False), dtype=object)
