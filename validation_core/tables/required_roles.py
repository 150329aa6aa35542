"""Refusal of arrays that make neither a table, nor two samples, nor ranks, nor probabilities."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from validation_core.tables import roles
from validation_core.tables.long_layout import columns_with_draws
from validation_core.tables.source import UnknownArrays

_TYPED = 200  # characters of names that a remedy writes out
_WITHOUT_X = " Where none of them is x: --map x=none, or arrays={'x': 'none'}."


def require_roles(
    found: Mapping[str, str],
    present: Mapping[str, tuple[int, ...]],
    *,
    without_x: bool = False,
    columns: bool = False,
) -> None:
    """Refuse arrays that make neither a table, nor two samples, nor ranks.

    A table may do without x; where an array of another name is as long as theta, the user is
    asked whether that is x.

    Args:
        found: name of an array by its role.
        present: shape of every array by its name.
        without_x: whether the user says that there is no x.
        columns: whether they are columns, the first of them all together as one array.

    Raises:
        UnknownArrays: with the arrays that are missing and those that are present.
    """
    table = ("theta", "x", "theta_q")
    others = (("p", "q"), ("probabilities", "label"))
    # Two samples, ranks or classes are meant when only their names are there.
    meant = [pair for pair in others if {*pair} & {*found}]
    if {"ranks", "pit"} & {*found} and "theta_q" not in found:
        return
    wanted = meant[0] if meant and not {"theta", "theta_q"} & {*found} else table
    missing = [name for name in wanted if name not in found]
    if missing == ["x"] and ("x_summary" in found or without_x or not _maybe_x(found, present)):
        return
    if missing:
        listed = roles.shapes_text(present)
        free = len(present) - len({*found.values()} & {*present})
        answerable = free >= sum(name != "x" for name in missing)
        single = dict(list(present.items())[1:]) if columns and len(present) > 1 else present
        renaming = f" {renaming_advice(missing, found, single)}".rstrip()
        if missing == ["theta_q"]:
            raise UnknownArrays(
                f"A file must hold draws of q at each x, theta_q (N, K, D); missing: theta_q; "
                f"got: {listed}. Pairs of theta and x alone say nothing of q: draw from it at "
                f"each x and save the draws beside them.{renaming}",
                present,
                answerable=answerable,
            )
        raise UnknownArrays(
            f"A file must hold theta (N, D), x (N, ...) and theta_q (N, K, D), or p (n, d) and "
            f"q (n', d), or probabilities (N, C) and label (N,); missing: {', '.join(missing)}; "
            f"got: {listed}. Add what is missing.{renaming}{_WITHOUT_X * (missing == ['x'])}",
            present,
            answerable=answerable,
        )


def _maybe_x(found: Mapping[str, str], present: Mapping[str, tuple[int, ...]]) -> bool:
    """Whether an array without a role has as many rows as theta, as x has."""
    rows = present.get(found["theta"], ())[:1]
    free = [shape for name, shape in present.items() if name not in found.values()]
    return any(shape[:1] == rows for shape in free if shape)


def renaming_advice(
    missing: Sequence[str], found: Mapping[str, str], present: Mapping[str, tuple[int, ...]]
) -> str:
    """How to say which arrays have the missing roles, with those that can: the remedy at the end
    of a refusal of unknown arrays; empty where no array is left.

    Args:
        missing: the roles.
        found: name of an array by its role.
        present: shape of every array by its name.
    """
    free = {name: shape for name, shape in present.items() if name not in found.values()}
    if not free:
        return ""
    drawn = columns_with_draws(present)
    single = {**roles.guess_roles(present), **found}
    guessed: dict[str, Sequence[str]] = {role: (name,) for role, name in single.items()}
    if drawn:
        guessed = {"theta": [*drawn], "theta_q": [*drawn.values()], **guessed}
    names = {role: _could_be(role, free, guessed, present) for role in missing}
    options = " ".join(f"--map {shlex.quote(f'{role}={name}')}" for role, name in names.items())
    return (
        f"Where an array has another name, say so: {options} on the command line, "
        f"arrays={names} in Python."
    )


def _could_be(
    role: str,
    free: Mapping[str, tuple[int, ...]],
    guessed: Mapping[str, Sequence[str]],
    present: Mapping[str, tuple[int, ...]],
) -> str:
    """The array that can have a role, or NAME; x is all arrays as long as theta."""
    if role != "x":
        return _typed(guessed.get(role, ("NAME",)))
    others = {name for other, names in guessed.items() if other != "x" for name in names}
    rows = present.get(next(iter(guessed.get("theta", ())), ""), ())[:1]
    fit = [name for name, shape in free.items() if shape[:1] == rows and name not in others]
    return _typed(fit) if rows and fit else "NAME"


def _typed(names: Sequence[str]) -> str:
    """Arrays as a user types them; NAME+NAME for more than fit on a line."""
    typed = "+".join(map(roles.label, names))
    return typed if len(typed) <= _TYPED else "NAME+NAME"
