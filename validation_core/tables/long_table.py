"""A long table: a row for each draw, numbered by simulation, the true values beside the draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core.rng import stream
from validation_core.tables import roles, source
from validation_core.tables.checked_columns import CheckedColumns, labels_of
from validation_core.tables.long_layout import LongLayout, without_stem
from validation_core.tables.source import ArrayHeader, Order, as_working_dtype, label_header
from validation_core.text import first_text, list_text

_ROW = 50  # bytes of the limit for each row: the rows are sorted by simulation
_WHOLE = 2.0**53  # whole numbers from here on are not told apart
_TRUTH_WORDS = frozenset({"1", "true", "truth", "t", "yes", "prior", "simulated", "injected", "p"})


class _Places(NamedTuple):
    """The simulation and the draw of each row, and how many there are of both."""

    n: int
    k: int
    longest: int
    """Draws of the simulation that has most; `k` is the fewest."""
    sim: NDArray[np.intp]
    """Place (rows,) of a row's simulation among all, from 0."""
    draw: NDArray[np.intp]
    """Place (rows,) of a row among the draws of its simulation that are kept; -1 for the truth, k
    for others."""


class LongTable:
    """theta (N, D), x (N, M) and theta_q (N, K, D) from the rows of a long table.

    Simulations with more draws than the shortest are cut to its number, picked at random.

    Args:
        columns: the columns.
        layout: which of them holds what.
        limit: bytes that the arrays may take in memory.
        named: whether a user said so, rather than the names of the columns.

    Raises:
        ValueError: for columns that hold no numbers, or too many rows.
    """

    order: Order | None = "NKD"

    def __init__(
        self, columns: CheckedColumns, layout: LongLayout, limit: int, *, named: bool = False
    ) -> None:
        if columns.rows > limit // _ROW:
            raise ValueError(
                f"A long table must have at most {limit // _ROW:,} rows; got {columns.rows:,}. "
                f"{source.SMALLER}"
            )
        self._columns, self._layout, self.named = columns, layout, named
        numbers = [*layout.theta, *layout.theta_q, *(layout.x or ())]
        stems = [*columns.starting("theta"), *columns.starting("x")] if not named else []
        for name in (*layout.draw, *numbers, *stems):
            if columns.types[name] is None:
                raise ValueError(
                    f"The columns of a long table must hold real numbers; got text or others in "
                    f"{roles.label(name)!r}. Save numbers in it, or rename it to leave it out."
                )
        if layout.x == () and self._free and not named:
            raise ValueError(
                f"A long table must have the columns sim, draw, theta_* and x_*; missing: x_*; "
                f"got: {roles.names_text(columns.types)}. Rename the columns of the data; where "
                f"there are none, say so: --map x=none, or arrays={{'x': 'none'}} in Python."
            )
        self._notes: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        layout = self._layout
        told = () if self._is_usual else (self._understood(),)
        used = [
            *layout.row_columns,
            *layout.theta,
            *layout.theta_q,
            *self._x,
            *layout.beside.values(),
        ]
        unread = self._columns.notes(
            dict.fromkeys(used),
            "no test knows these; a column quantity_NAME is a test quantity of your own",
        )
        return (*told, *self._notes, *unread)

    @property
    def _is_usual(self) -> bool:
        """Whether its columns bear our own names, so that nothing was guessed."""
        layout = self._layout
        return layout.in_rows and (layout.sim, layout.draw, layout.marker) == (
            "sim",
            ("draw",),
            None,
        )

    def _understood(self) -> str:
        """The sentence that says which column was taken for what."""
        layout = self._layout
        rows = "draw -1" if layout.marker is None else f"{roles.label(layout.marker)} set"
        truths = f"the rows with {rows}" if layout.in_rows else _listed(layout.theta)
        x = f"x is {_listed(self._x)}" if self._x else "there is no x"
        same = " (the same in each simulation)" * (layout.x is None and bool(self._x))
        draws = _listed(layout.draw) if layout.draw else "the order of rows"
        return (
            f"Read as a long table: simulations by {roles.label(layout.sim)}, draws by {draws}, "
            f"true values in {truths}, draws of q in {_listed(layout.theta_q)}; {x}{same}."
        )

    def headers(self) -> Mapping[str, ArrayHeader]:
        places, dtype = self._places, self._columns.common_dtype
        layout, x = self._layout, self._x
        headers = {
            "theta": ArrayHeader((places.n, len(layout.theta)), dtype(layout.theta)),
            "theta_q": ArrayHeader((places.n, places.k, len(layout.theta)), dtype(layout.theta_q)),
            "theta_names": label_header(len(layout.theta)),
        }
        if x:
            headers["x"] = ArrayHeader((places.n, len(x)), dtype(x))
            headers["x_names"] = label_header(len(x))
        for stem, name in layout.beside.items():
            if layout.in_rows:
                headers[stem] = ArrayHeader((places.n,), dtype([name]))
            headers[f"{stem}_draws"] = ArrayHeader((places.n, places.k), dtype([name]))
        return headers

    @property
    def _free(self) -> list[str]:
        """The columns of numbers that are nothing else than perhaps data."""
        layout = self._layout
        used = {*layout.row_columns, *layout.theta, *layout.theta_q, *layout.beside.values()}
        return [
            name
            for name, dtype in self._columns.types.items()
            if dtype is not None and name not in used and name != ""
        ]

    @cached_property
    def _x(self) -> tuple[str, ...]:
        """The columns of the data: those that are named so, or are the same in each simulation."""
        layout = self._layout
        if layout.x is not None:
            return layout.x
        free = self._free
        same = dict.fromkeys(free, True)
        first: dict[str, NDArray[np.float64]] = {}
        for rows, batch in self._columns.pieces(free) if free else ():
            sim = self._places.sim[rows]
            for name, column in zip(free, batch, strict=True):
                if same[name]:
                    known = first.setdefault(name, np.full(self._places.n, np.nan))
                    same[name] = fill_first(known, sim, column)
        return tuple(name for name in free if same[name])

    @cached_property
    def _places(self) -> _Places:
        layout, columns = self._layout, self._columns
        index = np.empty((columns.rows, len(layout.draw)), np.float64)
        if layout.draw:
            columns.fill(index, layout.draw)
        if columns.types[layout.sim] is None:
            codes, _ = columns.words(layout.sim)
            sim = np.where(codes < 0, np.nan, codes)
        else:
            sim = np.empty((columns.rows, 1), np.float64)
            columns.fill(sim, [layout.sim])
            sim = sim[:, 0]
        places = _places_of_rows(sim, index, self._marked(index), layout)
        if places.longest > places.k:
            self._notes += (
                f"Simulations have {places.k:,} to {places.longest:,} draws: {places.k:,} of each "
                f"were kept, picked at random.",
            )
        return places

    def _marked(self, index: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which rows (rows,) hold true values."""
        layout, columns = self._layout, self._columns
        if not layout.in_rows:
            return np.zeros(columns.rows, bool)
        if layout.marker is None:
            return index[:, -1] == -1
        if columns.types[layout.marker] is None:
            codes, words = columns.words(layout.marker)
            true = [word.strip().lower() in _TRUTH_WORDS for word in words]
            return np.array([*true, False])[codes]
        marks = np.empty((columns.rows, 1), np.float64)
        columns.fill(marks, [layout.marker])
        return np.nan_to_num(marks[:, 0]) != 0

    def load(self, name: str) -> NDArray[np.generic]:
        layout = self._layout
        if name.endswith("_names"):
            stem, of = ("x", self._x) if name == "x_names" else ("theta", layout.theta_q)
            return labels_of([without_stem(column, stem) for column in of])
        header, places = self.headers()[name], self._places
        array = np.full(header.shape, np.nan, header.dtype)
        of_draws = name == "theta_q" or name.endswith("_draws")
        flat = array.reshape(*array.shape[: 2 if of_draws else 1], -1)  # (N, K, ...) or (N, ...)
        chosen = {"theta": layout.theta, "theta_q": layout.theta_q, "x": self._x}
        wanted = chosen.get(name) or (layout.beside[name.removesuffix("_draws")],)
        for rows, batch in self._columns.pieces(wanted):
            sim, draw = places.sim[rows], places.draw[rows]
            if name == "x" or (name == "theta" and not layout.in_rows):
                for j, column in enumerate(batch):
                    if not fill_first(flat[:, j], sim, column):
                        raise ValueError(
                            f"{name} must be the same in all rows of a simulation; got rows of "
                            f"one sim with different {roles.label(wanted[j])}. Repeat the value "
                            f"in the rows of the draws, or leave it empty there."
                        )
                continue
            here = (draw >= 0) & (draw < places.k) if of_draws else draw < 0
            where = (sim[here], draw[here]) if of_draws else (sim[here],)
            for j, column in enumerate(batch):
                flat[(*where, j)] = column[here]
        return as_working_dtype(array)

    def close(self) -> None:
        self._columns.close()


def fill_first(
    known: NDArray[np.floating], sim: NDArray[np.intp], column: NDArray[np.generic]
) -> bool:
    """Write the first number of each simulation where none is known; whether all are the same.

    Args:
        known: the number (N,) of each simulation, NaN where none is known; written into.
        sim: the simulation (n,) of each row.
        column: the numbers (n,) of these rows, NaN where there is none.
    """
    numbers = np.asarray(column, known.dtype)
    present = ~np.isnan(numbers)
    where, values = sim[present], numbers[present]
    first = np.full_like(known, np.nan)
    first[where[::-1]] = values[::-1]  # of equal places the last one written stays
    new = np.isnan(known)
    known[new] = first[new]
    return bool((known[where] == values).all())


def _places_of_rows(
    sim: NDArray[np.float64],
    index: NDArray[np.float64],
    truth: NDArray[np.bool_],
    layout: LongLayout,
) -> _Places:
    """Return where each row belongs.

    Args:
        sim: number (rows,) of the simulation.
        index: numbers (rows, c) that name a draw together; with c = 0 rows stay in their order.
        truth: whether a row (rows,) holds true values.
        layout: the columns, for the refusal.

    Raises:
        ValueError: for numbers that are not whole, a truth that is missing or twice, simulations
            without draws, or two draws under one number.
    """
    _require_numbers(sim, index, truth, layout)
    by_sim, place = np.unique(sim, return_inverse=True)
    n = len(by_sim)
    truths = np.bincount(place[truth], minlength=n)
    if layout.in_rows:
        _require_one_truth(by_sim, truths, layout)
    counts = np.bincount(place[~truth], minlength=n)
    if counts.min() == 0:
        raise ValueError(
            f"Every simulation must have at least one draw; got none for sim "
            f"{by_sim[counts.argmin()]:.0f}, and up to {counts.max():,} for others. Add draws, or "
            f"remove its rows."
        )
    order = np.lexsort((*index.T[::-1], ~truth, place))  # the truth comes first in each simulation
    if index.shape[1]:
        _require_own_numbers(index[order], place[order], ~truth[order])
    start = np.concatenate([[0], np.cumsum(np.bincount(place, minlength=n))[:-1]])
    draw = np.empty(len(sim), np.intp)
    draw[order] = np.arange(len(sim)) - (start + truths)[place[order]]
    k, longest = int(counts.min()), int(counts.max())
    if longest > k:
        chance = stream(0, "draws that are kept").random(len(sim))
        by_chance = np.lexsort((chance, ~truth, place))
        lot = np.empty(len(sim), np.intp)
        lot[by_chance] = np.arange(len(sim)) - (start + truths)[place[by_chance]]
        kept = order[(lot[order] < k) & ~truth[order]]
        draw[~truth] = k
        draw[kept] = np.arange(len(kept)) - k * place[kept]
    return _Places(n, k, longest, place, draw)


def _require_numbers(
    sim: NDArray[np.float64],
    index: NDArray[np.float64],
    truth: NDArray[np.bool_],
    layout: LongLayout,
) -> None:
    """Refuse numbers of simulations and draws that are not whole, too large, or below -1."""
    names = _listed((layout.sim, *layout.draw))
    for name, numbers in zip((layout.sim, *layout.draw), (sim, *index.T), strict=True):
        odd = (numbers != np.floor(numbers)) | ~np.isfinite(numbers)
        if name != layout.sim:
            odd &= ~truth
        if odd.any():
            row = int(odd.argmax())
            got = "nothing" if np.isnan(numbers[row]) else f"{numbers[row]:g}"
            raise ValueError(
                f"The columns {names} must hold whole numbers; got {got} in {roles.label(name)} "
                f"at row {row + 1:,}. Number the simulations 0, 1, ... and the draws 0, 1, ..., "
                f"with -1 for the true value."
            )
    if (np.abs(sim) >= _WHOLE).any():
        raise ValueError(
            f"Numbers of simulations must be below 2**53, beyond which they run together; got "
            f"{np.abs(sim).max():.0f} in {roles.label(layout.sim)}. Number them 0, 1, ...: "
            f"table['{roles.label(layout.sim)}'] = "
            f"pandas.factorize(table['{roles.label(layout.sim)}'])[0]."
        )
    lowest = index.min() if index.size else 0
    if not len(sim) or (layout.in_rows and layout.marker is None and lowest < -1):
        raise ValueError(
            "The column draw must hold -1 for the true value and 0, 1, ... for the draws; got "
            f"{f'{lowest:g}' if len(sim) else 'no rows'}. Number them anew."
        )


def _require_one_truth(
    by_sim: NDArray[np.float64], truths: NDArray[np.intp], layout: LongLayout
) -> None:
    """Refuse simulations, numbered `by_sim`, that have no true value or several."""
    wrong = np.flatnonzero(truths != 1)
    if not len(wrong):
        return
    mark = "draw = -1" if layout.marker is None else f"{roles.label(layout.marker)} set"
    beside = ", ".join(f"{roles.label(name)}_true" for name in layout.theta_q[:3])
    remedy = (
        "Add or remove rows."
        if truths.any()
        else f"Add one to each, or the true values in columns beside the draws: {beside}."
    )
    raise ValueError(
        f"Every simulation must have one row with {mark}, its true value; got {truths[wrong[0]]} "
        f"for sim {by_sim[wrong[0]]:.0f}, and others than one for {len(wrong):,} of "
        f"{len(by_sim):,}. {remedy}"
    )


def _require_own_numbers(
    index: NDArray[np.float64], place: NDArray[np.intp], drawn: NDArray[np.bool_]
) -> None:
    """Refuse two draws (rows in the order of their numbers) of one simulation under one number."""
    again = (index[1:] == index[:-1]).all(axis=1) & (place[1:] == place[:-1])
    if (again & drawn[1:] & drawn[:-1]).any():
        raise ValueError(
            "Each draw of a simulation must have its own number; got some twice. Number the "
            "draws of each simulation 0, 1, ..."
        )


def _listed(columns: Sequence[str]) -> str:
    """Names of columns, fit to be shown; the first nine."""
    named = [roles.label(column) or "(no name)" for column in columns]
    return list_text(named) if len(named) < 10 else first_text(named, 9)
