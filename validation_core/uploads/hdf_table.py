"""A table in an HDF5 file: arrays at the root or in one group, under the names of roles."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from validation_core.uploads import names
from validation_core.uploads.hdf import DRAWS, SIMULATIONS, WHOLE, File, is_dataset, is_scale
from validation_core.uploads.shapes import Order
from validation_core.uploads.source import BROKEN, Header

_NAMES = 4096
_TEXT = 2**20  # bytes of names that are read


class Hdf:
    """The arrays at the root of an HDF5 file, or in its one group that holds arrays with roles.

    Raises:
        ValueError: for a file that is damaged, or whose groups leave it open what is meant.
    """

    def __init__(self, file: File) -> None:
        self._file = file
        self._found = self._place()
        self.order: Order | None = None
        self.notes: tuple[str, ...] = ()
        self._texts: dict[str, Any] = {}

    def close(self) -> None:
        self._file.close()

    def _place(self) -> dict[str, Any]:
        """The datasets of the root, or of the one group that holds some with roles."""
        root = self._file.members()
        here = _datasets(root)
        if names.roles(here).found:
            return here
        inside = {}
        for name, group in list(root.items())[:64]:
            if not is_dataset(group):
                inside[name] = _datasets(self._file.members(group))
        fitting = [name for name, found in inside.items() if names.roles(found).found]
        if len(fitting) > 1:
            raise ValueError(
                f"An HDF5 file must hold its arrays at the root or in one group; got them in "
                f"{names.listed(fitting)}. Save one table in a file."
            )
        return inside[fitting[0]] if fitting else here

    def headers(self) -> Mapping[str, Header]:
        roles = names.roles(self._found).found
        used = set(roles.values())
        declared: dict[str, Header] = {}
        unread: list[str] = []
        for name, dataset in self._found.items():
            if name in used and self._is_text(dataset, roles, name):
                self._texts[name] = dataset
                declared[name] = Header((dataset.size,), np.dtype("U40"))
            elif name in used:
                declared[name] = self._file.header(dataset, name)
            elif not is_scale(dataset):
                unread.append(name)
        self.notes = (f"{names.listed(unread)}: left unread, no test knows these.",) * bool(unread)
        if "theta_q" in roles:
            self.order = _order(self._file.dims(self._found[roles["theta_q"]]))
        return declared

    def _is_text(self, dataset: Any, roles: Mapping[str, str], name: str) -> bool:
        """Whether a dataset holds labels of no fixed length, few enough to be read."""
        import h5py

        labels = {roles.get("theta_names"), roles.get("x_names")}
        try:
            text = h5py.check_string_dtype(dataset.dtype)
            many = math.prod(dataset.shape or ()) > _NAMES or dataset.shape is None
            return name in labels and text is not None and text.length is None and not many
        except BROKEN:
            return False

    def load(self, name: str) -> NDArray[Any]:
        if name in self._texts:
            return self._labels(self._texts[name])
        return self._file.load(self._found[name], name)

    def _labels(self, dataset: Any) -> NDArray[Any]:
        """Labels of no fixed length, one by one: a file may repeat a long one without end."""
        found = np.full(dataset.size, "", dtype="U40")
        taken = 0
        try:
            for i, place in enumerate(np.ndindex(*dataset.shape)):
                text = dataset[place]
                taken += len(text)
                if taken > _TEXT:
                    break
                found[i] = names.label(bytes(text).decode("utf-8", "replace"))
        except BROKEN:
            raise ValueError(WHOLE) from None
        return found


def _datasets(members: Mapping[str, Any]) -> dict[str, Any]:
    return {name: one for name, one in members.items() if is_dataset(one)}


def _order(dims: tuple[str, ...]) -> Order | None:
    """Which axis of theta_q is which, if the names of its first two axes tell."""
    first, second = (*dims, "", "")[:2]
    if first in SIMULATIONS or second in DRAWS:
        return "NKD"
    return "KND" if second in SIMULATIONS or first in DRAWS else None
