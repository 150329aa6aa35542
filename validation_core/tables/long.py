"""Tables of columns (.csv, .parquet) as arrays: one row per draw, one per point, or plain.

A long table has the columns `sim`, `draw` (-1 for the truth), `theta_*` and `x_*`, and may have
`log_q` and `log_joint`; two samples have a column `sample` of p and q; any other table of numbers
is one array, named by its file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from validation_core.tables import names
from validation_core.tables.columns import COLUMNS, Columns
from validation_core.tables.names import Places, places, same_x
from validation_core.tables.shapes import Order
from validation_core.tables.source import Header, size, worked

_LOGS = ("log_q", "log_joint")


class Table:
    """The arrays that a file of columns holds.

    Raises:
        ValueError: for columns that are too many, repeated, or larger than memory is given for.
    """

    def __init__(self, columns: Columns, stem: str, limit: int) -> None:
        self._file, self._stem = columns, stem
        column_names = [column.name for column in columns.columns]
        if (
            len(column_names) > COLUMNS
            or len({*column_names}) < len(column_names)
            or not column_names
        ):
            raise ValueError(
                f"A table must have 1 to {COLUMNS:,} columns, each under its own name; got "
                f"{len(column_names):,} under {len({*column_names}):,} names. Rename or leave out "
                f"some."
            )
        self._by_name = {column.name: column.dtype for column in columns.columns}
        declared = columns.rows * sum(c.dtype.itemsize for c in columns.columns if c.dtype)
        if declared > 4 * limit:
            raise ValueError(
                f"The columns of a table must take at most {size(4 * limit)}; got "
                f"{size(declared)} declared by {columns.rows:,} rows of {len(column_names):,} "
                f"columns. Keep fewer draws at each x (50 to 200 are plenty), or save "
                f"arrays with numpy.savez."
            )
        long = {"sim", "draw"} <= self._by_name.keys()
        self._kind = "long" if long else "sample" if "sample" in self._by_name else "plain"
        self.order: Order | None = "NKD" if long else None
        self.notes: tuple[str, ...] = ()
        self._long: Places | None = None
        self._points: NDArray[np.bool_] | None = None

    def headers(self) -> Mapping[str, Header]:
        if self._kind == "long":
            return self._headers_long()
        if self._kind == "sample":
            return self._headers_samples()
        chosen = self._numeric(())
        dtype = self._common(chosen)
        headers = {self._stem: Header((self._file.rows, len(chosen)), dtype)}
        labels = f"{self._stem.lower()}_names"
        if labels in names.ROLES and not chosen[0].startswith("column_"):
            headers[labels] = _text(chosen)
        return headers

    def load(self, name: str) -> NDArray[Any]:
        header = self.headers()[name]
        if name.endswith("_names"):
            return self._labels(name)
        if self._kind == "long":
            return self._load_long(name, header)
        if self._kind == "sample":
            return self._load_sample(name, header)
        array = np.empty(header.shape, header.dtype)
        self._fill(array, self._numeric(()))
        return worked(array)

    def _pieces(self, chosen: Sequence[str]) -> Iterator[tuple[slice, Sequence[NDArray[Any]]]]:
        """Columns in pieces with their rows, which are as many as the file declares."""
        done = 0
        for batch in self._file.batches(chosen):
            rows = slice(done, done + len(batch[0]))
            if rows.stop <= self._file.rows:
                yield rows, batch
            done = rows.stop
        if done != self._file.rows:
            raise ValueError(
                f"A table must hold as many rows as it declares; got {done:,} of "
                f"{self._file.rows:,}. The file is truncated or damaged: save it again."
            )

    def _fill(self, array: NDArray[Any], chosen: Sequence[str]) -> None:
        for rows, batch in self._pieces(chosen):
            for j, column in enumerate(batch):
                array[rows, j] = column

    def _numeric(self, without: Sequence[str]) -> list[str]:
        """Columns of numbers; the others are noted."""
        others = [n for n, dtype in self._by_name.items() if dtype is None and n not in without]
        chosen = [n for n, d in self._by_name.items() if d is not None and n not in without]
        if not chosen:
            raise ValueError(
                f"A table must have columns of real numbers; got {names.listed(self._by_name)}. "
                f"Save numbers."
            )
        self.notes = (f"{names.listed(others)}: left unread, no numbers.",) * bool(others)
        return chosen

    def _common(self, chosen: Sequence[str]) -> np.dtype[Any]:
        kinds = {self._by_name[name] for name in chosen}
        return np.result_type(*(kind for kind in kinds if kind is not None))

    def _labels(self, name: str) -> NDArray[Any]:
        if self._kind == "long":
            stem = name.removesuffix("_names")
            return np.array([_short(column, stem) for column in self._of(stem)])
        return np.array([names.label(column) or "?" for column in self._numeric(("sample",))])

    def close(self) -> None:
        """Nothing was opened."""

    # Long tables

    def _of(self, stem: str) -> list[str]:
        return [n for n in self._by_name if n == stem or n.startswith(f"{stem}_")]

    def _headers_long(self) -> Mapping[str, Header]:
        stems = {"theta": self._of("theta"), "x": self._of("x")}
        logs = [name for name in _LOGS if name in self._by_name]
        used = {"sim", "draw", *stems["theta"], *stems["x"], *logs}
        missing = [f"{stem}_*" for stem, columns in stems.items() if not columns]
        if missing:
            raise ValueError(
                f"A long table must have the columns sim, draw, theta_* and x_*; missing: "
                f"{', '.join(missing)}; got: {names.listed(self._by_name)}. Rename the columns."
            )
        for name in used:
            if self._by_name[name] is None:
                raise ValueError(
                    f"The columns of a long table must hold real numbers; got text or others in "
                    f"{names.label(name)!r}. Save numbers in it, or rename it to leave it out."
                )
        others = [name for name in self._by_name if name not in used]
        self.notes = (f"{names.listed(others)}: left unread, no test knows these.",) * bool(others)
        at = self._places()
        theta, x = (self._common(stems[stem]) for stem in ("theta", "x"))
        d, m = len(stems["theta"]), len(stems["x"])
        headers = {
            "theta": Header((at.n, d), theta),
            "x": Header((at.n, m), x),
            "theta_q": Header((at.n, at.k, d), theta),
            "theta_names": _text(stems["theta"]),
            "x_names": _text(stems["x"]),
        }
        for name in logs:
            headers[name] = Header((at.n,), self._common([name]))
            headers[f"{name}_draws"] = Header((at.n, at.k), self._common([name]))
        return headers

    def _places(self) -> Places:
        if self._long is None:
            whole = np.empty((self._file.rows, 2), np.float64)
            self._fill(whole, ("sim", "draw"))
            self._long = places(whole[:, 0], whole[:, 1])
        return self._long

    def _load_long(self, name: str, header: Header) -> NDArray[Any]:
        at = self._places()
        array = np.empty(header.shape, header.dtype)
        of_draws = name == "theta_q" or name.endswith("_draws")
        stem = "theta" if name == "theta_q" else name.removesuffix("_draws")
        chosen = [stem] if stem in _LOGS else self._of(stem)
        columns = array.reshape(*array.shape[: 2 if of_draws else 1], -1)
        for rows, batch in self._pieces(chosen):
            sim, draw = at.sim[rows], at.draw[rows]
            if name == "x":
                same_x(batch, sim)
            here = draw >= 0 if of_draws else draw < 0
            where = (sim[here], draw[here]) if of_draws else (sim[here],)
            for j, column in enumerate(batch):
                columns[(*where, j)] = column[here]
        return worked(array)

    # Two samples

    def _sides(self) -> NDArray[np.bool_]:
        """Which rows are points of p."""
        if self._points is None:
            pieces = [batch[0] for _, batch in self._pieces(("sample",))]
            sides = np.concatenate(pieces) if pieces else np.empty(0, "U1")
            known = {str(side) for side in np.unique(sides[:100_000].astype(str))}
            is_p = sides == "p"
            if not (is_p | (sides == "q")).all():
                raise ValueError(
                    f"The column sample must hold p or q; got {names.listed(sorted(known))}. Name "
                    f"the samples p and q."
                )
            self._points = is_p
        return self._points

    def _headers_samples(self) -> Mapping[str, Header]:
        if self._by_name["sample"] is not None:
            raise ValueError(
                "The column sample must hold p or q; got numbers. Name the samples p and q."
            )
        chosen = self._numeric(("sample",))
        is_p = self._sides()
        dtype, d = self._common(chosen), len(chosen)
        n = int(is_p.sum())
        return {
            "p": Header((n, d), dtype),
            "q": Header((len(is_p) - n, d), dtype),
            "theta_names": _text(chosen),
        }

    def _load_sample(self, name: str, header: Header) -> NDArray[Any]:
        wanted = self._sides() == (name == "p")
        array = np.empty(header.shape, header.dtype)
        filled = 0
        for rows, batch in self._pieces(self._numeric(("sample",))):
            here = wanted[rows]
            count = int(here.sum())
            for j, column in enumerate(batch):
                array[filled : filled + count, j] = column[here]
            filled += count
        return worked(array)


def _text(columns: Sequence[str]) -> Header:
    return Header((len(columns),), np.dtype("U40"))


def _short(column: str, stem: str) -> str:
    """The label of a column: `theta_mass` is `mass`, `theta_1` stays as it is."""
    rest = column.removeprefix(f"{stem}_")
    return names.label(column if rest.isdigit() or not rest else rest) or "?"
