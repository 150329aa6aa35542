"""Columns that several files name: those of q's draws in the order of theta's, never guessed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from validation_core.tables import roles
from validation_core.tables.named_columns import check_order, check_same_columns
from validation_core.text import list_text

_COLUMNS_OF = {
    "theta_names": ("theta", "p", "theta_q", "q", "theta_o", "bounds", "periods", "discrete"),
    "x_names": ("x", "x_o", "x_rep"),
}
"""Arrays whose columns these are the names of; the first that has them keeps its order."""
_IN_ROWS = ("bounds",)  # a parameter in each row
_NUMBER = re.compile(  # of a column that has no name, as programs write it
    r"(theta|x|p|v|var|col(umn)?|param(eter)?|dim)?[\W_]*\d+\W*", re.IGNORECASE
)

Arrays: TypeAlias = Mapping[str, NDArray[np.generic]]


def in_one_order(
    parts: Sequence[Arrays],
) -> tuple[dict[str, NDArray[np.generic]], tuple[str, ...]]:
    """Put the arrays of several files together, their columns in the order of theta's, or p's.

    Args:
        parts: the arrays of each file by their roles, none in more than one but for names.

    Returns:
        the arrays by role, and notes on the columns that were moved.

    Raises:
        ValueError: for columns that have other names than theta's, or x's.
    """
    arrays = {role: array for part in parts for role, array in part.items()}
    notes: list[str] = []
    for labels, of in _COLUMNS_OF.items():
        every = [(part, names) for part in parts if (names := _names(part.get(labels)))]
        named = [one for one in every if any(role in one[0] for role in of)]
        if any(not are_numbers(names) for _, names in named):
            named = [(part, names) for part, names in named if not are_numbers(names)]
        if not named:
            continue
        first, order = min(named, key=lambda one: min(of.index(r) for r in of if r in one[0]))
        head = next(role for role in of if role in first)
        arrays[labels] = first[labels]
        for part, names in named:
            if names == order or (are_numbers(order) and not {*names} & {*order}):
                continue
            here = [role for role in of if role in part]
            check_same_columns(head, here[0], order, names)
            moved = [names.index(name) for name in order]
            arrays |= {role: _taken(role, part[role], moved) for role in here}
            notes.append(
                f"Columns of {list_text(here)} were taken by name, in the order "
                f"{roles.names_text(order)}."
            )
        for part, names in every:
            if not any(role in part for role in of):  # a file of names alone says them anew
                check_order(head, order, names)
                arrays[labels] = part[labels]
    return arrays, tuple(notes)


def _names(labels: NDArray[np.generic] | None) -> tuple[str, ...]:
    """Names of columns as text; none where they are no text, or one is there twice."""
    texts = () if labels is None or labels.dtype.kind not in "US" else roles.texts(labels)
    return texts if len({*texts}) == len(texts) else ()


def are_numbers(names: Sequence[str]) -> bool:
    """Whether columns have numbers for names: `0`, `theta_1`, `x[1]`."""
    return all(map(_NUMBER.fullmatch, names))


def _taken(role: str, array: NDArray[np.generic], order: Sequence[int]) -> NDArray[np.generic]:
    """An array with its columns in this order.

    Raises:
        ValueError: where it has more or fewer.
    """
    axes = range(array.ndim) if role in _IN_ROWS else range(array.ndim)[::-1]
    axis = next((axis for axis in axes if array.shape[axis] == len(order)), None)
    if axis is None:
        raise ValueError(
            f"Names must be those of each column; got {len(order)} for {role} "
            f"{roles.shape_text(array.shape)}. Save a name for each."
        )
    return np.take(array, order, axis)
