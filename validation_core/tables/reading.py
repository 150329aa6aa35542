"""Reading a file: its format is found from its first bytes, headers are checked, arrays loaded."""

from __future__ import annotations

import io
import os
import select
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, Unpack

from validation_core.tables import assembly, guarded_file, roles, source
from validation_core.tables.chosen import Chosen, JoinedArrays, resolve_names
from validation_core.tables.foreign_formats import SAVE, foreign_format
from validation_core.tables.options import Reading, ReadingOptions
from validation_core.tables.required_roles import require_roles
from validation_core.tables.source import LIMIT, AmbiguousOrder, ArraySource, UnknownArrays
from validation_core.tables.truth_ranks import UnknownMaxRank
from validation_core.tables.uploads import Upload
from validation_core.tables.zarr_store import is_store_folder


class MissingFile(FileNotFoundError, ValueError):
    """No file at the path of a table."""


File = Path | str | bytes | bytearray | memoryview | BinaryIO
"""A path, the bytes of a file, or a file opened for reading."""
_FIRST = 4096
_KNOWN = "an .npz or .npy file of NumPy, a .csv, .parquet or .json table, HDF5 or ArviZ's netCDF-4"
_LONG = (
    "A long table has a row for each draw; name its columns, theta for the true values: --map "
    "sim=NAME,draw=NAME,theta=NAME+NAME,theta_q=NAME+NAME,x=NAME+NAME."
)
_USER_BLOCKS = tuple(2**power for power in range(9, 24))  # where HDF5 may begin, beside 0
PIPE_SILENCE_SECONDS = 20.0
"""Time that a pipe may send nothing."""
_PIECE = 2**20


def read(file: File, *, limit: int = LIMIT, name: str = "", **options: Unpack[Reading]) -> Upload:
    """Read the table, the two samples or the ranks in a file.

    Args:
        file: a path, the bytes of the file, or the file opened for reading.
        limit: bytes that its arrays may take in memory.
        name: name of the file, where neither a path nor the opened file has one.
        options: fields of `ReadingOptions`.

    Returns:
        a `TableUpload`, a `SamplesUpload` for two samples, or a `RanksUpload` for ranks.

    Raises:
        AmbiguousOrder: when N = K and no order is given.
        UnknownArrays: when the names of its arrays do not tell a table.
        UnknownMaxRank: for ranks whose largest value is not given.
        ValueError: for everything else that cannot be diagnosed.
    """
    chosen = ReadingOptions(**options)
    arrays, said = chosen.arrays, chosen.said
    with refusals_in_words(), opened_file(file, name, limit, arrays) as reader:
        named = None if reader.named else arrays
        chosen = replace(chosen, arrays=named)
        upload = read_source(reader, limit, chosen, columns=reader.columns)
    return replace(upload, said=said)


def read_source(
    reader: ArraySource, limit: float, options: ReadingOptions, *, columns: bool = False
) -> Upload:
    """Read the table or the two samples in an open source of arrays.

    Args:
        reader: the source.
        limit: bytes that its arrays may take in memory.
        options: what a user says about it.
        columns: whether its arrays are columns, of which a user may be asked what they are.

    Raises:
        AmbiguousOrder, UnknownArrays, ValueError: as `read` does.
    """
    declared = source.check_headers(reader.headers(), limit)
    shapes = {array: header.shape for array, header in declared.items()}
    chosen = options.arrays
    roles.check_chosen_roles(resolve_names(chosen or {}, shapes), shapes)
    joined = JoinedArrays(declared, reader.load, chosen)
    named = list(joined.headers)[columns:]  # without the first, all columns as one array
    known = roles.find_roles({name: joined.headers[name] for name in named}, joined.chosen)
    joined_shapes = {array: header.shape for array, header in joined.headers.items()}
    try:
        without_x = roles.says_no_x(joined.chosen, shapes)
        require_roles(known.found, joined_shapes, without_x=without_x, columns=columns)
    except UnknownArrays as question:
        words = f"{question} {_LONG}" if columns else str(question)
        raise UnknownArrays(
            words, shapes, columns=columns, answerable=columns or question.answerable
        ) from None
    numbers = {role: joined.load(array) for role, array in known.found.items()}
    notes = known.notes + joined.notes + reader.notes
    types = {role: joined.headers[array].dtype for role, array in known.found.items()}
    options = replace(options, order=reader.order or options.order)
    return assembly.assemble_upload(numbers, notes, options, types)


@contextmanager
def refusals_in_words() -> Iterator[None]:
    """Turn every error over a file in a `with` block into a refusal of one line.

    Raises:
        AmbiguousOrder: as raised within.
        MissingFile: as raised within.
        UnknownArrays: as raised within.
        UnknownMaxRank: as raised within.
        ValueError: in place of every other error.
    """
    try:
        yield
    except (AmbiguousOrder, MissingFile, UnknownArrays, UnknownMaxRank):
        raise
    except Exception as error:
        if type(error) is ValueError and "\n" not in str(error):
            raise
        raise ValueError(
            f"A file must hold a table that can be checked; got one over which that fails "
            f"({type(error).__name__}). It is damaged or too large: save it again."
        ) from error


@contextmanager
def opened_file(
    file: File, name: str = "", limit: int = LIMIT, chosen: Chosen | None = None
) -> Iterator[guarded_file.GuardedFile]:
    """Open a file as a source of arrays; a file that was opened before stays open.

    Args:
        file: a path, the bytes of the file, or the file opened for reading.
        name: name of the file, where neither a path nor the opened file has one.
        limit: bytes that its arrays may take in memory.
        chosen: names of arrays by the role that the user gives them.

    Raises:
        ValueError: for a file of unknown format, or one that cannot be opened.
    """
    if limit < 1:
        raise ValueError(
            f"The limit must be a number of bytes above zero; got {limit}. Give the bytes that "
            f"the arrays of a file may take in memory."
        )
    own_name = file_name(file)
    with _stream(file, 2 * limit) as (stream, path):
        kind = "zarr" if path is not None and is_store_folder(path) else _kind(stream)
        reader = guarded_file.GuardedFile(
            stream, path, kind, file_stem(name or own_name), limit, chosen
        )
        try:
            yield reader
        finally:
            reader.close()


def file_stem(name: str) -> str:
    """The name of an array after its file, without folders and the last ending."""
    last = name.replace("\\", "/").rpartition("/")[2]
    return last.rpartition(".")[0] or last or "array"


def file_name(file: File) -> str:
    """The name of a file as it was given; empty where it has none."""
    if isinstance(file, Path | str):
        return str(file)
    name = getattr(file, "name", "")
    return name if isinstance(name, str) else ""


@contextmanager
def _stream(file: File, most: int) -> Iterator[tuple[BinaryIO, Path | None]]:
    """A file opened for reading, and its path if another process can open it.

    A file that cannot be read twice is copied first.

    Args:
        file: a path, bytes, or an opened file.
        most: bytes that are copied of a pipe.

    Raises:
        ValueError: for what cannot be read, or a pipe that sends more, or nothing.
    """
    if isinstance(file, bytes | bytearray | memoryview):
        yield io.BytesIO(file), None
    elif isinstance(file, io.TextIOBase):
        raise ValueError(
            f"A file must be opened for reading bytes; got one of text ({type(file).__name__}). "
            f"Open it with open('FILE', 'rb'), or give its path."
        )
    elif not isinstance(file, Path | str):
        if file.seekable():
            yield file, None
            return
        with _copied(iter(lambda: file.read(_PIECE), b""), most) as copy:
            yield copy
    elif is_store_folder(Path(file)):
        yield io.BytesIO(), Path(file)
    else:
        with _at(Path(file), most) as opened:
            yield opened


@contextmanager
def _at(path: Path, most: int) -> Iterator[tuple[BinaryIO, Path | None]]:
    """The file at a path, and the path if another process finds the same file there; of a pipe,
    a copy.

    Raises:
        MissingFile: where there is none.
        ValueError: for what is no file or pipe, or cannot be read.
    """
    try:
        # A pipe to which nobody writes would never open.
        raw = open(path, "rb", buffering=0, opener=lambda at, flags: os.open(at, flags | _NOW))  # noqa: SIM115
    except (OSError, ValueError) as error:
        kind = MissingFile if isinstance(error, FileNotFoundError) else ValueError
        raise _unreadable(path, getattr(error, "strerror", None) or "no file name", kind) from None
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


def _unreadable(path: Path, reason: str, kind: type[ValueError] = ValueError) -> ValueError:
    return kind(
        f"The file must be there and readable; got {roles.label(str(path))!r} ({reason}). Check "
        f"the path."
    )


def _sent(raw: io.FileIO) -> Iterator[bytes]:
    """The bytes that a pipe sends, in pieces.

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
    """A temporary copy of bytes that come in pieces; their format is checked on the first ones.

    Raises:
        ValueError: for bytes of unknown format, more than are copied, or no space for them.
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


def _kind(stream: BinaryIO) -> guarded_file.FileKind:
    """The format of a file, from its first bytes.

    Raises:
        ValueError: for an unknown one.
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
    foreign = foreign_format(first)
    if foreign is not None:
        raise ValueError(f"A file must be {_KNOWN}; got {foreign}")
    if _text(first):
        begins = first.removeprefix(b"\xef\xbb\xbf").lstrip()
        return "json" if begins[:1] in (b"{", b"[") else "csv"
    what = f"something that begins with {first[:8]!r}" if first else "an empty file"
    raise ValueError(f"A file must be {_KNOWN}; got {what}. {SAVE}")


def _is_hdf5(stream: BinaryIO) -> bool:
    """Whether a file is HDF5, perhaps after a block of the user's own."""
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
