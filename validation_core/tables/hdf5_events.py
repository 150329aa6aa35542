"""HDF5 files with a group for each simulation: theta (D,), x and draws (K, D) in each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from validation_core.tables import roles
from validation_core.tables.event_rows import EventRows, natural_key, one_simulation
from validation_core.tables.hdf5_file import Hdf5File, HdfMember, is_dataset
from validation_core.tables.source import ArrayHeader, Order

if TYPE_CHECKING:
    import h5py

_DEPTH = 3  # groups within groups


def find_events(
    file: Hdf5File, members: Mapping[str, HdfMember]
) -> dict[str, dict[str, h5py.Dataset]]:
    """Find the groups that hold one simulation each: their arrays by role; none for other files.

    Args:
        file: the open file.
        members: members of its root by name.
    """
    for _ in range(_DEPTH):
        groups = {name: member for name, member in members.items() if not is_dataset(member)}
        plain = [name for name in members if name not in groups]
        if roles.find_roles(plain).found:
            return {}
        if len(groups) != 1:
            break
        members = file.members(next(iter(groups.values())))
    else:
        return {}
    events: dict[str, dict[str, h5py.Dataset]] = {}
    for name in sorted(groups, key=natural_key):
        arrays = _arrays(file, groups[name])
        if {"theta", "theta_q"} <= arrays.keys():
            events[name] = arrays
        elif not events and len(groups) > 1:
            return {}  # the first group tells: a file of other groups is not searched to its end
    few = len(events) < 2 or not one_simulation(_headers(file, next(iter(events.values()))))
    return {} if few else events


def _arrays(file: Hdf5File, group: h5py.Group) -> dict[str, h5py.Dataset]:
    """The arrays of numbers in a group, by role."""
    numbers = {
        name: member
        for name, member in file.members(group).items()
        if hasattr(member, "dtype") and member.dtype.kind in "fiubV" and member.shape is not None
    }
    return {role: numbers[name] for role, name in roles.find_roles(numbers).found.items()}


def _headers(file: Hdf5File, arrays: Mapping[str, h5py.Dataset]) -> dict[str, ArrayHeader]:
    return {role: file.header(dataset, role) for role, dataset in arrays.items()}


class Hdf5Events:
    """A table whose rows are groups of an HDF5 file.

    Args:
        file: the open file.
        events: arrays by role, by the name of the group.

    Raises:
        ValueError: for groups that hold other arrays than the first.
    """

    order: Order | None = "NKD"

    def __init__(self, file: Hdf5File, events: Mapping[str, Mapping[str, h5py.Dataset]]) -> None:
        self._file = file
        headers = {name: _headers(file, arrays) for name, arrays in events.items()}
        self._rows = EventRows(
            headers, lambda name, role: file.load(events[name][role], role), "Groups"
        )
        self.notes = self._rows.notes
        self.headers = self._rows.headers

    def load(self, name: str) -> NDArray[np.generic]:
        array = self._rows.load(name)
        self.notes += self._file.new_notes()
        return array

    def close(self) -> None:
        self._file.close()
