"""Rows of a stream that came before: sent again, as a job does that is resumed."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from validation_core.tables.repeats import is_on_grid
from validation_core.types import Array

_COLUMNS, _FEWEST, _ROWS = 100, 20, 1000  # of theta and x that tell which numbers have mass


class SeenRows:
    """Remembers the theta and x of rows.

    A row repeats another where both are the same and hold a number that is this simulation's own:
    on a grid, or where a number has mass, different simulations may be alike. Under a continuous
    law no row is ever called so, and bets on the others hold.
    """

    def __init__(self) -> None:
        self._keys: set[bytes] = set()
        self._some: list[Array] = []
        self._fine: NDArray[np.intp] | None = None

    def are_new(self, theta: Array, x: Array) -> NDArray[np.bool_]:
        """Return which rows (n,) came for the first time, and remember them.

        Args:
            theta: true values (n, D), finite.
            x: data (n, M), finite.
        """
        rows = np.concatenate([theta, x], axis=1, dtype=np.float64) + 0.0  # -0 is 0
        return np.array([self._is_new(row) for row in rows], bool)

    def _is_new(self, row: Array) -> bool:
        key, few = blake2b(row.tobytes(), digest_size=16).digest(), row[:_COLUMNS]
        if key in self._keys:
            return not self._is_own(few)
        self._keys.add(key)
        if len(self._some) < _ROWS:
            self._some.append(few)
            self._fine = None
        return True

    def _is_own(self, row: Array) -> bool:
        """Whether one of its numbers is that of no other simulation."""
        if len(self._some) < _FEWEST:
            return False
        some = np.stack(self._some)
        if self._fine is None:
            self._fine = np.flatnonzero([not is_on_grid(column) for column in some.T])
        alike = (some[:, self._fine] == row[self._fine]).sum(axis=0)
        return bool(alike.min(initial=2) < 2)
