"""Discrete parameters that a user names: counts, classes, the number of a model.

Whether a parameter has one of its values is an event: a test quantity of 0 or 1 at the true value
and at q's draws. Its ranks, ties in mid-ranks, are as exact as those of any quantity, over x too,
and see what ranks of the numbers do not: classes have no order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from validation_core.tables.own_quantities import OwnQuantity
from validation_core.text import list_text
from validation_core.types import Array

MOST_VALUES = 20
"""Values of a parameter up to which it counts as discrete."""


def chosen_columns(
    wanted: Sequence[str] | None, saved: Array | None, names: Sequence[str], theta: Array, q: Array
) -> tuple[int, ...]:
    """Return the columns of the discrete parameters that a user names; none without any.

    Args:
        wanted: their names; None to take those that the file marks.
        saved: an array (D,) of the file, other than 0 for those that are discrete.
        names: of the D parameters.
        theta: true values (N, D).
        q: draws (N, K, D).

    Raises:
        ValueError: for a name that no parameter has, or parameters with too many values.
    """
    if wanted is None:
        marks = np.zeros(len(names)) if saved is None else saved.reshape(-1)
        if len(marks) != len(names):
            raise ValueError(
                f"discrete must hold one number for each of the {len(names)} parameters, 0 for "
                f"those that are not; got {len(marks)}. Save 1 for each discrete one."
            )
        wanted = [name for name, mark in zip(names, marks, strict=True) if mark]
    columns = []
    for name in wanted:
        if name not in names:
            raise ValueError(
                f"A discrete parameter is one of {list_text(names, 'or')}; got {name!r}. Name one."
            )
        j = list(names).index(name)
        count = len(values_of(theta[:, j], q[..., j]))
        if not 2 <= count <= MOST_VALUES:
            raise ValueError(
                f"A discrete parameter has 2 to {MOST_VALUES} values; got {name} with {count:,}. "
                "Leave it out, or group its values."
            )
        columns.append(j)
    total = sum(len(values_of(theta[:, j], q[..., j])) for j in columns)
    if total > 2 * MOST_VALUES:
        raise ValueError(
            f"Discrete parameters have at most {2 * MOST_VALUES} values together; got {total}. "
            "Name fewer."
        )
    return tuple(columns)


def saved_marks(columns: Sequence[int], d: int) -> Array:
    """The array (D,) by which a file marks these columns: 1 there, 0 elsewhere."""
    return np.isin(np.arange(d), columns).astype(np.float32)


def values_of(truth: Array, draws: Array) -> Array:
    """Return the values (C,) of a parameter at the true values (N,) and draws (N, K)."""
    return np.union1d(np.unique(truth), np.unique(draws))


def events_of(name: str, truth: Array, draws: Array) -> dict[str, OwnQuantity]:
    """Return whether a parameter has each of its values; of two values, the greater alone.

    Args:
        name: of the parameter.
        truth: its true values (N,).
        draws: its draws (N, K).
    """
    values = values_of(truth, draws)
    return {
        f"{name} = {value:g}": OwnQuantity(
            (truth == value).astype(np.float32), (draws == value).astype(np.float32)
        )
        for value in (values[1:] if len(values) == 2 else values)
    }


def event_shares(quantities: Mapping[str, OwnQuantity]) -> dict[str, tuple[float, float]]:
    """Return how often each quantity that is 0 or 1 everywhere is 1, at the true values and at
    the draws.

    Args:
        quantities: by name.
    """
    return {
        name: (float(one.truth.mean(dtype=float)), float(one.draws.mean(dtype=float)))
        for name, one in quantities.items()
        if all(np.isin(values, (0, 1)).all() for values in one)
    }
