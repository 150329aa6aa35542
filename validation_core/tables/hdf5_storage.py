"""Storage of the numbers of an HDF5 dataset: chunks, filters and checksums, refused or read."""

from __future__ import annotations

import math
import zlib
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import h5py

_CHUNKS = 200_000
_PACKINGS = ("scale_factor", "add_offset", "_Unsigned")  # attributes of netCDF
_CHECKSUM = 4  # bytes that Fletcher's adds to a chunk
_WORDS = 2**20


def check_storage(dataset: h5py.Dataset, label: str, limit: int) -> None:
    """Refuse a dataset whose headers tell that its numbers cannot be read safely.

    Args:
        dataset: a dataset of a fixed length.
        label: its name, fit to be shown.
        limit: bytes that the file's arrays may take in memory.

    Raises:
        ValueError: for numbers in other files, of an odd type, packed otherwise than with gzip
            and shuffle, or in too many or too large chunks.
    """
    from h5py import h5d, h5t

    plist = dataset.id.get_create_plist()
    layout = plist.get_layout()
    if layout == h5d.VIRTUAL or (layout == h5d.CONTIGUOUS and plist.get_external_count()):
        raise ValueError(
            f"The numbers of an HDF5 file must lie in the file itself; got {label!r}, which "
            f"points to other files. Save it again with its numbers inside."
        )
    if dataset.dtype.kind != "S" and not h5t.py_create(dataset.dtype, logical=True).equal(
        dataset.id.get_type()
    ):
        raise ValueError(
            f"The numbers of an HDF5 file must be of a usual type; got another in {label!r}. Save "
            f"it as float32 or float64."
        )
    if packing := [name for name in _PACKINGS if name in dataset.attrs]:
        raise ValueError(
            f"Numbers must be saved as they are; got {label!r} packed with {packing[0]}. Save it "
            f"as float32 or float64."
        )
    if layout == h5d.CHUNKED:
        _check_chunks(dataset, label, limit)


def _check_chunks(dataset: h5py.Dataset, label: str, limit: int) -> None:
    from h5py import h5z

    known = {h5z.FILTER_DEFLATE, h5z.FILTER_SHUFFLE, h5z.FILTER_FLETCHER32}
    if others := {*_filters(dataset)} - known:
        raise ValueError(
            f"An HDF5 dataset may be packed with gzip and shuffle alone; got {label!r} with "
            f"filter {min(others)}. Save it with compression='gzip' or without."
        )
    counts = math.prod(-(-s // c) for s, c in zip(dataset.shape, dataset.chunks, strict=True))
    declared = math.prod(dataset.chunks) * dataset.dtype.itemsize
    if counts > _CHUNKS or declared > limit:
        raise ValueError(
            f"An HDF5 dataset must lie in at most {_CHUNKS:,} chunks, none beyond the limit of "
            f"memory; got {label!r} in {counts:,} of {declared:,} bytes. Save it without chunks."
        )


def _filters(dataset: h5py.Dataset) -> list[int]:
    plist = dataset.id.get_create_plist()
    return [plist.get_filter(i)[0] for i in range(plist.get_nfilters())]


def is_unwritten(dataset: h5py.Dataset) -> bool:
    """Whether nothing of a dataset was ever written; one in its own header always is."""
    from h5py import h5d

    layout = dataset.id.get_create_plist().get_layout()
    if layout == h5d.CHUNKED:
        return dataset.id.get_num_chunks() == 0
    unallocated: bool = dataset.id.get_space_status() == h5d.SPACE_STATUS_NOT_ALLOCATED
    return layout == h5d.CONTIGUOUS and unallocated


def read_numbers(dataset: h5py.Dataset, length: int) -> tuple[NDArray[np.generic], int]:
    """Read the numbers of a dataset.

    Where a chunk unpacks to fewer bytes than its own, the HDF5 library (2.0) leaves whatever its
    memory held before in place of the rest, and it passes over bytes beyond. Chunks of gzip are
    therefore unpacked here, and the library reads those whose stored size tells that they fit.

    Args:
        dataset: a dataset whose storage was not refused.
        length: bytes of its file.

    Returns:
        the numbers, and how many of them were never written: the fill value stands for them.

    Raises:
        EOFError: for fewer or more bytes than the numbers take.
        OSError, ValueError, zlib.error: for bytes that are damaged.
    """
    from h5py import h5z

    if dataset.chunks is None or not dataset.size:
        if dataset.id.get_storage_size() < dataset.nbytes:
            raise EOFError
        return np.asarray(dataset[()]), 0
    array = np.empty(dataset.shape, dataset.dtype)
    filters = _filters(dataset)
    gzip = h5z.FILTER_DEFLATE in filters
    size = math.prod(dataset.chunks) * array.dtype.itemsize
    unwritten = 0
    for part in dataset.iter_chunks():
        at = tuple(axis.start for axis in part)
        info = dataset.id.get_chunk_info_by_coord(at)
        if info.byte_offset is None and info.size == 0:
            array[part] = dataset.fillvalue
            unwritten += array[part].size
            continue
        if info.byte_offset is None or not 0 < info.size <= length:
            raise EOFError
        applied = [kind for i, kind in enumerate(filters) if not info.filter_mask >> i & 1]
        if gzip:
            _, packed = dataset.id.read_direct_chunk(at)
            numbers = np.frombuffer(_unpacked(packed, applied, size, array.itemsize), array.dtype)
            inside = tuple(slice(axis.stop - axis.start) for axis in part)
            array[part] = numbers.reshape(dataset.chunks)[inside]
        elif info.size != size + _CHECKSUM * applied.count(h5z.FILTER_FLETCHER32):
            raise EOFError
    if not gzip:
        dataset.read_direct(array)
    return array, unwritten


def _unpacked(packed: bytes, filters: list[int], size: int, itemsize: int) -> bytes:
    """Undo the filters of a chunk; its bytes are at most a few more than it must have.

    Args:
        packed: the chunk as it is stored.
        filters: its filters in the order in which they were applied.
        size: bytes that it must have.
        itemsize: bytes of one number.

    Raises:
        ValueError: for bytes that do not match their checksum.
    """
    from h5py import h5z

    for kind in reversed(filters):
        if kind == h5z.FILTER_DEFLATE:
            packed = zlib.decompressobj().decompress(packed, size + _CHECKSUM)
        elif kind == h5z.FILTER_SHUFFLE:
            packed = np.frombuffer(packed, np.uint8).reshape(itemsize, -1).T.tobytes()
        else:
            packed, words = packed[:-_CHECKSUM], np.frombuffer(packed[-_CHECKSUM:], "<u2")
            if _sums(packed) != tuple(int(word) % 65535 for word in words):
                raise ValueError
    return packed


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
