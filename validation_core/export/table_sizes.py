"""Sizes of tables: how many simulations and draws each test needs, and the bytes they take."""

from __future__ import annotations

from typing import NamedTuple

NUMBER_BYTES = 4
"""Bytes of a number in a table in float32."""


class Need(NamedTuple):
    """The size of table that a test needs."""

    test: str
    rows: str
    """Simulations (theta, x)."""
    draws: str
    """Draws of q at each x."""
    note: str


NEEDS: tuple[Need, ...] = (
    Need("SBC", "200 to 1,000", "100 to 1,000", "p-values are exact for any number"),
    Need("HPD coverage", "200 to 1,000", "100 to 1,000", "needs log q at true values and draws"),
    Need("TARP", "200 to 500", "100 to 1,000", "half of the rows place its references"),
    Need("C2ST, conformal C2ST", "1,000 to 10,000", "1 to 50", "half of the rows train"),
    Need("CoLT", "500 to 5,000", "50 to 200", "half of the rows train"),
    Need("L-C2ST", "2,000 to 10,000", "1 to 50", "and 1,000 draws at the observation itself"),
    Need("DC", "500 to 5,000", "10 to 50", "half of the rows train"),
    Need("MMD-FUSE", "200 to 2,000", "1", "cost grows with the square of the rows"),
    Need("Symmetric divergence", "200 to 1,000", "10 to 100", "needs log q and log p(theta, x)"),
)
"""Simulations and draws that each test needs; with fewer it runs with less power."""


def needs() -> str:
    """Return `NEEDS` as a table to print, one test a line."""
    rows = [Need("test", "simulations", "draws at each", "note"), *NEEDS]
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    lines = ("  ".join((*map(str.ljust, row[:3], widths), row.note)) for row in rows)
    return "\n".join(lines)


class Suggestion(NamedTuple):
    """The number of draws to take at each x, and the size of the file."""

    k: int
    """Draws at each x."""
    megabytes: float
    """Size of the file."""

    def __str__(self) -> str:
        return f"k = {self.k} draws at each x: a file of {size_text(self.megabytes * 1e6)}"


def suggest(n: int, d: int, dim_x: int = 1, *, megabytes: float = 40.0) -> Suggestion:
    """Suggest how many draws to take at each x: enough for every test, in a file of bounded size.

    200 draws are enough for every rank and 20 for every classifier, so that more rows are worth
    more than more draws; 1,000 pay only where rows are few.

    Args:
        n: simulations.
        d: parameters.
        dim_x: numbers in one x.
        megabytes: of the file; a browser takes 40 within seconds. It is exceeded only where not
            even one draw at each x fits.

    Returns:
        the number of draws, and the size of the file with log densities.
    """
    for k in (1000 if n < 500 else 200, 200, 100, 50, 20, 10, 5, 2, 1):
        size = table_bytes(n, k, d, dim_x, densities=True) / 1e6
        if size <= megabytes:
            break
    return Suggestion(k, size)


def table_bytes(
    n: int, k: int, d: int, width: int, densities: bool, number_bytes: int = NUMBER_BYTES
) -> int:
    """Return the bytes of a table.

    Args:
        n: simulations.
        k: draws at each x.
        d: parameters.
        width: numbers in one x.
        densities: whether log q at the truths and at the draws is among its arrays.
        number_bytes: of a number, by default in float32.
    """
    return number_bytes * n * (d + width + k * d + (1 + k) * densities)


def size_text(count: float) -> str:
    """A number of bytes: `5 MB`."""
    for unit in ("bytes", "kB", "MB"):
        if count < 999.5:  # as it is rounded
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} GB"
