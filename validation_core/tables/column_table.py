"""The table that a file of columns holds: long, ranks, melted, two samples, classes, or wide."""

from __future__ import annotations

from validation_core.tables import roles
from validation_core.tables.checked_columns import CheckedColumns
from validation_core.tables.chosen import Chosen, resolve_names
from validation_core.tables.columns import FileColumns
from validation_core.tables.listed_columns import ListedColumns
from validation_core.tables.long_layout import chosen_columns, find_layout
from validation_core.tables.long_table import LongTable
from validation_core.tables.melted_table import find_melted, unmelted
from validation_core.tables.probability_table import ProbabilityTable, class_columns
from validation_core.tables.rank_table import (
    RANKED,
    LongRankTable,
    WideRankTable,
    is_long_rank_table,
    rank_columns,
)
from validation_core.tables.row_numbers import row_numbers
from validation_core.tables.source import ArraySource
from validation_core.tables.two_sample_table import SIDE, TwoSampleTable
from validation_core.tables.wide_table import WideTable

_IN_ANY_ORDER = ("p", "q", *RANKED, "x_rep", "theta_o")
"""Arrays whose rows are those of no other."""


def column_table(
    file: FileColumns, stem: str, limit: int, chosen: Chosen | None = None
) -> ArraySource:
    """Return the arrays of a file of columns, whose names say which kind of table they make.

    Args:
        file: the file, its rows counted.
        stem: name of the array of a wide table: that of the file, without its ending.
        limit: bytes that the arrays may take in memory.
        chosen: names of arrays or columns by the role that the user gives them.

    Raises:
        ValueError: for columns that are too many, too large, or make no table.
    """
    columns = CheckedColumns(file, limit)
    if SIDE in columns.types and columns.types[SIDE] is None and not _numbered(columns):
        return TwoSampleTable(columns)
    named = {name for given in resolve_names(chosen or {}, (stem,)).values() for name in given}
    own, role = stem in named, next(iter(roles.find_roles([stem]).found), "")
    given = None if own else chosen_columns(chosen or {}, columns.types)
    if given is None and not _numbered(columns):
        if is_long_rank_table(columns):
            return LongRankTable(columns, limit)
        ranks = rank_columns(columns, role) if role in ("", *RANKED) and not own else None
        if ranks:
            return WideRankTable(columns, ranks)
        classes = class_columns(columns) if role in ("", "probabilities") and not own else None
        if classes:
            return ProbabilityTable(columns, classes)
    melted = None if given else find_melted(columns)
    if melted is not None:
        return column_table(unmelted(columns, melted, limit), stem, limit)
    numbers = [name for name, dtype in columns.types.items() if dtype is not None]
    texts = [name for name, dtype in columns.types.items() if dtype is None]
    layout = find_layout(numbers, texts, given)
    if layout is not None:
        return LongTable(columns, layout, limit, named=given is not None)
    if given and {"sim", "draw", "truth"} & {*given}:
        got = ", ".join(f"{role} = {roles.names_text(names)}" for role, names in given.items())
        raise ValueError(
            f"A long table must have a column of simulations and of true values, as sim=NAME and "
            f"theta=NAME; got {got} of the columns {roles.names_text(columns.types)}. Name these "
            f"too."
        )
    if own or role:
        in_order = role not in _IN_ANY_ORDER
        return WideTable(columns, stem, row_numbers(columns, in_order=in_order))
    return ListedColumns(columns, stem, named)


def _numbered(columns: CheckedColumns) -> bool:
    """Whether the rows are numbered as a long table's are."""
    return {"sim", "draw"} <= columns.types.keys()
