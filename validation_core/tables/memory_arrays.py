"""Arrays that are in memory, by name: those of JSON, of a dict, of tensors."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from validation_core.tables import roles
from validation_core.tables.source import ArrayHeader, Order, as_working_dtype


class MemoryArrays:
    """Arrays in memory, by name.

    Args:
        arrays: the arrays, those of an object within as `name/array`; where one object alone
            holds a table, its arrays are read.
        notes: notes on how they were read.
        order: order of the axes of theta_q, where it is known.
    """

    def __init__(
        self,
        arrays: Mapping[str, NDArray[np.generic]],
        notes: tuple[str, ...] = (),
        order: Order | None = None,
    ) -> None:
        self._arrays, self.notes, self.order = dict(arrays), notes, order
        if not _whole(arrays):
            groups: dict[str, dict[str, NDArray[np.generic]]] = {}
            for name, array in arrays.items():
                group, _, own = name.rpartition("/")
                groups.setdefault(group, {})[own] = array
            whole = [group for group in groups.values() if _whole(group)]
            if len(whole) == 1:
                self._arrays = whole[0]

    def headers(self) -> Mapping[str, ArrayHeader]:
        return {name: ArrayHeader(a.shape, a.dtype) for name, a in self._arrays.items()}

    def load(self, name: str) -> NDArray[np.generic]:
        return as_working_dtype(self._arrays[name], copy=True)  # a caller may fill its own anew

    def close(self) -> None:
        """Nothing is open."""


def _whole(names: Mapping[str, NDArray[np.generic]]) -> bool:
    return roles.roles_complete(roles.find_roles(names).found)
