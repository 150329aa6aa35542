"""The numbers of an HDF5 dataset."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
from numpy.typing import NDArray

from validation_core.tables import roles
from validation_core.tables.source import read_into

if TYPE_CHECKING:
    import h5py
    from h5py.h5p import PropDCID

_CHUNKS = 200_000
_PACKINGS = ("scale_factor", "add_offset", "_Unsigned")  # attributes of netCDF
_COMPACT = 2**16
_WORDS = 2**20
_DEFLATE, _SHUFFLE, _FLETCHER32 = 1, 2, 3  # the filters' numbers in the format


def dataset_refusal(dataset: h5py.Dataset, name: str, limit: int) -> str | None:
    """Why the bytes of a dataset are not read, known from its headers; or None."""
    from h5py import h5d, h5t

    plist = dataset.id.get_create_plist()
    layout = plist.get_layout()
    label = roles.label(name)
    if layout == h5d.VIRTUAL or (layout == h5d.CONTIGUOUS and plist.get_external_count()):
        return (
            f"The numbers of an HDF5 file must lie in the file itself; got {label!r}, which "
            f"points to other files. Save it again with its numbers inside."
        )
    if dataset.dtype.kind not in "SO" and not h5t.py_create(dataset.dtype, logical=True).equal(
        dataset.id.get_type()
    ):
        return (
            f"The numbers of an HDF5 file must be of a usual type; got another in {label!r}. Save "
            f"it as float32 or float64."
        )
    if packing := [name for name in _PACKINGS if name in dataset.attrs]:
        return (
            f"Numbers must be saved as they are; got {label!r} packed with {packing[0]}. Save it "
            f"as float32 or float64."
        )
    return _refused_chunks(dataset, plist, label, limit) if layout == h5d.CHUNKED else None


def is_unwritten(dataset: h5py.Dataset) -> bool:
    """Whether nothing of a dataset was ever written; one in its own header always is."""
    from h5py import h5d

    layout = dataset.id.get_create_plist().get_layout()
    if layout == h5d.CHUNKED:
        return dataset.id.get_num_chunks() == 0
    unallocated: bool = dataset.id.get_space_status() == h5d.SPACE_STATUS_NOT_ALLOCATED
    return layout == h5d.CONTIGUOUS and unallocated


def _refused_chunks(dataset: h5py.Dataset, plist: PropDCID, shown: str, limit: int) -> str | None:
    filters = {plist.get_filter(i)[0] for i in range(plist.get_nfilters())}
    if filters - {_DEFLATE, _SHUFFLE, _FLETCHER32}:
        return (
            f"An HDF5 dataset may be packed with gzip and shuffle alone; got {shown!r} with "
            f"filter {min(filters - {_DEFLATE, _SHUFFLE, _FLETCHER32})}. Save it with "
            f"compression='gzip' or without."
        )
    counts = math.prod(-(-s // c) for s, c in zip(dataset.shape, dataset.chunks, strict=True))
    declared = math.prod(dataset.chunks) * dataset.dtype.itemsize
    if counts > _CHUNKS or declared > limit:
        return (
            f"An HDF5 dataset must lie in at most {_CHUNKS:,} chunks, none beyond the limit of "
            f"memory; got {shown!r} in {counts:,} of {declared:,} bytes. Save it without chunks."
        )
    return None


def read_dataset(
    dataset: h5py.Dataset, stream: BinaryIO, length: int
) -> tuple[NDArray[np.generic], int]:
    """The numbers of a dataset that was not refused, and how many of them were never written.

    Args:
        dataset: an h5py dataset.
        stream: the file that it is in.
        length: bytes of that file.

    Raises:
        ValueError, EOFError, zlib.error: for bytes that are missing or damaged.
    """
    from h5py import h5d

    array = np.empty(dataset.shape, dataset.dtype)
    plist = dataset.id.get_create_plist()
    layout = plist.get_layout()
    if layout == h5d.CHUNKED:
        return _from_chunks(dataset, plist, array, length)
    if layout == h5d.COMPACT and array.nbytes <= _COMPACT:
        dataset.read_direct(array)
        return array, 0
    offset = dataset.id.get_offset()
    if array.nbytes and (offset is None or offset + array.nbytes > length):
        raise EOFError
    stream.seek(offset or 0)
    return read_into(stream, array), 0


def _from_chunks(
    dataset: h5py.Dataset, plist: PropDCID, array: NDArray[np.generic], length: int
) -> tuple[NDArray[np.generic], int]:
    filters = [plist.get_filter(i)[0] for i in range(plist.get_nfilters())]
    size = math.prod(dataset.chunks) * array.dtype.itemsize
    unwritten = 0
    for at in _chunk_starts(array.shape, dataset.chunks):
        inside = tuple(
            slice(a, min(a + c, s))
            for a, c, s in zip(at, dataset.chunks, array.shape, strict=True)
        )
        info = dataset.id.get_chunk_info_by_coord(at)
        if info.byte_offset is None and info.size == 0:
            array[inside] = dataset.fillvalue
            unwritten += array[inside].size
            continue
        if info.byte_offset is None or not 0 < info.size <= length:
            raise EOFError
        skipped, raw = dataset.id.read_direct_chunk(at)
        for i, kind in reversed(list(enumerate(filters))):
            if not skipped >> i & 1:
                raw = _unpacked(kind, raw, size, array.dtype.itemsize)
        whole = np.frombuffer(raw, array.dtype).reshape(dataset.chunks)
        array[inside] = whole[tuple(slice(0, s.stop - s.start) for s in inside)]
    return array, unwritten


def _chunk_starts(shape: tuple[int, ...], chunks: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Where each chunk begins."""
    for place in np.ndindex(*(-(-s // c) for s, c in zip(shape, chunks, strict=True))):
        yield tuple(p * c for p, c in zip(place, chunks, strict=True))


def _unpacked(kind: int, raw: bytes, size: int, itemsize: int) -> bytes:
    if kind == _DEFLATE:
        # A checksum of four bytes may lie inside; nothing longer than that can be right.
        return zlib.decompressobj().decompress(raw, size + 4)
    if kind == _SHUFFLE:
        return np.frombuffer(raw, np.uint8).reshape(itemsize, -1).T.tobytes()
    if _sums(raw[:-4]) != (
        int.from_bytes(raw[-4:-2], "little") % 65535,
        int.from_bytes(raw[-2:], "little") % 65535,
    ):
        raise ValueError
    return raw[:-4]


def _sums(raw: bytes) -> tuple[int, int]:
    """Fletcher's two sums of 16-bit words, by which HDF5 knows damaged chunks."""
    words = np.frombuffer(raw + b"\0" * (len(raw) % 2), ">u2").astype(np.int64)
    first = second = 0
    for begin in range(0, len(words), _WORDS):
        piece = words[begin : begin + _WORDS]
        weights = np.arange(len(piece), 0, -1)
        second = int(second + len(piece) * first + (weights * piece).sum()) % 65535
        first = int(first + piece.sum()) % 65535
    return first, second
