"""Rows of a stream: a simulation each, or a few together, checked against those before."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from validation_core.diagnosis.stream.seen_rows import SeenRows
from validation_core.rng import stream
from validation_core.tables import TableUpload, roles
from validation_core.tables.corrections import how_to_correct
from validation_core.tables.draw_order import some_draws
from validation_core.tables.float_type import match_precisions
from validation_core.tables.named_parts import are_numbers
from validation_core.tables.package_arrays import array_of
from validation_core.tables.reading import File, opened_file, refusals_in_words
from validation_core.tables.source import LIMIT, check_headers
from validation_core.tables.weights import LINEAR, WEIGHTS
from validation_core.types import Array, PosteriorTable

FEWEST_DRAWS = 2
"""Draws of q at each x, at least."""
_WANTED = ("theta", "theta_q")
_FORM = (
    "A row holds theta (D,), theta_q (K, D) and perhaps x (M,); several together theta (n, D), "
    "theta_q (n, K, D) and x (n, M)"
)


def row_of_line(text: bytes | str, number: int) -> Mapping[str, Any]:
    """The row, or rows, that a line of JSON holds.

    Args:
        text: of the line.
        number: of the line, from 1.

    Raises:
        ValueError: for text that is no JSON object.
    """
    try:
        row = json.loads(text)
    except (ValueError, RecursionError):
        row = None
    if not isinstance(row, Mapping):
        raise ValueError(
            f"Each line is one JSON object; got line {number:,}, which is not. Write "
            'json.dumps({"theta": [...], "x": [...], "theta_q": [[...], ...]}) and a new line '
            "for each simulation."
        )
    return row


def rows_of_file(file: File) -> Mapping[str, Any]:
    """The arrays of a file that holds a few rows.

    Args:
        file: a path, the bytes of the file, or the file opened for reading.

    Raises:
        ValueError: for a file that cannot be read.
    """
    with refusals_in_words(), opened_file(file) as source:
        return {name: source.load(name) for name in check_headers(source.headers(), LIMIT)}


class StreamRows:
    """Reads rows one after the other, all of the sizes of the first.

    Of rows with more draws than the first as many are picked at random.

    Args:
        seed: of the picking.
    """

    def __init__(self, seed: int = 0) -> None:
        self._picks = stream(seed, "stream", "draws of rows")
        self.sizes: tuple[int, int, int] | None = None
        """(D, M, K) of the first row; None before it."""
        self.names: tuple[str, ...] = ()
        """Of the parameters."""
        self._seen = SeenRows()
        self.read, self.left_out, self.repeats = 0, 0, 0
        """Rows that came, those of them left out for NaN or infinite numbers, and those that came
        before."""
        self.warnings: tuple[str, ...] = ()
        """Of the tables that came, each once."""

    def table(self, item: Mapping[str, Any] | TableUpload) -> PosteriorTable:
        """The new rows of one item without NaN: theta (n, D), x (n, M), q (n, K, D).

        Args:
            item: numbers by name, of one row or several; or a table.

        Raises:
            ValueError: for numbers that are no rows, or of other sizes than those before.
        """
        try:
            came, names = self._table(item)
            self._check_sizes(came)
            came = self._in_order(came, names)
        except ValueError as refusal:
            raise ValueError(f"Row {self.read + 1:,} of the stream: {refusal}") from None
        assert self.sizes is not None, "sizes are checked"
        q = some_draws(came.q, self.sizes[2], self._picks)
        keep = np.ones(len(came), bool)
        for part in (came.theta, came.x, q):
            keep &= np.isfinite(part).reshape(len(part), -1).all(1)
        self.read += len(keep)
        self.left_out += int((~keep).sum())
        finite = np.flatnonzero(keep)
        new = finite[self._seen.are_new(came.theta[finite], came.x[finite])]
        self.repeats += len(finite) - len(new)
        return PosteriorTable(came.theta[new], came.x[new], q[new])

    def _check_sizes(self, came: PosteriorTable) -> None:
        sizes = came.theta.shape[1], came.x.shape[1], came.q.shape[1]
        if self.sizes is None:
            if sizes[2] < FEWEST_DRAWS:
                raise ValueError(
                    f"A true value is ranked among {FEWEST_DRAWS} draws of q or more; got "
                    f"{sizes[2]}. Draw more at each x."
                )
            self.sizes = sizes
        d, m, k = self.sizes
        if sizes[:2] != (d, m) or sizes[2] < k:
            raise ValueError(
                f"Every row has the sizes of the first, D = {d}, M = {m} and K = {k} draws or "
                f"more; got D = {sizes[0]}, M = {sizes[1]}, K = {sizes[2]}. Send these rows as a "
                "stream of their own."
            )

    def _in_order(self, came: PosteriorTable, names: tuple[str, ...]) -> PosteriorTable:
        """Rows with their parameters in the order of the first row's names.

        Raises:
            ValueError: for other names.
        """
        own = tuple(f"theta_{i + 1}" for i in range(came.theta.shape[1]))
        self.names = self.names or names or own
        if not names or names == self.names:
            return came
        if sorted(names) == sorted(self.names):
            order = [names.index(name) for name in self.names]
            return PosteriorTable(came.theta[:, order], came.x, came.q[..., order])
        if not are_numbers(names) and not are_numbers(self.names):
            raise ValueError(
                f"Every row names the parameters of the first, {roles.names_text(self.names)}; "
                f"got {roles.names_text(names)}. Send these rows as a stream of their own."
            )
        return came

    def _table(
        self, item: Mapping[str, Any] | TableUpload
    ) -> tuple[PosteriorTable, tuple[str, ...]]:
        """The rows of an item, and the names of their parameters; none where it gives none."""
        if isinstance(item, TableUpload):
            if item.groups is not None:
                raise ValueError(
                    "Rows that are bet on one after the other have draws of their own; got rows "
                    "that share theirs. Draw from q at each x anew."
                )
            item.require_usable()
            if item.mistakes:
                raise ValueError(how_to_correct(item.mistakes))
            self.warnings = tuple(dict.fromkeys((*self.warnings, *item.warnings)))
            return item.data, item.names
        if not isinstance(item, Mapping):
            raise ValueError(f"{_FORM}; got {type(item).__name__}. Send those by name.")
        return self._of_numbers(item)

    def _of_numbers(self, item: Mapping[str, Any]) -> tuple[PosteriorTable, tuple[str, ...]]:
        found = roles.find_roles(list(item)).found
        given = {role: item[name] for role, name in found.items()}
        if weighted := [name for name in (*WEIGHTS, *LINEAR) if name in given]:
            raise ValueError(
                f"Draws of a stream count equally; got {', '.join(weighted)}. Draw from q without "
                "weights, or send npt.Table(...) of 50 rows or more with their weights."
            )
        if lost := [role for role in _WANTED if role not in given]:
            raise ValueError(f"{_FORM}; got no {' and no '.join(lost)}. Add it.")
        fields = given["theta"] if isinstance(given["theta"], Mapping) else None
        arrays = {
            role: _numbers(role, given[role], fields) for role in (*_WANTED, "x") if role in given
        }
        shapes = ", ".join(f"{role} {array.shape}" for role, array in arrays.items())
        theta, q = arrays["theta"], arrays["theta_q"]
        if fields is None and self._look_alike(arrays):
            m = len(theta)
            raise ValueError(
                f"theta (n,) and theta_q (n, n) are one row of n parameters, or n rows of one; "
                f"got {shapes}. Send one row as theta (1, {m}) and theta_q (1, {m}, {m}), with x "
                f"(1, M); {m} rows as theta ({m}, 1) and theta_q ({m}, {m}, 1), with x ({m}, M)."
            )
        if q.ndim == theta.ndim + 1 and theta.ndim < 2:  # one row
            arrays = {role: array[None] for role, array in arrays.items()}
            theta, q = arrays["theta"], arrays["theta_q"]
            theta, q = theta.reshape(1, -1), q.reshape(1, q.shape[1], -1)
        x = arrays.get("x", np.empty((len(theta), 0)))
        if theta.ndim != 2 or q.ndim != 3 or q.shape[::2] != theta.shape or len(x) != len(theta):
            raise ValueError(f"{_FORM}; got {shapes}. Send one of these.")
        names: tuple[str, ...] = ()
        if (named := given.get("theta_names", fields)) is not None:
            labels = np.array([str(name) for name in named])
            names = roles.column_labels(labels, "theta", theta.shape[1])[0]
        nameless = fields is not None and not isinstance(given["theta_q"], Mapping)
        if nameless and names != self.names and sorted(names) == sorted(self.names):
            raise ValueError(
                "Rows whose draws have no names must name theta in one order; got "
                f"{roles.names_text(names)} after {roles.names_text(self.names)}. Send theta_q by "
                "the same names, or theta in the order of its columns."
            )
        same = match_precisions({"theta": theta, "theta_q": q}, {}).arrays
        return PosteriorTable(same["theta"], x.reshape(len(x), -1), same["theta_q"]), names

    def _look_alike(self, arrays: Mapping[str, Array]) -> bool:
        """Whether one row, and several of one parameter, could be meant."""
        theta, q = arrays["theta"], arrays["theta_q"]
        m = theta.size
        if theta.ndim != 1 or q.shape != (m, m) or m == 1:
            return False
        of_one_row = "x" in arrays and arrays["x"].shape[:1] != (m,)
        return not of_one_row and (self.sizes is None or self.sizes[0] != m)


def _numbers(role: str, value: Any, fields: Mapping[str, Any] | None) -> Array:
    """Real numbers of one role; parameters by name are columns, in theta's order.

    Raises:
        ValueError: for anything else.
    """
    try:
        if isinstance(value, Mapping):
            order = list(value) if fields is None or role == "x" else list(fields)
            array = np.stack([array_of(value[name]) for name in order], axis=-1)
        else:
            array = array_of(value)
        if array.dtype.kind == "O":  # null, as NaN
            array = array.astype(np.float64)
    except (ValueError, TypeError, KeyError):
        array = np.empty(0, object)
    if array.dtype.kind not in "fiub":
        raise ValueError(
            f"{_FORM}; got {role} that holds other things than equal lists of numbers."
        )
    return array.astype(np.float32 if array.dtype in (np.float16, np.float32) else np.float64)
