"""Several files at once: parts of one table, or several tables to compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from validation_core.tables import assembly, folders, roles, source
from validation_core.tables.chosen import (
    Chosen,
    JoinedArrays,
    join_arrays,
    joined_header,
    resolve_names,
)
from validation_core.tables.event_rows import EventRows, one_simulation
from validation_core.tables.named_parts import in_one_order
from validation_core.tables.options import Reading, ReadingOptions
from validation_core.tables.reading import (
    File,
    MissingFile,
    file_name,
    file_stem,
    opened_file,
    read,
    refusals_in_words,
)
from validation_core.tables.required_roles import renaming_advice, require_roles
from validation_core.tables.source import LIMIT, ArrayHeader, Order
from validation_core.tables.uploads import Upload
from validation_core.text import list_text

FILES = 2000
"""Files that are read together at most."""


class LabelledTable(NamedTuple):
    """A table with the name by which it is shown."""

    label: str
    upload: Upload
    files: tuple[str, ...] = ()
    """Names of the files that it was read from; none of an example."""


@dataclass(frozen=True, eq=False)
class _TablePart:
    """The arrays of a file, by their roles: a whole table, or a part of one."""

    label: str
    files: tuple[str, ...]
    """Names of the files that hold them."""
    declared: Mapping[str, ArrayHeader]
    """Header of every array of the file by its name."""
    headers: Mapping[str, ArrayHeader]
    """The same with arrays that were joined as one."""
    roles: Mapping[str, str]
    """Name of an array by its role."""
    arrays: Mapping[str, NDArray[np.generic]]
    """The arrays with a role, by this."""
    order: Order | None
    notes: tuple[str, ...]
    named: bool = False
    """Whether what the user chose were columns of it."""

    @property
    def by_role(self) -> dict[str, ArrayHeader]:
        """Header of each array with a role, by this."""
        return {role: self.headers[name] for role, name in self.roles.items()}

    @property
    def whole(self) -> bool:
        """Whether it needs no other file."""
        return roles.roles_complete(self.roles)


def read_files(
    files: Sequence[tuple[str, File]], *, limit: int = LIMIT, **options: Unpack[Reading]
) -> list[LabelledTable]:
    """Read the tables in several files.

    Files that hold a whole table stay tables of their own. The others are put together: theta and
    x of one with theta_q of another, or one array in each. Where several hold theta_q, each makes
    a table with the theta and x that they share, as posteriors to be compared have them. Files of
    one simulation each, theta (D,) and draws (K, D), are the rows of one table.

    Args:
        files: name and file; a name gives a .npy array its role and a table its label.
        limit: bytes that the arrays of all files may take together.
        options: fields of `ReadingOptions`; the names of `arrays` for every file that has one.

    Returns:
        the tables, in the order of the files; a label is made of a file's name.

    Raises:
        AmbiguousOrder: when N = K and no order is given.
        UnknownArrays: when the names of their arrays do not tell tables.
        ValueError: for files that do not add up to tables, with what each holds.
    """
    if not 0 < len(files) <= FILES:
        raise ValueError(
            f"From 1 to {FILES:,} files can be read at once; got {len(files):,}. Put the "
            f"simulations of several in one file."
        )
    chosen = ReadingOptions(**options)
    arrays = chosen.arrays
    parts: list[_TablePart] = []
    for name, file in files:
        # One after the other: only so many are open at once, and each is loaded while it is.
        parts.append(_part(name, file, limit, arrays, [part.declared for part in parts]))
    shapes = _all_shapes(parts)
    names = resolve_names(arrays or {}, shapes)
    if not any(part.named for part in parts):
        roles.check_chosen_roles(names, shapes)
    single = [part for part in parts if one_simulation(part.by_role)]
    if len(single) > 1:
        parts = [_stacked(single), *(part for part in parts if part not in single)]
    tables = [[part] for part in parts if part.whole]
    without_x = roles.says_no_x(names, shapes)
    tables += _merged(
        [part for part in parts if not part.whole], parts, names, without_x=without_x
    )
    # In the order in which the files came.
    tables.sort(key=lambda members: parts.index(members[0]))
    labels = _different([members[0].label for members in tables])
    with refusals_in_words():
        uploads = [
            replace(_upload(members, chosen, names), said=chosen.said) for members in tables
        ]
    of = [tuple(name for part in members for name in part.files) for members in tables]
    return list(map(LabelledTable, labels, uploads, of))


def read_one(files: Sequence[File], **options: Unpack[Reading]) -> Upload:
    """Read the one table in a file, in several files, or in folders of them.

    Args:
        files: each a path of a file or a folder, bytes, or an opened file.
        options: fields of `ReadingOptions`.

    Raises:
        ValueError: for files that make several tables, and as `read_files` does.
    """
    every: list[File] = []
    told: tuple[str, ...] = ()
    for file in files:
        if file == "":
            raise ValueError(
                "A table is read from a file that has a name; got an empty one. Give its path, or "
                "'.' for the files of this folder."
            )
        if isinstance(file, Path | str) and Path(file).is_dir():
            inside, others = folders.files_of(Path(file))
            every, told = [*every, *inside], (*told, *others)
        else:
            every.append(file)
    if len(every) == 1:
        upload = read(every[0], **options)
        return replace(upload, notes=(*upload.notes, *told))
    named = [(file_name(file), file) for file in every]
    read_tables = read_files(named, **options)
    if len(read_tables) > 1:
        raise ValueError(
            f"A diagnosis reads one table; got {len(read_tables)} in these files: "
            f"{roles.names_text(one.label for one in read_tables)}. Name one of them, or compare "
            f"them: nptlab compare FILE FILE."
        )
    ((_, upload, _),) = read_tables
    return replace(upload, notes=(*upload.notes, *told))


def _part(
    name: str,
    file: File,
    limit: int,
    chosen: Chosen | None,
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
            joined = JoinedArrays(declared, reader.load, {} if reader.named else chosen)
            known = roles.find_roles(joined.headers, joined.chosen)
            arrays = {role: joined.load(array) for role, array in known.found.items()}
            notes = known.notes + joined.notes + reader.notes
            return _TablePart(
                label,
                (name,),
                declared,
                joined.headers,
                known.found,
                arrays,
                reader.order,
                notes,
                reader.named,
            )
    except ValueError as error:
        kind = MissingFile if isinstance(error, MissingFile) else ValueError
        raise kind(f"In the file {label!r}: {error}") from None


def _stacked(parts: Sequence[_TablePart]) -> _TablePart:
    """Files of one simulation each, in their order, as one part.

    Raises:
        ValueError: for files that hold other parameters than the first.
    """
    by_label = dict(zip(_different([part.label for part in parts]), parts, strict=True))
    rows = EventRows(
        {label: part.by_role for label, part in by_label.items()},
        lambda label, role: by_label[label].arrays[role],
        "Files",
    )
    headers = rows.headers()
    names = {str(part.arrays.get("theta_names")) for part in parts}
    if len(names) > 1:
        raise ValueError(
            "Files that hold one simulation each must name the same parameters in the same order; "
            f"got {roles.names_text(sorted(names)[:3])}. Save the same in all."
        )
    told = tuple(dict.fromkeys(note for part in parts for note in part.notes))
    return _TablePart(
        parts[0].label,
        tuple(name for part in parts for name in part.files),
        headers,
        headers,
        {role: role for role in headers},
        {role: rows.load(role) for role in headers},
        rows.order,
        (*rows.notes, *told),
    )


def _merged(
    parts: Sequence[_TablePart],
    every: Sequence[_TablePart],
    names: Mapping[str, Sequence[str]],
    *,
    without_x: bool,
) -> list[list[_TablePart]]:
    """Put parts of tables together: the members of each table, that which names it first.

    Args:
        parts: files without a whole table.
        every: all files, for the refusal.
        names: names of arrays by the role that the user gives them; several are joined.

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
            require_roles(found, _all_shapes(members), without_x=without_x)
        except ValueError:
            lacking = [role for role in ("theta", "x", "theta_q") if role not in found]
            advice = renaming_advice(lacking, found, _all_shapes(members))
            raise _refusal(every, "files that do not make whole tables", advice) from None
        once = [r for r in roles if not r.endswith("_names") and len(names.get(r, ())) < 2]
        if twice := sorted({role for role in once if once.count(role) > 1}):
            raise _refusal(every, f"{list_text(twice)} in more than one of them")
    # One posterior is named by the first of its files, several each by their own.
    return tables


def _all_shapes(parts: Sequence[_TablePart]) -> dict[str, tuple[int, ...]]:
    """Shapes of the arrays of several files by name; of one in several files, the first's."""
    shapes: dict[str, tuple[int, ...]] = {}
    for part in parts:
        for name, header in part.declared.items():
            shapes.setdefault(name, header.shape)
    return shapes


_RENAMING = (
    "Where an array has another name, say so: --map theta=NAME on the command line, "
    "arrays={'theta': 'NAME'} in Python."
)


def _refusal(
    parts: Sequence[_TablePart], got: str, advice: str = _RENAMING
) -> source.UnknownArrays:
    """The refusal of files that do not add up to tables, with the arrays of each."""
    holds = "; ".join(
        f"{part.label!r} holds {roles.shapes_text(_all_shapes([part]))}" for part in parts[:9]
    )
    more = f"; and {len(parts) - 9} more" * (len(parts) > 9)
    return source.UnknownArrays(
        f"Several files must be whole tables, or together make one of theta, x and theta_q (or p "
        f"and q), each once; got {got}: {holds}{more}. Add what is missing, or read one table "
        f"at a time. {advice}".rstrip(),
        _all_shapes(parts),
    )


def _upload(
    members: Sequence[_TablePart], options: ReadingOptions, names: Mapping[str, Sequence[str]]
) -> Upload:
    """The table that some files make together."""
    arrays, moved = in_one_order([_alone(part, members) for part in members])
    # Only the file that holds the draws can tell the order of their axes.
    file_order = next((part.order for part in members if "theta_q" in part.roles), None)
    told = tuple(dict.fromkeys(note for part in members for note in part.notes))
    notes = (*told, *moved)
    types = {
        role: part.headers[name].dtype for part in members for role, name in part.roles.items()
    }
    for role, several in names.items():
        parts = {
            part.roles[role]: part
            for name in several
            for part in members
            if part.roles.get(role) == name
        }
        if len(parts) > 1:  # of one file, they are joined where it is read
            header = joined_header(role, {name: p.by_role[role] for name, p in parts.items()})
            types[role] = header.dtype
            arrays[role] = join_arrays(role, [part.arrays[role] for part in parts.values()])
            joined = list_text([roles.label(name) for name in parts])
            notes += (f"{role} is {joined}, joined in this order.",)
    options = replace(options, order=file_order or options.order)
    return assembly.assemble_upload(arrays, notes, options, types)


def _alone(part: _TablePart, members: Sequence[_TablePart]) -> Mapping[str, NDArray[np.generic]]:
    """The arrays of a part without those that are joined with others', and the names of these."""
    shared = {role for role in part.roles if sum(role in one.roles for one in members) > 1}
    shared -= {*roles.LABELS.values()}
    shared |= {roles.LABELS.get(role, "") for role in shared}
    return {role: array for role, array in part.arrays.items() if role not in shared}


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
