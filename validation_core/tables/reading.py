"""Files, read: their kind is found from the first bytes, headers are checked, then loaded."""

from __future__ import annotations

import io
import os
import select
import stat
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core.tables import archive, guarded, source, table
from validation_core.tables.source import (
    LIMIT,
    AmbiguousOrder,
    ArrayHeader,
    ArraySource,
    Order,
    UnknownArrays,
)
from validation_core.tables.table import Upload

File = Path | str | bytes | BinaryIO
"""A path, the bytes of a file, or a file opened for reading."""

_FIRST = 4096
_KNOWN = "an .npz or .npy file of NumPy, a .csv or .parquet table, HDF5 or ArviZ's netCDF-4"
_REFUSED = {
    b"\x80": "a pickle, which is never opened here",
    b"CDF": (
        "a netCDF-3 file (convert it: xarray.load_dataset(old).to_netcdf(new, engine='h5netcdf'))"
    ),
    b"\x1f\x8b": "a gzip file (unpack it first)",
    b"ARROW1": "an Arrow or Feather file (save it with to_parquet)",
    b"MATLAB": "a MATLAB file",
    b"\xff\xfe": "text in UTF-16 (save it in UTF-8)",
    b"\xfe\xff": "text in UTF-16 (save it in UTF-8)",
}
_USER_BLOCKS = tuple(2**power for power in range(9, 24))  # where HDF5 may begin, beside 0
PIPE_SILENCE_SECONDS = 20.0  # seconds that a pipe may send nothing
_PIECE = 2**20


def read(
    file: File,
    *,
    order: Order | None = None,
    arrays: Mapping[str, str] | None = None,
    circular: Sequence[str] | None = None,
    limit: int = LIMIT,
    name: str = "",
) -> Upload:
    """The table or the two samples in a file.

    Args:
        file: a path, the bytes of the file, or the file opened for reading.
        order: what the first axes of theta_q are; needed only when N = K.
        arrays: what its arrays are called, where that is not understood: {"theta": "params"}.
        circular: the angles among its parameters; they are recognised unless it is given.
        limit: bytes that its arrays may take in memory.
        name: what the file is called, where neither a path nor the opened file says so.

    Raises:
        AmbiguousOrder: when N = K and no order is given.
        UnknownArrays: when the names of its arrays do not tell a table.
        ValueError: for everything else that cannot be diagnosed.
    """
    with _worded(), _opened(file, name, limit, arrays) as reader:
        declared = source.check_headers(reader.headers(), limit)
        shapes = {array: header.shape for array, header in declared.items()}
        source.check_chosen_roles(arrays or {}, shapes)
        known = source.find_roles(declared, arrays)
        table.require_roles(known.found, shapes)
        numbers = {role: reader.load(array) for role, array in known.found.items()}
        notes = known.notes + reader.notes
        types = {role: declared[array].dtype for role, array in known.found.items()}
        file_order = reader.order
    with _worded():
        return table.assemble_upload(numbers, notes, order or file_order, types, circular)


@contextmanager
def _worded() -> Iterator[None]:
    """Whatever goes wrong over a file is one line.

    Raises:
        ValueError: in place of every other error.
    """
    try:
        yield
    except (AmbiguousOrder, UnknownArrays):
        raise
    except Exception as error:
        if type(error) is ValueError and "\n" not in str(error):
            raise
        raise ValueError(
            f"A file must hold a table that can be checked; got one over which that fails "
            f"({type(error).__name__}). It is damaged or too large: save it again."
        ) from error


@contextmanager
def _opened(
    file: File, name: str = "", limit: int = LIMIT, chosen: Mapping[str, str] | None = None
) -> Iterator[ArraySource]:
    """The source that a file is; only what is opened here is closed.

    Raises:
        ValueError: for a file of no known kind, or one that cannot be opened.
    """
    if limit < 1:
        raise ValueError(
            f"The limit must be a number of bytes above zero; got {limit}. Give the bytes that "
            f"the arrays of a file may take in memory."
        )
    called = str(file) if isinstance(file, Path | str) else _called(file)
    with _stream(file, 2 * limit) as (stream, path):
        kind = _kind(stream)
        reader = guarded.GuardedFile(stream, path, kind, _stem(name or called), limit, chosen)
        try:
            yield reader
        finally:
            reader.close()


def _stem(name: str) -> str:
    """What an array is called after its file: without folders and without the last ending."""
    last = name.replace("\\", "/").rpartition("/")[2]
    return last.rpartition(".")[0] or last or "array"


def _called(file: bytes | BinaryIO) -> str:
    name = getattr(file, "name", "")
    return name if isinstance(name, str) else ""


@contextmanager
def _stream(file: File, most: int) -> Iterator[tuple[BinaryIO, Path | None]]:
    """A file opened for reading, and where another process finds it; what cannot be read twice
    is copied first.

    Args:
        file: a path, bytes, or an opened file.
        most: bytes that are copied of a pipe.

    Raises:
        ValueError: for what cannot be read, or a pipe that sends more, or nothing.
    """
    if isinstance(file, bytes):
        yield io.BytesIO(file), None
    elif not isinstance(file, Path | str):
        if file.seekable():
            yield file, None
            return
        with _copied(iter(lambda: file.read(_PIECE), b""), most) as copy:
            yield copy
    else:
        with _at(Path(file), most) as opened:
            yield opened


@contextmanager
def _at(path: Path, most: int) -> Iterator[tuple[BinaryIO, Path | None]]:
    """The file at a path; of a pipe, a copy."""
    try:
        # A pipe to which nobody writes would never open.
        raw = open(path, "rb", buffering=0, opener=lambda at, flags: os.open(at, flags | _NOW))  # noqa: SIM115
    except (OSError, ValueError) as error:
        raise _unreadable(path, getattr(error, "strerror", None) or "no file name") from None
    with raw:
        descriptor = raw.fileno()
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISREG(mode):
            # /dev/stdin is another file in another process.
            real = Path(os.path.realpath(path))
            same = real.exists() and os.path.samestat(real.stat(), os.fstat(descriptor))
            yield io.BufferedReader(raw), real if same else None
        elif stat.S_ISFIFO(mode) or (stat.S_ISCHR(mode) and not raw.isatty()):
            with _copied(_sent(raw), most) as copy:
                yield copy
        else:
            raise _unreadable(path, "no file or pipe")


_NOW = getattr(os, "O_NONBLOCK", 0)


def _unreadable(path: Path, reason: str) -> ValueError:
    return ValueError(
        f"The file must be there and readable; got {source.label(str(path))!r} ({reason}). Check "
        f"the path."
    )


def _sent(raw: io.FileIO) -> Iterator[bytes]:
    """What a pipe sends, in pieces.

    Raises:
        ValueError: when it sends nothing for long.
    """
    until = time.monotonic() + PIPE_SILENCE_SECONDS
    while True:
        ready, _, _ = select.select([raw], [], [], max(0.0, until - time.monotonic()))
        piece = raw.read(_PIECE) if ready else None
        if piece == b"":
            return
        if piece:
            until = time.monotonic() + PIPE_SILENCE_SECONDS
            yield piece
        elif time.monotonic() > until:
            raise ValueError(
                f"A pipe must send a file without long breaks; got nothing for "
                f"{PIPE_SILENCE_SECONDS:.3g} s. Save it to a file and name that."
            )


@contextmanager
def _copied(pieces: Iterator[bytes], most: int) -> Iterator[tuple[BinaryIO, Path | None]]:
    """A copy of what comes in pieces; its first bytes must be those of a file that is read.

    Raises:
        ValueError: for bytes of no known kind, more than are copied, or no space for them.
    """
    with tempfile.TemporaryFile(prefix="nptlab-") as copy:
        known = False
        try:
            for piece in pieces:
                copy.write(piece)
                if copy.tell() > most:
                    raise ValueError(
                        f"A file from a pipe must have at most {source.size_text(most)}; got "
                        f"more. Save it to a file and name that."
                    )
                if not known and copy.tell() >= _FIRST:
                    known = bool(_kind(copy))
                    copy.seek(0, os.SEEK_END)
        except OSError as error:
            raise ValueError(
                f"A file from a pipe is copied before it is read; got an error "
                f"({error.strerror or type(error).__name__}). Save it to a file and name that."
            ) from None
        yield copy, None


def _kind(stream: BinaryIO) -> guarded.Kind:
    """The format of a file, from its first bytes.

    Raises:
        ValueError: for none that is read.
    """
    stream.seek(0)
    first = stream.read(_FIRST)
    if first.startswith(b"PK"):
        return "npz"
    if first.startswith(b"\x93NUMPY"):
        return "npy"
    if first.startswith(source.PARQUET):
        return "parquet"
    if _is_hdf5(stream):
        return "hdf5"
    if not first.startswith(tuple(_REFUSED)) and _text(first):
        return "csv"
    raise ValueError(f"A file must be {_KNOWN}; got {_what(first)}. {archive.SAVE}")


def _is_hdf5(stream: BinaryIO) -> bool:
    """Whether HDF5 begins in a file, perhaps after a block of the user's own."""
    for place in (0, *_USER_BLOCKS):
        stream.seek(place)
        first = stream.read(len(source.HDF5))
        if first == source.HDF5 or not first:
            return bool(first)
    return False


def _text(first: bytes) -> bool:
    """Whether the first bytes of a file read as text, in UTF-8 or an older code of one byte."""
    controls = set(range(32)) - set(b"\t\n\v\f\r")
    return bool(first.strip()) and not controls & set(first)


def _what(first: bytes) -> str:
    if not first:
        return "an empty file"
    known = (words for magic, words in _REFUSED.items() if first.startswith(magic))
    return next(known, f"something that begins with {first[:8]!r}")


# ---- Several files at once: parts of one table, or several whole tables to compare ----


FILES = 64
"""Files that are read at once."""


@dataclass(frozen=True, eq=False)
class _TablePart:
    """What a file holds, by the roles that its arrays play."""

    label: str
    headers: Mapping[str, ArrayHeader]
    """Of every array, by its name."""
    roles: Mapping[str, str]
    arrays: Mapping[str, NDArray[np.generic]]
    order: Order | None
    notes: tuple[str, ...]

    @property
    def whole(self) -> bool:
        """Whether it needs no other file."""
        return source.roles_complete(self.roles)


def read_files(
    files: Sequence[tuple[str, File]],
    *,
    order: Order | None = None,
    arrays: Mapping[str, str] | None = None,
    limit: int = LIMIT,
) -> list[tuple[str, Upload]]:
    """The tables in several files, each with a label made of its file's name.

    Files that hold a whole table stay tables of their own. The others are put together: theta and
    x of one with theta_q of another, or one array in each. Where several hold theta_q, each makes
    a table with the theta and x that they share, as posteriors to be compared have them.

    Args:
        files: name and file; a name gives a .npy array its role and a table its label.
        order: what the first axes of theta_q are; needed only when N = K.
        arrays: what arrays are called, in every file that has one of that name.
        limit: bytes that the arrays of all files may take together.

    Raises:
        AmbiguousOrder: when N = K and no order is given.
        UnknownArrays: when the names of their arrays do not tell tables.
        ValueError: for files that do not add up to tables, with what each holds.
    """
    if not 0 < len(files) <= FILES:
        raise ValueError(f"From 1 to {FILES} files can be read at once; got {len(files)}.")
    parts: list[_TablePart] = []
    for name, file in files:
        # One after the other: only so many are open at once, and each is loaded while it is.
        parts.append(_part(name, file, limit, arrays, [part.headers for part in parts]))
    source.check_chosen_roles(arrays or {}, _all_shapes(parts))
    tables = [[part] for part in parts if part.whole]
    tables += _merged([part for part in parts if not part.whole], parts)
    # In the order in which the files came.
    tables.sort(key=lambda members: parts.index(members[0]))
    labels = _different([members[0].label for members in tables])
    with _worded():
        uploads = [_upload(members, order) for members in tables]
    return list(zip(labels, uploads, strict=True))


def _part(
    name: str,
    file: File,
    limit: int,
    chosen: Mapping[str, str] | None,
    before: Sequence[Mapping[str, ArrayHeader]],
) -> _TablePart:
    label = source.label(_stem(name)) or "table"
    try:
        with _worded(), _opened(file, name, limit, chosen) as reader:
            declared = source.check_headers(reader.headers(), limit)
            source.check_total_size([*before, declared], limit)
            known = source.find_roles(declared, chosen)
            arrays = {role: reader.load(array) for role, array in known.found.items()}
            return _TablePart(
                label, declared, known.found, arrays, reader.order, known.notes + reader.notes
            )
    except ValueError as error:
        raise ValueError(f"In the file {label!r}: {error}") from None


def _merged(parts: Sequence[_TablePart], every: Sequence[_TablePart]) -> list[list[_TablePart]]:
    """Parts of tables put together, the one that gives the table its name first."""
    if not parts:
        return []
    heads = [part for part in parts if "theta_q" in part.roles]
    shared = [part for part in parts if "theta_q" not in part.roles]
    tables = [list(parts)] if len(heads) < 2 else [[head, *shared] for head in heads]
    for members in tables:
        roles = [role for part in members for role in part.roles]
        try:
            table.require_roles(roles, dict.fromkeys(roles, ()))
        except ValueError:
            raise _refusal(every, "files that do not make whole tables") from None
        if twice := sorted({r for r in roles if roles.count(r) > 1 and not r.endswith("_names")}):
            raise _refusal(every, f"{', '.join(twice)} in more than one of them")
    # One posterior is named by the first of its files, several each by their own.
    return tables


def _all_shapes(parts: Sequence[_TablePart]) -> dict[str, tuple[int, ...]]:
    """Shapes of the arrays of several files by name; of one in several files, the first's."""
    shapes: dict[str, tuple[int, ...]] = {}
    for part in parts:
        for name, header in part.headers.items():
            shapes.setdefault(name, header.shape)
    return shapes


def _refusal(parts: Sequence[_TablePart], what: str) -> source.UnknownArrays:
    holds = "; ".join(
        f"{part.label!r} holds {source.shapes_text(_all_shapes([part]))}" for part in parts[:9]
    )
    more = f"; and {len(parts) - 9} more" * (len(parts) > 9)
    return source.UnknownArrays(
        f"Several files must be whole tables, or together make one of theta, x and theta_q (or p "
        f"and q), each once; got {what}: {holds}{more}. Add what is missing, or read one table "
        f"at a time. {table.LAYOUTS}",
        _all_shapes(parts),
    )


def _upload(members: Sequence[_TablePart], order: Order | None) -> Upload:
    arrays = {role: array for part in members for role, array in part.arrays.items()}
    # Labels are no reason for anything; an order is told by the file that holds the draws.
    file_order = next((part.order for part in members if "theta_q" in part.roles), None)
    notes = tuple(note for part in members for note in part.notes)
    types = {
        role: part.headers[name].dtype for part in members for role, name in part.roles.items()
    }
    return table.assemble_upload(arrays, notes, order or file_order, types)


def _different(labels: Sequence[str]) -> list[str]:
    """Labels that are told apart: a second `run` is `run (2)`."""
    unique: list[str] = []
    for label in labels:
        count = 1
        new = label
        while new in unique:
            count += 1
            new = f"{label} ({count})"
        unique.append(new)
    return unique


# ---- What a file declares, before any of its numbers are read ----


class _Declared(NamedTuple):
    """One array of a file: its name as shown, its role or None, and what its header says."""

    name: str
    role: str | None
    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True, kw_only=True)
class _Preview:
    """Sizes of a file, as far as its headers tell."""

    arrays: tuple[_Declared, ...]
    nbytes: int
    """Bytes that its arrays take in memory."""
    n: int | None = None
    """Simulations, or points of the smaller of two samples."""
    k: int | None = None
    d: int | None = None
    m: int | None = None
    """Draws at each x, columns of theta and of x; None where they are not known."""
    problem: str | None = None
    """Why it will be refused, where the headers show it already."""


def preview(file: File, *, limit: int = LIMIT, name: str = "") -> _Preview:
    """The sizes that a file declares.

    Args:
        file: a path, the bytes of the file, or the file opened for reading.
        limit: bytes that its arrays may take in memory; more is a `problem`.
        name: what the file is called, where neither a path nor the opened file says so.

    Raises:
        ValueError: for a file whose headers cannot be read.
    """
    with _worded(), _opened(file, name, limit) as reader:
        declared = reader.headers()
    known = source.find_roles(declared).found
    by_name = {array: role for role, array in known.items()}
    problem = None
    try:
        source.check_headers(declared, limit)
        table.require_roles(known, {array: header.shape for array, header in declared.items()})
    except ValueError as refusal:
        problem = str(refusal)
    return _Preview(
        arrays=tuple(
            _Declared(source.label(array), by_name.get(array), header.shape, str(header.dtype))
            for array, header in list(declared.items())[: source.ARRAYS]
        ),
        nbytes=sum(header.nbytes for header in declared.values()),
        problem=problem,
        **_sizes({role: declared[array] for role, array in known.items()}),
    )


def _sizes(headers: Mapping[str, ArrayHeader]) -> dict[str, int | None]:
    """N, K, D, M as the shapes of the arrays tell them."""
    shapes = {role: header.shape for role, header in headers.items() if header.shape}
    if "theta" not in shapes:
        pair = [shapes[role] for role in ("p", "q") if role in shapes]
        n = min((shape[0] for shape in pair), default=None)
        return {"n": n, "d": _columns(pair[0]) if pair else None}
    n, d = shapes["theta"][0], _columns(shapes["theta"])
    return {
        "n": n,
        "d": d,
        "m": _columns(shapes["x"]) if "x" in shapes else None,
        "k": _draws(shapes["theta_q"], n, d) if "theta_q" in shapes else None,
    }


def _columns(shape: tuple[int, ...]) -> int:
    columns = 1
    for length in shape[1:]:
        columns *= length
    return columns


def _draws(shape: tuple[int, ...], n: int, d: int) -> int | None:
    """K of draws in this shape; None where it does not fit."""
    if len(shape) == 1 or shape == (n, d):
        return 1 if d == 1 or (len(shape) == 2 and d > 1) else None
    first, second = shape[:2]
    if n not in (first, second):
        return None
    return second if first == n else first
