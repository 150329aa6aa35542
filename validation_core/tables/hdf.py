"""HDF5 files: groups, datasets and their headers; nothing is followed out of the file."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

import numpy as np
from numpy.typing import NDArray

from validation_core.tables import roles, source
from validation_core.tables.hdf_datasets import dataset_refusal, is_unwritten, read_dataset
from validation_core.tables.source import BROKEN, ArrayHeader, as_working_dtype

if TYPE_CHECKING:
    import h5py

HdfMember: TypeAlias = "h5py.Group | h5py.Dataset"
SIMULATIONS = frozenset(
    {"sim", "sims", "sim_id", "simulation", "simulations", "simulation_id", "dataset", "datasets"}
)
"""What the axis of simulations is called, where axes have names."""
DRAWS = frozenset({"draw", "draws", "sample", "samples"})
_MEMBERS = 4096  # of a group
_OBJECTS = 10_000  # that are looked at in one file
_LINKS = 20_000  # that are followed in one file
_STEPS = 8  # soft links followed one after another
_ATTRIBUTE = 4096  # bytes of one that is read
WHOLE = "An HDF5 file must be whole; got one that is truncated or damaged. Save or copy it again."


class HdfFile:
    """An open HDF5 file: its groups and datasets, and their numbers.

    Raises:
        ValueError: for anything but a whole HDF5 file.
    """

    def __init__(self, stream: BinaryIO, limit: int) -> None:
        import h5py

        self.limit = limit
        self._stream = stream
        self._length = stream.seek(0, io.SEEK_END)
        self._objects = self._links = 0
        self._notes: list[str] = []
        stream.seek(0)
        try:
            self._file = h5py.File(stream, "r", locking=False)
        except BROKEN:
            raise ValueError(WHOLE) from None

    def close(self) -> None:
        """Let the library forget the file; the stream stays open."""
        self._file.close()

    def members(self, group: h5py.Group | None = None) -> dict[str, HdfMember]:
        """Groups and datasets of a group by name, soft links followed inside the file.

        Raises:
            ValueError: for a link out of the file, or a damaged group.
        """
        import h5py

        group = self._file if group is None else group
        try:
            if len(group) > _MEMBERS:
                count = len(group)
            else:
                self._objects += len(group)
                if self._objects > _OBJECTS:
                    raise _NotFollowed(
                        f"An HDF5 file must hold at most {_OBJECTS:,} arrays and groups; got "
                        f"more. Save theta, x and theta_q alone."
                    )
                # The library cannot follow a name that is no UTF-8, and gives it as bytes.
                names = [name for name in group if isinstance(name, str)]
                entries = {name: self._follow(group, name, _STEPS) for name in names}
                count = 0
        except BROKEN as error:
            raise ValueError(str(error) if isinstance(error, _NotFollowed) else WHOLE) from None
        if count:
            raise ValueError(
                f"A group of an HDF5 file must hold at most {_MEMBERS:,} arrays; got {count:,}. "
                f"Save theta, x and theta_q alone."
            )
        return {
            name: entry
            for name, entry in entries.items()
            if isinstance(entry, h5py.Group) or (is_dataset(entry) and _has_type(entry))
        }

    def _follow(self, group: h5py.Group, path: str, steps: int) -> HdfMember | None:
        import h5py

        here = self._file if path.startswith("/") else group
        for name in filter(None, path.split("/")):
            if name == ".":
                continue
            self._links += 1
            if self._links > _LINKS:
                raise _NotFollowed(
                    f"The links of an HDF5 file must be followed in {_LINKS:,} steps; got more. "
                    f"Save the arrays at the root."
                )
            link = here.get(name, getlink=True) if isinstance(here, h5py.Group) else None
            if isinstance(link, h5py.ExternalLink):
                raise _NotFollowed(
                    f"An HDF5 file must hold its arrays itself; got {roles.label(name)!r}, a "
                    f"link to another file. Save the arrays in one file."
                )
            if isinstance(link, h5py.SoftLink):
                here = self._follow(here, str(link.path), steps - 1) if steps else None
            else:
                here = here[name] if link is not None else None
        return here

    def header(self, dataset: h5py.Dataset, name: str) -> ArrayHeader:
        """What a dataset declares.

        Raises:
            ValueError: for numbers that are kept elsewhere, oddly packed or of no fixed length.
        """
        try:
            reason = (
                _no_array(name)
                if dataset.shape is None or dataset.dtype.kind == "O"
                else dataset_refusal(dataset, name, self.limit)
            )
            declared = ArrayHeader(tuple(int(s) for s in dataset.shape or ()), dataset.dtype)
        except BROKEN:
            raise ValueError(WHOLE) from None
        if reason:
            raise ValueError(reason)
        return declared

    def load(self, dataset: h5py.Dataset, name: str) -> NDArray[np.generic]:
        """The numbers of a dataset whose header was accepted, in their working type.

        Raises:
            ValueError: when its bytes are missing or damaged.
        """
        try:
            empty = 0 not in dataset.shape and is_unwritten(dataset)
        except BROKEN:
            raise ValueError(WHOLE) from None
        if empty:
            raise ValueError(
                f"An array must hold numbers; got {roles.label(name)!r}, which was declared and "
                f"never written. Save the file again when it is."
            )
        try:
            numbers, unwritten = read_dataset(dataset, self._stream, self._length)
            missing = _missing_values(dataset)
            fill = str(dataset.fillvalue) if unwritten else ""
        except BROKEN as error:
            if source.is_memory_error(error):
                raise
            raise ValueError(
                f"The bytes of an array must be whole; got {roles.label(name)!r} truncated or "
                f"damaged. Save or copy the file again."
            ) from None
        if unwritten:
            self._notes.append(
                f"{unwritten:,} values of {roles.label(name)} were never written: the file's "
                f"fill value {roles.label(fill)} stands for them."
            )
        return self._without(missing, numbers, name)

    def _without(
        self, missing: Sequence[np.generic], numbers: NDArray[np.generic], name: str
    ) -> NDArray[np.generic]:
        """The numbers in their working type, NaN where they are one of those that mean none."""
        worked = as_working_dtype(numbers)
        for value in missing:
            here = numbers == value
            if count := int(np.count_nonzero(here)):
                worked[here] = np.nan
                are = "value of {} is" if count == 1 else "values of {} are"
                self._notes.append(
                    f"{count:,} {are.format(roles.label(name))} the file's missing value "
                    f"{value:g}: treated as missing."
                )
        return worked

    def new_notes(self) -> tuple[str, ...]:
        """What is to be said of the arrays that were read since this was asked."""
        notes, self._notes = tuple(self._notes), []
        return notes

    def dims(self, dataset: h5py.Dataset) -> tuple[str, ...]:
        """What the axes of a dataset are called, as netCDF keeps it; empty where it is unknown."""
        try:
            scales = [len(axis) and axis[0].name for axis in dataset.dims]
            if scales and all(scales):
                return tuple(str(scale).rpartition("/")[2].lower() for scale in scales)
            if "_ARRAY_DIMENSIONS" in dataset.attrs and dataset.attrs.get_id(
                "_ARRAY_DIMENSIONS"
            ).shape == (len(dataset.shape),):
                dimensions = dataset.attrs["_ARRAY_DIMENSIONS"]
                return tuple(
                    str(dimension).lower() for dimension in np.asarray(dimensions).astype(str)
                )
        except BROKEN:
            return ()
        return ()


def is_dataset(member: HdfMember) -> bool:
    """Whether a member of a group is an array rather than a group."""
    import h5py

    return isinstance(member, h5py.Dataset)


def _has_type(dataset: h5py.Dataset) -> bool:
    """Whether its type is one that NumPy knows."""
    try:
        return dataset.dtype is not None
    except BROKEN:
        return False


class _NotFollowed(ValueError):
    """A link that leads out of the file, or one too many."""


def _no_array(name: str) -> str:
    return (
        f"An array of an HDF5 file must have a shape and a type of fixed length; got "
        f"{roles.label(name)!r}, which has not. Save it as float32 or float64."
    )


def is_dimension_scale(dataset: h5py.Dataset) -> bool:
    """Whether a dataset only labels an axis."""
    try:
        return bool(_attribute(dataset, "CLASS") == b"DIMENSION_SCALE")
    except BROKEN:
        return False


def _attribute(dataset: h5py.Dataset, name: str) -> Any:
    """An attribute; None where there is none, or one that is longer than is read."""
    if name not in dataset.attrs or dataset.attrs.get_id(name).get_storage_size() > _ATTRIBUTE:
        return None
    return dataset.attrs[name]


def _missing_values(dataset: h5py.Dataset) -> list[np.generic]:
    """The numbers by which a dataset says that there is none, in its own type (CF, 2.5)."""
    if dataset.dtype.kind not in "fiu":
        return []
    values: list[np.generic] = []
    for name in ("_FillValue", "missing_value"):
        for value in np.ravel(_attribute(dataset, name)):
            own = _in_type(value, dataset.dtype)
            if own is not None and own not in values:
                values.append(own)
    return values


def _in_type(value: Any, dtype: np.dtype[np.generic]) -> np.generic | None:
    """A number in another type; None where no number of that type equals it, as none does NaN."""
    if not isinstance(value, np.number | np.bool_) or not np.isreal(value) or np.isnan(value):
        return None
    if dtype.kind in "iu":
        bounds = np.iinfo(dtype.str)
        if not (np.isfinite(value) and bounds.min <= value <= bounds.max and value == int(value)):
            return None
    with np.errstate(over="ignore"):
        return dtype.type(value)
