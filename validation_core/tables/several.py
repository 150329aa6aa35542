"""Several files at once: parts of one table, or several whole tables to compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from validation_core.tables import names, source, table
from validation_core.tables.reading import File, opened, stem
from validation_core.tables.shapes import Order
from validation_core.tables.source import LIMIT, Header, Source
from validation_core.tables.table import Upload

FILES = 64
"""Files that are read at once."""


@dataclass(frozen=True, eq=False)
class _Part:
    """A file, open, with the roles that its arrays play."""

    label: str
    source: Source
    headers: Mapping[str, Header]
    roles: Mapping[str, str]
    notes: tuple[str, ...]
    loaded: dict[str, NDArray[Any]] = field(default_factory=dict)
    """What several tables share is read once."""

    @property
    def whole(self) -> bool:
        """Whether it needs no other file."""
        has = self.roles.keys()
        return {"theta", "x", "theta_q"} <= has or ({"p", "q"} <= has and "theta_q" not in has)

    def load(self, role: str) -> NDArray[Any]:
        """The array of a role."""
        if role not in self.loaded:
            self.loaded[role] = self.source.load(self.roles[role])
        return self.loaded[role]


def read_files(
    files: Sequence[tuple[str, File]], *, order: Order | None = None, limit: int = LIMIT
) -> list[tuple[str, Upload]]:
    """The tables in several files, each with a label made of its file's name.

    Files that hold a whole table stay tables of their own. The others are put together: theta and
    x of one with theta_q of another, or one array in each. Where several hold theta_q, each makes
    a table with the theta and x that they share, as posteriors to be compared have them.

    Args:
        files: name and file; a name gives a .npy array its role and a table its label.
        order: what the first axes of theta_q are; needed only when N = K.
        limit: bytes that the arrays of all files may take together.

    Raises:
        AmbiguousOrder: when N = K and no order is given.
        ValueError: for files that do not add up to tables, with what each holds.
    """
    if not 0 < len(files) <= FILES:
        raise ValueError(f"From 1 to {FILES} files can be read at once; got {len(files)}.")
    with ExitStack() as stack:
        parts = [_part(name, file, stack, limit) for name, file in files]
        source.together([part.headers for part in parts], limit)
        tables = [[part] for part in parts if part.whole]
        tables += _merged([part for part in parts if not part.whole], parts)
        # In the order in which the files came.
        tables.sort(key=lambda members: parts.index(members[0]))
        labels = _different([members[0].label for members in tables])
        uploads = [_upload(members, order) for members in tables]
        return list(zip(labels, uploads, strict=True))


def _part(name: str, file: File, held: ExitStack, limit: int) -> _Part:
    label = names.label(stem(name)) or "table"
    try:
        reader = held.enter_context(opened(file, name, limit))
        declared = source.accepted(reader.headers(), limit)
    except ValueError as error:
        raise ValueError(f"In the file {label!r}: {error}") from None
    known = names.roles(declared)
    return _Part(label, reader, declared, known.found, known.notes + reader.notes)


def _merged(parts: Sequence[_Part], every: Sequence[_Part]) -> list[list[_Part]]:
    """Parts of tables put together, the one that gives the table its name first."""
    if not parts:
        return []
    heads = [part for part in parts if "theta_q" in part.roles]
    shared = [part for part in parts if "theta_q" not in part.roles]
    tables = [list(parts)] if len(heads) < 2 else [[head, *shared] for head in heads]
    for members in tables:
        roles = [role for part in members for role in part.roles]
        try:
            table.require(roles, roles)
        except ValueError:
            raise _sum(every, "files that do not make whole tables") from None
        if twice := sorted({r for r in roles if roles.count(r) > 1 and not r.endswith("_names")}):
            raise _sum(every, f"{', '.join(twice)} in more than one of them")
    # One posterior is named by the first of its files, several each by their own.
    return tables


def _sum(parts: Sequence[_Part], what: str) -> ValueError:
    holds = "; ".join(f"{part.label!r} holds {names.listed(part.headers)}" for part in parts[:9])
    more = f"; and {len(parts) - 9} more" * (len(parts) > 9)
    return ValueError(
        f"Several files must be whole tables, or together make one of theta, x and theta_q (or p "
        f"and q), each once; got {what}: {holds}{more}. Add what is missing or upload one table "
        f"at a time."
    )


def _upload(members: Sequence[_Part], order: Order | None) -> Upload:
    arrays = {role: part.load(role) for part in members for role in part.roles}
    # Labels are no reason for anything; an order is told by the file that holds the draws.
    file_order = next((part.source.order for part in members if "theta_q" in part.roles), None)
    notes = tuple(note for part in members for note in part.notes)
    types = {
        role: part.headers[name].dtype for part in members for role, name in part.roles.items()
    }
    return table.assemble(arrays, notes, order or file_order, types)


def _different(labels: Sequence[str]) -> list[str]:
    """Labels that are told apart: a second `run` is `run (2)`."""
    unique: list[str] = []
    for label in labels:
        count = 1
        new = label
        while new in unique:
            count += 1
            new = f"{label} ({count})"
        unique.append(new)
    return unique
