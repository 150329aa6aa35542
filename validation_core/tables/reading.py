"""One file, read: its kind is found from its first bytes, its headers are checked, then loaded."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from validation_core.tables import archive, guarded, names, source, table
from validation_core.tables.shapes import Order
from validation_core.tables.source import LIMIT, Source
from validation_core.tables.table import Upload

File = Path | str | bytes | BinaryIO
"""A path, the bytes of a file, or a file opened for reading."""

_FIRST = 4096
_HDF, _PARQUET = b"\x89HDF\r\n\x1a\n", b"PAR1"
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
}


def read(file: File, *, order: Order | None = None, limit: int = LIMIT, name: str = "") -> Upload:
    """The table or the two samples in a file.

    Args:
        file: a path, the bytes of the file, or the file opened for reading.
        order: what the first axes of theta_q are; needed only when N = K.
        limit: bytes that its arrays may take in memory.
        name: what the file is called, where neither a path nor the opened file says so.

    Raises:
        AmbiguousOrder: when N = K and no order is given.
        ValueError: for everything else that cannot be diagnosed.
    """
    with opened(file, name, limit) as reader:
        declared = source.accepted(reader.headers(), limit)
        known = names.roles(declared)
        table.require(known.found, tuple(declared))
        arrays = {role: reader.load(name) for role, name in known.found.items()}
        notes = known.notes + reader.notes
        types = {role: declared[array].dtype for role, array in known.found.items()}
        return table.assemble(arrays, notes, order or reader.order, types)


@contextmanager
def opened(file: File, name: str = "", limit: int = LIMIT) -> Iterator[Source]:
    """The source that a file is; only what is opened here is closed.

    Raises:
        ValueError: for a file of no known kind, or one that cannot be opened.
    """
    with _stream(file) as stream:
        path = Path(file) if isinstance(file, Path | str) else None
        reader = _source(stream, path, stem(name or str(path or _called(stream))), limit)
        try:
            yield reader
        finally:
            reader.close()


def stem(name: str) -> str:
    """What an array is called after its file: without folders and without the last ending."""
    last = name.replace("\\", "/").rpartition("/")[2]
    return last.rpartition(".")[0] or last or "array"


def _called(stream: BinaryIO) -> str:
    name = getattr(stream, "name", "")
    return name if isinstance(name, str) else ""


@contextmanager
def _stream(file: File) -> Iterator[BinaryIO]:
    if not isinstance(file, Path | str):
        yield io.BytesIO(file) if isinstance(file, bytes) else file
        return
    try:
        stream = Path(file).open("rb")  # noqa: SIM115 (closed below; only opening is caught here)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "no file name"
        raise ValueError(
            f"The file must be there and readable; got {names.label(str(file))!r} ({reason}). "
            f"Check the path."
        ) from None
    with stream:
        yield stream


def _source(stream: BinaryIO, path: Path | None, stem: str, limit: int) -> Source:
    stream.seek(0)
    first = stream.read(_FIRST)
    if first.startswith(b"PK"):
        return archive.Npz(stream)
    if first.startswith(b"\x93NUMPY"):
        return archive.Npy(stream, stem)
    text = not first.startswith(tuple(_REFUSED)) and _text(first)
    if text or first.startswith((_HDF, _PARQUET)):
        return guarded.Guarded(stream, path, stem, limit)
    raise ValueError(f"A file must be {_KNOWN}; got {_kind(first)}. {archive.SAVE}")


def _text(first: bytes) -> bool:
    """Whether the first bytes of a file read as text."""
    try:
        text = first.decode("utf-8")
    except UnicodeDecodeError as error:
        # The last character may be cut.
        text = "" if error.start < len(first) - 4 or not error.start else "cut"
    return bool(text.strip()) and b"\x00" not in first


def _kind(first: bytes) -> str:
    if not first:
        return "an empty file"
    known = (words for magic, words in _REFUSED.items() if first.startswith(magic))
    return next(known, f"something that begins with {first[:8]!r}")
