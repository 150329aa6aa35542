"""Arrays that a user chooses for roles: one name for each, or several whose columns are joined."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from validation_core.tables import roles
from validation_core.tables.source import ArrayHeader, label_header, working_dtype
from validation_core.text import list_text

Chosen: TypeAlias = Mapping[str, str | Sequence[str]]
"""Name of an array, `a+b` or a list of several, by the role that the user gives it."""
JOINED = ("theta", "x", "theta_q", "x_o", "theta_o")
"""Roles that several arrays may have together."""
_ROW_AXES = {"theta": 1, "x": 1, "theta_q": 2, "x_o": 0, "theta_o": 1}


def merge_pairs(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return names by role from pairs in the order in which they were given.

    Raises:
        ValueError: for a role that is named twice.
    """
    chosen: dict[str, str] = {}
    for role, name in pairs:
        if role in chosen:
            both = f"{roles.label(chosen[role])}+{roles.label(name)}"
            remedy = f"Write {role}={both} to join their columns, or name one of them."
            raise ValueError(
                f"Each role is given once; got {roles.label(role)} twice, as "
                f"{roles.names_text([chosen[role], name])}. "
                f"{remedy if role in JOINED else 'Name one of them.'}"
            )
        chosen[role] = name
    return chosen


def resolve_names(chosen: Chosen, present: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return the names of the arrays of each role.

    `a+b` is two names, unless an array bears it as its own.

    Args:
        chosen: as the user gives them.
        present: names of all arrays.

    Raises:
        ValueError: for anything but names by role, or an array that is named twice.
    """
    wrong = (
        [given for given in chosen.values() if not isinstance(given, str | Sequence)]
        if isinstance(chosen, Mapping)
        else [chosen]
    )
    if wrong:
        raise ValueError(
            f"Arrays are named by role; got {type(wrong[0]).__name__}. Write "
            f"{{'theta': 'NAME', 'x': ['NAME', 'NAME']}}."
        )
    found = {role: tuple(_names(given, present)) for role, given in chosen.items()}
    every = [name for names in found.values() for name in names]
    if len({*every}) < len(every):
        pairs = (f"{role} = {' + '.join(map(roles.label, n))}" for role, n in found.items())
        raise ValueError(
            f"Each array is one thing; got {', '.join(pairs)}. Choose another array for one."
        )
    return found


def _names(given: str | Sequence[str], present: Collection[str]) -> Sequence[str]:
    if not isinstance(given, str):
        return given
    parts = given.split("+")
    return parts if given not in present and all(parts) else [given]


class JoinedArrays:
    """The arrays of a file, those that a user chose for one role joined to one.

    Args:
        headers: header of each array by its name.
        load: reads an array.
        chosen: what the user gives; arrays of other files are left out.

    Raises:
        ValueError: for arrays that cannot be joined.
    """

    def __init__(
        self,
        headers: Mapping[str, ArrayHeader],
        load: Callable[[str], NDArray[np.generic]],
        chosen: Chosen | None,
    ) -> None:
        self._own, self._load = headers, load
        names = resolve_names(chosen or {}, headers)
        self._parts: dict[str, tuple[str, tuple[str, ...]]] = {}
        self.headers = dict(headers)
        """Header of each array by its name; of those that are joined, under `a + b`."""
        self.chosen: dict[str, str] = {}
        """Name of an array by role, as far as the user chose."""
        self.notes: tuple[str, ...] = ()
        """A note on each array that is joined."""
        for role, several in names.items():
            here = tuple(name for name in several if name in headers)
            if len(here) == 1:
                self.chosen[role] = here[0]
            elif here:
                self._join(role, here)
        if roles.says_no_x(names, headers):
            self.chosen["x"] = roles.NO_X

    def _join(self, role: str, names: tuple[str, ...]) -> None:
        parts = {name: self._own[name] for name in names}
        joined = joined_header(role, parts)
        whole = " + ".join(names)
        for name in names:
            self.headers.pop(name, None)
        self.headers[whole] = joined
        self.chosen[role] = whole
        self._parts[whole] = (role, names)
        widths = (f"{roles.label(n)} {roles.shape_text(h.shape)}" for n, h in parts.items())
        self.notes += (f"{role} is {list_text(list(widths))}, joined in this order.",)
        single = all(len(h.shape) <= _ROW_AXES[role] for h in parts.values())
        labels = {"theta": "theta_names", "x": "x_names"}.get(role)
        if single and labels and labels not in self.headers:
            self.headers[labels] = label_header(len(names))
            self._parts[labels] = (labels, names)

    def load(self, name: str) -> NDArray[np.generic]:
        """Read one array, joined or not."""
        if name not in self._parts:
            return self._load(name)
        role, names = self._parts[name]
        if role.endswith("_names"):
            return np.array([roles.label(part) or "?" for part in names])
        return join_arrays(role, [self._load(part) for part in names])


def joined_header(role: str, parts: Mapping[str, ArrayHeader]) -> ArrayHeader:
    """Return the header of several arrays joined to one.

    Args:
        role: role that they have together.
        parts: header of each by its name.

    Raises:
        ValueError: for a role that one array must have, or arrays of different rows.
    """
    listed = roles.shapes_text({name: header.shape for name, header in parts.items()})
    if role not in JOINED:
        raise ValueError(
            f"Several arrays may be joined as {list_text(list(JOINED), 'or')} alone; got "
            f"{roles.label(role)} = {listed}. Name one array for it."
        )
    axes = _ROW_AXES[role]
    shapes = [_rows_and_columns(header.shape, axes) for header in parts.values()]
    odd = [h.dtype for h in parts.values() if h.dtype.kind not in "fiubc"]
    if len({rows for rows, _ in shapes}) > 1 or odd or any(len(r) < axes for r, _ in shapes):
        raise ValueError(
            f"Arrays that are joined must hold numbers and have equally many rows; got {listed} "
            f"for {role}. Name arrays of the same simulations."
        )
    dtype = np.result_type(*(working_dtype(h.dtype) for h in parts.values()))
    return ArrayHeader((*shapes[0][0], sum(count for _, count in shapes)), dtype)


def join_arrays(role: str, arrays: Sequence[NDArray[np.generic]]) -> NDArray[np.generic]:
    """Return arrays of one role, whose headers were accepted, joined by columns."""
    axes = _ROW_AXES[role]
    return np.concatenate([a.reshape(*a.shape[:axes], -1) for a in arrays], axis=-1)


def _rows_and_columns(shape: tuple[int, ...], axes: int) -> tuple[tuple[int, ...], int]:
    """The axes of rows, and the number of columns in the others."""
    count = 1
    for length in shape[axes:]:
        count *= length
    return shape[:axes], count
