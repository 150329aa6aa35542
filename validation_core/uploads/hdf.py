"""HDF5 files: groups, datasets and their headers; nothing is followed out of the file."""

from __future__ import annotations

import io
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from validation_core.uploads import hdf_bytes, names
from validation_core.uploads.source import BROKEN, Header, worked

SIMULATIONS = frozenset(
    {"sim", "sims", "sim_id", "simulation", "simulations", "simulation_id", "dataset", "datasets"}
)
"""What the axis of simulations is called, where axes have names."""
DRAWS = frozenset({"draw", "draws", "sample", "samples"})

_MEMBERS = 4096
_STEPS = 8  # soft links followed one after another
WHOLE = "An HDF5 file must be whole; got one that is truncated or damaged. Save or copy it again."


class File:
    """An open HDF5 file: its groups and datasets, and their numbers.

    Raises:
        ValueError: for anything but a whole HDF5 file.
    """

    def __init__(self, stream: BinaryIO, limit: int) -> None:
        import h5py

        self.limit = limit
        self._stream = stream
        self._length = stream.seek(0, io.SEEK_END)
        stream.seek(0)
        try:
            self._file = h5py.File(stream, "r", locking=False)
        except BROKEN:
            raise ValueError(WHOLE) from None

    def close(self) -> None:
        """Let the library forget the file; the stream stays open."""
        self._file.close()

    def members(self, group: Any = None) -> dict[str, Any]:
        """Groups and datasets of a group by name, soft links followed inside the file.

        Raises:
            ValueError: for a link out of the file, or a damaged group.
        """
        import h5py

        group = self._file if group is None else group
        try:
            if len(group) > _MEMBERS:
                found = len(group)
            else:
                given = {name: self._follow(group, name, _STEPS) for name in group}
                found = 0
        except BROKEN as error:
            raise ValueError(str(error) if isinstance(error, _Outside) else WHOLE) from None
        if found:
            raise ValueError(
                f"A group of an HDF5 file must hold at most {_MEMBERS:,} arrays; got {found:,}. "
                f"Save theta, x and theta_q alone."
            )
        return {
            name: one
            for name, one in given.items()
            if isinstance(one, h5py.Group) or (is_dataset(one) and _has_type(one))
        }

    def _follow(self, group: Any, path: str, steps: int) -> Any:
        import h5py

        here = self._file if path.startswith("/") else group
        for name in filter(None, path.split("/")):
            if name == ".":
                continue
            link = here.get(name, getlink=True) if isinstance(here, h5py.Group) else None
            if isinstance(link, h5py.ExternalLink):
                raise _Outside(
                    f"An HDF5 file must hold its arrays itself; got {names.label(name)!r}, a link "
                    f"to another file. Save the arrays in one file."
                )
            if isinstance(link, h5py.SoftLink):
                here = self._follow(here, link.path, steps - 1) if steps else None
            else:
                here = here[name] if link is not None else None
        return here

    def header(self, dataset: Any, name: str) -> Header:
        """What a dataset declares.

        Raises:
            ValueError: for numbers that are kept elsewhere, oddly packed or of no fixed length.
        """
        try:
            reason = (
                _no_array(name)
                if dataset.shape is None or dataset.dtype.kind == "O"
                else hdf_bytes.refused(dataset, name, self.limit)
            )
            found = Header(tuple(int(s) for s in dataset.shape or ()), dataset.dtype)
        except BROKEN:
            raise ValueError(WHOLE) from None
        if reason:
            raise ValueError(reason)
        return found

    def load(self, dataset: Any, name: str) -> NDArray[Any]:
        """The numbers of a dataset whose header was accepted, in their working type.

        Raises:
            ValueError: when its bytes are missing or damaged.
        """
        try:
            return worked(hdf_bytes.load(dataset, self._stream, self._length))
        except BROKEN:
            raise ValueError(
                f"The bytes of an array must be whole; got {names.label(name)!r} truncated or "
                f"damaged. Save or copy the file again."
            ) from None

    def dims(self, dataset: Any) -> tuple[str, ...]:
        """What the axes of a dataset are called, as netCDF keeps it; empty where it is unknown."""
        try:
            scales = [list(axis.keys()) and axis[0].name for axis in dataset.dims]
            if scales and all(scales):
                return tuple(str(scale).rpartition("/")[2].lower() for scale in scales)
            if "_ARRAY_DIMENSIONS" in dataset.attrs and dataset.attrs.get_id(
                "_ARRAY_DIMENSIONS"
            ).shape == (len(dataset.shape),):
                given = dataset.attrs["_ARRAY_DIMENSIONS"]
                return tuple(str(one).lower() for one in np.asarray(given).astype(str))
        except BROKEN:
            return ()
        return ()


def is_dataset(member: Any) -> bool:
    """Whether a member of a group is an array rather than a group."""
    import h5py

    return isinstance(member, h5py.Dataset)


def _has_type(dataset: Any) -> bool:
    """Whether its type is one that NumPy knows."""
    try:
        return dataset.dtype is not None
    except BROKEN:
        return False


class _Outside(ValueError):
    """A link that leads out of the file."""


def _no_array(name: str) -> str:
    return (
        f"An array of an HDF5 file must have a shape and a type of fixed length; got "
        f"{names.label(name)!r}, which has not. Save it as float32 or float64."
    )


def is_scale(dataset: Any) -> bool:
    """Whether a dataset only labels an axis."""
    try:
        return bool(dataset.attrs.get("CLASS") == b"DIMENSION_SCALE")
    except BROKEN:
        return False
