"""q's draws in a frame whose rows are numbered by simulation and draw, in whatever order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core.tables import roles
from validation_core.tables.axis_names import (
    CHAIN_COLUMNS,
    DRAW_COLUMNS,
    SIMULATION_COLUMNS,
    plain_name,
)
from validation_core.tables.named_columns import columns_of, is_frame

_SIMULATION = frozenset({"sim", *SIMULATION_COLUMNS})
_DRAW = frozenset({"draw", *DRAW_COLUMNS, *CHAIN_COLUMNS})


def in_order_of_simulations(frame: Any, theta: Any) -> tuple[Any, tuple[int, int]] | None:
    """Sort the rows of a frame of draws by simulation and draw.

    Simulations are in the order of the frame where each block of it has all of them in one order,
    else sorted.

    Args:
        frame: q's draws, their simulations and numbers in its index or in columns of such names.
        theta: the true values, a frame (N, D) or any others.

    Raises:
        ValueError: where the index of theta has the same labels in another order, or simulations
            have different numbers of draws.

    Returns:
        the frame with its rows sorted, and N and K; None where its rows have no such numbers.
    """
    if not hasattr(frame, "index") or not len(frame):
        return None
    frame = _indexed(frame)
    names = [plain_name(str(name)) for name in frame.index.names]
    if len(names) < 2:
        return None
    levels = [_codes(frame.index.get_level_values(i)) for i in range(len(names))]
    sim = _simulation_level(names, [len(level.labels) for level in levels], length_of(theta))
    codes, labels = levels[sim]
    k = len(frame) // len(labels)
    counts = np.bincount(codes)
    if not (counts == k).all():
        raise ValueError(
            f"Simulations must have as many draws each; got {counts.min():,} to "
            f"{counts.max():,} in the frame of draws. Keep the first of each: "
            f"theta_q.groupby({_level(frame.index.names[sim], sim)}).head({counts.min()})."
        )
    others = [level.codes for i, level in enumerate(levels) if i != sim]
    places = _places(codes, len(labels), k)
    _check_order(labels[np.argsort(places)].tolist(), sim, theta)
    rows = np.lexsort((*others[::-1], places[codes]))
    return frame.iloc[rows], (len(labels), k)


def with_draws_in_rows(given: Mapping[str, Any]) -> dict[str, Any]:
    """Bring levels of columns that number q's draws or their simulations into their index.

    Args:
        given: values by name.

    Returns:
        the same values, but for a frame theta_q with such levels: it has a row for each draw.
    """
    values = dict(given)
    name = roles.find_roles(list(values)).found.get("theta_q", "")
    levels = getattr(getattr(values.get(name), "columns", None), "names", ())
    numbers = [
        i for i, level in enumerate(levels) if plain_name(str(level)) in _SIMULATION | _DRAW
    ]
    if 0 < len(numbers) < len(levels):
        values[name] = values[name].stack(numbers, future_stack=True)
    return values


def _level(name: object, place: int) -> str:
    """A level of an index as an argument of pandas' `groupby`."""
    return f"level={place}" if name is None else repr(name)


def draws_by_simulation(
    parts: Mapping[str, NDArray[np.generic]], theta: Any
) -> NDArray[np.generic] | None:
    """Stack draws (K, D) of one simulation each, by its name, in their order: (N, K, D).

    Args:
        parts: arrays by name.
        theta: the true values, a frame (N, D) or any others.

    Returns:
        the draws; None where these are no simulations, as with an array for each parameter.
    """
    shapes = {part.shape for part in parts.values()}
    n, shape = length_of(theta), (*np.shape(theta), 1, 1)
    d = len(columns_of(theta)) or shape[1]
    if len(parts) != n or len(shapes) != 1 or n == d:
        return None
    (one,) = shapes
    return np.stack(list(parts.values())) if len(one) == 2 and one[1] == d else None


def is_numbered_series(value: Any) -> bool:
    """Whether an object is a column of draws whose index numbers simulations and draws."""
    levels = getattr(getattr(value, "index", None), "nlevels", 1)
    return hasattr(value, "to_frame") and levels > 1


class _Level(NamedTuple):
    """A level of an index: the place of each row's label, and the distinct labels."""

    codes: NDArray[np.intp]
    labels: NDArray[Any]


def _indexed(frame: Any) -> Any:
    """The frame with its columns of simulations and draws as its index, where it has both."""
    names = {plain_name(name): name for name in columns_of(frame)}
    sim = next((names[name] for name in names if name in _SIMULATION), None)
    draw = [names[name] for name in names if name in _DRAW]
    return frame if sim is None or not draw else frame.set_index([sim, *draw])


def _codes(labels: Any) -> _Level:
    """The labels of a level, sorted where they can be."""
    try:
        distinct, codes = np.unique(np.asarray(labels), return_inverse=True)
    except TypeError:  # labels of several types have no order
        distinct = np.array(list(dict.fromkeys(labels)), dtype=object)
        place = {label: i for i, label in enumerate(distinct)}
        codes = np.array([place[label] for label in labels], np.intp)
    return _Level(codes, distinct)


def _simulation_level(names: Sequence[str], counts: Sequence[int], n: int) -> int:
    """The level of simulations: the only one with theta's `n` labels, or the one named so."""
    if list(counts).count(n) == 1:
        return list(counts).index(n)
    named = [i for i, name in enumerate(names) if name in _SIMULATION]
    left = [i for i, name in enumerate(names) if name not in _DRAW]
    return (named or left or [0])[0]


def length_of(theta: Any) -> int:
    """Return the number N of true values, of an array (N, D) or a dict of one for each name."""
    value = next(iter(theta.values()), ()) if isinstance(theta, Mapping) else theta
    try:
        return len(value)
    except TypeError:  # a single number
        return 0


def _places(codes: NDArray[np.intp], n: int, k: int) -> NDArray[np.intp]:
    """The place of each of the N simulations: that in the frame, where each block of it has all of
    them in one order, or that of its sorted label."""
    blocks, rounds = codes.reshape(n, k), codes.reshape(k, n)
    together = bool((blocks == blocks[:, :1]).all())
    if together or bool((rounds == rounds[0]).all()):
        return np.argsort(blocks[:, 0] if together else rounds[0])
    return np.arange(n)


def _check_order(labels: Sequence[Any], level: int, theta: Any) -> None:
    """Refuse a frame of true values with the same labels in another order.

    Raises:
        ValueError: for such a frame.
    """
    index = list(theta.index) if is_frame(theta) and hasattr(theta, "index") else []
    if index != list(labels) and set(index) == set(labels):
        raise ValueError(
            f"The rows of theta and the simulations of theta_q must be in one order; got frames "
            f"with the same labels in two. Where rows go together by their place, give "
            f"theta.to_numpy(); where by their labels, bring theta and x into the order of "
            f"theta_q: theta.loc[theta_q.index.unique({level})]."
        )
