""".npz archives: what they declare is checked before any of their arrays takes memory.

Only the first bytes of a member are unpacked until its header and size have been accepted, and
numbers that are stored as they are go straight into their array.
"""

from __future__ import annotations

import ast
import io
import math
import struct
import zipfile
from collections.abc import Mapping
from typing import IO, BinaryIO, NamedTuple

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from validation_core.tables import roles
from validation_core.tables.source import (
    ARRAYS,
    BROKEN,
    ArrayHeader,
    Order,
    as_working_dtype,
    read_into,
)

SAVE = "Save it with numpy.savez(file, theta=..., x=..., theta_q=...)."

_CONTENTS = 2**20  # bytes of an archive's table of contents; 64 arrays of usual names have 4 kB
_HEADER = 2**16  # bytes of a member unpacked to read its header; NumPy writes 128
_TEXT = 10_000  # characters of a header that are parsed, as NumPy does
_LENGTHS = {(1, 0): "<H", (2, 0): "<I", (3, 0): "<I"}


class _NpyStart(NamedTuple):
    """What the first bytes of a .npy array say."""

    header: ArrayHeader
    fortran: bool
    offset: int
    """Bytes before the numbers begin."""

    @property
    def length(self) -> int:
        """Bytes of the whole array with its header."""
        return self.offset + math.prod(self.header.shape) * self.header.dtype.itemsize


def _npy_start(first: bytes, name: str) -> _NpyStart:
    """The header of a .npy array (its format: NEP 1).

    Raises:
        ValueError: when it cannot be read.
    """
    try:
        return _start(first)
    except BROKEN:
        raise ValueError(
            f"Every array of a file must begin with a NumPy header; got {roles.label(name)!r}, "
            f"truncated, damaged or not an array. Save the file again."
        ) from None


def _start(first: bytes) -> _NpyStart:
    # NumPy's own reader rewrites headers that it cannot parse, and warns; here they are refused.
    version = (first[6], first[7])
    if first[:6] != npy.MAGIC_PREFIX or version not in _LENGTHS:
        raise ValueError("not an array")
    form = _LENGTHS[version]
    begin = 8 + struct.calcsize(form)
    (length,) = struct.unpack(form, first[8:begin])
    text = first[begin : begin + min(length, _TEXT)].decode("latin1" if version[0] < 3 else "utf8")
    described = ast.literal_eval(text)
    shape, dtype = described["shape"], npy.descr_to_dtype(described["descr"])
    if not isinstance(shape, tuple) or not all(type(s) is int for s in shape):
        raise ValueError("no shape")
    return _NpyStart(ArrayHeader(shape, dtype), described["fortran_order"] is True, begin + length)


def _checked_length(begun: _NpyStart, length: int, name: str) -> _NpyStart:
    """A header that is as long as it says.

    Raises:
        ValueError: when the bytes that are stored are more or fewer.
    """
    # Objects are refused by their type, whatever their length.
    if not begun.header.dtype.hasobject and length != begun.length:
        shape = roles.label(str(begun.header.shape))
        dtype = roles.label(str(begun.header.dtype))
        raise ValueError(
            f"An array must be as long as its header says; got {roles.label(name)!r} with "
            f"{shape} in {dtype} declared but {length} bytes stored. The file is truncated or "
            f"damaged: save it again."
        )
    return begun


def _fill_from(member: IO[bytes], begun: _NpyStart) -> NDArray[np.generic]:
    """The numbers that follow a header, read into one array in pieces.

    Raises:
        EOFError: when they end too early.
    """
    header = begun.header
    member.read(begun.offset)
    array = read_into(member, np.empty(math.prod(header.shape), header.dtype))
    # A checksum is compared only when a member has been read to its end.
    member.read(1)
    turned = array.reshape(header.shape[::-1]).T if begun.fortran else array.reshape(header.shape)
    return as_working_dtype(turned)


class NpyFile:
    """A single array, named by its file.

    Raises:
        ValueError: for a file that is not as long as its header says.
    """

    order: Order | None = None
    notes: tuple[str, ...] = ()

    def __init__(self, stream: BinaryIO, stem: str) -> None:
        self._stream, self._name = stream, stem
        length = stream.seek(0, io.SEEK_END)
        stream.seek(0)
        self._begun = _checked_length(_npy_start(stream.read(_HEADER), stem), length, stem)

    def headers(self) -> Mapping[str, ArrayHeader]:
        return {self._name: self._begun.header}

    def load(self, name: str) -> NDArray[np.generic]:
        self._stream.seek(0)
        try:
            return _fill_from(self._stream, self._begun)
        except BROKEN:
            raise ValueError(
                f"An array must be as long as its header says; got {roles.label(name)!r} cut "
                f"short. Save or copy the file again."
            ) from None

    def close(self) -> None:
        """Nothing was opened."""


class _Contents(io.RawIOBase):
    """A stream from which no table of contents is read that is longer than one may be.

    `zipfile` asks for the whole table at once, before it looks at any of it.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.longest: float = _CONTENTS
        """Bytes that may be asked for at once."""

    def seekable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        if size > self.longest:
            raise _TooLong(
                f"The table of contents of an .npz archive must take at most {_CONTENTS:,} bytes; "
                f"got {size:,}. {SAVE}"
            )
        return self._stream.read(size)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return self._stream.seek(offset, whence)

    def tell(self) -> int:
        return self._stream.tell()


class _TooLong(Exception):
    """A table of contents beyond its bound."""


class NpzArchive:
    """An .npz archive.

    Raises:
        ValueError: for anything but a whole zip archive.
    """

    order: Order | None = None

    def __init__(self, stream: BinaryIO) -> None:
        stream.seek(0)
        try:
            contents = _Contents(stream)
            self._zip = zipfile.ZipFile(contents)
            contents.longest = math.inf
        except _TooLong as error:
            raise ValueError(str(error)) from None
        except BROKEN:
            raise ValueError(
                "An .npz archive must be whole; got one that is truncated or damaged (its table "
                "of contents cannot be read). Save or copy it again."
            ) from None
        self._begun: dict[str, tuple[zipfile.ZipInfo, _NpyStart]] = {}
        others = [n for n in self._zip.namelist() if not n.endswith(".npy")]
        self.notes = tuple(
            f"{roles.label(name)!r} was left unread: it is not an array." for name in others[:9]
        ) + (f"{len(others) - 9} more members are not arrays.",) * (len(others) > 9)

    def headers(self) -> Mapping[str, ArrayHeader]:
        members = [info for info in self._zip.infolist() if info.filename.endswith(".npy")]
        array_names = [info.filename.removesuffix(".npy") for info in members]
        if len(members) > ARRAYS or len(set(array_names)) < len(array_names):
            raise ValueError(
                f"An .npz archive must hold at most {ARRAYS} arrays, each under its own name; got "
                f"{len(members)} under {len(set(array_names))} names. {SAVE}"
            )
        for name, info in zip(array_names, members, strict=True):
            self._begun[name] = info, _checked_length(self._start(info), info.file_size, name)
        return {name: begun.header for name, (_, begun) in self._begun.items()}

    def _start(self, info: zipfile.ZipInfo) -> _NpyStart:
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError(
                f"The arrays of an .npz archive must be stored or deflated, as NumPy saves them; "
                f"got {roles.label(info.filename)!r} packed by method {info.compress_type}. "
                f"{SAVE}"
            )
        try:
            with self._zip.open(info) as member:
                first = member.read(_HEADER)
        except BROKEN:
            first = b""
        return _npy_start(first, info.filename)

    def load(self, name: str) -> NDArray[np.generic]:
        info, begun = self._begun[name]
        try:
            with self._zip.open(info) as member:
                return _fill_from(member, begun)
        except BROKEN:
            raise ValueError(
                f"The bytes of an array must match their checksum; got {roles.label(name)!r} "
                f"truncated or damaged. Save or copy the file again."
            ) from None

    def close(self) -> None:
        self._zip.close()
