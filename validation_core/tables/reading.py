"""Reading a file: its format is found from its first bytes, headers are checked, arrays loaded."""

from __future__ import annotations

import io
import os
import select
import stat
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from validation_core.tables import guarded_file, numpy_files, roles, source, table
from validation_core.tables.source import LIMIT, AmbiguousOrder, ArraySource, Order, UnknownArrays
from validation_core.tables.table import Upload
from validation_core.tables.truth_ranks import UnknownMaxRank
from validation_core.tables.x_columns import Missing

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
PIPE_SILENCE_SECONDS = 20.0
"""Time that a pipe may send nothing."""
_PIECE = 2**20


def read(
    file: File,
    *,
    order: Order | None = None,
    arrays: Mapping[str, str] | None = None,
    circular: Sequence[str] | None = None,
    missing: Missing | None = None,
    max_rank: int | None = None,
    limit: int = LIMIT,
    name: str = "",
) -> Upload:
    """Read the table, the two samples or the ranks in a file.

    Args:
        file: a path, the bytes of the file, or the file opened for reading.
        order: order of theta_q's axes; needed only when N = K.
        arrays: names of its arrays by role, where not recognised: {"theta": "params"}; {"x":
            "none"} says that there is no x.
        circular: names of the angles among its parameters; None to recognise them.
        missing: what NaN in x means, "mask" or "drop"; None to recognise padding.
        max_rank: the largest rank that ranks can take, where the file does not say it.
        limit: bytes that its arrays may take in memory.
        name: name of the file, where neither a path nor the opened file has one.

    Returns:
        a `TableUpload`, a `SamplesUpload` for two samples, or a `RanksUpload` for ranks.

    Raises:
        AmbiguousOrder: when N = K and no order is given.
        UnknownArrays: when the names of its arrays do not tell a table.
        UnknownMaxRank: for ranks whose largest value is not given.
        ValueError: for everything else that cannot be diagnosed.
    """
    with refusals_in_words(), opened_file(file, name, limit, arrays) as reader:
        declared = source.check_headers(reader.headers(), limit)
        shapes = {array: header.shape for array, header in declared.items()}
        roles.check_chosen_roles(arrays or {}, shapes)
        known = roles.find_roles(declared, arrays)
        table.require_roles(known.found, shapes, without_x=roles.says_no_x(arrays, shapes))
        numbers = {role: reader.load(array) for role, array in known.found.items()}
        notes = known.notes + reader.notes
        types = {role: declared[array].dtype for role, array in known.found.items()}
        file_order = reader.order
    with refusals_in_words():
        return table.assemble_upload(
            numbers,
            notes,
            order or file_order,
            types,
            circular,
            missing=missing,
            max_rank=max_rank,
        )


@contextmanager
def refusals_in_words() -> Iterator[None]:
    """Turn every error over a file in a `with` block into a refusal of one line.

    Raises:
        AmbiguousOrder: as raised within.
        UnknownArrays: as raised within.
        UnknownMaxRank: as raised within.
        ValueError: in place of every other error.
    """
    try:
        yield
    except (AmbiguousOrder, UnknownArrays, UnknownMaxRank):
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
    file: File, name: str = "", limit: int = LIMIT, chosen: Mapping[str, str] | None = None
) -> Iterator[ArraySource]:
    """Open a file as a source of arrays; a file that was opened before stays open.

    Args:
        file: a path, the bytes of the file, or the file opened for reading.
        name: name of the file, where neither a path nor the opened file has one.
        limit: bytes that its arrays may take in memory.
        chosen: name of an array by the role that the user gives it.

    Raises:
        ValueError: for a file of unknown format, or one that cannot be opened.
    """
    if limit < 1:
        raise ValueError(
            f"The limit must be a number of bytes above zero; got {limit}. Give the bytes that "
            f"the arrays of a file may take in memory."
        )
    own_name = str(file) if isinstance(file, Path | str) else _name_of(file)
    with _stream(file, 2 * limit) as (stream, path):
        kind = _kind(stream)
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


def _name_of(file: bytes | BinaryIO) -> str:
    """The name of an opened file; empty where it has none."""
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
    """The file at a path, and the path if another process finds the same file there; of a pipe,
    a copy.

    Raises:
        ValueError: for what is no file or pipe, or cannot be read.
    """
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


def _kind(stream: BinaryIO) -> guarded_file.Kind:
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
    if not first.startswith(tuple(_REFUSED)) and _text(first):
        return "csv"
    raise ValueError(f"A file must be {_KNOWN}; got {_format_text(first)}. {numpy_files.SAVE}")


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


def _format_text(first: bytes) -> str:
    """The format of a file that is not read, in words, from its first bytes."""
    if not first:
        return "an empty file"
    known = (words for magic, words in _REFUSED.items() if first.startswith(magic))
    return next(known, f"something that begins with {first[:8]!r}")
