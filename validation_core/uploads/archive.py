"""What an .npz archive declares, checked before any of its arrays takes memory.

An upload is never trusted: pickled objects are refused from the header, sizes are added up from
the headers, and only the first bytes of a member are unpacked until both have been accepted.
"""

from __future__ import annotations

import io
import math
import zipfile
import zlib
from collections.abc import Mapping
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

LIMIT = 512 * 2**20
"""Bytes that the arrays of one file may take in memory."""

_MEMBERS = 64
_HEADER = 2**16  # bytes of a member unpacked to read its header; NumPy writes 128
_READERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
_KINDS = {
    b"\x93NUMPY": "a single .npy array",
    b"\x80": "a pickle, which is never opened here",
    b"\x89HDF": "an HDF5 or netCDF-4 file",
    b"CDF": "a netCDF file",
    b"PAR1": "a Parquet file",
    b"\x1f\x8b": "a gzip file",
}
_BROKEN = (
    zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError,
    ValueError, TypeError, SyntaxError, KeyError, OverflowError, RecursionError,
)  # fmt: skip
_SAVE = "Save it with numpy.savez(file, theta=..., x=..., theta_q=...)."


class Header(NamedTuple):
    """What a member of the archive declares about its array."""

    member: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    offset: int
    """Bytes before the numbers begin."""

    @property
    def nbytes(self) -> int:
        """Bytes of the array as stored or as worked on, by Python's unbounded integers."""
        return math.prod(self.shape) * max(self.dtype.itemsize, working(self.dtype).itemsize)


def working(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type an array is worked on in: small numbers become float32, large ones float64."""
    if dtype.kind not in "fiub":
        return dtype
    wide = np.promote_types(dtype, np.float32)
    return np.dtype(np.float64) if wide.itemsize > 8 else wide


def open_archive(source: BinaryIO) -> zipfile.ZipFile:
    """The archive, its table of contents read.

    Raises:
        ValueError: for anything but a whole zip archive.
    """
    source.seek(0)
    start = source.read(8)
    if not start.startswith(b"PK"):
        raise ValueError(f"A file must be an .npz archive; got {_kind(start)}. {_SAVE}")
    try:
        return zipfile.ZipFile(source)
    except _BROKEN:
        raise ValueError(
            "An .npz archive must be whole; got one that is truncated or damaged (its table of "
            "contents cannot be read). Save or copy it again."
        ) from None


def _kind(start: bytes) -> str:
    if not start:
        return "an empty file"
    known = (words for magic, words in _KINDS.items() if start.startswith(magic))
    return next(known, f"something that begins with {start!r}")


def headers(archive: zipfile.ZipFile, limit: int = LIMIT) -> dict[str, Header]:
    """Name of each array and what its header declares; nothing but headers is unpacked.

    Raises:
        ValueError: for pickled objects, more declared than the limit, or an unreadable header.
    """
    members = [info for info in archive.infolist() if info.filename.endswith(".npy")]
    names = [info.filename.removesuffix(".npy") for info in members]
    if len(members) > _MEMBERS or len(set(names)) < len(names):
        raise ValueError(
            f"An .npz archive must hold at most {_MEMBERS} arrays, each under its own name; got "
            f"{len(members)} under {len(set(names))} names. {_SAVE}"
        )
    found = {name: _header(archive, info) for name, info in zip(names, members, strict=True)}
    _refuse_objects(found)
    _refuse_large(found, limit)
    for name, info in zip(names, members, strict=True):
        _refuse_cut(name, found[name], info)
    return found


def _header(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Header:
    try:
        with archive.open(info) as member:
            start = io.BytesIO(member.read(_HEADER))
        shape, _, dtype = _READERS[npy.read_magic(start)](start)
    except _BROKEN:
        raise ValueError(
            f"Every array of an .npz archive must begin with a NumPy header; got "
            f"{info.filename!r}, truncated, damaged or not an array. Save the file again."
        ) from None
    return Header(info.filename, tuple(shape), dtype, start.tell())


def _refuse_objects(found: Mapping[str, Header]) -> None:
    pickled = [name for name, header in found.items() if header.dtype.hasobject]
    if pickled:
        raise ValueError(
            f"Arrays must hold plain numbers or text; got pickled Python objects in {pickled}, "
            f"which are never loaded. Save them as numbers, names with .astype(str), or leave "
            f"them out."
        )


def _refuse_large(found: Mapping[str, Header], limit: int) -> None:
    if any(length < 0 for header in found.values() for length in header.shape):
        raise ValueError(f"Array shapes must not be negative; got some that are. {_SAVE}")
    total = sum(header.nbytes for header in found.values())
    if total > limit:
        name, largest = max(found.items(), key=lambda item: item[1].nbytes)
        raise ValueError(
            f"The arrays of a file must take at most {_size(limit)}; its headers declare "
            f"{_size(total)}, most of it {name!r} of shape {largest.shape} in {largest.dtype}. "
            f"Keep fewer draws at each x (50 to 200 are plenty) or save as float32."
        )


def _refuse_cut(name: str, header: Header, info: zipfile.ZipInfo) -> None:
    declared = header.offset + math.prod(header.shape) * header.dtype.itemsize
    if info.file_size != declared:
        raise ValueError(
            f"An array must be as long as its header says; got {name!r} with {header.shape} in "
            f"{header.dtype} declared but {info.file_size} bytes stored. The file is truncated or "
            f"damaged: save it again."
        )


def _size(count: int) -> str:
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if count < 1000 or unit == "TB":
            return f"{count:.3g} {unit}"
        count //= 1000
    raise AssertionError("the last unit always returns")


def load(archive: zipfile.ZipFile, name: str, header: Header) -> NDArray[Any]:
    """One array, unpickled by no one, in its working type.

    Raises:
        ValueError: when its bytes are cut short or do not match their checksum.
    """
    try:
        with archive.open(header.member) as member:
            array: NDArray[Any] = npy.read_array(member, allow_pickle=False)
            # The checksum is compared only when a member has been read to its end.
            member.read(1)
    except _BROKEN:
        raise ValueError(
            f"The bytes of an array must match their checksum; got {name!r} truncated or damaged. "
            f"Save or copy the file again."
        ) from None
    with np.errstate(over="ignore"):
        return array.astype(working(array.dtype), copy=False)
