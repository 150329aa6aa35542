"""HDF5 files: groups, datasets and their headers; no link is followed out of the file."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from validation_core.tables import roles
from validation_core.tables.hdf5_storage import check_storage, is_unwritten, read_numbers
from validation_core.tables.named_axes import Axes, named_axes
from validation_core.tables.source import BROKEN, ArrayHeader, as_working_dtype
from validation_core.text import count_text

if TYPE_CHECKING:
    import h5py

HdfMember: TypeAlias = "h5py.Group | h5py.Dataset"
_MEMBERS = 4096  # of a group
_OBJECTS = 10_000  # that are looked at in one file
_CACHE = 2**20  # bytes of chunks kept: each is read once
_JULIA = b"HDF5-based Julia Data Format"  # in the user block of JLD2
_REVERSED = {"MATLAB_class": "MATLAB", "rhdf5-NA.OK": "R"}  # programs by what they give a dataset
_ATTRIBUTE = 4096  # bytes of one that is read
_LONGEST_TEXT = 4096  # characters of a text of MATLAB
MOST_TEXTS = 4096
"""Labels of no fixed length that are read."""
MOST_LABELS, LONGEST_LABEL = 2**15, 200
"""Texts along an axis that are read, and characters of each."""
_TEXT = 2**20  # characters of all of them
_BARE = b"This is a netCDF dimension but not a netCDF variable"


class Hdf5File:
    """An open HDF5 file: its groups and datasets, and their numbers.

    Args:
        path: its path.
        limit: bytes that its arrays may take in memory.
    """

    def __init__(self, path: Path, limit: int) -> None:
        import h5py
        from h5py import h5fd, h5p

        self._limit, self._length = limit, path.stat().st_size
        self._objects = 0
        self._notes: list[str] = []
        with path.open("rb") as file:
            self._julia = file.read(len(_JULIA)) == _JULIA
        self._file = h5py.File(path, "r", locking=False, rdcc_nbytes=_CACHE)
        # A link to another file finds an empty one in memory: no other file is ever opened.
        empty = h5p.create(h5p.FILE_ACCESS)
        empty.set_fileobj_driver(h5fd.fileobj_driver, io.BytesIO())
        self._inside = h5p.create(h5p.LINK_ACCESS)
        self._inside.set_elink_fapl(empty)

    def close(self) -> None:
        self._file.close()

    def members(self, group: h5py.Group | None = None) -> dict[str, HdfMember]:
        """Return the members of a group by name, soft links followed inside the file.

        Args:
            group: the group; None for the root.

        Raises:
            ValueError: for a link out of the file, or too many members.
        """
        group = self._file if group is None else group
        if len(group) > _MEMBERS:
            raise ValueError(
                f"A group of an HDF5 file must hold at most {_MEMBERS:,} arrays; got "
                f"{len(group):,}. Save theta, x and theta_q alone."
            )
        self._objects += len(group)
        if self._objects > _OBJECTS:
            raise ValueError(
                f"An HDF5 file must hold at most {_OBJECTS:,} arrays and groups; got more. Save "
                f"theta, x and theta_q alone."
            )
        # The library cannot follow a name that is no UTF-8, and gives it as bytes.
        members = {name: self._member(group, name) for name in group if isinstance(name, str)}
        return {name: member for name, member in members.items() if member is not None}

    def _member(self, group: h5py.Group, name: str) -> HdfMember | None:
        """A group, or a dataset of a type that NumPy knows; None for anything else."""
        import h5py

        link = group.get(name, getlink=True)
        if isinstance(link, h5py.ExternalLink):
            raise ValueError(
                f"An HDF5 file must hold its arrays itself; got {roles.label(name)!r}, a link to "
                f"another file. Save the arrays in one file."
            )
        try:
            opened = h5py.h5o.open(group.id, name.encode(), self._inside)
        except BROKEN:
            if isinstance(link, h5py.SoftLink):  # nowhere, in a circle, or out of the file
                return None
            raise
        if isinstance(opened, h5py.h5g.GroupID):
            return h5py.Group(opened)
        dataset = isinstance(opened, h5py.h5d.DatasetID) and h5py.Dataset(opened)
        return dataset if dataset and _has_type(dataset) else None

    def header(self, dataset: h5py.Dataset, name: str) -> ArrayHeader:
        """Return the shape and type that a dataset declares.

        Args:
            dataset: the dataset.
            name: its name in the file.

        Raises:
            ValueError: for numbers in other files, packed in unknown ways or of no fixed length.
        """
        import h5py

        if dataset.shape is None or dataset.dtype.kind == "O":
            cells = h5py.check_ref_dtype(dataset.dtype) is not None
            shown = roles.label(name)
            remedy = f" In MATLAB, of a cell array: {shown} = cell2mat({shown})." * cells
            raise ValueError(
                f"An array of an HDF5 file must have a shape and a type of fixed length; got "
                f"{shown!r}, which has not. Save it as float32 or float64.{remedy}"
            )
        check_storage(dataset, roles.label(name), self._limit)
        step = -1 if self._reversed_by(dataset) else 1
        return ArrayHeader(tuple(int(s) for s in dataset.shape)[::step], dataset.dtype)

    def _reversed_by(self, dataset: h5py.Dataset) -> str:
        """MATLAB, Julia or R, where it wrote a dataset, in reverse order of axes; else empty."""
        known = (program for name, program in _REVERSED.items() if name in dataset.attrs)
        return "Julia" if self._julia else next(known, "")

    def load(self, dataset: h5py.Dataset, name: str) -> NDArray[np.generic]:
        """Return the numbers of a dataset whose header was accepted, in their working type.

        Values that the file declares as missing become NaN.

        Raises:
            ValueError: when it was never written.
            EOFError: when bytes are missing.
        """
        if 0 not in dataset.shape and is_unwritten(dataset):
            raise ValueError(
                f"An array must hold numbers; got {roles.label(name)!r}, which was declared and "
                f"never written. Save the file again when it is."
            )
        numbers, unwritten = read_numbers(dataset, self._length)
        if unwritten:
            self._notes.append(
                f"{count_text(unwritten, 'value')} of {roles.label(name)} "
                f"{'was' if unwritten == 1 else 'were'} never written: the file's fill value "
                f"{roles.label(str(dataset.fillvalue))} stands in."
            )
        program = self._reversed_by(dataset)
        if program and numbers.ndim > 1:
            numbers = np.ascontiguousarray(numbers.T)
            self._notes.append(
                f"{roles.label(name)} was read as {roles.shape_text(numbers.shape)}: {program} "
                "stores axes in reverse order."
            )
        return self._with_nan(_missing_values(dataset), numbers, name)

    def _with_nan(
        self, missing: Sequence[np.generic], numbers: NDArray[np.generic], name: str
    ) -> NDArray[np.generic]:
        """The numbers in their working type, NaN in place of values that mean a missing one."""
        worked = as_working_dtype(numbers)
        for value in missing:
            here = numbers == value
            if count := int(np.count_nonzero(here)):
                worked[here] = np.nan
                self._notes.append(
                    f"{count_text(count, 'value')} of {roles.label(name)} "
                    f"{'is' if count == 1 else 'are'} the file's missing value {value:g}: treated "
                    f"as missing."
                )
        return worked

    def text(self, value: bytes | str | h5py.Reference) -> str:
        """Return a text of no fixed length, or that of the characters which a reference of MATLAB
        leads to; empty for anything else."""
        import h5py

        if isinstance(value, bytes):
            return value.decode("utf-8", "replace")
        if not isinstance(value, h5py.Reference):
            return str(value)
        characters = self._file[value] if value else None
        if not isinstance(characters, h5py.Dataset) or characters.dtype != np.uint16:
            return ""
        if characters.size is None or not 0 < characters.size <= _LONGEST_TEXT:
            return ""
        self.header(characters, "label")  # refuses numbers that are not in the file
        codes, _ = read_numbers(characters, self._length)
        return codes.astype("<u2").tobytes().decode("utf-16-le", "replace")

    def new_notes(self) -> tuple[str, ...]:
        """Return the notes on arrays that were read since this was last called."""
        notes, self._notes = tuple(self._notes), []
        return notes

    def axes(self, dataset: h5py.Dataset) -> Axes:
        """Return the names of a dataset's axes and the labels along them."""
        dims = self.dims(dataset)
        return named_axes(dims, [self._labels(dataset, axis) for axis in range(len(dims))])

    def _labels(self, dataset: h5py.Dataset, axis: int) -> NDArray[np.generic] | None:
        """The labels along an axis, as a coordinate of netCDF has them; None where unread."""
        with suppress(*BROKEN):
            scale = dataset.dims[axis][0] if len(dataset.dims[axis]) else None
            if scale is None or is_bare_dimension(scale) or scale.shape != (dataset.shape[axis],):
                return None
            if scale.dtype.kind in "fiub" and 8 * len(scale) <= self._limit:
                self.header(scale, "labels")
                told, self._notes = self._notes, []
                try:
                    return self.load(scale, "labels")
                finally:
                    self._notes = told  # without those on what no test reads
            if len(scale) <= MOST_LABELS:
                return self.texts(scale, LONGEST_LABEL, MOST_LABELS)
            note = (
                f"Labels along {roles.label(self.dims(dataset)[axis])} are more than "
                f"{MOST_LABELS:,} texts, which are not read: arrays are paired there by position."
            )
            self._notes += [] if note in self._notes else [note]
        return None

    def texts(
        self, dataset: h5py.Dataset, longest: int = roles.LABEL_LENGTH, most: int = MOST_TEXTS
    ) -> NDArray[np.generic]:
        """Return texts of no fixed length, those of a cell array of MATLAB too.

        They are read one by one: a file may repeat a long one endlessly.

        Args:
            dataset: holds texts, or references to arrays of characters.
            longest: characters that are kept of each.
            most: texts that are read; none of more.
        """
        if math.prod(dataset.shape or ()) > most:
            return np.array([], np.str_)
        labels = np.full(dataset.size or 0, "", np.dtype((np.str_, longest)))
        length = 0
        for i, place in enumerate(np.ndindex(*(dataset.shape or ()))):
            text = self.text(dataset[place])
            length += len(text)
            if length > _TEXT:
                break
            labels[i] = roles.label(text, longest)
        return labels

    def dims(self, dataset: h5py.Dataset) -> tuple[str, ...]:
        """Return the names of a dataset's axes, as netCDF stores them; none where unknown."""
        if self._reversed_by(dataset):
            return ()
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


def is_dimension_scale(dataset: h5py.Dataset) -> bool:
    """Whether a dataset only labels an axis."""
    try:
        return bool(_attribute(dataset, "CLASS") == b"DIMENSION_SCALE")
    except BROKEN:
        return False


def is_bare_dimension(dataset: h5py.Dataset) -> bool:
    """Whether a dataset stands for an axis of netCDF that has a name and no numbers."""
    try:
        name = _attribute(dataset, "NAME") if is_dimension_scale(dataset) else None
        return isinstance(name, bytes) and name.startswith(_BARE)
    except BROKEN:
        return False


def _attribute(dataset: h5py.Dataset, name: str) -> Any:
    """An attribute; None where there is none, or one that is longer than is read."""
    if name not in dataset.attrs or dataset.attrs.get_id(name).get_storage_size() > _ATTRIBUTE:
        return None
    return dataset.attrs[name]


def _missing_values(dataset: h5py.Dataset) -> list[np.generic]:
    """The numbers that mean a missing value, in the dataset's own type (CF conventions, 2.5)."""
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
