"""Columns of frames and dicts in memory that have names: put in theta's order, never guessed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from validation_core.tables import roles
from validation_core.tables.axis_names import is_row_label
from validation_core.tables.row_numbers import unread_row_numbers

_DRAWS = ("theta_q", "theta_o")
_PLAIN = {
    "ranks": "theta_names",
    "pit": "theta_names",
    "p": "theta_names",
    "q": "theta_names",
    "probabilities": "class_names",
}
_LABELS = {"theta": "theta_names", "x": "x_names"}
_FRAME = ("columns", "to_numpy", "__getitem__")


class NamedColumns(NamedTuple):
    """Values by name, and notes on their columns."""

    values: dict[str, Any]
    notes: tuple[str, ...] = ()


def is_frame(value: object) -> bool:
    """Whether an object is a frame of named columns."""
    return all(hasattr(value, name) for name in _FRAME)


def in_order_of_theta(given: Mapping[str, Any]) -> NamedColumns:
    """Put the columns of q's draws, where they have theta's names, in theta's order.

    Theta's names are those of its own columns, or those that are given beside it. Lists of frames,
    one for each row, become lists of arrays.

    Args:
        given: values by name; None for one that is missing.

    Raises:
        ValueError: for names in another order than the columns that they would label, or frames
            that lack some of theta's columns.
    """
    values = {str(name): value for name, value in given.items() if value is not None}
    found = roles.find_roles(list(values)).found
    for role, labels in _LABELS.items():
        if role in found and labels in found:
            check_order(role, columns_of(values[found[role]]), _texts(values[found[labels]]))
    theta = columns_of(values[found["theta"]]) if "theta" in found else ()
    stated = _texts(values[found["theta_names"]]) if "theta_names" in found else ()
    notes: list[str] = []
    for role in _DRAWS:
        if role not in found:
            continue
        value = values[found[role]]
        if _frames(value):
            values[found[role]], read, note = _listed(role, value, theta or stated)
            notes += note
            if not theta and not stated and read:
                values["theta_names"] = stated = read
        elif not theta and stated and set(stated) <= set(columns_of(value)):
            values[found[role]] = _chosen(value, stated)
    return NamedColumns(values, tuple(notes))


def with_labels(given: Mapping[str, Any]) -> NamedColumns:
    """Take ranks, PIT values, two samples and probabilities out of their frames, with the names of
    their columns where none are given; no frame keeps a column of row labels, as read_csv has it.

    Args:
        given: values by name; None for one that is missing.

    Raises:
        ValueError: for a sample q whose columns have other names than p's.
    """
    values = {str(name): value for name, value in given.items() if value is not None}
    notes: tuple[str, ...] = ()
    for name, value in values.items():
        names = columns_of(value) if is_frame(value) else ()
        if unnamed := [column for column in names if is_row_label(column)]:
            values[name] = value[[column for column in names if column not in unnamed]]
            notes += unread_row_numbers(unnamed)
    found = roles.find_roles(list(values)).found
    p, q = (values.get(found.get(role, "")) for role in "pq")
    if (
        q is not None
        and is_frame(p)
        and is_frame(q)
        and columns_of(p)
        and columns_of(p) != columns_of(q)
    ):
        check_same_columns("p", "q", columns_of(p), columns_of(q))
        values[found["q"]] = q[list(columns_of(p))]
    for role, labels in _PLAIN.items():
        value = values.get(found.get(role, ""))
        if value is not None and is_frame(value):
            if columns_of(value):
                values.setdefault(found.get(labels, labels), columns_of(value))
            values[found[role]] = value.to_numpy()
    return NamedColumns(values, tuple(dict.fromkeys(notes)))


def columns_of(value: Any) -> tuple[str, ...]:
    """Return the names of an object's columns; none where it has none, or numbers for them."""
    names: Sequence[Any] = ()
    if is_frame(value):
        names = list(value.columns)
    elif isinstance(value, Mapping):
        names = list(value)
    elif isinstance(value, np.ndarray) and value.dtype.names:
        names = value.dtype.names
    texts = tuple(name for name in names if isinstance(name, str))
    return texts if len(texts) == len(names) else ()


def _frames(value: Any) -> bool:
    """Whether a value is a list of frames."""
    return isinstance(value, list | tuple) and len(value) > 0 and all(map(is_frame, value))


def _texts(value: Any) -> tuple[str, ...]:
    """Labels that are given, where they are texts."""
    return tuple(map(str, value)) if isinstance(value, list | tuple | np.ndarray) else ()


def check_same_columns(
    first: str, other: str, columns: Sequence[str], others: Sequence[str]
) -> None:
    """Refuse two arrays of the same quantities whose columns have other names.

    Raises:
        ValueError: where they have.
    """
    if sorted(columns) != sorted(others):
        raise ValueError(
            f"{first} and {other} must have the same columns; got {roles.names_text(columns)} and "
            f"{roles.names_text(others)}. Name them alike."
        )


def check_order(role: str, columns: Sequence[str], stated: Sequence[str]) -> None:
    """Refuse names that are given beside columns, in another order than theirs.

    Raises:
        ValueError: where they are.
    """
    if stated != columns and sorted(stated) == sorted(columns):
        name = "names" if role == "theta" else "x_names"
        raise ValueError(
            f"{name} must be in the order of {role}'s columns; got {roles.names_text(stated)} for "
            f"columns {roles.names_text(columns)}. Leave {name} out: the columns' own are taken."
        )


def _listed(
    role: str, frames: Sequence[Any], theta: Sequence[str]
) -> tuple[list[Any], tuple[str, ...], tuple[str, ...]]:
    """Frames as arrays, the names of their columns, and a note where these were moved.

    Raises:
        ValueError: for frames that lack some of theta's columns.
    """
    every = [columns_of(frame) for frame in frames]
    both = set(every[0]).intersection(*every)
    first = tuple(name for name in every[0] if name in both)
    shared = [name for name in theta if name in first]
    lost = [name for name in theta if name not in first]
    if shared and lost:
        raise ValueError(
            f"Every frame of {role} must have a column for each parameter; got "
            f"{roles.names_text(first)} without {roles.names_text(lost)}. Name its columns as "
            f"theta's are."
        )
    read = tuple(theta) if shared else first
    if not read:
        return [frame.to_numpy() for frame in frames], (), ()
    notes = roles.unread_notes([name for name in first if name not in read], "no parameters")
    if any(tuple(n for n in names if n in read) != read for names in every):
        notes += (f"Columns of {role} were taken by name, in the order {roles.names_text(read)}.",)
    return [frame[list(read)].to_numpy() for frame in frames], read, notes


def _chosen(value: Any, names: Sequence[str]) -> Any:
    """Some columns of a frame, a dict or an array of records, in this order."""
    if isinstance(value, Mapping):
        return {name: value[name] for name in names}
    return value[list(names)]
