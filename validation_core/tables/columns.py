"""Files of columns (.csv, .parquet) as arrays: one row per draw, one per point, or plain.

A long table has the columns `sim`, `draw` (-1 for the truth), `theta_*` and `x_*`, and may have
`log_q` and `log_joint`; two samples have a column `sample` of p and q; any other table of numbers
is one array, named by its file. Sizes are added up before any column is parsed or decoded.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from validation_core.tables import source
from validation_core.tables.source import BROKEN, Order, _Header, _size, _worked

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import parquet

COLUMNS = 200_000
"""Columns that one file may have."""


class _Column(NamedTuple):
    """A column as the file declares it; `dtype` is None where it holds no plain numbers."""

    name: str
    dtype: np.dtype[np.generic] | None


class _Columns(Protocol):
    """A file of columns, its rows counted but not yet read."""

    @property
    def columns(self) -> Sequence[_Column]:
        """Its columns, in turn."""
        ...

    @property
    def rows(self) -> int:
        """How many rows it has, or declares to have."""
        ...

    def batches(self, wanted: Sequence[str]) -> Iterator[Sequence[NDArray[np.generic]]]:
        """Some columns in pieces, from the first row to the last: numbers (n,), or text.

        Raises:
            ValueError: for text in a column of numbers, or damaged bytes.
        """
        ...


class _Held(io.RawIOBase):
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


_HEADER = 2**24  # bytes of the line of names: 10^5 columns have 10^6
_CSV_BLOCK = 2**23
_SAID = 160
_MARKS = ",;\t|"
_FLOAT = np.dtype(np.float64)


class _Csv:
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
        if all(_is_number(field) for field in fields):
            fields, self._skip = [f"column_{i + 1}" for i in range(len(fields))], 0
        else:
            self._skip = 1
        self._names = [field.lstrip("# ").strip() for field in fields]
        self.columns = [_Column(n, None if n in ("", "sample") else _FLOAT) for n in self._names]
        lines, regular = _lines(stream)
        self.rows = lines - self._skip if regular else self._count()

    def _count(self) -> int:
        """Rows as the parser sees them, where lines do not tell."""
        return sum(len(batch[0]) for batch in self.batches(self._names[:1], text=True))

    def batches(
        self, wanted: Sequence[str], *, text: bool = False
    ) -> Iterator[Sequence[NDArray[np.generic]]]:
        import pyarrow as pa
        from pyarrow import csv as arrow

        kinds = {
            name: pa.string() if text or name == "sample" else pa.float64() for name in wanted
        }
        self._stream.seek(0)
        try:
            with arrow.open_csv(
                pa.PythonFile(_Held(self._stream), mode="r"),
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
                    yield [_csv_column(column) for column in batch.columns]
        except BROKEN as error:
            raise ValueError(
                f"Every row of a .csv file must have {len(self._names):,} values, numbers except "
                f"in the column sample; got otherwise ({_reason(error)}). Correct the file or "
                f"save it again."
            ) from None


def _csv_column(column: pa.Array) -> NDArray[np.generic]:
    array = column.to_numpy(zero_copy_only=False)
    return array if array.dtype.kind == "f" else np.asarray(array, dtype=object)


def _block(columns: Sequence[str]) -> int:
    """Bytes parsed at once: a row must fit."""
    return max(_CSV_BLOCK, 64 * len(columns))


def _fields(line: str, mark: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=mark))
    except (csv.Error, StopIteration):
        return [line]


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _lines(stream: BinaryIO) -> tuple[int, bool]:
    """How many lines there are, and whether each is a row: none is empty, nothing is quoted."""
    stream.seek(0)
    count, last, regular = 0, b"\n", True
    while piece := stream.read(_CSV_BLOCK):
        count += piece.count(b"\n")
        odd = (last + piece, b"\n\n"), (piece, b"\n\r"), (piece, b'"')
        regular = regular and not any(mark in where for where, mark in odd)
        last = piece[-1:]
    return count + (last != b"\n"), regular


def _reason(error: BaseException) -> str:
    """What the parser says, on one line of readable length."""
    return (
        source.label(str(error).removeprefix("CSV parse error: "), _SAID) or type(error).__name__
    )


_BATCH = 2**16
_METADATA_BYTES = 2**26  # bytes that the metadata may take
_INDEX = re.compile(r"__index_level_\d+__")  # pandas keeps its row labels under this name
_WHOLE = (
    "A .parquet file must be whole; got one that is truncated or damaged. Save or copy it again."
)


class _Parquet:
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
                pa.PythonFile(_Held(stream), mode="r"),
                page_checksum_verification=True,
                thrift_string_size_limit=_METADATA_BYTES,
                thrift_container_size_limit=4 * COLUMNS,
            )
            self.columns = [_parquet_column(field) for field in self._file.schema_arrow]
            self.rows: int = self._file.metadata.num_rows
            chunks = list(_chunks(self._file.metadata))
        except source.BROKEN:
            raise ValueError(_WHOLE) from None
        self.columns = [column for column in self.columns if not _INDEX.fullmatch(column.name)]
        largest = max((chunk.total_uncompressed_size for chunk in chunks), default=0)
        if largest > limit:
            raise ValueError(
                f"A column of a .parquet file must take at most {source._size(limit)}; got "
                f"{source._size(largest)} declared. Keep fewer draws at each x (50 to 200 are "
                f"plenty)."
            )
        sizes = [(c.total_uncompressed_size, c.total_compressed_size) for c in chunks]
        if any(min(pair) < 0 or pair[1] > length for pair in sizes) or self.rows < 0:
            raise ValueError(_WHOLE)

    def batches(self, wanted: Sequence[str]) -> Iterator[Sequence[NDArray[np.generic]]]:
        try:
            pieces = self._file.iter_batches(_BATCH, columns=list(wanted), use_threads=False)
            for batch in pieces:
                yield [_parquet_numbers(batch.column(name)) for name in wanted]
        except source.BROKEN:
            raise ValueError(_WHOLE) from None


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
    return _Column(field.name, dtype if dtype.kind == "f" else source._working(dtype))


def _parquet_numbers(column: pa.Array) -> NDArray[np.generic]:
    import pyarrow as pa

    if pa.types.is_boolean(column.type):
        column = column.cast(pa.uint8())
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        numbers: NDArray[np.generic] = column.to_numpy(zero_copy_only=False)
        return numbers
    return np.asarray(column.cast(pa.string()).to_numpy(zero_copy_only=False), dtype=object)


# ---- Where each row of a long table goes: its simulation, and its place among the draws ----


class _Places(NamedTuple):
    """Where each row of a long table goes."""

    n: int
    k: int
    sim: NDArray[np.intp]
    draw: NDArray[np.intp]
    """Place of a row among the draws of its simulation; -1 for the truth."""


def _same_x(batch: Sequence[NDArray[np.generic]], sim: NDArray[np.intp]) -> None:
    """Refuse neighbouring rows of one simulation that tell different data."""
    same = sim[1:] == sim[:-1]
    for column in batch:
        known = np.isfinite(column[1:]) & np.isfinite(column[:-1])
        if (same & known & (column[1:] != column[:-1])).any():
            raise ValueError(
                "x must be the same in all rows of a simulation; got rows of one sim with "
                "different x. Repeat the true value's x in the rows of the draws, or leave it "
                "empty there."
            )


def _places(sim: NDArray[np.float64], draw: NDArray[np.float64]) -> _Places:
    """Where each row of a long table goes, from its simulation and its number among the draws.

    Raises:
        ValueError: for numbers that are not whole, a truth that is missing or twice, or numbers
            of draws that differ.
    """
    whole = np.isfinite(sim).all() and np.isfinite(draw).all()
    if not (whole and (sim == np.floor(sim)).all() and (draw == np.floor(draw)).all()):
        raise ValueError(
            "The columns sim and draw must hold whole numbers; got others. Number the "
            "simulations 0, 1, ... and the draws 0, 1, ..., with -1 for the true value."
        )
    if not len(sim) or draw.min() < -1:
        raise ValueError(
            "The column draw must hold -1 for the true value and 0, 1, ... for the draws; got "
            f"{f'{draw.min():g}' if len(sim) else 'no rows'}. Number them anew."
        )
    by_sim, place = np.unique(sim, return_inverse=True)
    n = len(by_sim)
    truths = np.bincount(place[draw < 0], minlength=n)
    if (truths != 1).any():
        odd = int(np.flatnonzero(truths != 1)[0])
        raise ValueError(
            "Every simulation must have one row with draw = -1, its true value; got "
            f"{truths[odd]} for sim {by_sim[odd]:.0f}, and others than one for "
            f"{int((truths != 1).sum()):,} of {n:,}. Add or remove rows."
        )
    counts = np.bincount(place[draw >= 0], minlength=n)
    k = int(counts[0])
    if k == 0 or (counts != k).any():
        raise ValueError(
            f"Every simulation must have the same number of draws, at least one; got "
            f"{counts.min():,} (sim {by_sim[counts.argmin()]:.0f}) to {counts.max():,} (sim "
            f"{by_sim[counts.argmax()]:.0f}). Keep as many draws as the shortest has."
        )
    return _Places(n, k, place, _ranked(place, draw, n, k))


def _ranked(
    place: NDArray[np.intp], draw: NDArray[np.float64], n: int, k: int
) -> NDArray[np.intp]:
    """The place of every draw among those of its simulation, in the order of their numbers."""
    order = np.lexsort((draw, place))  # the truth comes first in each simulation
    sorted_draw = draw[order].reshape(n, k + 1)
    if (np.diff(sorted_draw, axis=1) == 0).any():
        raise ValueError(
            "Each draw of a simulation must have its own number; got some twice. Number the draws "
            "of each simulation 0, 1, ..."
        )
    ranked = np.empty(len(draw), np.intp)
    ranked[order] = np.tile(np.arange(-1, k), n)
    return ranked


_LOGS = ("log_q", "log_joint")


class _ColumnTable:
    """The arrays that a file of columns holds.

    Raises:
        ValueError: for columns that are too many, repeated, or larger than memory is given for.
    """

    def __init__(self, columns: _Columns, stem: str, limit: int) -> None:
        self._file, self._stem = columns, stem
        column_names = [column.name for column in columns.columns]
        if (
            len(column_names) > COLUMNS
            or len({*column_names}) < len(column_names)
            or not column_names
        ):
            raise ValueError(
                f"A table must have 1 to {COLUMNS:,} columns, each under its own name; got "
                f"{len(column_names):,} under {len({*column_names}):,} names. Rename or leave out "
                f"some."
            )
        self._by_name = {column.name: column.dtype for column in columns.columns}
        declared = columns.rows * sum(c.dtype.itemsize for c in columns.columns if c.dtype)
        if declared > 4 * limit:
            raise ValueError(
                f"The columns of a table must take at most {_size(4 * limit)}; got "
                f"{_size(declared)} declared by {columns.rows:,} rows of {len(column_names):,} "
                f"columns. Keep fewer draws at each x (50 to 200 are plenty), or save "
                f"arrays with numpy.savez."
            )
        long = {"sim", "draw"} <= self._by_name.keys()
        self._kind = "long" if long else "sample" if "sample" in self._by_name else "plain"
        self.order: Order | None = "NKD" if long else None
        self.notes: tuple[str, ...] = ()
        self._long: _Places | None = None
        self._points: NDArray[np.bool_] | None = None

    def headers(self) -> Mapping[str, _Header]:
        if self._kind == "long":
            return self._headers_long()
        if self._kind == "sample":
            return self._headers_samples()
        chosen = self._numeric(())
        dtype = self._common(chosen)
        headers = {self._stem: _Header((self._file.rows, len(chosen)), dtype)}
        labels = f"{self._stem.lower()}_names"
        if labels in source.ROLES and not chosen[0].startswith("column_"):
            headers[labels] = _label_header(chosen)
        return headers

    def load(self, name: str) -> NDArray[np.generic]:
        header = self.headers()[name]
        if name.endswith("_names"):
            return self._labels(name)
        if self._kind == "long":
            return self._load_long(name, header)
        if self._kind == "sample":
            return self._load_sample(name, header)
        array = np.empty(header.shape, header.dtype)
        self._fill(array, self._numeric(()))
        return _worked(array)

    def _pieces(
        self, chosen: Sequence[str]
    ) -> Iterator[tuple[slice, Sequence[NDArray[np.generic]]]]:
        """Columns in pieces with their rows, which are as many as the file declares."""
        done = 0
        for batch in self._file.batches(chosen):
            rows = slice(done, done + len(batch[0]))
            if rows.stop <= self._file.rows:
                yield rows, batch
            done = rows.stop
        if done != self._file.rows:
            raise ValueError(
                f"A table must hold as many rows as it declares; got {done:,} of "
                f"{self._file.rows:,}. The file is truncated or damaged: save it again."
            )

    def _fill(self, array: NDArray[np.generic], chosen: Sequence[str]) -> None:
        for rows, batch in self._pieces(chosen):
            for j, column in enumerate(batch):
                array[rows, j] = column

    def _numeric(self, without: Sequence[str]) -> list[str]:
        """Columns of numbers; the others are noted."""
        others = [n for n, dtype in self._by_name.items() if dtype is None and n not in without]
        chosen = [n for n, d in self._by_name.items() if d is not None and n not in without]
        if not chosen:
            raise ValueError(
                f"A table must have columns of real numbers; got {source._listed(self._by_name)}. "
                f"Save numbers."
            )
        self.notes = (f"{source._listed(others)}: left unread, no numbers.",) * bool(others)
        return chosen

    def _common(self, chosen: Sequence[str]) -> np.dtype[np.generic]:
        kinds = {self._by_name[name] for name in chosen}
        return np.result_type(*(kind for kind in kinds if kind is not None))

    def _labels(self, name: str) -> NDArray[np.generic]:
        if self._kind == "long":
            stem = name.removesuffix("_names")
            return np.array([_short(column, stem) for column in self._of(stem)])
        return np.array([source.label(column) or "?" for column in self._numeric(("sample",))])

    def close(self) -> None:
        """Nothing was opened."""

    # Long tables

    def _of(self, stem: str) -> list[str]:
        return [n for n in self._by_name if n == stem or n.startswith(f"{stem}_")]

    def _headers_long(self) -> Mapping[str, _Header]:
        stems = {"theta": self._of("theta"), "x": self._of("x")}
        logs = [name for name in _LOGS if name in self._by_name]
        used = {"sim", "draw", *stems["theta"], *stems["x"], *logs}
        missing = [f"{stem}_*" for stem, columns in stems.items() if not columns]
        if missing:
            raise ValueError(
                f"A long table must have the columns sim, draw, theta_* and x_*; missing: "
                f"{', '.join(missing)}; got: {source._listed(self._by_name)}. Rename the columns."
            )
        for name in used:
            if self._by_name[name] is None:
                raise ValueError(
                    f"The columns of a long table must hold real numbers; got text or others in "
                    f"{source.label(name)!r}. Save numbers in it, or rename it to leave it out."
                )
        others = [name for name in self._by_name if name not in used]
        self.notes = (f"{source._listed(others)}: left unread, no test knows these.",) * bool(
            others
        )
        at = self._places()
        theta, x = (self._common(stems[stem]) for stem in ("theta", "x"))
        d, m = len(stems["theta"]), len(stems["x"])
        headers = {
            "theta": _Header((at.n, d), theta),
            "x": _Header((at.n, m), x),
            "theta_q": _Header((at.n, at.k, d), theta),
            "theta_names": _label_header(stems["theta"]),
            "x_names": _label_header(stems["x"]),
        }
        for name in logs:
            headers[name] = _Header((at.n,), self._common([name]))
            headers[f"{name}_draws"] = _Header((at.n, at.k), self._common([name]))
        return headers

    def _places(self) -> _Places:
        if self._long is None:
            whole = np.empty((self._file.rows, 2), np.float64)
            self._fill(whole, ("sim", "draw"))
            self._long = _places(whole[:, 0], whole[:, 1])
        return self._long

    def _load_long(self, name: str, header: _Header) -> NDArray[np.generic]:
        at = self._places()
        array = np.empty(header.shape, header.dtype)
        of_draws = name == "theta_q" or name.endswith("_draws")
        stem = "theta" if name == "theta_q" else name.removesuffix("_draws")
        chosen = [stem] if stem in _LOGS else self._of(stem)
        columns = array.reshape(*array.shape[: 2 if of_draws else 1], -1)
        for rows, batch in self._pieces(chosen):
            sim, draw = at.sim[rows], at.draw[rows]
            if name == "x":
                _same_x(batch, sim)
            here = draw >= 0 if of_draws else draw < 0
            where = (sim[here], draw[here]) if of_draws else (sim[here],)
            for j, column in enumerate(batch):
                columns[(*where, j)] = column[here]
        return _worked(array)

    # Two samples

    def _sides(self) -> NDArray[np.bool_]:
        """Which rows are points of p."""
        if self._points is None:
            pieces = [batch[0] for _, batch in self._pieces(("sample",))]
            sides = np.concatenate(pieces) if pieces else np.empty(0, "U1")
            known = {str(side) for side in np.unique(sides[:100_000].astype(str))}
            is_p = sides == "p"
            if not (is_p | (sides == "q")).all():
                raise ValueError(
                    f"The column sample must hold p or q; got {source._listed(sorted(known))}. "
                    f"Name the samples p and q."
                )
            self._points = is_p
        return self._points

    def _headers_samples(self) -> Mapping[str, _Header]:
        if self._by_name["sample"] is not None:
            raise ValueError(
                "The column sample must hold p or q; got numbers. Name the samples p and q."
            )
        chosen = self._numeric(("sample",))
        is_p = self._sides()
        dtype, d = self._common(chosen), len(chosen)
        n = int(is_p.sum())
        return {
            "p": _Header((n, d), dtype),
            "q": _Header((len(is_p) - n, d), dtype),
            "theta_names": _label_header(chosen),
        }

    def _load_sample(self, name: str, header: _Header) -> NDArray[np.generic]:
        wanted = self._sides() == (name == "p")
        array = np.empty(header.shape, header.dtype)
        filled = 0
        for rows, batch in self._pieces(self._numeric(("sample",))):
            here = wanted[rows]
            count = int(here.sum())
            for j, column in enumerate(batch):
                array[filled : filled + count, j] = column[here]
            filled += count
        return _worked(array)


def _label_header(columns: Sequence[str]) -> _Header:
    return _Header((len(columns),), np.dtype("U40"))


def _short(column: str, stem: str) -> str:
    """The label of a column: `theta_mass` is `mass`, `theta_1` stays as it is."""
    rest = column.removeprefix(f"{stem}_")
    return source.label(column if rest.isdigit() or not rest else rest) or "?"
