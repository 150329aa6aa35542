"""Files of columns (.csv, .parquet) as arrays: one row per draw, one per point, or plain.

A long table has the columns `sim`, `draw` (-1 for the truth), `theta_*` and `x_*`, and may have
`log_q` and `log_joint`; two samples have a column `sample` of p and q; any other table of numbers
is one array, named by its file. Sizes are added up before any column is parsed or decoded.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from validation_core.tables import roles, source
from validation_core.tables.source import BROKEN, size_text

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import parquet

COLUMNS = 20_000
"""Columns that one file may have: their parsers take 10 kB for each."""
ROW = 50  # bytes of the limit for each row of a long table: its rows are sorted by simulation


class _Column(NamedTuple):
    """A column as the file declares it; `dtype` is None where it holds no plain numbers."""

    name: str
    dtype: np.dtype[np.generic] | None


class _Sides(NamedTuple):
    """Which rows are points of p (n,) and of q (n,), and some of what others hold."""

    p: NDArray[np.bool_]
    q: NDArray[np.bool_]
    others: tuple[str, ...]


class FileColumns(Protocol):
    """A file of columns, its rows counted but not yet read."""

    @property
    def columns(self) -> Sequence[_Column]:
        """Its columns, in turn."""
        ...

    @property
    def rows(self) -> int:
        """How many rows it has, or declares to have."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """How it was read, where that is not plain."""
        ...

    def batches(self, wanted: Sequence[str]) -> Iterator[Sequence[NDArray[np.generic]]]:
        """Some columns of numbers in pieces (n,), from the first row to the last.

        Raises:
            ValueError: for text in a column of numbers, or damaged bytes.
        """
        ...

    def sides(self, name: str) -> Iterator[_Sides]:
        """A column of p and q in pieces.

        Raises:
            ValueError: for damaged bytes.
        """
        ...


class _NonClosingStream(io.RawIOBase):
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


_HEADER = 2**22  # bytes before the first row: 20,000 columns have 10^5
_HEAD = 2**16  # of these, as many as usually do
_CSV_BLOCK = 2**23
_SAID = 160
_SHOWN = 9
_LOOKED_AT = 100  # rows that tell how a file writes its numbers
_MARKS = ",;\t|"
_FLOAT = np.dtype(np.float64)
_BOM = b"\xef\xbb\xbf"
_NOT_A_COMMENT = (b"#N/A", b"#NA")  # missing values of Excel
# A comma before exactly three digits may be of thousands.
_NUMBER_WITH_COMMA = re.compile(rb"(?<![\d.,])(?:0,\d|\d{4,},\d|\d+,(?!\d{3}(?!\d))\d)")
_NUMBER_WITH_POINT = re.compile(rb"\d\.\d")


class CsvColumns:
    """A .csv file: names in its first line, or none if that line is numbers.

    Lines of comment (#), blank ones and Excel's `sep=;` are passed over, quoted numbers and
    decimal commas understood.

    Raises:
        ValueError: for a first line that cannot be one of names.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        lines = _first_lines(stream)
        self._begin = len(_BOM) if lines and lines[0].startswith(_BOM) else 0
        at, comment, mark = 0, b"", ""
        if lines:
            lines[0] = lines[0][self._begin :]
            separator = re.fullmatch(rb'"?sep=(.)"?', lines[0].strip(b"\r\n"), re.IGNORECASE)
            mark, at = (separator[1].decode("latin-1"), 1) if separator else ("", 0)
        while at < len(lines) and _is_passed_over(lines[at]):
            comment = lines[at] if lines[at].strip() else comment
            at += 1
        if at == len(lines):
            raise ValueError(
                f"A .csv file must begin with a line of column names, at most {_HEADER // 2**20} "
                f"MB long; got another first line. Save it again with a header."
            )
        line, self.notes = _decoded(lines[at])
        self._mark = mark or max(_MARKS, key=line.count)
        fields = _fields(line, self._mark)
        if all(_is_number(field) for field in fields):
            names = _fields(_decoded(comment)[0], self._mark)
            if len(names) != len(fields) or all(_is_number(name) for name in names):
                names = [f"column_{i + 1}" for i in range(len(fields))]
            fields = names
        else:
            at += 1
        rows = lines[at:]
        self._names = _as_many([field.lstrip("# ").strip() for field in fields], rows, self._mark)
        check_column_names(self._names)
        self._begin += sum(map(len, lines[:at]))
        self._decimal = _decimal(rows, self._mark)
        self.columns = [_Column(n, None if n in ("", "sample") else _FLOAT) for n in self._names]
        count, self._quoted, plain, self._odd = _scanned(stream, self._begin, self._mark)
        self.rows = count if plain else self._count()

    def _count(self) -> int:
        """Rows as the parser sees them, where lines do not tell."""
        return sum(batch.num_rows for batch in self._parsed(self._names[:1], text=True))

    def _parsed(self, wanted: Sequence[str], *, text: bool = False) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa
        from pyarrow import csv as arrow

        self._stream.seek(self._begin)
        stream = (
            _Cleaned(self._stream, self._mark, self._quoted)
            if self._odd
            else _NonClosingStream(self._stream)
        )
        try:
            with arrow.open_csv(
                pa.PythonFile(stream, mode="r"),
                read_options=arrow.ReadOptions(
                    column_names=self._names, block_size=_block(self._names), use_threads=False
                ),
                parse_options=arrow.ParseOptions(
                    delimiter=self._mark, newlines_in_values=self._quoted
                ),
                convert_options=arrow.ConvertOptions(
                    column_types=dict.fromkeys(wanted, pa.binary() if text else pa.float64()),
                    include_columns=list(wanted),
                    strings_can_be_null=True,
                    decimal_point=self._decimal,
                    check_utf8=False,
                ),
            ) as reader:
                yield from reader
        except BROKEN as error:
            if "Empty CSV" in str(error):
                return
            raise ValueError(
                f"Every row of a .csv file must have {len(self._names):,} values, numbers except "
                f"in the column sample; got otherwise ({_reason(error)}). Correct the file or "
                f"save it again."
            ) from None

    def batches(self, wanted: Sequence[str]) -> Iterator[Sequence[NDArray[np.generic]]]:
        for batch in self._parsed(wanted):
            yield [column.to_numpy(zero_copy_only=False) for column in batch.columns]

    def sides(self, name: str) -> Iterator[_Sides]:
        for batch in self._parsed([name], text=True):
            yield _sides_of(batch.column(0))


def _first_lines(stream: BinaryIO) -> list[bytes]:
    """Whole lines from the beginning of a file, with their ends; some hundred rows or the head."""
    stream.seek(0)
    head, size = b"", _HEAD
    while True:
        head += stream.read(size - len(head))
        lines = head.splitlines(keepends=True)
        if len(head) < size:
            return lines
        if sum(not _is_passed_over(line) for line in lines[:-1]) > 1 or size >= _HEADER:
            # The last may be cut, and the one before may be half of a line's end.
            return lines[:-1]
        size *= 4


def _is_passed_over(line: bytes) -> bool:
    comment = line.startswith(b"#") and not line.startswith(_NOT_A_COMMENT)
    return comment or not line.strip()


def _decoded(line: bytes) -> tuple[str, tuple[str, ...]]:
    """A line of names as text, and what is said where it is not UTF-8."""
    line = line.strip(b"\r\n")
    try:
        return line.decode("utf-8"), ()
    except UnicodeDecodeError:
        note = "Names of columns are read as Windows-1252: they are not in UTF-8."
        return line.decode("cp1252", "replace"), (note,)


def _as_many(names: list[str], rows: Sequence[bytes], mark: str) -> list[str]:
    """The names of columns, one more or one fewer where only one line ends in a mark."""
    first = next((_fields(_decoded(row)[0], mark) for row in rows if row.strip()), None)
    if first and len(first) == len(names) + 1 and not first[-1].strip() and names[-1]:
        return [*names, ""]
    if first and len(first) == len(names) - 1 and not names[-1]:
        return names[:-1]
    return names


def _decimal(rows: Sequence[bytes], mark: str) -> str:
    """The decimal sign of numbers: a comma only where that is no mark and no point is."""
    some = b"\n".join(rows[:_LOOKED_AT])
    comma = mark != "," and _NUMBER_WITH_COMMA.search(some)
    return "," if comma and not _NUMBER_WITH_POINT.search(some) else "."


def check_column_names(names: Sequence[str]) -> None:
    """Refuse columns that are too many, repeated, or none."""
    if len(names) > COLUMNS or len({*names}) < len(names) or not names:
        raise ValueError(
            f"A table must have 1 to {COLUMNS:,} columns, each under its own name; got "
            f"{len(names):,} under {len({*names}):,} names. Rename or leave out some."
        )


def _block(columns: Sequence[str]) -> int:
    """Bytes parsed at once: a row must fit."""
    return max(_CSV_BLOCK, 64 * len(columns))


def _fields(line: str, mark: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=mark))
    except (csv.Error, StopIteration, TypeError, ValueError):
        return [line]


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


class _Scan(NamedTuple):
    """How the lines of a file look, from where its rows begin."""

    rows: int
    """Lines, which are rows where they are plain."""
    quoted: bool
    plain: bool
    odd: bool
    """Whether some may be comments or blank but for spaces."""


def _scanned(stream: BinaryIO, begin: int, mark: str) -> _Scan:
    stream.seek(begin)
    count, last, quoted, plain, odd = 0, b"\n", False, True, False
    blank = (b"\n#", b"\n ", b"\r#", b"\r ", *((b"\n\t", b"\r\t") if mark != "\t" else ()))
    while piece := stream.read(_CSV_BLOCK):
        count += piece.count(b"\n")
        joined = last + piece
        quoted = quoted or b'"' in piece
        odd = odd or any(begin in joined for begin in blank)
        bare = joined.count(b"\r", 0, -1) != joined.count(b"\r\n")
        plain = plain and not (bare or b"\n\n" in joined or b"\n\r" in joined)
        last = piece[-1:]
    return _Scan(count + (last != b"\n"), quoted, plain and not quoted and not odd, odd)


class _Cleaned(io.RawIOBase):
    """A stream of rows without lines of comment or of blanks, each ended alike.

    Where there are quotes, such a line may be part of a text: comments are then left for the
    parser to refuse.
    """

    def __init__(self, stream: BinaryIO, mark: str, quoted: bool) -> None:
        self._stream = stream
        self._rest = self._ready = b""
        comment = rb"" if quoted else rb"#(?!N/?A)[^\n]*|"
        blank = rb"[ ]" if mark == "\t" else rb"[ \t]"
        line = rb"^(?:" + comment + blank + rb"*)(?:\n|\Z)"
        self._dropped = re.compile(line, re.MULTILINE)

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        while not self._ready:
            new = self._stream.read(_CSV_BLOCK)
            piece = self._rest + new
            if not piece:
                return b""
            # A \r at the very end may be half of a line's end.
            cut = max(piece.rfind(b"\n"), piece.rfind(b"\r", 0, -1)) + 1 if new else len(piece)
            lines, self._rest = piece[:cut], piece[cut:]
            lines = lines.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
            self._ready = self._dropped.sub(b"", lines)
        size = len(self._ready) if size is None or size < 0 else size
        piece, self._ready = self._ready[:size], self._ready[size:]
        return piece


def _sides_of(column: pa.Array) -> _Sides:
    """Which rows of a column of text are p and q."""
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
    return _Sides(p, q, tuple(map(roles.label, decoded)))


def _reason(error: BaseException) -> str:
    """What the parser says, on one line of readable length."""
    return roles.label(str(error).removeprefix("CSV parse error: "), _SAID) or type(error).__name__


_BATCH = 2**16
_METADATA_BYTES = 2**23  # bytes that the metadata may take
_INDEX = re.compile(r"__index_level_\d+__")  # pandas keeps its row labels under this name
_WHOLE = (
    "A .parquet file must be whole; got one that is truncated or damaged. Save or copy it again."
)


class ParquetColumns:
    """A .parquet file of flat columns.

    Raises:
        ValueError: for metadata that cannot be read, or that declares more than the limit.
    """

    def __init__(self, stream: BinaryIO, limit: int) -> None:
        import pyarrow as pa
        from pyarrow import parquet

        self.notes: tuple[str, ...] = ()
        length = stream.seek(0, io.SEEK_END)
        stream.seek(max(0, length - 8))
        footer = int.from_bytes(stream.read(4), "little")
        if _METADATA_BYTES < footer <= length:
            raise ValueError(
                f"The metadata of a .parquet file must take at most {size_text(_METADATA_BYTES)}; "
                f"got {size_text(footer)}. Save fewer columns, in fewer row groups."
            )
        stream.seek(0)
        try:
            self._file = parquet.ParquetFile(
                pa.PythonFile(_NonClosingStream(stream), mode="r"),
                page_checksum_verification=True,
                thrift_string_size_limit=_METADATA_BYTES,
                thrift_container_size_limit=4 * COLUMNS,
            )
            schema = self._file.schema_arrow
            if _is_dictionary(self._file, "sample"):  # its words are not written out in each row
                self._file = parquet.ParquetFile(
                    pa.PythonFile(_NonClosingStream(stream), mode="r"),
                    metadata=self._file.metadata,
                    read_dictionary=["sample"],
                    page_checksum_verification=True,
                )
            self.columns = [_parquet_column(field) for field in schema]
            self.rows: int = self._file.metadata.num_rows
            chunks = list(_chunks(self._file.metadata))
        except source.BROKEN:
            raise ValueError(_WHOLE) from None
        check_column_names([column.name for column in self.columns])
        self.columns = [column for column in self.columns if not _INDEX.fullmatch(column.name)]
        largest = max((chunk.total_uncompressed_size for chunk in chunks), default=0)
        if largest > limit:
            raise ValueError(
                f"A column of a .parquet file must take at most {source.size_text(limit)}; got "
                f"{source.size_text(largest)} declared. Keep fewer draws at each x (50 to 200 are "
                f"plenty)."
            )
        sizes = [(c.total_uncompressed_size, c.total_compressed_size) for c in chunks]
        if any(min(pair) < 0 or pair[1] > length for pair in sizes) or self.rows < 0:
            raise ValueError(_WHOLE)

    def batches(self, wanted: Sequence[str]) -> Iterator[Sequence[NDArray[np.generic]]]:
        for batch in self._decoded(wanted):
            yield [_parquet_numbers(batch.column(name)) for name in wanted]

    def sides(self, name: str) -> Iterator[_Sides]:
        for batch in self._decoded([name]):
            yield _sides_of(batch.column(name))

    def _decoded(self, wanted: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Rows in pieces, of these columns alone."""
        try:
            yield from self._file.iter_batches(_BATCH, columns=list(wanted), use_threads=False)
        except source.BROKEN as error:
            if source.is_memory_error(error):
                raise
            raise ValueError(_WHOLE) from None


def _is_dictionary(file: parquet.ParquetFile, name: str) -> bool:
    """Whether Arrow can leave the words of a column in their dictionary."""
    encodings = {
        encoding
        for chunk in _chunks(file.metadata)
        if chunk.path_in_schema == name
        for encoding in chunk.encodings
    }
    return name in file.schema_arrow.names and encodings <= {"PLAIN", "RLE", *_DICTIONARY}


_DICTIONARY = ("PLAIN_DICTIONARY", "RLE_DICTIONARY", "BIT_PACKED")


def _chunks(metadata: parquet.FileMetaData) -> Iterator[parquet.ColumnChunkMetaData]:
    for group in range(metadata.num_row_groups):
        described = metadata.row_group(group)
        for column in range(described.num_columns):
            yield described.column(column)


def _parquet_column(field: pa.Field) -> _Column:
    from pyarrow import types

    kind = field.type
    numeric = types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)
    if not numeric:
        return _Column(field.name, None)
    dtype = np.dtype(kind.to_pandas_dtype())
    # Missing values become NaN: whole numbers and truth values are held as floats from the start.
    return _Column(field.name, dtype if dtype.kind == "f" else source.working_dtype(dtype))


def _parquet_numbers(column: pa.Array) -> NDArray[np.generic]:
    import pyarrow as pa

    if pa.types.is_boolean(column.type):
        column = column.cast(pa.uint8())
    numbers: NDArray[np.generic] = column.to_numpy(zero_copy_only=False)
    return numbers
