"""Names of parameters and of columns of x, as a user gave them or numbered from 1."""

from __future__ import annotations

from collections.abc import Sequence


def called(names: Sequence[str], which: int) -> str:
    """The name of a parameter, by its place; a number where the names do not reach."""
    return names[which] if which < len(names) else f"theta_{which + 1}"


def column(which: int, x_names: Sequence[str] = ()) -> str:
    """The name of a column of x; numbered from 1 where it has none."""
    return x_names[which] if which < len(x_names) else f"x_{which + 1}"
