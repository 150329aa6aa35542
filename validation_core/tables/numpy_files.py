""".npy arrays and .npz archives: their headers are checked before an array takes memory.

NumPy reads them, and never unpickles. Only the first bytes of a member are unpacked until its
header and size have been accepted.
"""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from validation_core.tables import roles
from validation_core.tables.foreign_formats import SAVE, foreign_archive
from validation_core.tables.source import ARRAYS, BROKEN, ArrayHeader, Order, as_working_dtype
from validation_core.text import count_text

_CONTENTS = 2**20  # bytes of an archive's table of contents; 64 arrays of usual names have 4 kB
_LISTED = 10_000  # members that tell what an archive is
_HEADER = 2**16  # bytes of a member unpacked to read its header; NumPy writes 128
_HEADER_READERS = {
    (1, 0): npy.read_array_header_1_0,
    (2, 0): npy.read_array_header_2_0,
    (3, 0): npy.read_array_header_2_0,  # the same in UTF-8, which changes names of fields alone
}


def _header(member: IO[bytes], length: int, name: str) -> ArrayHeader:
    """The header at the beginning of an array that is as long as its header says.

    Args:
        member: a file with the header and the array.
        length: bytes of both.
        name: name of the array.

    Raises:
        ValueError: when the header cannot be read, or more or fewer bytes are stored.
    """
    try:
        first = io.BytesIO(member.read(_HEADER))
        shape, _, dtype = _HEADER_READERS[npy.read_magic(first)](first)
    except BROKEN:
        raise ValueError(
            f"Every array of a file must begin with a NumPy header; got {roles.label(name)!r}, "
            f"truncated, damaged or not an array. Save the file again."
        ) from None
    # Objects are refused by their type, whatever their length.
    if not dtype.hasobject and length != first.tell() + math.prod(shape) * dtype.itemsize:
        raise ValueError(
            f"An array must be as long as its header says; got {roles.label(name)!r} with "
            f"{roles.label(str(shape))} in {roles.label(str(dtype))} declared but {length} bytes "
            f"stored. The file is truncated or damaged: save it again."
        )
    return ArrayHeader(shape, dtype)


def _numbers(member: IO[bytes]) -> NDArray[np.generic]:
    """An array whose header was accepted, in its working type."""
    return as_working_dtype(npy.read_array(member, allow_pickle=False))


class NpyFile:
    """A single array, named by its file.

    Args:
        path: of the file.
        stem: name of the array.

    Raises:
        ValueError: for a file that is not as long as its header says.
    """

    order: Order | None = None
    notes: tuple[str, ...] = ()

    def __init__(self, path: Path, stem: str) -> None:
        self._path = path
        with path.open("rb") as file:
            header = _header(file, path.stat().st_size, stem)
        if header.dtype.hasobject and header.shape == ():
            raise ValueError(
                "A .npy file must hold an array of plain numbers; got a pickled Python object, "
                "which is never loaded. Where it is a dict of arrays, and you trust it: "
                "numpy.savez('table.npz', **numpy.load('FILE', allow_pickle=True).item())."
            )
        self._headers = {stem: header}

    def headers(self) -> Mapping[str, ArrayHeader]:
        return self._headers

    def load(self, name: str) -> NDArray[np.generic]:
        with self._path.open("rb") as file:
            return _numbers(file)

    def close(self) -> None:
        """Nothing is left open."""


class _BoundedReader(io.BufferedReader):
    """A file that refuses to read more than so many bytes at once.

    `zipfile` reads a whole table of contents before it looks at any of it.
    """

    longest: float = _CONTENTS

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > self.longest:
            raise ValueError(
                f"The table of contents of an .npz archive must take at most {_CONTENTS:,} bytes; "
                f"got {size:,}. {SAVE}"
            )
        return super().read(size)


def member_names(path: Path) -> list[str]:
    """Return the names of an archive's first members.

    Raises:
        ValueError: for a table of contents that is too long.
    """
    with _BoundedReader(io.FileIO(path)) as file, zipfile.ZipFile(file) as archive:
        return [info.filename for info in archive.infolist()[:_LISTED]]


def _is_aside(info: zipfile.ZipInfo) -> bool:
    """Whether a member is a folder, or what macOS puts beside the files that it packs."""
    return info.is_dir() or info.filename.startswith("__MACOSX/")


def _common_folder(names: Sequence[str]) -> str:
    """The folder that all members of an archive lie in, with its slash; empty for none."""
    folders = {name[: name.rfind("/") + 1] for name in names}
    return folders.pop() if len(folders) == 1 else ""


class NpzArchive:
    """An .npz archive.

    Args:
        path: of the file.

    Raises:
        ValueError: for a table of contents that is too long.
    """

    order: Order | None = None

    def __init__(self, path: Path) -> None:
        self._file = _BoundedReader(io.FileIO(path))
        self._zip = zipfile.ZipFile(self._file)
        self._file.longest = math.inf
        members = [info for info in self._zip.infolist() if not _is_aside(info)]
        self._members = [info for info in members if info.filename.endswith(".npy")]
        folder = _common_folder([info.filename for info in self._members])
        self._by_name = {
            info.filename.removeprefix(folder).removesuffix(".npy"): info for info in self._members
        }
        if members and not self._members:
            names = [info.filename for info in members[:_LISTED]]
            foreign = foreign_archive(names) or (
                f"a zip of {roles.names_text(names)}. Unpack it and give the files in it."
            )
            self.close()
            raise ValueError(
                f"An .npz archive must hold arrays, as NumPy saves them; got {foreign}"
            )
        others = [info.filename for info in members if not info.filename.endswith(".npy")]
        self.notes = tuple(
            f"{roles.label(name)!r} was left unread: it is not an array." for name in others[:9]
        ) + (f"{count_text(len(others) - 9, 'more member')}: left unread.",) * (len(others) > 9)

    def headers(self) -> Mapping[str, ArrayHeader]:
        if len(self._members) > ARRAYS or len(self._by_name) < len(self._members):
            raise ValueError(
                f"An .npz archive must hold at most {ARRAYS} arrays, each under its own name; got "
                f"{len(self._members)} under {len(self._by_name)} names. {SAVE}"
            )
        return {name: self._header(info, name) for name, info in self._by_name.items()}

    def _header(self, info: zipfile.ZipInfo, name: str) -> ArrayHeader:
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError(
                f"The arrays of an .npz archive must be stored or deflated, as NumPy saves them; "
                f"got {roles.label(info.filename)!r} packed by method {info.compress_type}. "
                f"{SAVE}"
            )
        with self._zip.open(info) as member:
            return _header(member, info.file_size, name)

    def load(self, name: str) -> NDArray[np.generic]:
        # A checksum that does not match is an error at the last byte of a member.
        with self._zip.open(self._by_name[name]) as member:
            return _numbers(member)

    def close(self) -> None:
        self._zip.close()
        self._file.close()
