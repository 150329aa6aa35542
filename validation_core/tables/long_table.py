"""A long table: one row per draw, numbered by simulation, the true values beside the draws.

Its columns are `sim`, `draw` (-1 for the truth), `theta_*` and `x_*`; it may have `log_q` and
`log_joint`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core.tables import roles, source
from validation_core.tables.checked_columns import CheckedColumns, labels_of
from validation_core.tables.source import ArrayHeader, Order, as_working_dtype, label_header

INDEX = ("sim", "draw")
"""The columns by which a long table is known: number of the simulation, number of the draw."""
_LOGS = ("log_q", "log_joint")
_ROW = 50  # bytes of the limit for each row: the rows are sorted by simulation


class _Places(NamedTuple):
    """The simulation and the draw of each row, and how many there are of both."""

    n: int
    k: int
    sim: NDArray[np.intp]
    """Place (rows,) of a row's simulation among all, from 0."""
    draw: NDArray[np.intp]
    """Place (rows,) of a row among the draws of its simulation; -1 for the truth."""


class LongTable:
    """theta (N, D), x (N, M) and theta_q (N, K, D) from the rows of a long table.

    Args:
        columns: the columns, with `sim` and `draw` among them.
        limit: bytes that the arrays may take in memory.

    Raises:
        ValueError: for columns that are missing or hold no numbers, or too many rows.
    """

    order: Order | None = "NKD"

    def __init__(self, columns: CheckedColumns, limit: int) -> None:
        if columns.rows > limit // _ROW:
            raise ValueError(
                f"A long table must have at most {limit // _ROW:,} rows; got {columns.rows:,}. "
                f"{source.SMALLER}"
            )
        self._columns = columns
        self._stems = {stem: columns.starting(stem) for stem in ("theta", "x")}
        self._logs = [name for name in _LOGS if name in columns.types]
        others = {*columns.types} - {*INDEX, *self._logs, *self._stems["theta"]}
        missing = [f"{stem}_*" for stem, names in self._stems.items() if not names]
        if missing == ["x_*"] and not any(columns.types[name] for name in others):
            missing = []  # without other columns of numbers there is no x
        if missing:
            raise ValueError(
                f"A long table must have the columns sim, draw, theta_* and x_*; missing: "
                f"{', '.join(missing)}; got: {roles.names_text(columns.types)}. Rename the "
                f"columns; where there is no x, leave out those that are not sim, draw or theta_*."
            )
        used = [*INDEX, *self._stems["theta"], *self._stems["x"], *self._logs]
        for name in used:
            if columns.types[name] is None:
                raise ValueError(
                    f"The columns of a long table must hold real numbers; got text or others in "
                    f"{roles.label(name)!r}. Save numbers in it, or rename it to leave it out."
                )
        self.notes = columns.notes(used, "no test knows these")

    def headers(self) -> Mapping[str, ArrayHeader]:
        places, dtype = self._places, self._columns.common_dtype
        theta, x = self._stems["theta"], self._stems["x"]
        headers = {
            "theta": ArrayHeader((places.n, len(theta)), dtype(theta)),
            "theta_q": ArrayHeader((places.n, places.k, len(theta)), dtype(theta)),
            "theta_names": label_header(len(theta)),
        }
        if x:
            headers["x"] = ArrayHeader((places.n, len(x)), dtype(x))
            headers["x_names"] = label_header(len(x))
        for name in self._logs:
            headers[name] = ArrayHeader((places.n,), dtype([name]))
            headers[f"{name}_draws"] = ArrayHeader((places.n, places.k), dtype([name]))
        return headers

    @cached_property
    def _places(self) -> _Places:
        index = np.empty((self._columns.rows, 2), np.float64)
        self._columns.fill(index, INDEX)
        return _places_of_rows(index[:, 0], index[:, 1])

    def load(self, name: str) -> NDArray[np.generic]:
        if name.endswith("_names"):
            stem = name.removesuffix("_names")
            return labels_of([_without_stem(column, stem) for column in self._stems[stem]])
        header, places = self.headers()[name], self._places
        array = np.empty(header.shape, header.dtype)
        of_draws = name == "theta_q" or name.endswith("_draws")
        stem = "theta" if name == "theta_q" else name.removesuffix("_draws")
        flat = array.reshape(*array.shape[: 2 if of_draws else 1], -1)  # (N, K, ...) or (N, ...)
        for rows, batch in self._columns.pieces(self._stems.get(stem, [stem])):
            sim, draw = places.sim[rows], places.draw[rows]
            if name == "x":
                _check_same_x(batch, sim)
            here = draw >= 0 if of_draws else draw < 0
            where = (sim[here], draw[here]) if of_draws else (sim[here],)
            for j, column in enumerate(batch):
                flat[(*where, j)] = column[here]
        return as_working_dtype(array)

    def close(self) -> None:
        self._columns.close()


def _places_of_rows(sim: NDArray[np.float64], draw: NDArray[np.float64]) -> _Places:
    """Return where each row belongs, from its numbers (rows,) of simulation and draw.

    Raises:
        ValueError: for numbers that are not whole, a truth that is missing or twice, or
            simulations with different numbers of draws.
    """
    whole = np.isfinite(sim).all() and np.isfinite(draw).all()
    if not (whole and (sim == np.floor(sim)).all() and (draw == np.floor(draw)).all()):
        raise ValueError(
            "The columns sim and draw must hold whole numbers; got others. Number the "
            "simulations 0, 1, ... and the draws 0, 1, ..., with -1 for the true value."
        )
    if not len(sim) or draw.min() < -1:
        raise ValueError(
            "The column draw must hold -1 for the true value and 0, 1, ... for the draws; got "
            f"{f'{draw.min():g}' if len(sim) else 'no rows'}. Number them anew."
        )
    by_sim, place = np.unique(sim, return_inverse=True)
    n = len(by_sim)
    truths = np.bincount(place[draw < 0], minlength=n)
    if (truths != 1).any():
        odd = int(np.flatnonzero(truths != 1)[0])
        raise ValueError(
            "Every simulation must have one row with draw = -1, its true value; got "
            f"{truths[odd]} for sim {by_sim[odd]:.0f}, and others than one for "
            f"{int((truths != 1).sum()):,} of {n:,}. Add or remove rows."
        )
    counts = np.bincount(place[draw >= 0], minlength=n)
    k = int(counts[0])
    if k == 0 or (counts != k).any():
        raise ValueError(
            f"Every simulation must have the same number of draws, at least one; got "
            f"{counts.min():,} (sim {by_sim[counts.argmin()]:.0f}) to {counts.max():,} (sim "
            f"{by_sim[counts.argmax()]:.0f}). Keep as many draws as the shortest has."
        )
    return _Places(n, k, place, _places_of_draws(place, draw, n, k))


def _places_of_draws(
    sim: NDArray[np.intp], draw: NDArray[np.float64], n: int, k: int
) -> NDArray[np.intp]:
    """Return the place (rows,) of each draw among those of its simulation; -1 for the truth.

    Raises:
        ValueError: for two draws of one simulation under one number.
    """
    order = np.lexsort((draw, sim))  # the truth comes first in each simulation
    sorted_draw = draw[order].reshape(n, k + 1)
    if (np.diff(sorted_draw, axis=1) == 0).any():
        raise ValueError(
            "Each draw of a simulation must have its own number; got some twice. Number the draws "
            "of each simulation 0, 1, ..."
        )
    places = np.empty(len(draw), np.intp)
    places[order] = np.tile(np.arange(-1, k), n)
    return places


def _check_same_x(batch: Sequence[NDArray[np.generic]], sim: NDArray[np.intp]) -> None:
    """Refuse neighbouring rows of one simulation that hold different data.

    Args:
        batch: columns (n,) of x.
        sim: the simulation (n,) of each row.

    Raises:
        ValueError: where they do.
    """
    same = sim[1:] == sim[:-1]
    for column in batch:
        known = np.isfinite(column[1:]) & np.isfinite(column[:-1])
        if (same & known & (column[1:] != column[:-1])).any():
            raise ValueError(
                "x must be the same in all rows of a simulation; got rows of one sim with "
                "different x. Repeat the true value's x in the rows of the draws, or leave it "
                "empty there."
            )


def _without_stem(column: str, stem: str) -> str:
    """The name of a column without its stem: `theta_mass` is `mass`, `theta_1` stays."""
    rest = column.removeprefix(f"{stem}_")
    return column if rest.isdigit() or not rest else rest
