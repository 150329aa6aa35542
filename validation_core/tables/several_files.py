"""Several files at once: parts of one table, or several tables to compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from validation_core.tables import roles, source, table
from validation_core.tables.reading import File, file_stem, opened_file, refusals_in_words
from validation_core.tables.source import LIMIT, ArrayHeader, Order
from validation_core.tables.table import Upload
from validation_core.tables.x_columns import Missing
from validation_core.text import list_text

FILES = 64
"""Files that are read together at most."""


@dataclass(frozen=True, eq=False)
class _TablePart:
    """The arrays of a file, by their roles: a whole table, or a part of one."""

    label: str
    headers: Mapping[str, ArrayHeader]
    """Header of every array by its name."""
    roles: Mapping[str, str]
    """Name of an array by its role."""
    arrays: Mapping[str, NDArray[np.generic]]
    """The arrays with a role, by this."""
    order: Order | None
    notes: tuple[str, ...]

    @property
    def whole(self) -> bool:
        """Whether it needs no other file."""
        return roles.roles_complete(self.roles)


def read_files(
    files: Sequence[tuple[str, File]],
    *,
    order: Order | None = None,
    arrays: Mapping[str, str] | None = None,
    missing: Missing | None = None,
    max_rank: int | None = None,
    limit: int = LIMIT,
) -> list[tuple[str, Upload]]:
    """Read the tables in several files.

    Files that hold a whole table stay tables of their own. The others are put together: theta and
    x of one with theta_q of another, or one array in each. Where several hold theta_q, each makes
    a table with the theta and x that they share, as posteriors to be compared have them.

    Args:
        files: name and file; a name gives a .npy array its role and a table its label.
        order: order of theta_q's axes; needed only when N = K.
        arrays: names of arrays by role, for every file that has one of that name.
        missing: what NaN in x means; None to recognise padding.
        max_rank: the largest rank that ranks can take, where no file says it.
        limit: bytes that the arrays of all files may take together.

    Returns:
        label and table, in the order of the files; the label is made of a file's name.

    Raises:
        AmbiguousOrder: when N = K and no order is given.
        UnknownArrays: when the names of their arrays do not tell tables.
        ValueError: for files that do not add up to tables, with what each holds.
    """
    if not 0 < len(files) <= FILES:
        raise ValueError(f"From 1 to {FILES} files can be read at once; got {len(files)}.")
    parts: list[_TablePart] = []
    for name, file in files:
        # One after the other: only so many are open at once, and each is loaded while it is.
        parts.append(_part(name, file, limit, arrays, [part.headers for part in parts]))
    roles.check_chosen_roles(arrays or {}, _all_shapes(parts))
    tables = [[part] for part in parts if part.whole]
    without_x = roles.says_no_x(arrays, _all_shapes(parts))
    tables += _merged([part for part in parts if not part.whole], parts, without_x=without_x)
    # In the order in which the files came.
    tables.sort(key=lambda members: parts.index(members[0]))
    labels = _different([members[0].label for members in tables])
    with refusals_in_words():
        uploads = [_upload(members, order, missing, max_rank) for members in tables]
    return list(zip(labels, uploads, strict=True))


def _part(
    name: str,
    file: File,
    limit: int,
    chosen: Mapping[str, str] | None,
    before: Sequence[Mapping[str, ArrayHeader]],
) -> _TablePart:
    """Read one file; its arrays and those of the files before must not exceed the limit.

    Raises:
        ValueError: for a file that is refused, with its label.
    """
    label = roles.label(file_stem(name)) or "table"
    try:
        with refusals_in_words(), opened_file(file, name, limit, chosen) as reader:
            declared = source.check_headers(reader.headers(), limit)
            source.check_total_size([*before, declared], limit)
            known = roles.find_roles(declared, chosen)
            arrays = {role: reader.load(array) for role, array in known.found.items()}
            return _TablePart(
                label, declared, known.found, arrays, reader.order, known.notes + reader.notes
            )
    except ValueError as error:
        raise ValueError(f"In the file {label!r}: {error}") from None


def _merged(
    parts: Sequence[_TablePart], every: Sequence[_TablePart], *, without_x: bool
) -> list[list[_TablePart]]:
    """Put parts of tables together: the members of each table, that which names it first.

    Args:
        parts: files without a whole table.
        every: all files, for the refusal.

    Raises:
        UnknownArrays: when the parts make no whole tables, or a role is there twice.
    """
    if not parts:
        return []
    heads = [part for part in parts if "theta_q" in part.roles]
    shared = [part for part in parts if "theta_q" not in part.roles]
    tables = [list(parts)] if len(heads) < 2 else [[head, *shared] for head in heads]
    for members in tables:
        roles = [role for part in members for role in part.roles]
        found = {role: name for part in members for role, name in part.roles.items()}
        try:
            table.require_roles(found, _all_shapes(members), without_x=without_x)
        except ValueError:
            raise _refusal(every, "files that do not make whole tables") from None
        if twice := sorted({r for r in roles if roles.count(r) > 1 and not r.endswith("_names")}):
            raise _refusal(every, f"{list_text(twice)} in more than one of them")
    # One posterior is named by the first of its files, several each by their own.
    return tables


def _all_shapes(parts: Sequence[_TablePart]) -> dict[str, tuple[int, ...]]:
    """Shapes of the arrays of several files by name; of one in several files, the first's."""
    shapes: dict[str, tuple[int, ...]] = {}
    for part in parts:
        for name, header in part.headers.items():
            shapes.setdefault(name, header.shape)
    return shapes


def _refusal(parts: Sequence[_TablePart], got: str) -> source.UnknownArrays:
    """The refusal of files that do not add up to tables, with the arrays of each."""
    holds = "; ".join(
        f"{part.label!r} holds {roles.shapes_text(_all_shapes([part]))}" for part in parts[:9]
    )
    more = f"; and {len(parts) - 9} more" * (len(parts) > 9)
    return source.UnknownArrays(
        f"Several files must be whole tables, or together make one of theta, x and theta_q (or p "
        f"and q), each once; got {got}: {holds}{more}. Add what is missing, or read one table "
        f"at a time. {table.LAYOUTS}",
        _all_shapes(parts),
    )


def _upload(
    members: Sequence[_TablePart],
    order: Order | None,
    missing: Missing | None,
    max_rank: int | None,
) -> Upload:
    """The table that some files make together."""
    arrays = {role: array for part in members for role, array in part.arrays.items()}
    # Only the file that holds the draws can tell the order of their axes.
    file_order = next((part.order for part in members if "theta_q" in part.roles), None)
    notes = tuple(note for part in members for note in part.notes)
    types = {
        role: part.headers[name].dtype for part in members for role, name in part.roles.items()
    }
    return table.assemble_upload(
        arrays, notes, order or file_order, types, missing=missing, max_rank=max_rank
    )


def _different(labels: Sequence[str]) -> list[str]:
    """The labels, no two the same: a second `run` is `run (2)`."""
    unique: list[str] = []
    for label in labels:
        count = 1
        new = label
        while new in unique:
            count += 1
            new = f"{label} ({count})"
        unique.append(new)
    return unique
