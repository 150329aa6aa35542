"""Parts that hold one simulation each, put together as the rows of one table."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from validation_core.tables import roles
from validation_core.tables.draw_order import kept_columns
from validation_core.tables.records import field_labels, fields_array, fields_header, fields_read
from validation_core.tables.source import ArrayHeader, Order, label_header
from validation_core.text import count_text, list_text
from validation_core.types import Integers

# Roles of which no row has an array of its own.
_OF_THE_TABLE = ("x_o", "theta_o", "x_rep", "around", "periods", "bounds", "discrete", "p", "q")


def one_simulation(headers: Mapping[str, ArrayHeader]) -> bool:
    """Whether arrays are one simulation: theta (D,) or (1, D) and draws (K, D) or (1, K, D).

    Args:
        headers: header of each array by its role.
    """
    return _shapes(headers) is not None


def natural_key(name: str) -> list[tuple[int, str]]:
    """A key that sorts `event_10` after `event_9`."""
    parts = re.findall(r"[0-9]+|[^0-9]+", name)
    return [(int(part[:18]), "") if part[0].isdigit() else (-1, part) for part in parts]


def _shapes(headers: Mapping[str, ArrayHeader]) -> tuple[int, int] | None:
    """(K, D) of one simulation; None where the arrays are not of one."""
    if not {"theta", "theta_q"} <= headers.keys():
        return None
    numbers = _as_numbers(headers)
    theta, q = numbers["theta"].shape, numbers["theta_q"].shape
    d = math.prod(theta)
    if len(theta) > 1 and theta[0] != 1:
        return None
    plain = headers["theta"].dtype.names is None and len(theta) == 1
    if plain and len(q) == 2 and q[0] == q[1] == d > 1:
        return None  # theta (N,) of one parameter has draws (N, K)
    if len(q) == 3 and q[0] == 1:
        q = q[1:]
    if len(q) == 1 and d == 1:
        q = (*q, 1)
    return (q[0], d) if len(q) == 2 and q[1] == d and d and q[0] else None


def _as_numbers(headers: Mapping[str, ArrayHeader]) -> dict[str, ArrayHeader]:
    """The headers, those of records as numbers."""
    fields = fields_read({role: header.dtype for role, header in headers.items()})
    return {
        role: fields_header(header, fields[role]) if role in fields else header
        for role, header in headers.items()
    }


def _check_order(events: Mapping[str, Mapping[str, ArrayHeader]], about: str) -> None:
    """Refuse draws without names beside true values whose names come in several orders.

    Raises:
        ValueError: where nothing tells whose draws are whose.
    """
    every = [h for h in events.values() if {"theta", "theta_q"} <= h.keys()]
    orders = {names for headers in every if (names := headers["theta"].dtype.names)}
    if len(orders) > 1 and any(not headers["theta_q"].dtype.names for headers in every):
        shown = [roles.names_text(names) for names in sorted(orders)[:2]]
        raise ValueError(
            f"{about} whose draws have no names must name theta in one order; got "
            f"{list_text(shown)}. Save theta_q by the same names, or theta in the order of its "
            "columns."
        )


class EventRows:
    """theta (N, D), x (N, ...), theta_q (N, K, D) and more from N parts of one simulation each.

    Simulations with more draws than the shortest are cut to its number, picked at random.

    Args:
        events: header of each array by its role, by the name of the part.
        load: reads the array of a part and a role.
        about: names the parts, for notes: `groups`.

    Raises:
        ValueError: for parts that hold other arrays, or of other shapes, than the first.
    """

    order: Order | None = "NKD"

    def __init__(
        self,
        events: Mapping[str, Mapping[str, ArrayHeader]],
        load: Callable[[str, str], NDArray[np.generic]],
        about: str,
    ) -> None:
        self._load, self._about = load, about
        _check_order(events, about)
        self._events, self._given = list(events), events
        self._first = events[self._events[0]]
        usual = [r for r in self._first if all(r in headers for headers in events.values())]
        self._roles = [
            role for role in usual if not role.endswith("_names") and role not in _OF_THE_TABLE
        ]
        self._fields = {
            name: fields_read({role: h.dtype for role, h in headers.items()})
            for name, headers in events.items()
        }
        self._check_fields(usual)
        first = self._fields[self._events[0]]
        self._fields = {name: {r: first[r] for r in usual if r in first} for name in events}
        sizes = {name: _shapes(headers) for name, headers in events.items()}
        odd = [name for name, size in sizes.items() if size is None]
        counts = {size[1] for size in sizes.values() if size}
        if odd or len(counts) > 1:
            shown = odd[:1] or [n for n, s in sizes.items() if s and s[1] != max(counts)][:1]
            listed = "; ".join(self._text(name) for name in [self._events[0], *shown])
            raise ValueError(
                f"{about} that hold one simulation each must have the same parameters, theta (D,) "
                f"and draws (K, D); got {listed}. Save the same in all."
            )
        draws = [size[0] for size in sizes.values() if size]
        self._k, self._d = min(draws), counts.pop()
        partial = sorted({r for h in events.values() for r in h} - {*usual})
        self.notes: tuple[str, ...] = (
            f"{about} hold one simulation each: {count_text(len(events), 'row')}.",
            *roles.unread_notes(partial, f"not in all {about.lower()}"),
        )
        self._columns: list[Integers | slice] = [slice(None)] * len(draws)
        if max(draws) > self._k:
            self._columns = list(kept_columns(np.array(draws), max(draws), self._k))
            self.notes += (
                f"Simulations have {self._k:,} to {max(draws):,} draws: {self._k:,} of each were "
                f"kept, picked at random.",
            )

    def _check_fields(self, usual: Sequence[str]) -> None:
        """Refuse parts of which one has other names than the first, in whatever order."""
        first = self._events[0]
        for name, fields in self._fields.items():
            for role in usual:
                here, there = (one.get(role, ()) for one in (fields, self._fields[first]))
                if {*here} != {*there}:
                    raise ValueError(
                        f"{self._about} that hold one simulation each must have the same names; "
                        f"got {role} with {roles.names_text(there)} in {roles.label(first)!r} and "
                        f"{roles.names_text(here)} in {roles.label(name)!r}. Save the same in all."
                    )

    def _text(self, name: str) -> str:
        shapes = {role: header.shape for role, header in self._given[name].items()}
        return f"{roles.label(name)!r} with {roles.shapes_text(shapes)}"

    def headers(self) -> Mapping[str, ArrayHeader]:
        n = len(self._events)
        headers: dict[str, ArrayHeader] = {}
        for role in self._roles:
            kinds = [_as_numbers(self._given[name])[role] for name in self._events]
            dtype = np.result_type(*(kind.dtype for kind in kinds))
            headers[role] = ArrayHeader((n, *self._row(role, kinds)), dtype)
        labels = self._labels()
        if labels:
            headers["theta_names"] = label_header(len(labels))
        elif "theta_names" in self._first:
            headers["theta_names"] = self._first["theta_names"]
        return headers

    def _row(self, role: str, kinds: Sequence[ArrayHeader]) -> tuple[int, ...]:
        """The shape of one row of a role.

        Raises:
            ValueError: for rows of different lengths.
        """
        if role == "theta_q":
            return (self._k, self._d)
        if role == "theta":
            return (self._d,)
        if role.endswith("_draws"):
            return (self._k,)
        sizes = {math.prod(kind.shape) for kind in kinds}
        if len(sizes) > 1:
            raise ValueError(
                f"{role} must be equally long in all {self._about.lower()}; got {min(sizes):,} to "
                f"{max(sizes):,} numbers. Save as many in each, or summarise them."
            )
        (size,) = sizes
        return () if size == 1 and role != "x" else (size,)

    def _labels(self) -> list[str]:
        """Labels of the parameters, where their arrays are records."""
        first = self._events[0]
        for role in ("theta", "theta_q"):
            if role in self._fields[first]:
                dtype = self._given[first][role].dtype
                return field_labels(dtype, self._fields[first][role])
        return []

    def load(self, name: str) -> NDArray[np.generic]:
        if name == "theta_names":
            labels = self._labels()
            if not labels:
                return self._load(self._events[0], name)
            return np.array([roles.label(label) or "?" for label in labels])
        header = self.headers()[name]
        array = np.empty(header.shape, header.dtype)
        for i, event in enumerate(self._events):
            part = self._load(event, name)
            if name in self._fields[event] and part.dtype.names:
                part = fields_array(part, self._fields[event][name])
            if name == "theta_q":
                array[i] = part.reshape(-1, self._d)[self._columns[i]]
            elif name.endswith("_draws"):
                array[i] = part.reshape(-1)[self._columns[i]]
            else:
                array[i] = part.reshape(array.shape[1:])
        return array

    def close(self) -> None:
        """Whoever opened the parts closes them."""
