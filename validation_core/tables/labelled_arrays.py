"""DataArrays of xarray in memory: arrays that stand alike, by names and labels of their axes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from validation_core.tables import roles
from validation_core.tables.named_axes import NO_AXES, Axes, arrange_table, named_axes
from validation_core.tables.source import Order

_NAMES = {"theta": "theta_names", "theta_q": "theta_names", "x": "x_names"}


class UnlabelledValues(NamedTuple):
    """Values by name, without DataArrays."""

    values: dict[str, Any]
    order: Order | None = None
    """Order of the axes of theta_q, where their names say it."""
    notes: tuple[str, ...] = ()


def without_labels(given: Mapping[str, Any]) -> UnlabelledValues:
    """Return DataArrays, and those of a Dataset or a dict, as arrays that stand alike.

    Args:
        given: values by name; None for one that is missing.

    Raises:
        ValueError: for labels that others have not.
    """
    values = {str(name): value for name, value in given.items() if value is not None}
    role_of = {name: role for role, name in roles.find_roles(values).found.items()}
    places = [
        (name, field)
        for name in sorted(role_of, key=lambda name: role_of[name] != "theta")
        for field in (values[name] if isinstance(values[name], Mapping) else [None])
    ]
    arrays = [values[name] if field is None else values[name][field] for name, field in places]
    if not any(map(is_labelled, arrays)):
        return UnlabelledValues(values)
    axes = [_axes(array) for array in arrays]
    given_roles = [role_of[name] for name, _ in places]
    order: Order | None = None
    notes: list[str] = []
    found = zip(places, arrays, axes, strict=True)
    every = arrange_table(list(zip(given_roles, axes, strict=True)))
    for ((name, field), array, own), arranged in zip(found, every, strict=True):
        if not is_labelled(array):
            continue
        role = role_of[name]
        plain = array.to_numpy() if arranged is None else arranged.of(array.to_numpy())
        if field is None:
            values[name] = plain
            columns = arranged.names if arranged else own.names
            if role in _NAMES and columns and _NAMES[role] not in role_of.values():
                values.setdefault(_NAMES[role], list(columns))
        else:
            values[name] = {**values[name], field: plain}
        if arranged is not None:
            order = "NKD" if role == "theta_q" else order
            notes += arranged.notes
    return UnlabelledValues(values, order, tuple(dict.fromkeys(notes)))


def is_labelled(value: object) -> bool:
    """Whether an object is an array whose axes have names."""
    return all(hasattr(value, name) for name in ("dims", "coords", "to_numpy"))


def _axes(value: Any) -> Axes:
    if not is_labelled(value):
        return NO_AXES
    labels = [value.coords.get(dim) for dim in value.dims]
    return named_axes(value.dims, labels)
