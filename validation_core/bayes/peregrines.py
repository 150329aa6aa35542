"""Counts that the binomial regression is about: years, broods, and those that succeeded."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from validation_core.types import Array


class Counts(NamedTuple):
    """One row for each of 40 years."""

    t: Array
    """Year, scaled to about -1 to 1."""
    n: Array
    """Pairs."""
    y: Array
    """Those that reproduced: shown to readers, never used by the diagnostic."""


PEREGRINES = Counts(
    (np.arange(1964.0, 2004) - 1983.5) / 19.5,
    np.array([
        34.0, 45, 39, 36, 20, 18, 21, 20, 17, 20, 23, 27, 29, 39, 43, 47, 57, 56, 63, 70,
        82, 90, 95, 107, 114, 121, 132, 134, 143, 150, 154, 172, 163, 164, 161, 137, 157, 153,
        191, 193,
    ]),
    np.array([
        19.0, 18, 22, 19, 8, 7, 9, 11, 10, 12, 15, 19, 21, 27, 32, 35, 42, 36, 52, 44,
        58, 54, 59, 72, 80, 81, 95, 101, 92, 114, 74, 79, 115, 102, 102, 76, 104, 64, 107, 104,
    ]),
)  # fmt: skip
"""Peregrine falcons of the French Jura, 1964 to 2003: Kery and Schaub (2012), Bayesian population
analysis using WinBUGS, file falcons.txt."""

BOOK = Counts(
    np.arange(-19.0, 21) / 20,
    np.array([
        43.0, 83, 53, 91, 95, 24, 62, 91, 64, 57, 97, 56, 74, 66, 28, 92, 40, 23, 46, 96,
        91, 75, 71, 100, 72, 77, 64, 68, 43, 32, 97, 92, 75, 84, 22, 58, 81, 37, 45, 39,
    ]),
    np.array([
        27.0, 42, 35, 55, 61, 19, 41, 74, 43, 42, 73, 37, 48, 49, 19, 72, 30, 18, 31, 71,
        63, 51, 48, 73, 49, 54, 43, 59, 30, 24, 62, 55, 51, 47, 14, 27, 45, 20, 26, 19,
    ]),
)  # fmt: skip
"""Simulated in Section 3.5.1 of the same book; public collections of models carry these numbers
under the falcons' name."""
