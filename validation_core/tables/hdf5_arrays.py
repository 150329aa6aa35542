"""Plain HDF5 files: arrays at the root or in one group."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from validation_core.tables import roles
from validation_core.tables.axis_names import DRAWS, SIMULATIONS
from validation_core.tables.chosen import Chosen, resolve_names
from validation_core.tables.hdf5_file import (
    MOST_TEXTS,
    Hdf5File,
    HdfMember,
    is_bare_dimension,
    is_dataset,
    is_dimension_scale,
)
from validation_core.tables.named_axes import NO_AXES, Arranged, arrange_table
from validation_core.tables.source import BROKEN, ArrayHeader, Order, label_header

if TYPE_CHECKING:
    import h5py

_GROUPS, _DEPTH = 64, 3  # looked at within one group, and groups within groups
_SHARED_NAME = "_nc4_non_coord_"  # before an array's name that an axis of netCDF has too
_LABELS = {"theta": "theta_names", "theta_q": "theta_names", "x": "x_names"}


class Hdf5Arrays:
    """The arrays at the root of an HDF5 file, or in the one group whose arrays have known roles,
    however deep.

    Where these make no table, or lack an array that the user has chosen, those of every group are
    added as `group/array`.

    Args:
        file: the open file.
        chosen: names of arrays by the role that the user gives them.

    Raises:
        ValueError: for a file that is damaged, or several groups with arrays of known roles.
    """

    def __init__(self, file: Hdf5File, chosen: Chosen | None = None) -> None:
        self._file, self._chosen = file, chosen or {}
        self._found = self._place()
        self.order: Order | None = None
        self.notes: tuple[str, ...] = ()
        self._texts: dict[str, h5py.Dataset] = {}
        self._names: dict[str, tuple[str, ...]] = {}
        self._arranged: dict[str, Arranged] = {}

    def close(self) -> None:
        self._file.close()

    def _place(self) -> dict[str, h5py.Dataset]:
        """The datasets of the root or of one group where they make a table, else all of them.

        Raises:
            ValueError: for several groups with arrays of known roles.
        """
        root = self._file.members()
        here = _datasets(root)
        if self._whole(here):
            return here
        inside = dict(self._groups(root))
        fitting = [name for name, datasets in inside.items() if roles.find_roles(datasets).found]
        if roles.find_roles(here).found or self._chosen:
            fitting = []
        if len(fitting) > 1:
            raise ValueError(
                f"An HDF5 file must hold its arrays at the root or in one group; got them in "
                f"{roles.names_text(fitting)}. Save one table in a file."
            )
        plain = inside.pop(fitting[0]) if fitting else here
        return plain if self._whole(plain) else {**plain, **_by_path(inside)}

    def _groups(
        self, members: Mapping[str, HdfMember], prefix: str = "", depth: int = 0
    ) -> Iterator[tuple[str, dict[str, h5py.Dataset]]]:
        """The datasets of each group by its path, and of those within it."""
        for name, group in list(members.items())[:_GROUPS]:
            if not is_dataset(group):
                own = self._file.members(group)
                yield f"{prefix}{name}", _datasets(own)
                if depth < _DEPTH:
                    yield from self._groups(own, f"{prefix}{name}/", depth + 1)

    def _whole(self, datasets: Mapping[str, h5py.Dataset]) -> bool:
        """Whether datasets make a table or two samples, and hold every array that was chosen."""
        names = resolve_names(self._chosen, datasets)
        return {name for several in names.values() for name in several} <= set(
            datasets
        ) and roles.roles_complete(self._roles(datasets))

    def _roles(self, datasets: Mapping[str, h5py.Dataset]) -> dict[str, str]:
        """The arrays by role; of several that are joined, the first."""
        names = resolve_names(self._chosen, datasets)
        first = {role: several[0] for role, several in names.items()}
        return roles.find_roles(datasets, first).found

    def headers(self) -> Mapping[str, ArrayHeader]:
        found = self._roles(self._found)
        chosen = resolve_names(self._chosen, self._found)
        role_of = {name: role for role, several in chosen.items() for name in several}
        role_of |= {name: role for role, name in found.items()}
        used = role_of.keys()
        listed = not roles.roles_complete(found)  # the user is asked which of them is what
        declared: dict[str, ArrayHeader] = {}
        unread: list[str] = []
        for name, dataset in self._found.items():
            if name in used and self._is_text(dataset, found, name):
                self._texts[name] = dataset
                declared[name] = label_header(dataset.size)
            elif name in used:
                declared[name] = self._file.header(dataset, name)
            elif not is_dimension_scale(dataset):
                unread.append(name)
        self.notes = roles.unread_notes(unread, "no test knows these")
        for name in unread if listed else ():
            with suppress(*BROKEN):  # one that cannot be read is none to choose
                declared[name] = self._file.header(self._found[name], name)
        numbers = {n: one for n, one in declared.items() if n in used and n not in self._texts}
        return declared | self._by_axes(numbers, role_of)

    def _by_axes(
        self, declared: Mapping[str, ArrayHeader], role_of: Mapping[str, str]
    ) -> dict[str, ArrayHeader]:
        """Headers of arrays as they stand by their named axes, and of the labels along these."""
        names = sorted(declared, key=lambda name: role_of[name] != "theta")
        axes = {name: self._file.axes(self._found[name]) for name in names}
        fit = {name for name in names if len(axes[name].dims) == len(declared[name].shape)}
        given = [(role_of[name], axes[name] if name in fit else NO_AXES) for name in names]
        for name, arranged in zip(names, arrange_table(given), strict=True):
            role, labels = role_of[name], _LABELS.get(role_of[name], "")
            if arranged is not None:
                self._arranged[name] = arranged
                self.notes += arranged.notes
            if role == "theta_q":
                self.order = "NKD" if arranged else _axis_order(axes[name].dims)
            columns = arranged.names if arranged else axes[name].names
            if labels and columns and labels not in role_of.values():
                self._names.setdefault(labels, columns)
        stand = {name: one.shape(declared[name].shape) for name, one in self._arranged.items()}
        return {
            **{name: ArrayHeader(shape, declared[name].dtype) for name, shape in stand.items()},
            **{labels: label_header(len(columns)) for labels, columns in self._names.items()},
        }

    def _is_text(self, dataset: h5py.Dataset, found: Mapping[str, str], name: str) -> bool:
        """Whether a dataset holds labels of no fixed length, few enough to be read."""
        import h5py

        labels = {found.get("theta_names"), found.get("x_names")}
        try:
            text = h5py.check_string_dtype(dataset.dtype)
            cells = h5py.check_ref_dtype(dataset.dtype) is h5py.Reference
            many = math.prod(dataset.shape or ()) > MOST_TEXTS or dataset.shape is None
            free = cells or (text is not None and text.length is None)
            return name in labels and free and not many
        except BROKEN:
            return False

    def load(self, name: str) -> NDArray[np.generic]:
        if name in self._texts:
            return self._file.texts(self._texts[name])
        if name in self._names:
            return np.array([roles.label(one) for one in self._names[name]])
        array = self._file.load(self._found[name], name)
        self.notes += self._file.new_notes()
        arranged = self._arranged.get(name)
        return array if arranged is None else arranged.of(array)


def _datasets(members: Mapping[str, HdfMember]) -> dict[str, h5py.Dataset]:
    """The members of a group that are datasets; axes of netCDF without numbers are none."""
    return {
        name.removeprefix(_SHARED_NAME): member
        for name, member in members.items()
        if is_dataset(member) and not is_bare_dimension(member) and not _labels_axis(name, member)
    }


def _labels_axis(name: str, dataset: h5py.Dataset) -> bool:
    """Whether a dataset holds the texts of an axis, whose name is no role of labels."""
    import h5py

    try:
        text = h5py.check_string_dtype(dataset.dtype) is not None and is_dimension_scale(dataset)
    except BROKEN:
        return False
    return text and not set(roles.find_roles([name]).found) & set(_LABELS.values())


def _by_path(groups: Mapping[str, Mapping[str, h5py.Dataset]]) -> dict[str, h5py.Dataset]:
    """Datasets of several groups as `group/array`."""
    return {
        f"{group}/{name}": dataset
        for group, datasets in groups.items()
        for name, dataset in datasets.items()
    }


def _axis_order(dims: tuple[str, ...]) -> Order | None:
    """Which axis of theta_q is which, if the names of its first two axes tell."""
    first, second, third = (*dims, "", "", "")[:3]
    if third in SIMULATIONS:
        return "DKN" if second in DRAWS else None
    if first in SIMULATIONS or second in DRAWS:
        return "NKD"
    return "KND" if second in SIMULATIONS or first in DRAWS else None
