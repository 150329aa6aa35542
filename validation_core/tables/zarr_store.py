"""Stores of zarr, a folder or a zip of one: copied to HDF5, and read as that is.

The reader is an optional package. Codecs that could run code, as pickles do, are refused before a
number is read.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from validation_core.tables import roles, source
from validation_core.tables.foreign_formats import zarr_refusal
from validation_core.tables.hdf5_file import LONGEST_LABEL, MOST_LABELS
from validation_core.tables.source import ArrayHeader

if TYPE_CHECKING:
    import h5py

_MARKS = (".zgroup", ".zarray", "zarr.json")
"""Files that tell a store."""
_CODECS = frozenset({
    "adler32", "blosc", "bytes", "bz2", "crc32", "crc32c", "gzip", "lz4", "lzma",
    "sharding_indexed", "shuffle", "transpose", "vlen-utf8", "zlib", "zstd",
})  # fmt: skip
_CODED = ("codecs", "index_codecs", "filters", "compressor")  # where metadata name codecs
_KEPT = ("_FillValue", "missing_value", "scale_factor", "add_offset", "_Unsigned")
_DEPTH, _MEMBERS, _CHUNKS = 3, 4096, 200_000


def is_store(names: Collection[str]) -> bool:
    """Whether files of these names, in a folder or a zip, are a store of zarr."""
    return any(name.rpartition("/")[2] in _MARKS for name in names)


def is_store_folder(path: Path) -> bool:
    """Whether a path is the folder of a store."""
    return path.is_dir() and any((path / mark).is_file() for mark in _MARKS)


def copy_to_hdf5(path: Path, stem: str, limit: int, names: Collection[str] = ()) -> Path:
    """Copy a store to a temporary HDF5 file, and return its path.

    Args:
        path: of its folder, or of a zip.
        stem: name of its array where it has none.
        limit: bytes that its arrays may take in memory.
        names: of the members of the zip.

    Raises:
        ValueError: where no reader is installed, or for a store that is refused.
    """
    zarr = _reader("FILE" if names else roles.label(str(path), 200))
    marks = sorted((name for name in names if is_store([name])), key=len)
    store = zarr.storage.ZipStore(path, mode="r") if names else str(path)
    root = zarr.open(store, mode="r", path=marks[0].rpartition("/")[0] if marks else "")
    arrays = dict(_arrays(root, "" if isinstance(root, zarr.Group) else stem))
    source.check_headers({name: _header(array) for name, array in arrays.items()}, limit)
    for name, array in arrays.items():
        _check(name, array, limit)
    return _copied(arrays)


def _reader(name: str) -> Any:
    """The package zarr.

    Raises:
        ValueError: where it is not installed, or older than version 3.
    """
    try:
        import zarr
    except ImportError:
        raise ValueError(zarr_refusal(name)) from None
    if int(zarr.__version__.partition(".")[0]) < 3:
        raise ValueError(zarr_refusal(name))
    return zarr


def _arrays(node: Any, name: str, depth: int = 0) -> Iterator[tuple[str, Any]]:
    """The arrays of numbers or of text of a store, those of groups as `group/array`."""
    if not hasattr(node, "members"):
        if str(node.dtype) == "StringDType()" or node.dtype.kind in "fiubcSU":
            yield name, node
        return
    for i, (key, member) in enumerate(node.members()):
        if i >= _MEMBERS:
            raise ValueError(
                f"A group of a zarr store must hold at most {_MEMBERS:,} arrays; got more. Save "
                "theta, x and theta_q alone."
            )
        if depth < _DEPTH:
            yield from _arrays(member, f"{name}/{key}".strip("/"), depth + 1)


def _header(array: Any) -> ArrayHeader:
    text = array.dtype.kind not in "fiubc"
    dtype = np.dtype((np.str_, roles.LABEL_LENGTH)) if text else array.dtype
    return ArrayHeader(tuple(map(int, array.shape)), dtype)


def _check(name: str, array: Any, limit: int) -> None:
    """Refuse an array whose metadata tell that its numbers cannot be read safely.

    Raises:
        ValueError: for unknown codecs, or too many or too large chunks.
    """
    shown = roles.label(name)
    metadata = array.metadata.to_dict()
    if others := {*_codecs(metadata)} - _CODECS:
        raise ValueError(
            f"An array of a zarr store must be packed by a usual codec; got {shown!r} with "
            f"{roles.label(min(others))}. Save it with zarr's own defaults."
        )
    count = math.prod(-(-s // max(1, c)) for s, c in zip(array.shape, array.chunks, strict=True))
    size = math.prod(array.chunks) * max(1, getattr(array.dtype, "itemsize", 1))
    if count > _CHUNKS or size > limit:
        raise ValueError(
            f"An array of a zarr store must lie in at most {_CHUNKS:,} chunks, none beyond the "
            f"limit of memory; got {shown!r} in {count:,} of {size:,} bytes. Save it in larger "
            f"or smaller ones."
        )


def _codecs(metadata: Any) -> Iterator[str]:
    """The names of the codecs in an array's metadata, those within a shard too."""
    if not isinstance(metadata, Mapping):
        return
    for key in _CODED:
        named = metadata.get(key) or ()
        for codec in (named,) if isinstance(named, Mapping) else named:
            yield str(codec.get("name", codec.get("id", "?"))).removeprefix("numcodecs.")
            yield from _codecs(codec.get("configuration", {}))


def _copied(arrays: Mapping[str, Any]) -> Path:
    """The arrays in a temporary HDF5 file, with the names of their axes and missing values."""
    import h5py

    with tempfile.NamedTemporaryFile(prefix="nptlab-", suffix=".h5", delete=False) as file:
        path = Path(file.name)
    try:
        with h5py.File(path, "w") as copy:
            for name, array in arrays.items():
                values = np.asarray(array[...])
                if values.dtype.kind not in "fiubc":
                    texts: Iterable[Any] = values.reshape(-1)[: MOST_LABELS + 1]
                    shown = (roles.label(str(text), LONGEST_LABEL) for text in texts)
                    values = np.array([text.encode() for text in shown])
                _describe(copy.create_dataset(name, data=values), name, array)
            for name in arrays:
                _label(copy, name)
    except BaseException:
        path.unlink()
        raise
    return path


def _describe(dataset: h5py.Dataset, name: str, array: Any) -> None:
    """Write the attributes of an array that say what its axes and its values are."""
    attributes = dict(array.attrs)
    axes = getattr(array.metadata, "dimension_names", None) or attributes.get("_ARRAY_DIMENSIONS")
    if axes and len(axes) == len(dataset.shape) and all(axes):
        dataset.attrs["_ARRAY_DIMENSIONS"] = [str(axis) for axis in axes]
        if [str(axis) for axis in axes] == [name.rpartition("/")[2]]:
            dataset.make_scale(str(axes[0]))
    for key in _KEPT:
        if isinstance(attributes.get(key), int | float):
            dataset.attrs[key] = dataset.dtype.type(attributes[key])


def _label(copy: h5py.File, name: str) -> None:
    """Tie the axes of an array to those arrays beside it that hold their labels."""
    dataset, group = copy[name], name.rpartition("/")[0]
    for i, axis in enumerate(dataset.attrs.get("_ARRAY_DIMENSIONS", ())):
        scale = copy.get(f"{group}/{axis}")
        if scale is not None and scale != dataset and getattr(scale, "is_scale", False):
            dataset.dims[i].attach_scale(scale)
