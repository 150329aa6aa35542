"""Arrays whose axes have names, and labels along them, as in xarray and netCDF: paired by these.

Theta (p, sim) and draws (draw, sim, p) become theta (sim, p) and draws (sim, draw, p); rows and
columns are those of the same label, wherever they stand.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Hashable, Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core.tables import roles
from validation_core.tables.axis_names import CHAINS, DRAWS, SIMULATIONS
from validation_core.types import Integers

_NUMBERED = re.compile(r"(phony_)?dim_\d+")  # by a library, for an axis that has no name
_SHOWN = 5  # labels
_PARAMETERS = ("theta", "theta_q", "theta_o")
"""Roles whose own axes are those of the parameters, whatever their names."""
_SAME_DATA = {"x_o": "x", "x_rep": "x"}
"""Roles whose own axes, of the same names, are those of another."""
_ALL_DRAWS = ("theta_o", "p", "q")
"""Roles of draws that are of no simulation."""

Labels = NDArray[Any]
"""Labels (n,) along an axis: numbers or texts."""


class Axes(NamedTuple):
    """The axes of an array."""

    dims: tuple[str, ...]
    """Their names; empty where they have none."""
    labels: tuple[Labels | None, ...]
    """Labels along each, where it has some."""

    @property
    def names(self) -> tuple[str, ...]:
        """Texts along the last axis of several; none where there are no texts."""
        return _texts(self.labels[-1]) if len(self.labels) > 1 else ()


NO_AXES = Axes((), ())
"""Of an array whose axes have no names."""


def named_axes(dims: Sequence[object], labels: Sequence[Any]) -> Axes:
    """Return the axes of an array.

    Args:
        dims: names of the axes.
        labels: labels along each; None for one that has none.
    """
    read = (None if one is None else _usable(np.asarray(one)) for one in labels)
    return Axes(tuple(str(dim).lower() for dim in dims), tuple(read))


def _usable(labels: Labels) -> Labels | None:
    if labels.ndim != 1:
        return None
    if labels.dtype.kind in "fiub":
        return None if np.isnan(labels).any() else labels
    return np.array([one.decode() if isinstance(one, bytes) else str(one) for one in labels])


def _texts(labels: Labels | None) -> tuple[str, ...]:
    """Labels that are texts; none for numbers."""
    return tuple(map(str, labels)) if labels is not None and labels.dtype.kind == "U" else ()


class Arranged(NamedTuple):
    """How an array comes to stand as the others: simulations, draws, then its own axes."""

    axes: tuple[int, ...]
    """Its axes in that order."""
    sims: int
    """Axes of simulations: 0 or 1."""
    draws: int
    """Axes of chains and draws: 0, 1 or 2, which become one."""
    takes: tuple[Integers | None, ...]
    """Places to take along each, where these are others than they were."""
    labels: tuple[Labels | None, ...]
    """Labels along its own axes, as they stand then."""
    notes: tuple[str, ...]
    """On rows or columns that are moved."""

    def shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of the array as it comes to stand."""
        every = [shape[axis] for axis in self.axes]
        own = self.sims + self.draws
        merged = [math.prod(every[self.sims : own])] if self.draws else []
        return (*every[: self.sims], *merged, *every[own:])

    def of(self, array: NDArray[np.generic]) -> NDArray[np.generic]:
        """Return the array as it comes to stand."""
        stands = array.transpose(self.axes)
        for axis, places in enumerate(self.takes):
            if places is not None:
                stands = stands.take(places, axis)
        return np.ascontiguousarray(stands.reshape(self.shape(array.shape)))

    @property
    def names(self) -> tuple[str, ...]:
        """Labels of its columns; none where these are no texts along one axis."""
        return _texts(self.labels[0]) if len(self.labels) == 1 else ()

    def cells(self, shape: Sequence[int]) -> Iterator[str]:
        """Each place of its own axes of these lengths: `mass`; `0,1` where there are no texts."""
        texts = [_texts(labels) for labels in self.labels]
        every = [own or tuple(map(str, range(n))) for own, n in zip(texts, shape, strict=True)]
        for place in product(*every):
            yield ",".join(place)


class Pairing:
    """Arrays of one table, each put in the order of those before it.

    Args:
        simulations: names of the axis of simulations.
    """

    def __init__(self, simulations: Collection[str] = SIMULATIONS) -> None:
        self._simulations = simulations
        self._first: dict[Hashable, tuple[str, str, Labels]] = {}
        self._own: dict[str, tuple[str, ...]] = {}

    def arrange(
        self,
        name: str,
        axes: Axes,
        group: str,
        *,
        drawn: bool,
        draws: Collection[str] = CHAINS | DRAWS,
    ) -> Arranged:
        """Return how an array comes to stand as those before it.

        Args:
            name: what to call it.
            axes: its axes.
            group: arrays of a group have the same axes of their own.
            drawn: whether its draws are those of q.
            draws: names of its axes of chains and draws.

        Raises:
            ValueError: for labels that others have not.
        """
        every = (self._simulations, CHAINS.intersection(draws), {*draws} - CHAINS)
        special = [[i for i, dim in enumerate(axes.dims) if dim in one][:1] for one in every]
        sims, chains, draw = special
        own = [i for i in range(len(axes.dims)) if [i] not in special]
        model = self._own.setdefault(group, tuple(axes.dims[i] for i in own))
        if sorted(model) == sorted({axes.dims[i] for i in own}):
            own = [axes.dims.index(dim) for dim in model]
        elif len(model) != len(own):
            group = name
        kinds: list[Hashable] = [
            *("sim" for _ in sims),
            *(("chain", drawn) for _ in chains),
            *(("draw", drawn) for _ in draw),
            *((group, j) for j in range(len(own))),
        ]
        order = (*sims, *chains, *draw, *own)
        takes: list[Integers | None] = []
        stand: list[Labels | None] = []
        notes = []
        for i, kind in zip(order, kinds, strict=True):
            dim, labels = axes.dims[i], axes.labels[i]
            other, _, wanted = self._first.get(kind, (name, dim, labels))
            places = None if labels is None else self._places(kind, name, dim, labels)
            takes.append(places)
            stand.append(labels if places is None else wanted)
            if places is not None:
                notes.append(f"{name} was put in the order of {other} along {dim}, by its labels.")
        own_labels = tuple(stand[len(order) - len(own) :])
        return Arranged(
            order, len(sims), len(chains + draw), tuple(takes), own_labels, tuple(notes)
        )

    def _places(self, kind: Hashable, name: str, dim: str, labels: Labels) -> Integers | None:
        """Where the labels of the first array along such an axis are; None where all stand so.

        Raises:
            ValueError: where they are not the same labels.
        """
        other, its_dim, wanted = self._first.setdefault(kind, (name, dim, labels))
        if bool(_texts(labels)) != bool(_texts(wanted)) or np.array_equal(labels, wanted):
            return None
        places = _in_order(labels, wanted)
        # Numbers along axes of other names may be of other things.
        if places is None and (dim == its_dim or kind == "sim" or _texts(labels)):
            raise ValueError(
                f"{name} and {other} must have the same labels along {dim}, each once; got "
                f"{_labels_text(labels)} and {_labels_text(wanted)}. Give both the same, or "
                f"none: drop_vars({dim!r}) of xarray."
            )
        return places


def _in_order(labels: Labels, wanted: Labels) -> Integers | None:
    """The place of each wanted label; None where the labels are not the same, each once."""
    order, sought = np.argsort(labels, kind="stable"), np.argsort(wanted, kind="stable")
    ascending = labels[order]
    if not np.array_equal(ascending, wanted[sought]) or (ascending[1:] == ascending[:-1]).any():
        return None
    places = np.empty(len(order), np.intp)
    places[sought] = order
    return places


def _labels_text(labels: Labels) -> str:
    shown = roles.names_text(map(str, labels[:_SHOWN].tolist()))
    return shown if len(labels) <= _SHOWN else f"{shown}, … ({len(labels):,})"


def arrange_table(given: Sequence[tuple[str, Axes]]) -> list[Arranged | None]:
    """Return how the arrays of a table come to stand alike; None for one that stays as it is.

    All stay where theta, theta_q or an array of its draws does not say which axis is that of the
    simulations.

    Args:
        given: role and axes of each array, in the order in which others follow them.

    Raises:
        ValueError: for labels that others have not.
    """
    given = [
        (role, NO_AXES if all(map(_NUMBERED.fullmatch, axes.dims)) else axes)
        for role, axes in given
    ]
    rows = {role: set(axes.dims) for role, axes in given if role in ("theta", "x", "theta_q")}
    shared = set.intersection(*rows.values()) if len(rows) == 3 else set()
    simulations = SIMULATIONS | (shared if len(shared) == 1 else set())
    pairing, arranged = Pairing(simulations), list[Arranged | None]()
    for role, axes in given:
        drawn = role == "theta_q" or role.endswith(roles.DRAWS_OF_QUANTITY)
        of_rows = simulations.intersection(axes.dims)
        if (drawn or role == "theta") and not of_rows:
            return [None] * len(given)
        draws = (CHAINS | DRAWS).intersection(axes.dims) if drawn or role in _ALL_DRAWS else set()
        if drawn and not draws:  # of theta_q (sim, k, p), beside theta (sim, p), they are k
            draws = set(axes.dims) - of_rows - rows.get("theta", set())
            if len(draws) > 1:
                return [None] * len(given)
        own = sorted(set(axes.dims) - of_rows)
        group = "theta" if role in _PARAMETERS else " ".join((_SAME_DATA.get(role, role), *own))
        one = pairing.arrange(role, axes, group, drawn=drawn, draws=draws)
        arranged.append(one if axes.dims else None)
    return arranged
