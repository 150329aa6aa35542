"""A file of columns as arrays: one row per draw (long), one per point (two samples), or plain.

A long table has the columns `sim`, `draw` (-1 for the truth), `theta_*` and `x_*`, and may have
`log_q` and `log_joint`; two samples have a column `sample` of p and q; any other table of numbers
is one array, named by its file. Sizes are added up before any column is parsed or decoded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core.tables import roles, source
from validation_core.tables.columns import FileColumns, check_column_names
from validation_core.tables.source import ArrayHeader, Order, as_working_dtype, size_text

_ROW = 50  # bytes of the limit for each row of a long table: its rows are sorted by simulation


class _Places(NamedTuple):
    """Where each row of a long table goes."""

    n: int
    k: int
    sim: NDArray[np.intp]
    draw: NDArray[np.intp]
    """Place of a row among the draws of its simulation; -1 for the truth."""


def _same_x(batch: Sequence[NDArray[np.generic]], sim: NDArray[np.intp]) -> None:
    """Refuse neighbouring rows of one simulation that tell different data."""
    same = sim[1:] == sim[:-1]
    for column in batch:
        known = np.isfinite(column[1:]) & np.isfinite(column[:-1])
        if (same & known & (column[1:] != column[:-1])).any():
            raise ValueError(
                "x must be the same in all rows of a simulation; got rows of one sim with "
                "different x. Repeat the true value's x in the rows of the draws, or leave it "
                "empty there."
            )


def _places(sim: NDArray[np.float64], draw: NDArray[np.float64]) -> _Places:
    """Where each row of a long table goes, from its simulation and its number among the draws.

    Raises:
        ValueError: for numbers that are not whole, a truth that is missing or twice, or numbers
            of draws that differ.
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
    return _Places(n, k, place, _ranked(place, draw, n, k))


def _ranked(
    place: NDArray[np.intp], draw: NDArray[np.float64], n: int, k: int
) -> NDArray[np.intp]:
    """The place of every draw among those of its simulation, in the order of their numbers."""
    order = np.lexsort((draw, place))  # the truth comes first in each simulation
    sorted_draw = draw[order].reshape(n, k + 1)
    if (np.diff(sorted_draw, axis=1) == 0).any():
        raise ValueError(
            "Each draw of a simulation must have its own number; got some twice. Number the draws "
            "of each simulation 0, 1, ..."
        )
    ranked = np.empty(len(draw), np.intp)
    ranked[order] = np.tile(np.arange(-1, k), n)
    return ranked


_LOGS = ("log_q", "log_joint")


class ColumnTable:
    """The arrays that a file of columns holds.

    Raises:
        ValueError: for columns that are too many, repeated, or larger than memory is given for.
    """

    def __init__(self, columns: FileColumns, stem: str, limit: int) -> None:
        self._file, self._stem = columns, stem
        column_names = [column.name for column in columns.columns]
        check_column_names(column_names)
        self._by_name = {column.name: column.dtype for column in columns.columns}
        declared = columns.rows * sum(c.dtype.itemsize for c in columns.columns if c.dtype)
        if declared > 4 * limit:
            raise ValueError(
                f"The columns of a table must take at most {size_text(4 * limit)}; got "
                f"{size_text(declared)} declared by {columns.rows:,} rows of "
                f"{len(column_names):,} columns. Keep fewer draws at each x (50 to 200 are "
                f"plenty), or save arrays with numpy.savez."
            )
        long = {"sim", "draw"} <= self._by_name.keys()
        if long and columns.rows > limit // _ROW:
            raise ValueError(
                f"A long table must have at most {limit // _ROW:,} rows; got {columns.rows:,}. "
                f"{source.SMALLER}"
            )
        self._kind = "long" if long else "sample" if "sample" in self._by_name else "plain"
        self.order: Order | None = "NKD" if long else None
        self.notes: tuple[str, ...] = columns.notes
        self._long: _Places | None = None
        self._points: NDArray[np.bool_] | None = None

    def headers(self) -> Mapping[str, ArrayHeader]:
        if self._kind == "long":
            return self._headers_long()
        if self._kind == "sample":
            return self._headers_samples()
        chosen = self._numeric(())
        dtype = self._common(chosen)
        headers = {self._stem: ArrayHeader((self._file.rows, len(chosen)), dtype)}
        labels = f"{self._stem.lower()}_names"
        if labels in roles.ROLES and not chosen[0].startswith("column_"):
            headers[labels] = _label_header(chosen)
        return headers

    def load(self, name: str) -> NDArray[np.generic]:
        header = self.headers()[name]
        if name.endswith("_names"):
            return self._labels(name)
        if self._kind == "long":
            return self._load_long(name, header)
        if self._kind == "sample":
            return self._load_sample(name, header)
        array = np.empty(header.shape, header.dtype)
        self._fill(array, self._numeric(()))
        return as_working_dtype(array)

    def _pieces(
        self, chosen: Sequence[str]
    ) -> Iterator[tuple[slice, Sequence[NDArray[np.generic]]]]:
        """Columns in pieces with their rows, which are as many as the file declares."""
        done = 0
        for batch in self._file.batches(chosen):
            rows = slice(done, done + len(batch[0]))
            if rows.stop <= self._file.rows:
                yield rows, batch
            done = rows.stop
        self._check_rows(done)

    def _check_rows(self, count: int) -> None:
        if count != self._file.rows:
            raise ValueError(
                f"A table must hold as many rows as it declares; got {count:,} of "
                f"{self._file.rows:,}. The file is truncated or damaged: save it again."
            )

    def _fill(self, array: NDArray[np.generic], chosen: Sequence[str]) -> None:
        for rows, batch in self._pieces(chosen):
            for j, column in enumerate(batch):
                array[rows, j] = column

    def _numeric(self, without: Sequence[str]) -> list[str]:
        """Columns of numbers; the others are noted."""
        others = [n for n, dtype in self._by_name.items() if dtype is None and n not in without]
        chosen = [n for n, d in self._by_name.items() if d is not None and n not in without]
        if not chosen:
            raise ValueError(
                f"A table must have columns of real numbers; got "
                f"{roles.names_text(self._by_name)}. Save numbers."
            )
        unread = (f"{roles.names_text(others)}: left unread, no numbers.",) * bool(others)
        self.notes = self._file.notes + unread
        return chosen

    def _common(self, chosen: Sequence[str]) -> np.dtype[np.generic]:
        kinds = {self._by_name[name] for name in chosen}
        return np.result_type(*(kind for kind in kinds if kind is not None))

    def _labels(self, name: str) -> NDArray[np.generic]:
        if self._kind == "long":
            stem = name.removesuffix("_names")
            return np.array([_short(column, stem) for column in self._of(stem)])
        return np.array([roles.label(column) or "?" for column in self._numeric(("sample",))])

    def close(self) -> None:
        self._file.close()

    # Long tables

    def _of(self, stem: str) -> list[str]:
        return [n for n in self._by_name if n == stem or n.startswith(f"{stem}_")]

    def _headers_long(self) -> Mapping[str, ArrayHeader]:
        stems = {"theta": self._of("theta"), "x": self._of("x")}
        logs = [name for name in _LOGS if name in self._by_name]
        used = {"sim", "draw", *stems["theta"], *stems["x"], *logs}
        missing = [f"{stem}_*" for stem, columns in stems.items() if not columns]
        if missing:
            raise ValueError(
                f"A long table must have the columns sim, draw, theta_* and x_*; missing: "
                f"{', '.join(missing)}; got: {roles.names_text(self._by_name)}. Rename the "
                f"columns."
            )
        for name in used:
            if self._by_name[name] is None:
                raise ValueError(
                    f"The columns of a long table must hold real numbers; got text or others in "
                    f"{roles.label(name)!r}. Save numbers in it, or rename it to leave it out."
                )
        others = [name for name in self._by_name if name not in used]
        unread = (f"{roles.names_text(others)}: left unread, no test knows these.",) * bool(others)
        self.notes = self._file.notes + unread
        at = self._places()
        theta, x = (self._common(stems[stem]) for stem in ("theta", "x"))
        d, m = len(stems["theta"]), len(stems["x"])
        headers = {
            "theta": ArrayHeader((at.n, d), theta),
            "x": ArrayHeader((at.n, m), x),
            "theta_q": ArrayHeader((at.n, at.k, d), theta),
            "theta_names": _label_header(stems["theta"]),
            "x_names": _label_header(stems["x"]),
        }
        for name in logs:
            headers[name] = ArrayHeader((at.n,), self._common([name]))
            headers[f"{name}_draws"] = ArrayHeader((at.n, at.k), self._common([name]))
        return headers

    def _places(self) -> _Places:
        if self._long is None:
            whole = np.empty((self._file.rows, 2), np.float64)
            self._fill(whole, ("sim", "draw"))
            self._long = _places(whole[:, 0], whole[:, 1])
        return self._long

    def _load_long(self, name: str, header: ArrayHeader) -> NDArray[np.generic]:
        at = self._places()
        array = np.empty(header.shape, header.dtype)
        of_draws = name == "theta_q" or name.endswith("_draws")
        stem = "theta" if name == "theta_q" else name.removesuffix("_draws")
        chosen = [stem] if stem in _LOGS else self._of(stem)
        columns = array.reshape(*array.shape[: 2 if of_draws else 1], -1)
        for rows, batch in self._pieces(chosen):
            sim, draw = at.sim[rows], at.draw[rows]
            if name == "x":
                _same_x(batch, sim)
            here = draw >= 0 if of_draws else draw < 0
            where = (sim[here], draw[here]) if of_draws else (sim[here],)
            for j, column in enumerate(batch):
                columns[(*where, j)] = column[here]
        return as_working_dtype(array)

    # Two samples

    def _sides(self) -> NDArray[np.bool_]:
        """Which rows are points of p."""
        if self._points is None:
            pieces = list(self._file.sides("sample"))
            self._check_rows(sum(len(piece.p) for piece in pieces))
            is_p = np.concatenate([piece.p for piece in pieces] or [np.empty(0, bool)])
            if others := {word for piece in pieces for word in piece.others}:
                others |= {"p"} if is_p.any() else set()
                others |= {"q"} if any(piece.q.any() for piece in pieces) else set()
                raise ValueError(
                    f"The column sample must hold p or q; got "
                    f"{roles.names_text(sorted(others))}. Name the samples p and q."
                )
            self._points = is_p
        return self._points

    def _headers_samples(self) -> Mapping[str, ArrayHeader]:
        if self._by_name["sample"] is not None:
            raise ValueError(
                "The column sample must hold p or q; got numbers. Name the samples p and q."
            )
        chosen = self._numeric(("sample",))
        is_p = self._sides()
        dtype, d = self._common(chosen), len(chosen)
        n = int(is_p.sum())
        return {
            "p": ArrayHeader((n, d), dtype),
            "q": ArrayHeader((len(is_p) - n, d), dtype),
            "theta_names": _label_header(chosen),
        }

    def _load_sample(self, name: str, header: ArrayHeader) -> NDArray[np.generic]:
        wanted = self._sides() == (name == "p")
        array = np.empty(header.shape, header.dtype)
        filled = 0
        for rows, batch in self._pieces(self._numeric(("sample",))):
            here = wanted[rows]
            count = int(here.sum())
            for j, column in enumerate(batch):
                array[filled : filled + count, j] = column[here]
            filled += count
        return as_working_dtype(array)


def _label_header(columns: Sequence[str]) -> ArrayHeader:
    return ArrayHeader((len(columns),), np.dtype("U40"))


def _short(column: str, stem: str) -> str:
    """The label of a column: `theta_mass` is `mass`, `theta_1` stays as it is."""
    rest = column.removeprefix(f"{stem}_")
    return roles.label(column if rest.isdigit() or not rest else rest) or "?"
