""".csv files as columns: the header is one line, rows are counted before any is parsed."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from validation_core.tables import names
from validation_core.tables.columns import Column, Held
from validation_core.tables.source import BROKEN

_HEADER = 2**24  # bytes of the line of names: 10^5 columns have 10^6
_BLOCK = 2**23
_SAID = 160
_MARKS = ",;\t|"
_FLOAT = np.dtype(np.float64)


class Csv:
    """A .csv file: names in its first line, or none if that line is numbers.

    Raises:
        ValueError: for a first line that cannot be one of names.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        stream.seek(0)
        first = stream.readline(_HEADER)
        try:
            line = first.decode("utf-8-sig").strip("\r\n")
        except UnicodeDecodeError:
            line = ""
        if not line.strip() or len(first) == _HEADER or "\r" in line:
            raise ValueError(
                f"A .csv file must begin with a line of column names in UTF-8, at most "
                f"{_HEADER // 2**20} MB long; got another first line. Save it again with a header."
            )
        self._mark = max(_MARKS, key=line.count)
        fields = _fields(line, self._mark)
        if all(_number(field) for field in fields):
            fields, self._skip = [f"column_{i + 1}" for i in range(len(fields))], 0
        else:
            self._skip = 1
        self._names = [field.lstrip("# ").strip() for field in fields]
        self.columns = [Column(n, None if n in ("", "sample") else _FLOAT) for n in self._names]
        lines, regular = _lines(stream)
        self.rows = lines - self._skip if regular else self._count()

    def _count(self) -> int:
        """Rows as the parser sees them, where lines do not tell."""
        return sum(len(batch[0]) for batch in self.batches(self._names[:1], text=True))

    def batches(
        self, wanted: Sequence[str], *, text: bool = False
    ) -> Iterator[Sequence[NDArray[Any]]]:
        import pyarrow as pa
        from pyarrow import csv as arrow

        kinds = {
            name: pa.string() if text or name == "sample" else pa.float64() for name in wanted
        }
        self._stream.seek(0)
        try:
            with arrow.open_csv(
                pa.PythonFile(Held(self._stream), mode="r"),
                read_options=arrow.ReadOptions(
                    column_names=self._names,
                    skip_rows=self._skip,
                    block_size=_block(self._names),
                    use_threads=False,
                ),
                parse_options=arrow.ParseOptions(delimiter=self._mark),
                convert_options=arrow.ConvertOptions(
                    column_types=kinds, include_columns=list(wanted), strings_can_be_null=True
                ),
            ) as reader:
                for batch in reader:
                    yield [_column(column) for column in batch.columns]
        except BROKEN as error:
            raise ValueError(
                f"Every row of a .csv file must have {len(self._names):,} values, numbers except "
                f"in the column sample; got otherwise ({_reason(error)}). Correct the file or "
                f"save it again."
            ) from None


def _column(column: Any) -> NDArray[Any]:
    array = column.to_numpy(zero_copy_only=False)
    return array if array.dtype.kind == "f" else np.asarray(array, dtype=object)


def _block(columns: Sequence[str]) -> int:
    """Bytes parsed at once: a row must fit."""
    return max(_BLOCK, 64 * len(columns))


def _fields(line: str, mark: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=mark))
    except (csv.Error, StopIteration):
        return [line]


def _number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _lines(stream: BinaryIO) -> tuple[int, bool]:
    """How many lines there are, and whether each is a row: none is empty, nothing is quoted."""
    stream.seek(0)
    count, last, regular = 0, b"\n", True
    while piece := stream.read(_BLOCK):
        count += piece.count(b"\n")
        odd = (last + piece, b"\n\n"), (piece, b"\n\r"), (piece, b'"')
        regular = regular and not any(mark in where for where, mark in odd)
        last = piece[-1:]
    return count + (last != b"\n"), regular


def _reason(error: BaseException) -> str:
    """What the parser says, on one line of readable length."""
    return names.label(str(error).removeprefix("CSV parse error: "), _SAID) or type(error).__name__
