""".csv files: separator, names and decimal sign are found, then Arrow parses the rows."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core.tables import roles
from validation_core.tables.columns import (
    Column,
    Sides,
    Words,
    check_column_names,
    sides_of,
    words_of,
)
from validation_core.tables.source import BROKEN
from validation_core.text import count_text

if TYPE_CHECKING:
    import pyarrow as pa

_HEADER = 2**22  # bytes before the first row: 20,000 columns have 10^5
_HEAD = 2**16  # of these, as many as usually do
_CSV_BLOCK = 2**23
_SAID = 160
_LOOKED_AT = 100  # rows that tell how a file writes its numbers
_WHOLE = re.compile(r"[+-]?\d*")
_UNLIKELY = 0.01  # chance of a row of whole numbers to be 0, 1, 2, ...
_MARKS = ",;\t|"
_SPACES = " "  # a mark of any width
_FLOAT = np.dtype(np.float64)
_BOM = b"\xef\xbb\xbf"
_NOT_A_COMMENT = (b"#N/A", b"#NA")  # missing values of Excel
_MISSING = frozenset({"", "na", "n/a", "#n/a", "null", "none", "nan", "-nan"})
_LIKE_A_NUMBER = re.compile(r"[+-]?[.,]?\d")
# A comma, or a point, before exactly three digits may be of thousands.
_DECIMAL_COMMA = re.compile(r"[+-]?(?:0?,\d|\d{4,},\d|\d+,(?!\d{3}(?!\d))\d)")
_POINT = re.compile(r"\d\.\d")
_POINTS_OF_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(\.\d{3})+(,\d+)?")
_UP_TO_999 = re.compile(r"[+-]?\d{1,3}")


class CsvColumns:
    """A .csv file: names in its first line, or none if that line is numbers.

    Lines of comment (#), blank ones, Excel's `sep=;` and units below the names are passed over,
    quoted numbers and decimal commas understood. Columns may have spaces between, as those of
    numpy.savetxt have.

    Args:
        path: of the file.

    Raises:
        ValueError: for a first line that cannot be one of names.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        lines = _first_lines(path)
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
        self._mark = mark or _mark_of(line, _first_row(lines[at + 1 :]))
        fields = _fields(line, self._mark)
        if _are_places(fields, lines[at + 1 :], self._mark):
            shown = f"0 to {len(fields) - 1}" if len(fields) > 1 else "0"
            self.notes += (f"The first line, {shown}, is read as the names of columns, as pandas "
                           "writes them.",)  # fmt: skip
            at += 1
        elif all(_is_number(field) for field in fields):
            names = _fields(_decoded(comment)[0].lstrip("# "), self._mark)
            if len(names) != len(fields) or all(_is_number(name) for name in names):
                names = [f"column_{i + 1}" for i in range(len(fields))]
            fields = names
        else:
            at += 1
        rows = lines[at:]
        self._names = _as_many([field.lstrip("# ").strip() for field in fields], rows, self._mark)
        _check_first_row(self._names, rows, self._mark)
        named = [i for i, name in enumerate(self._names) if name or "" not in self._names[:i]]
        check_column_names([self._names[i] for i in named])
        if blank := len(self._names) - len(named):  # of a sheet, beside its table
            self.notes += (f"{count_text(blank, 'more column')} without a name: not read.",)
        some = _looked_at(rows, self._mark)
        self._decimal = _decimal([field for row in some for field in row])
        if (units := _units_end(rows, len(self._names), self._mark, self._decimal)) is not None:
            shown = roles.label(_decoded(rows[units - 1])[0])
            self.notes += (f"The line below the names of columns has no number: {shown!r}, read "
                           "as their units.",)  # fmt: skip
            at, rows = at + units, rows[units:]
        self._begin += sum(map(len, lines[:at]))
        if self._decimal == ".":
            _check_points(self._names, some, self._mark)
        texts = _texts(rows, len(self._names), self._mark, self._decimal)
        self.columns = [
            Column(self._names[i], None if self._names[i] == "" or texts[i] else _FLOAT)
            for i in named
        ]
        self._end = _end_of_rows(path, self._begin, self._mark)
        with self._opened() as file:
            count, self._quoted, plain, self._odd = _scanned(file, self._mark)
        if self._mark == _SPACES:
            plain, self._odd = False, True
        self.rows = count if plain else self._count()

    @contextmanager
    def _opened(self) -> Iterator[_Part]:
        """The file's rows, without lines of names before and blank ones after them."""
        with self._path.open("rb") as file:
            yield _Part(file, self._begin, self._end)

    def _count(self) -> int:
        """The number of rows where lines do not tell: of those that are left, or by the parser."""
        if self._odd and not self._quoted:
            with self._opened() as file:
                rows = _Cleaned(file, self._mark, self._quoted)
                pieces = iter(lambda: rows.read(_CSV_BLOCK), b"")
                ends = [(piece.count(b"\n"), piece[-1:]) for piece in pieces]
            return sum(count for count, _ in ends) + bool(ends and ends[-1][1] != b"\n")
        return sum(batch.num_rows for batch in self._parsed([max(self._names)], text=True))

    def _parsed(self, wanted: Sequence[str], *, text: bool = False) -> Iterator[pa.RecordBatch]:
        """Some columns in pieces, as numbers or as bytes of text.

        Raises:
            ValueError: for rows of another length, or text among numbers.
        """
        import pyarrow as pa
        from pyarrow import csv as arrow

        try:
            with self._opened() as file:
                rows = _Cleaned(file, self._mark, self._quoted) if self._odd else file
                with arrow.open_csv(
                    pa.PythonFile(rows, mode="r"),
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
                f"Every row of a .csv file must have {len(self._names):,} values, numbers in the "
                f"columns that are read; got otherwise ({_reason(error, self._names)}). "
                f"{_remedy(str(error), self._mark, self._decimal)}"
            ) from None

    def batches(self, wanted: Sequence[str]) -> Iterator[Sequence[NDArray[np.generic]]]:
        for batch in self._parsed(wanted):
            yield [column.to_numpy(zero_copy_only=False) for column in batch.columns]

    def sides(self, name: str) -> Iterator[Sides]:
        for batch in self._parsed([name], text=True):
            yield sides_of(batch.column(0))

    def words(self, name: str) -> Iterator[Words]:
        for batch in self._parsed([name], text=True):
            yield words_of(batch.column(0))

    def close(self) -> None:
        """Nothing is left open."""


def _first_lines(path: Path) -> list[bytes]:
    """The first lines of a file, whole and with their ends, at least two rows if there are."""
    size = _HEAD
    while True:
        with path.open("rb") as file:
            head = file.read(size)
        lines = head.splitlines(keepends=True)
        if len(head) < size:
            return lines
        if sum(not _is_passed_over(line) for line in lines[:-1]) > 1 or size >= _HEADER:
            # The last may be cut, and the one before may be half of a line's end.
            return lines[:-1]
        size *= 4


def _is_passed_over(line: bytes) -> bool:
    """Whether a line is blank or a comment."""
    comment = line.startswith(b"#") and not line.startswith(_NOT_A_COMMENT)
    return comment or not line.strip()


def _first_row(lines: Sequence[bytes]) -> str:
    """The first line that is neither blank nor a comment; empty where there is none."""
    return next((_decoded(line)[0] for line in lines if not _is_passed_over(line)), "")


def _mark_of(line: str, following: str) -> str:
    """The mark between the columns of a first line, from it and the row that follows.

    A line without marks has words between spaces where they are numbers, or as many as numbers
    follow, perhaps with a number of the row before.
    """
    mark = max(_MARKS, key=line.count)
    words, values = _fields(line, _SPACES), _fields(following, _SPACES)
    if mark in line or len(words) < 2:
        return mark
    if all(map(_is_number, words)):
        return _SPACES
    comma = [value.replace(",", ".") for value in values]
    numbered = any(map(_is_number, comma)) and len(values) - len(words) in (0, 1)
    return _SPACES if numbered else mark


def _check_first_row(names: Sequence[str], rows: Sequence[bytes], mark: str) -> None:
    """Refuse a first line that is no line of names.

    Raises:
        ValueError: for many more values in the first row than names.
    """
    row = _first_row(rows)
    marks = {mark, *_MARKS} if len(names) == 1 else {mark}
    values = max((_fields(row, each) for each in marks), key=len)
    if len(values) > len(names) + 1:
        raise ValueError(
            f"A .csv file must begin with the names of its columns; got "
            f"{roles.label(mark.join(names))!r} above a line of {len(values):,} values. Delete "
            f"the lines above the names, or let them begin with #."
        )


def _decoded(line: bytes) -> tuple[str, tuple[str, ...]]:
    """A line of names as text, and a note where it is not UTF-8."""
    line = line.strip(b"\r\n")
    try:
        return line.decode("utf-8"), ()
    except UnicodeDecodeError:
        note = "Names of columns are read as Windows-1252: they are not in UTF-8."
        return line.decode("cp1252", "replace"), (note,)


def _as_many(names: list[str], rows: Sequence[bytes], mark: str) -> list[str]:
    """The names of columns, as many as fields in a row where only one of both ends in a mark."""
    first = next((_fields(_decoded(row)[0], mark) for row in rows if row.strip()), None)
    if first and len(first) == len(names) + 1 and not first[-1].strip() and names[-1]:
        return [*names, ""]
    if first and len(first) == len(names) - 1 and not names[-1]:
        return names[:-1]
    return names


def _looked_at(rows: Sequence[bytes], mark: str) -> list[list[str]]:
    """The fields of the first rows."""
    return [
        [field.strip() for field in _fields(_decoded(row)[0], mark)]
        for row in rows[:_LOOKED_AT]
        if not _is_passed_over(row)
    ]


def _decimal(fields: Sequence[str]) -> str:
    """The decimal sign of numbers: a comma only where some cannot be of thousands, and points
    can."""
    comma = any(map(_DECIMAL_COMMA.match, fields))
    return "," if comma and not _decimal_points(fields) else "."


def _decimal_points(fields: Sequence[str]) -> bool:
    """Whether some number has a point that cannot be of thousands."""
    return any(_POINT.search(f) and not _POINTS_OF_THOUSANDS.fullmatch(f) for f in fields)


def _check_points(names: Sequence[str], rows: Sequence[Sequence[str]], mark: str) -> None:
    """Refuse points that may be decimal or of thousands: 377 beside 1.921, and no 0.5.

    Raises:
        ValueError: where nothing tells.
    """
    if mark == "," or _decimal_points([field for row in rows for field in row]):
        return
    for j, name in enumerate(names):
        column = [row[j] for row in rows if j < len(row) and row[j].lower() not in _MISSING]
        large = [field for field in column if _POINTS_OF_THOUSANDS.fullmatch(field)]
        small = [field for field in column if _UP_TO_999.fullmatch(field)]
        if large and small and len(large) + len(small) == len(column):
            given = _separator(mark)
            of_thousands = _pandas_line({**given, "decimal": ",", "thousands": "."})
            raise ValueError(
                f"A point is a decimal sign, or a mark of thousands; got {large[0]!r} beside "
                f"{small[0]!r} in the column {roles.label(name)!r}, which may be either. Where it "
                f"is of thousands: {of_thousands} Where it is decimal: {_pandas_line(given)}"
            )


def _texts(rows: Sequence[bytes], count: int, mark: str, decimal: str) -> list[bool]:
    """Whether each of `count` columns holds words: nothing like a number in the first rows."""
    words, numbers = [0] * count, [0] * count
    for fields in _looked_at(rows, mark):
        for i, field in enumerate(fields[:count]):
            plain = field.replace(decimal, ".")
            number = _is_number(plain) or _LIKE_A_NUMBER.match(plain) is not None
            numbers[i] += number
            words[i] += not number and plain.lower() not in _MISSING
    return [word > 0 and number == 0 for word, number in zip(words, numbers, strict=True)]


def _are_places(fields: Sequence[str], rows: Sequence[bytes], mark: str) -> bool:
    """Whether a first line 0, 1, 2, ... names columns: no row of their numbers would be that."""
    if [field.strip() for field in fields] != [str(i) for i in range(len(fields))]:
        return False
    values = [field for row in _looked_at(rows, mark) for field in row]
    if not all(map(_WHOLE.fullmatch, values)):
        return True
    low = sum(value in fields for value in values)
    return len(fields) > 1 and ((low + 1) / (len(values) + 1)) ** len(fields) < _UNLIKELY


def _units_end(rows: Sequence[bytes], count: int, mark: str, decimal: str) -> int | None:
    """Where a row of units ends: the first row, without a number, of columns of numbers."""
    first = next((i for i, row in enumerate(rows) if not _is_passed_over(row)), len(rows))
    alone = _texts(rows[: first + 1], count, mark, decimal)
    has_number = any(_LIKE_A_NUMBER.match(f.strip()) for f in _fields(_first_row(rows), mark))
    if has_number or not any(alone):
        return None
    later = _texts(rows[first + 1 :], count, mark, decimal)
    some = any(map(_LIKE_A_NUMBER.match, _fields(_first_row(rows[first + 1 :]), mark)))
    units = some and any(word and not text for word, text in zip(alone, later, strict=True))
    return first + 1 if units else None


def _block(columns: Sequence[str]) -> int:
    """Bytes parsed at once: at least a row."""
    return max(_CSV_BLOCK, 64 * len(columns))


def _fields(line: str, mark: str) -> list[str]:
    """The fields of a line; the line itself where its quotes are broken."""
    spaces = mark == _SPACES
    try:
        line = line.strip() if spaces else line
        return next(csv.reader([line], delimiter=mark, skipinitialspace=spaces))
    except (csv.Error, StopIteration, TypeError, ValueError):
        return [line]


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


class _Scan(NamedTuple):
    """The lines of a file from where its rows begin, counted without being parsed."""

    rows: int
    """Lines, which are rows where they are plain."""
    quoted: bool
    """Whether there are quotes."""
    plain: bool
    """Whether each line is a row."""
    odd: bool
    """Whether some may be comments or blank but for spaces."""


class _Part(io.RawIOBase):
    """The bytes of a stream from one place to another."""

    def __init__(self, stream: BinaryIO, begin: int, end: int) -> None:
        stream.seek(begin)
        self._stream, self._left = stream, max(0, end - begin)

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        piece = self._stream.read(
            self._left if size is None or size < 0 else min(size, self._left)
        )
        self._left -= len(piece)
        return piece


def _end_of_rows(path: Path, begin: int, mark: str) -> int:
    """Where the last line ends that holds more than marks, as a sheet's lines below a table do."""
    nothing = mark.encode() + b" \t\r\n"
    with path.open("rb") as file:
        end = size = file.seek(0, io.SEEK_END)
        while end > begin:
            start = max(begin, end - _HEAD)
            file.seek(start)
            held = file.read(end - start).rstrip(nothing)
            end = start + len(held)
            if held:
                break
        file.seek(end)
        rest = file.read(size - end) if size - end < _CSV_BLOCK else file.readline(_CSV_BLOCK)
    line = re.search(rb"\r\n?|\n", rest)
    return end + line.end() if line and end > begin else size


def _scanned(file: _Part, mark: str) -> _Scan:
    """Count the lines of a file, and look for what makes them no rows."""
    count, last, quoted, plain, odd = 0, b"\n", False, True, False
    blank = (b"\n#", b"\n ", b"\r#", b"\r ", *((b"\n\t", b"\r\t") if mark != "\t" else ()))
    while piece := file.read(_CSV_BLOCK):
        count += piece.count(b"\n")
        joined = last + piece
        quoted = quoted or b'"' in piece
        odd = odd or any(begin in joined for begin in blank)
        bare = joined.count(b"\r", 0, -1) != joined.count(b"\r\n")
        plain = plain and not (bare or b"\n\n" in joined or b"\n\r" in joined)
        last = piece[-1:]
    return _Scan(count + (last != b"\n"), quoted, plain and not quoted and not odd, odd)


class _Cleaned(io.RawIOBase):
    """A stream of rows without lines of comment or of blanks, each ended alike, one space for
    each run of them where these are marks.

    Where there are quotes, such a line may be part of a text: comments are then left for the
    parser to refuse.
    """

    def __init__(self, stream: _Part, mark: str, quoted: bool) -> None:
        self._stream = stream
        self._rest = self._ready = b""
        comment = rb"" if quoted else rb"#(?!N/?A)[^\n]*|"
        blank = rb"[ ]" if mark == "\t" else rb"[ \t]"
        line = rb"^(?:" + comment + blank + rb"*)(?:\n|\Z)"
        self._dropped = re.compile(line, re.MULTILINE)
        self._spaces = mark == _SPACES

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
            lines = self._dropped.sub(b"", lines)
            self._ready = _single_spaces(lines) if self._spaces else lines
        size = len(self._ready) if size is None or size < 0 else size
        piece, self._ready = self._ready[:size], self._ready[size:]
        return piece


def _single_spaces(lines: bytes) -> bytes:
    """Lines with one space between their words, none before or after."""
    lines = lines.replace(b"\t", b" ")
    while b"  " in lines:
        lines = lines.replace(b"  ", b" ")
    return lines.replace(b"\n ", b"\n").replace(b" \n", b"\n").strip(b" ")


_CONVERSION = re.compile(r"In CSV column #(\d+): Row #(\d+): .*invalid value '(.*)'", re.DOTALL)
_EXPONENT_D = re.compile(r"[+-]?\d*[.,]?\d+[dD][+-]?\d+")
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}([ ,.'\u00a0\u202f]\d{3})+([.,]\d+)?")
_MAYBE_DECIMAL = re.compile(r"[+-]?\d{1,3},\d{3}")
_NO_VALUE = re.compile(r"[^\w\s]+|missing|unknown|inf(inity)?|n\.a\.|nil|undefined", re.IGNORECASE)


def _remedy(error: str, mark: str, decimal: str) -> str:
    """What to do about a value that is no number."""
    wrong = _CONVERSION.fullmatch(error)
    value = wrong[3].strip() if wrong else ""
    given = {**_separator(mark), "decimal": decimal}
    if thousands := _THOUSANDS.fullmatch(value):
        given["thousands"] = thousands[1][0]
        given["decimal"] = thousands[2][0] if thousands[2] else decimal
        begin = "Where it has marks of thousands, write it without: "
        if _MAYBE_DECIMAL.fullmatch(value):
            as_decimal = _pandas_line({**_separator(mark), "decimal": ","})
            begin = f"Where its comma is a decimal sign: {as_decimal} {begin}"
    elif _NO_VALUE.fullmatch(value):
        given["na_values"] = value
        begin = "Where it stands for a missing value, leave that empty: "
    elif _EXPONENT_D.fullmatch(value):
        return "Write its exponent with E, not D."
    else:
        return "Correct the file or save it again."
    return f"{begin}{_pandas_line(given)}"


def _separator(mark: str) -> dict[str, str]:
    """The mark between columns as pandas knows it."""
    return {"sep": r"\s+" if mark == _SPACES else mark}


def _pandas_line(given: Mapping[str, str]) -> str:
    """The line that reads a file with these options, and writes one that is read."""
    usual = {"sep": ",", "decimal": "."}
    options = "".join(f", {key}={val!r}" for key, val in given.items() if usual.get(key) != val)
    return f"pandas.read_csv('FILE'{options}).to_csv('table.csv', index=False)."


def _reason(error: BaseException, names: Sequence[str]) -> str:
    """The parser's message on one line of readable length, a column by its name."""
    if wrong := _CONVERSION.fullmatch(str(error)):
        column, row, value = wrong.groups()
        shown = f"{roles.label(value)!r} in the column {roles.label(names[int(column)])!r}"
        return f"{shown} of row {int(row):,}"
    return roles.label(str(error).removeprefix("CSV parse error: "), _SAID) or type(error).__name__
