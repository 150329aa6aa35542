""".parquet files of flat columns, decoded by Arrow."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from validation_core.tables import roles
from validation_core.tables.columns import (
    COLUMNS,
    Column,
    Sides,
    Words,
    check_column_names,
    sides_of,
    words_of,
)
from validation_core.tables.source import size_text, working_dtype

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import parquet

_BATCH = 2**16
_METADATA_BYTES = 2**23  # that the metadata may take
_DICTIONARY_ENCODINGS = {"PLAIN", "RLE", "PLAIN_DICTIONARY", "RLE_DICTIONARY", "BIT_PACKED"}
_INDEX = re.compile(r"__index_level_\d+__")  # pandas keeps its row labels under this name


class ParquetColumns:
    """A .parquet file of flat columns.

    Args:
        path: of the file.
        limit: bytes that its arrays may take in memory.

    Raises:
        ValueError: for metadata that are too large, or declare a column beyond the limit.
        EOFError: for sizes that are negative or larger than the file.
    """

    def __init__(self, path: Path, limit: int) -> None:
        from pyarrow import parquet

        self.notes: tuple[str, ...] = ()
        length = path.stat().st_size
        with path.open("rb") as file:
            file.seek(max(0, length - 8))
            footer = int.from_bytes(file.read(4), "little")
        if _METADATA_BYTES < footer <= length:
            raise ValueError(
                f"The metadata of a .parquet file must take at most {size_text(_METADATA_BYTES)}; "
                f"got {size_text(footer)}. Save fewer columns, in fewer row groups."
            )
        self._file = parquet.ParquetFile(
            path,
            page_checksum_verification=True,
            thrift_string_size_limit=_METADATA_BYTES,
            thrift_container_size_limit=4 * COLUMNS,
        )
        schema = self._file.schema_arrow
        texts = [field.name for field in schema if _is_text(field)]
        texts = [name for name in texts if _is_dictionary(self._file, name)]
        if texts:  # their words are not written out in each row
            metadata = self._file.metadata
            self._file.close()
            self._file = parquet.ParquetFile(
                path, metadata=metadata, read_dictionary=texts, page_checksum_verification=True
            )
        self.columns = [_parquet_column(field) for field in schema]
        _check_lists(schema, self.columns)
        self.rows: int = self._file.metadata.num_rows
        chunks = list(_chunks(self._file.metadata))
        check_column_names([column.name for column in self.columns])
        self.columns = [column for column in self.columns if not _INDEX.fullmatch(column.name)]
        largest = max((chunk.total_uncompressed_size for chunk in chunks), default=0)
        if largest > limit:
            raise ValueError(
                f"A column of a .parquet file must take at most {size_text(limit)}; got "
                f"{size_text(largest)} declared. Keep fewer draws at each x (50 to 200 are "
                f"plenty)."
            )
        sizes = [(c.total_uncompressed_size, c.total_compressed_size) for c in chunks]
        if any(min(pair) < 0 or pair[1] > length for pair in sizes) or self.rows < 0:
            raise EOFError

    def batches(self, wanted: Sequence[str]) -> Iterator[Sequence[NDArray[np.generic]]]:
        for batch in self._decoded(wanted):
            yield [_parquet_numbers(batch.column(name)) for name in wanted]

    def sides(self, name: str) -> Iterator[Sides]:
        for batch in self._decoded([name]):
            yield sides_of(batch.column(name))

    def words(self, name: str) -> Iterator[Words]:
        for batch in self._decoded([name]):
            yield words_of(batch.column(name))

    def _decoded(self, wanted: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Some columns in pieces, no other decoded."""
        return self._file.iter_batches(_BATCH, columns=list(wanted), use_threads=False)

    def close(self) -> None:
        self._file.close()


def _check_lists(schema: pa.Schema, columns: Sequence[Column]) -> None:
    """Refuse columns of lists that hold a table's arrays.

    Raises:
        ValueError: where theta or theta_q is one, or no column holds numbers.
    """
    from pyarrow import types

    lists = [field.name for field in schema if types.is_nested(field.type)]
    numbers = any(column.dtype is not None for column in columns)
    if lists and (not numbers or roles.find_roles(lists).found.keys() & {"theta", "theta_q"}):
        raise ValueError(
            f"A table must have columns of real numbers; got lists in {roles.names_text(lists)}. "
            f"Save its rows as JSON: pandas.read_parquet('FILE')"
            f".to_json('table.json', orient='records', double_precision=15)."
        )


def _is_text(field: pa.Field) -> bool:
    """Whether a column holds words."""
    from pyarrow import types

    kind = field.type.value_type if types.is_dictionary(field.type) else field.type
    return any(
        is_one(kind) for is_one in (types.is_string, types.is_binary, types.is_large_string)
    )


def _is_dictionary(file: parquet.ParquetFile, name: str) -> bool:
    """Whether Arrow can leave the words of a column in their dictionary."""
    encodings = {
        encoding
        for chunk in _chunks(file.metadata)
        if chunk.path_in_schema == name
        for encoding in chunk.encodings
    }
    return name in file.schema_arrow.names and encodings <= _DICTIONARY_ENCODINGS


def _chunks(metadata: parquet.FileMetaData) -> Iterator[parquet.ColumnChunkMetaData]:
    """The metadata of every column in every group of rows."""
    for group in range(metadata.num_row_groups):
        described = metadata.row_group(group)
        for column in range(described.num_columns):
            yield described.column(column)


def _parquet_column(field: pa.Field) -> Column:
    """A column by its field in the schema."""
    from pyarrow import types

    kind = field.type
    numeric = types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)
    if not numeric:
        return Column(field.name, None)
    dtype = np.dtype(kind.to_pandas_dtype())
    # Missing values become NaN: whole numbers and truth values are held as floats from the start.
    return Column(field.name, dtype if dtype.kind == "f" else working_dtype(dtype))


def _parquet_numbers(column: pa.Array) -> NDArray[np.generic]:
    """Numbers of a decoded column, truth values as 0 and 1."""
    import pyarrow as pa

    if pa.types.is_boolean(column.type):
        column = column.cast(pa.uint8())
    numbers: NDArray[np.generic] = column.to_numpy(zero_copy_only=False)
    return numbers
